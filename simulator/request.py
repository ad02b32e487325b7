"""What was asked of the simulator, checked, and what follows from it by chance.

Every choice has its own source of chance, by kind, seed and purpose: a new
choice does not change the others.
"""

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from simulator.kinds import Kind, shape_for
from simulator.plan import Plan
from simulator.program import StepStyle, step_program
from simulator.run import Format
from simulator.timeline import Pace, Pulls
from simulator.topology import Ints, Shape
from triage.errors import UsageError

SECOND = 1_000_000_000
EPOCH_NS = 1_795_225_200 * SECOND
"""2026-11-21 01:00 UTC: about when the simulated jobs run."""
# Steps over which the pulls of a job that runs may be spread.
_PULLED_STEPS = 12


class Options(TypedDict, total=False):
    """What a caller may choose of a job and its dumps; the rest is as in :class:`Request`.

    ``ranks`` are 64 where they are not given; ``tp``, ``pp`` and ``ep`` are chosen by kind and
    size. ``timing`` is on for ``healthy-live`` alone; ``steps`` are enough to fill a ring of
    ``entries``. ``pulls`` says how the dumps are pulled from a healthy job that runs on.
    """

    ranks: int
    tp: int | None
    pp: int | None
    ep: int | None
    culprit: int | None
    seed: int
    entries: int
    steps: int | None
    frames: int
    timing: bool | None
    run_ahead: bool
    batched_p2p: bool
    gpus_per_node: int
    skew_ms: float
    delay_ms: float
    slow_share: float
    link_times: float
    spread: float
    missing: Iterable[int]
    cut: Iterable[int]
    empty: Iterable[int]
    only_active: bool
    version: str
    pulls: Pulls | None


@dataclass(frozen=True, slots=True)
class Request:
    """A job with a fault, and how its dumps are written."""

    kind: Kind
    shape: Shape
    culprit: int | None = None
    seed: int = 0
    entries: int = 2000
    steps: int | None = None
    frames: int = 8
    timing: bool = False
    run_ahead: bool = True
    batched_p2p: bool = True
    gpus_per_node: int = 8
    skew_ms: float = 0.0
    delay_ms: float = 60.0
    slow_share: float = 0.05
    link_times: float = 3.0
    spread: float = 0.0
    missing: tuple[int, ...] = ()
    cut: tuple[int, ...] = ()
    empty: tuple[int, ...] = ()
    only_active: bool = False
    version: str = "2.10"
    pulls: Pulls | None = None

    def check(self) -> None:
        """Refuse numbers that make no job."""
        zero_or_more = dict.fromkeys(
            ("frames", "skew_ms", "delay_ms", "seed", "slow_share", "spread", "link_times"), 0
        )
        for name, value in {"entries": 1, "gpus_per_node": 1, **zero_or_more}.items():
            if getattr(self, name) < value:
                raise UsageError(f"{name} is {getattr(self, name)}: give {value} or more")
        if self.steps is not None and self.steps < 1:
            raise UsageError(f"steps is {self.steps}: give 1 or more steps before the fault")
        if self.frames > 128:
            raise UsageError(f"frames is {self.frames}: give 128 or fewer")
        if self.culprit is not None:
            ranks_in("culprit", (self.culprit,), self.shape.ranks)

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
        fill += _PULLED_STEPS if self.pulls is not None else 0
        steps = self.steps or fill + self.chance("steps").randrange(200)
        kept = min(steps, fill)
        return Pace(
            steps,
            kept,
            self.run_ahead,
            self.timing,
            self.delay_ms,
            self.seed,
            self.pulls,
            self.slow_share,
            self.link_times,
            self.spread,
        )

    def format(self) -> Format:
        """How the dumps are written."""
        return Format(self.version, self.frames, self.timing, self.entries, self.only_active)

    def offsets(self) -> Ints:
        """Per rank, what its node's clock adds to the time of the run, ns."""
        chance = self.chance("clocks")
        nodes = self.shape.ranks // self.gpus_per_node + 1
        skew = [int(1e6 * chance.uniform(-self.skew_ms, self.skew_ms)) for _ in range(nodes)]
        start = EPOCH_NS + chance.randrange(3600 * SECOND)
        node_of = np.arange(self.shape.ranks) // self.gpus_per_node
        return start + np.array(skew, np.int64)[node_of]

    def lengths(self) -> dict[int, float]:
        """What part of its dump each rank wrote before it was cut off."""
        chance = self.chance("cut")
        lengths = {rank: chance.uniform(0.05, 0.98) for rank in self.cut}
        return lengths | dict.fromkeys(self.empty, 0.0)


def request_for(kind: Kind, options: Options) -> Request:
    """The request for a job of ``kind``. Raises UsageError for one that cannot be."""
    chosen: dict[str, Any] = {**options}
    sizes = [chosen.pop(name, None) for name in ("tp", "pp", "ep")]
    shape = shape_for(kind, chosen.pop("ranks", 64), *sizes)
    for name in ("missing", "cut", "empty"):
        chosen[name] = ranks_in(name, chosen.get(name, ()), shape.ranks)
    if chosen.get("timing") is None:
        chosen["timing"] = kind.timing
    request = Request(kind, shape, **chosen)
    request.check()
    return request


def ranks_in(name: str, given: Iterable[int], ranks: int) -> tuple[int, ...]:
    """``given``, ascending and each once; refuses what is not a rank of the job."""
    chosen = tuple(sorted(set(given)))
    for rank in chosen:
        if not 0 <= rank < ranks:
            raise UsageError(f"{name} rank {rank} is not in the job: give 0 to {ranks - 1}")
    return chosen
