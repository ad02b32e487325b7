"""A whole run: steps without a fault, the last section with it, and when the dumps are taken.

Only the steps that can still be in a ring are run; the ones before them are
alike, so their operations are counted and not simulated. All ranks meet at the
end of every step, hence a fault in one section cannot leave it.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator.operation import Part
from simulator.physics import (
    NEVER,
    Clocks,
    Section,
    Speeds,
    costs_of,
    first_of,
    run_section,
    usual_speeds,
)
from simulator.plan import Plan
from simulator.rendezvous import Meetings, meetings
from simulator.scene import Dumped, Fault
from simulator.topology import Ints, Topology

_TIMEOUT_MS = 600_000
_MILLISECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class Pulls:
    """A job that runs, and how its dumps are pulled from it.

    ``spread_ms`` lie between the first and the last pull; ``ranks_together`` ranks side by
    side are pulled at one moment. Computing takes ``slow`` times as long as usual. Every
    ``save_every`` steps a checkpoint keeps the hosts of ``savers`` (all when empty) for
    ``save_ms``.
    """

    spread_ms: float = 0.0
    ranks_together: int = 1
    slow: float = 1.0
    save_every: int = 0
    save_ms: float = 0.0
    savers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Pace:
    """How the job runs: ``steps`` before the last section, of which ``kept`` are simulated.

    A slow device computes ``slow_share`` longer, a slow group transfers ``link_times`` as long;
    healthy devices differ among each other for good by ``spread`` (one standard deviation).
    """

    steps: int
    kept: int
    run_ahead: bool
    timing: bool
    delay_ms: float
    seed: int
    pulls: Pulls | None = None
    slow_share: float = 0.05
    link_times: float = 3.0
    spread: float = 0.0


@dataclass(slots=True)
class History:
    """The simulated steps before the last section, a row each; ``entered`` only with timing."""

    created: Ints
    entered: Ints
    ended: Ints


@dataclass(slots=True)
class Timeline:
    """Times are ns since the job's first simulated step; ``dump_at`` is one per rank."""

    normal: Meetings
    final: Meetings
    before: Ints
    history: History
    last: Section
    dump_at: Ints
    skipped: int


def run_job(topology: Topology, normal: Plan, fault: Fault, pace: Pace) -> Timeline:
    """Run the steps, then the section with the fault, and choose the time of each dump."""
    found, final = meetings(normal, topology), meetings(fault.plan, topology)
    ranks = topology.shape.ranks
    clocks = Clocks(np.zeros(ranks, np.int64), np.zeros(ranks, np.int64))
    first = first_of(found)
    size = (pace.kept, int(first[-1]))
    history = History(
        np.empty(size, np.int64),
        np.empty(size if pace.timing else (pace.kept, 0), np.int64),
        np.empty(size, np.int64),
    )
    costs = costs_of(found, run_ahead=pace.run_ahead)
    slow = pace.pulls.slow if pace.pulls else 1.0
    costs.compute_ns[:] *= slow
    chance = np.random.default_rng(pace.seed)
    usual, changed = _speeds_of(topology, fault, pace)
    begins = int(fault.slow_from * pace.kept)
    for step in range(pace.kept):
        _fetch_data(clocks, fault, pace, chance)
        _save(clocks, pace.pulls, step)
        section = run_section(
            found, costs, clocks, pace.seed * 7919 + step, usual if step < begins else changed
        )
        history.created[step], history.ended[step] = section.created, section.ended
        if pace.timing:
            history.entered[step] = section.entered
    _fetch_data(clocks, fault, pace, chance)
    costs = costs_of(final, run_ahead=pace.run_ahead)
    costs.compute_ns[:] *= slow
    last = run_section(final, costs, clocks, pace.seed * 7919 + pace.kept, changed)
    if pace.pulls is not None:
        dump_at = _pull_times(history, pace.pulls, len(clocks.host), chance)
    else:
        dump_at = _dump_times(final, last, clocks, fault.dumped, chance)
    skipped = pace.steps - pace.kept
    return Timeline(found, final, first, history, last, dump_at, skipped)


