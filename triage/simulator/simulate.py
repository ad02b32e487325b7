"""Run a simulated job into a fault and write the incident folder that it leaves."""

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from triage.errors import UsageError
from triage.simulator.files import Folder, Layout, Progress, node_name, utc
from triage.simulator.kinds import Kind, kind_named, shape_for
from triage.simulator.plan import Plan, normal_plan
from triage.simulator.program import StepStyle, step_program
from triage.simulator.run import Format, Run, steps_counted
from triage.simulator.scene import Dumped, Fault, Scene, Strangers
from triage.simulator.timeline import Pace, Timeline, run_job
from triage.simulator.topology import Ints, Shape, Topology
from triage.simulator.truth import FaultPlace, Truth, truth_path

__all__ = ["simulate"]

SECOND = 1_000_000_000
EPOCH_NS = 1_795_225_200 * SECOND
"""2026-11-21 01:00 UTC: about when the simulated jobs run."""
FOREIGN_SHAPE = Shape(16, tp=2, pp=2)
FOREIGN_RANKS = [0, 1, 2, 5]


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
    progress: Progress | None = None,
) -> Truth:
    """Write the dumps of a job of ``ranks`` ranks with a fault of ``kind`` under ``out``.

    The same arguments give the same bytes. ``tp`` and ``pp`` left out are chosen
    by kind and size; ``timing`` left out is on for ``healthy-live`` alone;
    ``steps`` left out is enough to fill a ring of ``entries``. The truth is returned, and
    written beside the folder as ``OUT.truth.json``. Raises UsageError.
    """
    chosen = kind_named(kind)
    shape = shape_for(chosen, ranks, tp, pp, ep)
    asked = _Ask(
        chosen, shape, culprit, seed, entries, steps, frames,
        chosen.timing if timing is None else timing,
        run_ahead, batched_p2p, gpus_per_node, skew_ms, delay_ms,
        _ranks("missing", missing, ranks), _ranks("cut", cut, ranks),
        _ranks("empty", empty, ranks), only_active, version,
    )  # fmt: skip
    asked.check()
    folder = Folder(Path(out), layout, prefix, gpus_per_node, progress)
    folder.create()
    return _write(asked, folder, job_json)


@dataclass(frozen=True, slots=True)
class _Ask:
    """What was asked for."""

    kind: Kind
    shape: Shape
    culprit: int | None
    seed: int
    entries: int
    steps: int | None
    frames: int
    timing: bool
    run_ahead: bool
    batched_p2p: bool
    gpus_per_node: int
    skew_ms: float
    delay_ms: float
    missing: tuple[int, ...]
    cut: tuple[int, ...]
    empty: tuple[int, ...]
    only_active: bool
    version: str

    def check(self) -> None:
        least = {
            "entries": 1, "frames": 0, "gpus_per_node": 1, "skew_ms": 0, "delay_ms": 0, "seed": 0,
        }  # fmt: skip
        for name, value in least.items():
            if getattr(self, name) < value:
                raise UsageError(f"{name} is {getattr(self, name)}: give {value} or more")
        if self.steps is not None and self.steps < 1:
            raise UsageError(f"steps is {self.steps}: give 1 or more steps before the fault")
        if self.frames > 128:
            raise UsageError(f"frames is {self.frames}: give 128 or fewer")
        if self.culprit is not None:
            _ranks("culprit", (self.culprit,), self.shape.ranks)

    def chance(self, purpose: str) -> random.Random:
        """Random choices that depend on the seed and on what they are for."""
        return random.Random(f"{self.kind.name}/{self.seed}/{purpose}")

    def style(self) -> StepStyle:
        """How a step is driven; with local SGD one outer step outlasts the ring."""
        inner = 1
        if self.kind.local_sgd:
            once, twice = (
                len(step_program(self.shape, 0, 0, StepStyle(self.batched_p2p, inner=inner)))
                for inner in (2, 3)
            )
            inner = 2 + math.ceil(1.25 * self.entries / max(twice - once, 1))
        return StepStyle(self.batched_p2p, inner)

    def pace(self, plan: Plan) -> Pace:
        """How many steps run, and how many of them can still be in a ring."""
        shortest = min(len(program) for program in plan.programs)
        fill = 1 if self.kind.local_sgd else math.ceil(self.entries / max(shortest, 1)) + 1
        steps = self.steps or fill + self.chance("steps").randrange(200)
        return Pace(steps, min(steps, fill), self.run_ahead, self.timing, self.delay_ms, self.seed)


