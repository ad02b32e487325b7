"""Days on which many nodes fail: after a maintenance, by power, by cooling, of no known cause."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from simulator.fleet.places import NODES_OF_RACK, SimulatedPlaces
from simulator.fleet.wish import FaultModel, FleetWish
from triage.fleet.domain.cause import OutageCause

_SMALLEST: Final = 3
_LARGEST: Final = 23
_MAINTENANCE_DAYS: Final = 0.4
# How often all nodes of a burst come back at one time: one part is waited for.
_TOGETHER: Final = 0.5
# (how often, its cause and how much of it, in one rack or anywhere)
_KINDS: Final = (
    (0.40, OutageCause.FAILED_TEST, 0.9, False),
    (0.20, OutageCause.POWER, 0.5, True),
    (0.10, OutageCause.COOLING, 0.9, True),
    (0.30, OutageCause.UNKNOWN, 0.8, False),
)


@dataclass(frozen=True, slots=True)
class Burst:
    """``maintained`` are out, as planned, from ``day`` to ``nodes_day``; then ``nodes`` fail.

    They come back at ``end_day``, or each when it is repaired (None).
    """

    day: float
    nodes_day: float
    spread_days: float
    end_day: float | None
    nodes: tuple[int, ...]
    causes: tuple[OutageCause | None, ...]
    maintained: tuple[int, ...] = ()


def bursts_of(
    wish: FleetWish,
    model: FaultModel,
    places: SimulatedPlaces,
    chance: np.random.Generator,
    since_day: float,
    accepted: Callable[[float], bool],
) -> Iterator[Burst]:
    """Bursts and maintenances by their day."""
    ordinary = np.flatnonzero(~places.special)
    largest = max(len(ordinary) // 2, 1)
    size = max(min(model.burst_size, largest), 1.0)
    per_day = wish.rate * model.burst_share * wish.nodes / size
    repairs = wish.nodes / 400 / model.maintenance_days if model.maintenance_days else 0.0
    day = since_day
    while (both := per_day + repairs) and len(ordinary):
        day += float(chance.exponential(1 / both))
        if day >= wish.days:
            return
        if chance.random() * both < repairs:
            maintained = _group_of(ordinary, 2 * NODES_OF_RACK, chance, together=True)
            yield Burst(day, day + _MAINTENANCE_DAYS, 0.0, None, (), (), maintained)
        elif accepted(day):
            yield _burst_at(day, ordinary, size, largest, chance)


def _burst_at(
    day: float,
    ordinary: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    mean: float,
    largest: int,
    chance: np.random.Generator,
) -> Burst:
    shares = np.array([share for share, _, _, _ in _KINDS])
    kind = int(chance.choice(len(_KINDS), p=shares / shares.sum()))
    _, cause, part, of_rack = _KINDS[kind]
    rest = max(mean - _SMALLEST, 0.0)
    size = _SMALLEST + int(chance.geometric(1 / (1 + rest))) - 1
    size = min(size, _LARGEST, largest)
    after = cause is OutageCause.FAILED_TEST
    maintained = _group_of(ordinary, 2 * NODES_OF_RACK, chance, together=True) if after else ()
    among = np.array(maintained) if after else ordinary
    nodes = _group_of(among, size, chance, together=of_rack)
    begins = day + _MAINTENANCE_DAYS if after else day
    spread = 0.02 if after else 0.4
    waits = 2.5 * float(chance.weibull(0.6))
    end = begins + spread + waits if chance.random() < _TOGETHER else None
    causes = tuple(cause if chance.random() < part else None for _ in nodes)
    return Burst(day, begins, spread, end, nodes, causes, maintained)


def _group_of(
    nodes: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    size: int,
    chance: np.random.Generator,
    *,
    together: bool,
) -> tuple[int, ...]:
    """Neighbours, or any."""
    size = min(size, len(nodes))
    if together:
        first = int(chance.integers(len(nodes) - size + 1))
        return tuple(nodes[first : first + size].tolist())
    return tuple(np.sort(chance.choice(nodes, size, replace=False)).tolist())
