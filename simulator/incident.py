"""Run a simulated job into a fault and write the incident folder that it leaves."""

from collections.abc import Collection
from pathlib import Path
from typing import Unpack

from simulator.files import Folder, Layout, Progress, node_name, utc
from simulator.kinds import kind_named
from simulator.live.files import write_live
from simulator.play import Played, play
from simulator.request import SECOND, Options, request_for
from simulator.run import steps_counted
from simulator.scene import Dumped, Strangers
from simulator.strangers import (
    FOREIGN_PREFIX,
    FOREIGN_RANKS,
    earlier_attempt,
    other_job,
    stale_rank,
)
from simulator.truth import FaultPlace, Truth, truth_path


def simulate(
    kind: str,
    out: Path,
    *,
    layout: Layout = "flat",
    prefix: str = "comm_lib_trace_rank_",
    job_json: bool = True,
    dumps: bool = True,
    live: Collection[str] = (),
    progress: Progress | None = None,
    **options: Unpack[Options],
) -> Truth:
    """Write the dumps of a job with a fault of ``kind`` under ``out``.

    The same arguments give the same bytes. The truth is returned, and written beside
    the folder as ``OUT.truth.json``. ``live`` are sources of :data:`LIVE_SOURCES` that are written
    too, ``dumps`` whether dumps are. Raises UsageError.
    """
    request = request_for(kind_named(kind), options)
    folder = Folder(Path(out), layout, prefix, request.gpus_per_node, progress)
    folder.check()
    played = play(request)
    truth = _write(played, folder, job_json, dumps=dumps)
    if live:
        at_ns = int(request.offsets().min()) + int(played.timeline.dump_at.min())
        write_live(folder.path, played, at_ns, live, category=played.fault.category)
    return truth


def _write(played: Played, folder: Folder, job_json: bool, *, dumps: bool) -> Truth:
    request, fault = played.request, played.fault
    run = played.run(request.offsets())
    missing = {*request.missing, *fault.without_dump}
    stale = None
    if fault.strangers is Strangers.STALE:
        stale = stale_rank(request, {*fault.culprits, *missing, *request.cut, *request.empty})
    absent = missing if stale is None else {*missing, stale}
    folder.create()
    here = [rank for rank in range(request.shape.ranks) if rank not in absent]
    if dumps:
        folder.write(run, here, request.lengths())
    if stale is not None and dumps:
        folder.write(earlier_attempt(request, played.normal), [stale], {})
    if fault.strangers is Strangers.FOREIGN and dumps:
        folder.write(other_job(request), FOREIGN_RANKS, {}, FOREIGN_PREFIX)
    if job_json:
        folder.write_job(_job_facts(played))
    truth = _truth(played, tuple(sorted(missing)), stale)
    truth.save(truth_path(folder.path))
    return truth


def _truth(played: Played, missing: tuple[int, ...], stale: int | None) -> Truth:
    asked, fault = played.request, played.fault
    shape = asked.shape
    foreign = FOREIGN_RANKS if fault.strangers is Strangers.FOREIGN else []
    nodes = {node_name(rank, asked.gpus_per_node) for rank in fault.culprits}
    return Truth(
        kind=asked.kind.name,
        culprit_ranks=fault.culprits,
        expect=fault.expect,
        category=fault.category,
        also=fault.also,
        possible_ranks=fault.possible,
        verdicts=fault.verdicts,
        world_size=shape.ranks,
        tp=shape.tp,
        dp=shape.dp,
        pp=shape.pp,
        ep=shape.ep,
        gpus_per_node=asked.gpus_per_node,
        culprit_nodes=tuple(sorted(nodes)),
        at=_place(played),
        at_step=played.pace.steps,
        hang=fault.dumped is Dumped.TIMEOUT,
        timing=asked.timing,
        run_ahead=asked.run_ahead,
        entries=asked.entries,
        seed=asked.seed,
        delay_ms=asked.delay_ms if fault.late_rank >= 0 else None,
        skew_ms=asked.skew_ms,
        missing=missing,
        cut=asked.cut,
        empty=asked.empty,
        stale=() if stale is None else (stale,),
        foreign_files=tuple(f"{FOREIGN_PREFIX}{rank}" for rank in foreign),
        groups=played.topology.by_desc(),
    )


def _place(played: Played) -> FaultPlace | None:
    where, topology = played.fault.where, played.topology
    if where is None:
        return None
    members = tuple(topology.members[where.group].tolist())
    counted = steps_counted(list(played.normal.of(members[0])))[where.slot, 0]
    return FaultPlace(
        topology.name(where.group),
        topology.desc(where.group),
        members,
        int(played.pace.steps * counted) + where.order + 1 if where.order >= 0 else None,
        where.op,
    )


def _job_facts(played: Played) -> dict[str, object]:
    asked, timeline = played.request, played.timeline
    start = int(asked.offsets().min())
    nodes = sorted({node_name(rank, asked.gpus_per_node) for rank in range(asked.shape.ranks)})
    facts: dict[str, object] = {
        "job_id": str(4000 + asked.chance("job").randrange(5000)),
        "cluster": "sim",
        "name": "pretrain",
        "world_size": asked.shape.ranks,
        "gpus_per_node": asked.gpus_per_node,
        "nodes": nodes,
        "started_at": utc(start - timeline.skipped * SECOND // 4),
    }
    if played.fault.dumped is Dumped.TIMEOUT:
        facts["failed_at"] = utc(start + int(timeline.dump_at.min()))
    return facts