def _fetch_data(clocks: Clocks, fault: Fault, pace: Pace, chance: np.random.Generator) -> None:
    """Each host prepares its step; the straggler takes longer."""
    own = chance.gamma(4.0, 0.4 * _MILLISECOND, len(clocks.host))
    clocks.host[:] += own.astype(np.int64)
    if fault.late_rank >= 0:
        late = pace.delay_ms * _MILLISECOND * chance.uniform(0.9, 1.1)
        clocks.host[fault.late_rank] += int(late)
    if fault.all_late:
        clocks.host[:] += int(pace.delay_ms * _MILLISECOND * chance.uniform(0.9, 1.1))


def _speeds_of(topology: Topology, fault: Fault, pace: Pace) -> tuple[Speeds, Speeds]:
    """The speeds before a fault begins, and from then on."""
    usual = usual_speeds(topology.shape.ranks)
    if pace.spread:
        chance = np.random.default_rng((pace.seed, topology.shape.ranks))
        usual.compute[:] = np.exp(chance.normal(0.0, pace.spread, len(usual.compute)))
    changed = Speeds(usual.compute.copy(), usual.transfer.copy())
    changed.compute[list(fault.slow_ranks)] *= 1 + pace.slow_share
    for group in fault.slow_groups:
        changed.transfer[topology.members[group], topology.slots[group]] *= pace.link_times
    return usual, changed


def _save(clocks: Clocks, pulls: Pulls | None, step: int) -> None:
    """A checkpoint between two steps."""
    if pulls is None or not pulls.save_every or (step + 1) % pulls.save_every:
        return
    savers = list(pulls.savers) if pulls.savers else slice(None)
    clocks.host[savers] += int(pulls.save_ms * _MILLISECOND)


def _pull_times(history: History, pulls: Pulls, ranks: int, chance: np.random.Generator) -> Ints:
    """When each rank is pulled: the job runs on behind the last pull."""
    since = int(history.created[len(history.created) // 2].min())
    until = int(history.created[-1].min())
    spread = min(int(pulls.spread_ms * _MILLISECOND), (until - since) // 2)
    at = since + int((until - since - spread) * chance.uniform(0.0, 1.0))
    moments = chance.uniform(0.0, 1.0, ranks // pulls.ranks_together + 1)
    turn = np.arange(ranks) // pulls.ranks_together
    return at + (spread * moments[turn]).astype(np.int64)


def _dump_times(
    final: Meetings, last: Section, clocks: Clocks, dumped: Dumped, chance: np.random.Generator
) -> Ints:
    """The watchdog's timeout on the oldest operation that does not end, or a person's request.

    Every rank's monitor looks about once a second for the order to dump.
    """
    ranks = len(clocks.host)
    ended = last.ended[last.ended < NEVER]
    until = int(ended.max()) if len(ended) else int(clocks.host.max())
    if dumped is Dumped.LIVE:
        since = int(last.created.min())
        at = since + int((until - since) * chance.uniform(0.3, 0.7))
        return at + chance.integers(0, 8 * _MILLISECOND, ranks)
    if dumped is Dumped.AFTER:
        return until + 3000 * _MILLISECOND + chance.integers(0, 1000 * _MILLISECOND, ranks)
    open_since = last.created[_runs(final) & (last.created < NEVER) & (last.ended >= NEVER)]
    since = int(open_since.min()) if len(open_since) else until
    noticed = since + (_TIMEOUT_MS + int(chance.integers(0, 100))) * _MILLISECOND
    return noticed + chance.integers(0, 1200 * _MILLISECOND, ranks)


def _runs(final: Meetings) -> npt.NDArray[np.bool_]:
    """Per row of the section: whether the operation runs on the device (members do not)."""
    runs = np.array([op.part is not Part.MEMBER for op in final.ops], np.bool_)
    table, starts = final.table, final.table.program_start
    per_program = [runs[table.op_of[starts[p] : starts[p + 1]]] for p in range(len(starts) - 1)]
    return np.concatenate([per_program[int(p)] for p in table.program_of])