def _ranks(name: str, given: Iterable[int], ranks: int) -> tuple[int, ...]:
    chosen = tuple(sorted(set(given)))
    for rank in chosen:
        if not 0 <= rank < ranks:
            raise UsageError(f"{name} rank {rank} is not in the job: give 0 to {ranks - 1}")
    return chosen


def _write(asked: _Ask, folder: Folder, job_json: bool) -> Truth:
    topology = Topology(asked.shape)
    style = asked.style()
    normal = normal_plan(topology, style)
    scene = Scene(topology, style, normal.copy(), asked.culprit, asked.chance("fault"))
    fault = asked.kind.fault(scene)
    pace = asked.pace(normal)
    timeline = run_job(topology, normal, fault, pace)
    offsets = _offsets(asked)
    run = _run(asked, topology, timeline, offsets)
    missing = tuple(sorted({*asked.missing, *fault.without_dump}))
    stale = _stale_rank(asked, fault, missing)
    truth = _truth(asked, topology, normal, fault, pace, missing, stale)
    written = [rank for rank in range(asked.shape.ranks) if rank not in {*missing, *truth.stale}]
    folder.write(run, written, _lengths(asked))
    if stale:
        folder.write(_earlier_attempt(asked, normal), list(stale), {})
    if truth.foreign_files:
        folder.write(_other_job(asked), FOREIGN_RANKS, {}, FOREIGN_PREFIX)
    if job_json:
        folder.write_job(_job_facts(asked, timeline, fault))
    truth.save(truth_path(folder.path))
    return truth


FOREIGN_PREFIX = "job8813_trace_rank_"


def _run(asked: _Ask, topology: Topology, timeline: Timeline, offsets: Ints) -> Run:
    form = Format(asked.version, asked.frames, asked.timing, asked.entries, asked.only_active)
    return Run(topology, timeline, form, offsets, asked.seed)


def _offsets(asked: _Ask) -> Ints:
    """Per rank, what its node's clock adds to the true time."""
    chance = asked.chance("clocks")
    nodes = asked.shape.ranks // asked.gpus_per_node + 1
    skew = [int(1e6 * chance.uniform(-asked.skew_ms, asked.skew_ms)) for _ in range(nodes)]
    start = EPOCH_NS + chance.randrange(3600 * SECOND)
    node_of = np.arange(asked.shape.ranks) // asked.gpus_per_node
    return start + np.array(skew, np.int64)[node_of]


def _lengths(asked: _Ask) -> dict[int, float]:
    chance = asked.chance("cut")
    lengths = {rank: chance.uniform(0.05, 0.98) for rank in asked.cut}
    return lengths | dict.fromkeys(asked.empty, 0.0)


def _stale_rank(asked: _Ask, fault: Fault, missing: tuple[int, ...]) -> tuple[int, ...]:
    if fault.strangers is not Strangers.STALE:
        return ()
    out = {*fault.culprits, *missing, *asked.cut, *asked.empty}
    innocent = [rank for rank in range(asked.shape.ranks) if rank not in out]
    return (asked.chance("stale").choice(innocent),) if innocent else ()


def _earlier_attempt(asked: _Ask, normal: Plan) -> Run:
    """The same job two hours before, which came to its end."""
    topology = Topology(asked.shape)
    fault = Fault(normal.copy(), (), "none", (), "none", dumped=Dumped.AFTER)
    pace = replace(asked.pace(normal), steps=40, kept=min(40, asked.pace(normal).kept))
    timeline = run_job(topology, normal, fault, replace(pace, seed=asked.seed + 1))
    return _run(asked, topology, timeline, _offsets(asked) - 7200 * SECOND)


def _other_job(asked: _Ask) -> Run:
    """Another, smaller job that ran at the same time."""
    other = replace(asked, shape=FOREIGN_SHAPE, seed=asked.seed + 8813)
    topology = Topology(FOREIGN_SHAPE)
    normal = normal_plan(topology, StepStyle())
    fault = Fault(normal.copy(), (), "none", (), "none", dumped=Dumped.AFTER)
    timeline = run_job(topology, normal, fault, other.pace(normal))
    return _run(other, topology, timeline, _offsets(other))


def _truth(
    asked: _Ask, topology: Topology, normal: Plan, fault: Fault, pace: Pace,
    missing: tuple[int, ...], stale: tuple[int, ...],
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
        stale=stale,
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


def _job_facts(asked: _Ask, timeline: Timeline, fault: Fault) -> dict[str, object]:
    start = int(_offsets(asked).min())
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
