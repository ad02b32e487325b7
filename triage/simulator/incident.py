"""Run a simulated job into a fault and write the incident folder that it leaves."""

from collections.abc import Iterable
from pathlib import Path

from triage.simulator.files import Folder, Layout, Progress, node_name, utc
from triage.simulator.kinds import kind_named, shape_for
from triage.simulator.plan import Plan, normal_plan
from triage.simulator.request import SECOND, Request, ranks_in
from triage.simulator.run import Run, steps_counted
from triage.simulator.scene import Dumped, Fault, Scene, Strangers
from triage.simulator.strangers import (
    FOREIGN_PREFIX,
    FOREIGN_RANKS,
    earlier_attempt,
    other_job,
    stale_rank,
)
from triage.simulator.timeline import Pace, Pulls, Timeline, run_job
from triage.simulator.topology import Topology
from triage.simulator.truth import FaultPlace, Truth, truth_path

__all__ = ["simulate"]


def simulate(
    kind: str,
    out: Path,
    *,
    ranks: int = 64,
    tp: int | None = None,
    pp: int | None = None,
    ep: int | None = None,
    culprit: int | None = None,
    seed: int = 0,
    entries: int = 2000,
    steps: int | None = None,
    frames: int = 8,
    timing: bool | None = None,
    run_ahead: bool = True,
    batched_p2p: bool = True,
    gpus_per_node: int = 8,
    skew_ms: float = 0.0,
    delay_ms: float = 60.0,
    missing: Iterable[int] = (),
    cut: Iterable[int] = (),
    empty: Iterable[int] = (),
    only_active: bool = False,
    version: str = "2.10",
    layout: Layout = "flat",
    prefix: str = "comm_lib_trace_rank_",
    job_json: bool = True,
    pulls: Pulls | None = None,
    progress: Progress | None = None,
) -> Truth:
    """Write the dumps of a job of ``ranks`` ranks with a fault of ``kind`` under ``out``.

    The same arguments give the same bytes. ``tp`` and ``pp`` left out are chosen
    by kind and size; ``timing`` left out is on for ``healthy-live`` alone;
    ``steps`` left out is enough to fill a ring of ``entries``. ``pulls`` says how the dumps
    are pulled from a healthy job that runs on. The truth is returned, and
    written beside the folder as ``OUT.truth.json``. Raises UsageError.
    """
    chosen = kind_named(kind)
    shape = shape_for(chosen, ranks, tp, pp, ep)
    asked = Request(
        chosen, shape, culprit, seed, entries, steps, frames,
        chosen.timing if timing is None else timing,
        run_ahead, batched_p2p, gpus_per_node, skew_ms, delay_ms,
        ranks_in("missing", missing, ranks), ranks_in("cut", cut, ranks),
        ranks_in("empty", empty, ranks), only_active, version, pulls,
    )  # fmt: skip
    asked.check()
    folder = Folder(Path(out), layout, prefix, gpus_per_node, progress)
    folder.check()
    return _write(asked, folder, job_json)


def _write(asked: Request, folder: Folder, job_json: bool) -> Truth:
    topology = Topology(asked.shape)
    style = asked.style()
    normal = normal_plan(topology, style)
    scene = Scene(topology, style, normal.copy(), asked.culprit, asked.chance("fault"))
    fault = asked.kind.fault(scene)
    pace = asked.pace(normal)
    timeline = run_job(topology, normal, fault, pace)
    run = Run(topology, timeline, asked.format(), asked.offsets(), asked.seed)
    missing = {*asked.missing, *fault.without_dump}
    stale = None
    if fault.strangers is Strangers.STALE:
        stale = stale_rank(asked, {*fault.culprits, *missing, *asked.cut, *asked.empty})
    absent = missing if stale is None else {*missing, stale}
    folder.create()
    here = [rank for rank in range(asked.shape.ranks) if rank not in absent]
    folder.write(run, here, asked.lengths())
    if stale is not None:
        folder.write(earlier_attempt(asked, normal), [stale], {})
    if fault.strangers is Strangers.FOREIGN:
        folder.write(other_job(asked), FOREIGN_RANKS, {}, FOREIGN_PREFIX)
    if job_json:
        folder.write_job(_job_facts(asked, timeline, fault))
    truth = _truth(asked, topology, normal, fault, pace, tuple(sorted(missing)), stale)
    truth.save(truth_path(folder.path))
    return truth


def _truth(
    asked: Request, topology: Topology, normal: Plan, fault: Fault, pace: Pace,
    missing: tuple[int, ...], stale: int | None,
) -> Truth:  # fmt: skip
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
        at=_place(topology, normal, fault, pace.steps),
        at_step=pace.steps,
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
        groups=topology.by_desc(),
    )


def _place(topology: Topology, normal: Plan, fault: Fault, steps: int) -> FaultPlace | None:
    where = fault.where
    if where is None:
        return None
    members = tuple(topology.members[where.group].tolist())
    counted = steps_counted(list(normal.of(members[0])))[where.slot, 0]
    return FaultPlace(
        topology.name(where.group),
        topology.desc(where.group),
        members,
        int(steps * counted) + where.order + 1 if where.order >= 0 else None,
        where.op,
    )


def _job_facts(asked: Request, timeline: Timeline, fault: Fault) -> dict[str, object]:
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
    if fault.dumped is Dumped.TIMEOUT:
        facts["failed_at"] = utc(start + int(timeline.dump_at.min()))
    return facts
