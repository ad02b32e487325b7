"""How nodes of a fleet like a real one fail, are repaired, and fail again.

Event by event, in days since the record's start; it begins two months before, so that the first
day is like any other. A node fails at a rate of its own, in a burst with others, or again because
a repair did not take. The time until then has a Weibull law of shape 0.35: its hazard falls.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from math import log
from typing import Final

import numpy as np

from simulator.fleet.bursts import Burst, bursts_of
from simulator.fleet.fault_kinds import FRONT_END, KINDS
from simulator.fleet.part_stock import GPUS, PartStock, Spare
from simulator.fleet.places import SimulatedPlaces
from simulator.fleet.repair_model import RepairModel
from simulator.fleet.truth import FaultSource, PartMove, TrueFault, TrueStay
from simulator.fleet.wish import FaultModel, FleetWish
from triage.fleet.domain.cause import OutageCause, RepairAction

_WARM_UP_DAYS: Final = 60.0
# Measured of 400 servers: half of the failures within a week come within half a day.
_AGAIN_SHAPE: Final = 0.35
_AGAIN_SCALE_DAYS: Final = 2.3
_SAME_CAUSE: Final = 0.64
# Part of all faults that follow a repair that did not take, where ``again_times`` is 1.
_AGAIN_SHARE: Final = 0.36
_OF_CAUSE: Final = {kind.cause: kind for kind in KINDS}


@dataclass(frozen=True, slots=True)
class _Planned:
    """A node in a maintenance, by its number."""

    node: int
    start_day: float
    end_day: float


@dataclass(slots=True)
class FaultHistory:
    """Faults by start, and what else befell the nodes; names are numbers as text until the end."""

    faults: list[TrueFault] = field(default_factory=list)
    planned: list[_Planned] = field(default_factory=list)
    moves: list[PartMove] = field(default_factory=list)
    stays: list[TrueStay] = field(default_factory=list)
    renamed: list[tuple[float, str, str]] = field(default_factory=list)
    lemons: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Next:
    """A fault to come."""

    source: FaultSource
    cause: OutageCause | None = None
    again_of: int | None = None
    slot: int | None = None
    burst: int | None = None
    end_day: float | None = None


def fault_history(wish: FleetWish, model: FaultModel, places: SimulatedPlaces) -> FaultHistory:
    """All faults from two months before the record until its end."""
    return _FaultProcess(wish, model, places).lived()


class _FaultProcess:
    """The fleet while it fails. A ``node`` here is the machine; ``name`` is what it is called."""

    def __init__(self, wish: FleetWish, model: FaultModel, places: SimulatedPlaces) -> None:
        self.wish, self.model, self.places = wish, model, places
        self.chance = np.random.default_rng([wish.seed, wish.nodes, 2])
        self.history = FaultHistory()
        self.repairs = RepairModel(wish, model, self.chance, -_WARM_UP_DAYS)
        self.events: list[tuple[float, int, Callable[[float], None]]] = []
        self.num_events = 0
        self.name = [*range(wish.nodes)]
        self.out_until = np.full(wish.nodes, -np.inf)
        self.part_comes = np.full(wish.nodes, -np.inf)
        self.version = [0] * wish.nodes
        self.attempts = [0] * wish.nodes
        self.parts = PartStock(wish.nodes, model.moved_share, self.chance)
        own = max(1 - model.burst_share - _AGAIN_SHARE * model.again_times, 0.05)
        self.rate = wish.rate * own * places.relative
        self.peak = max(self.drift(0.0), self.drift(wish.days))
        weights = np.array([kind.weight for kind in KINDS])
        of_gpu = np.array([kind.cause is OutageCause.GPU for kind in KINDS])
        per_node = weights * np.where(of_gpu, places.gpu_relative[:, None], 1.0)
        self.cause_weights = np.cumsum(per_node, axis=1) / per_node.sum(axis=1, keepdims=True)
        self.rate = self.rate * per_node.sum(axis=1) / weights.sum()

    def drift(self, day: float) -> float:
        """The fleet's rate on a day, over its mean."""
        ratio = self.model.drift
        if ratio == 1.0:
            return 1.0
        return float(ratio ** (max(day, 0.0) / self.wish.days) * log(ratio) / (ratio - 1))

    def at(self, day: float, do: Callable[[float], None]) -> None:
        """Plan an event."""
        if day < self.wish.days:
            self.num_events += 1
            heapq.heappush(self.events, (day, self.num_events, do))

    def lived(self) -> FaultHistory:
        """Until the end of the record."""
        for node in range(self.wish.nodes):
            self.plan_own(node, -_WARM_UP_DAYS)
        events = bursts_of(
            self.wish, self.model, self.places, self.chance, -_WARM_UP_DAYS, self.accepted
        )
        for number, burst in enumerate(events):
            self.at(burst.day, partial(self.befall, burst, number))
        while self.events:
            day, _, do = heapq.heappop(self.events)
            do(day)
        return self.named()

    def accepted(self, day: float) -> bool:
        """Whether an event at the highest rate is one at the rate of that day."""
        return bool(self.chance.random() * self.peak < self.drift(day))

    def plan_own(self, node: int, day: float) -> None:
        """The next fault that comes on its own."""
        rate = float(self.rate[node]) * self.peak
        while rate and day < self.wish.days:
            day += float(self.chance.exponential(1 / rate))
            if self.accepted(day):
                self.plan(node, day, _Next(FaultSource.OWN))
                return

    def plan(self, node: int, day: float, coming: _Next) -> None:
        """A fault that comes unless another one comes before it."""
        version = self.version[node]

        def do(day: float) -> None:
            if self.version[node] != version and coming.source is not FaultSource.BURST:
                return
            if day >= self.out_until[node]:
                self.fail(node, day, coming)
            elif coming.source is not FaultSource.BURST:
                back = float(self.out_until[node])
                self.at(back + float(self.chance.exponential(0.1)), do)

        self.at(day, do)

    def befall(self, burst: Burst, number: int, day: float) -> None:
        """A maintenance of ``burst.maintained``, then a fault of each of its ``nodes``."""
        for node in burst.maintained:
            if day >= self.out_until[node]:
                end = burst.nodes_day - float(self.chance.uniform(0, 0.05))
                self.out_until[node] = end
                self.history.planned.append(_Planned(self.name[node], day, end))
        for node, cause in zip(burst.nodes, burst.causes, strict=True):
            start = burst.nodes_day + float(self.chance.uniform(0, burst.spread_days))
            self.plan(
                node, start, _Next(FaultSource.BURST, cause, burst=number, end_day=burst.end_day)
            )

    def fail(self, node: int, day: float, coming: _Next) -> None:
        """A fault, its repair, and what follows from that."""
        cause = self.drawn_cause(node) if coming.cause is None else coming.cause
        kind = _OF_CAUSE[cause]
        again = coming.source in (FaultSource.AGAIN, FaultSource.MOVED)
        self.version[node] += 1
        self.attempts[node] = self.attempts[node] + 1 if again else 0
        part, slot = None, None
        if cause is OutageCause.GPU:
            slot = int(self.chance.integers(GPUS)) if coming.slot is None else coming.slot
            part, _ = self.parts.part_at(node, slot)
        action, took = self.repairs.outcome(kind, self.attempts[node])
        end = coming.end_day
        if end is None or end <= day:
            end = self.repairs.back(kind, node, day)
        number = len(self.history.faults)
        self.history.faults.append(
            TrueFault(
                outage=-1, node=str(self.name[node]), start_day=day, end_day=end, cause=cause,
                action=action, took=took, source=coming.source, again_of=coming.again_of,
                burst=coming.burst, part=part, slot=slot,
            )
        )  # fmt: skip
        self.out_until[node] = end
        name = str(self.name[node])
        back = self.exchange_names(node, day)
        moved = None
        if action is RepairAction.SWAP_GPU and slot is not None:
            spare = Spare(part or "", name, slot, back, back, number)
            self.part_comes[node] = back
            moved = self.parts.swap(node, self.name[node], spare, took=took)
        self.plan_own(node, back)
        if not took:
            same = self.chance.random() < _SAME_CAUSE
            follows = _Next(
                FaultSource.AGAIN, cause if same else None, number, slot if same else None
            )
            self.plan(node, back + self.until_again(), follows)
        if moved is not None:
            self.plan(
                node,
                back + self.until_again(),
                _Next(FaultSource.MOVED, OutageCause.GPU, moved, slot),
            )

    def until_again(self) -> float:
        return _AGAIN_SCALE_DAYS * float(self.chance.weibull(_AGAIN_SHAPE))

    def drawn_cause(self, node: int) -> OutageCause:
        if self.places.special[node]:
            causes = [*FRONT_END]
            return causes[int(self.chance.choice(len(causes), p=[*FRONT_END.values()]))]
        place = int(np.searchsorted(self.cause_weights[node], self.chance.random()))
        return KINDS[min(place, len(KINDS) - 1)].cause

    def exchange_names(self, node: int, day: float) -> float:
        """Seldom a node comes back under the name of another that is out too; when it is back."""
        back = float(self.out_until[node])
        if self.chance.random() >= self.model.renamed_share or self.places.special[node]:
            return back
        batch = self.places.batch
        others = [
            int(other)
            for other in np.flatnonzero((self.out_until > day) & (self.part_comes <= day))
            if other != node
            and batch[other] == batch[node]
            and not self.places.special[other]
            and self.version[other]
        ]
        if not others:
            return back
        other = others[int(self.chance.integers(len(others)))]
        mine, theirs = self.name[node], self.name[other]
        self.name[node], self.name[other] = theirs, mine
        self.parts.rename(node, mine, theirs, day)
        self.parts.rename(other, theirs, mine, day)
        self.history.renamed.append((day, str(mine), str(theirs)))
        self.out_until[node], self.out_until[other] = self.out_until[other], back
        return float(self.out_until[node])

    def named(self) -> FaultHistory:
        """By start, with the names of nodes; the lemons as they are named at the end."""
        history, names = self.history, self.places.names
        order = sorted(range(len(history.faults)), key=lambda row: history.faults[row].start_day)
        kept = [row for row in order if history.faults[row].end_day > 0]
        place = {row: number for number, row in enumerate(kept)}
        history.faults = [
            replace(
                history.faults[row],
                node=names[int(history.faults[row].node)],
                again_of=place.get(
                    -1 if (of := history.faults[row].again_of) is None else of
                ),
            )
            for row in kept
        ]  # fmt: skip
        history.stays = [
            TrueStay(part, names[int(node)], slot, since, until)
            for part, node, slot, since, until in self.parts.all_stays()
            if until is None or until > 0
        ]
        history.planned = [one for one in history.planned if one.end_day > 0]
        history.moves = [
            replace(
                move, from_node=names[int(move.from_node)], to_node=names[int(move.to_node)]
            )
            for move in self.parts.moves
        ]  # fmt: skip
        history.renamed = [
            (day, names[int(mine)], names[int(theirs)]) for day, mine, theirs in history.renamed
        ]
        lemons = np.flatnonzero(self.places.lemon).tolist()
        history.lemons = frozenset(names[self.name[node]] for node in lemons)
        return history
