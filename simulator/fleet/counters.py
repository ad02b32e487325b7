"""Error counters of nodes, of which some grow for days before a fault."""

from collections.abc import Sequence
from math import ceil
from typing import Final

import numpy as np

from simulator.fleet.truth import FaultSource, TrueFault
from simulator.fleet.wish import FaultModel, FleetWish
from triage.fleet.domain.cause import OutageCause
from triage.fleet.record.columns import CounterDays, Floats

COUNTERS: Final = {
    "ecc_corrected_growth": frozenset({OutageCause.GPU}),
    "link_recovery_growth": frozenset({OutageCause.CABLE, OutageCause.NIC}),
}
"""Each counter, and the causes that it announces."""

# A healthy node counts something on one day of so many.
_QUIET_DAYS: Final = 50
# How often a counter grows though nothing follows, over how often it announces a fault.
_FALSE_GROWTH: Final = 0.25
_GROWS_DAYS: Final = (3, 10)


def counters_of(
    faults: Sequence[TrueFault],
    names: Sequence[str],
    wish: FleetWish,
    model: FaultModel,
    begins: float,
) -> CounterDays | None:
    """Growth by node and day; None where no fault is announced.

    ``begins`` is the part of its first day that is over when the record begins.
    """
    if not model.announced:
        return None
    chance = np.random.default_rng([wish.seed, wish.nodes, 6])
    days = ceil(wish.days + begins)
    number = {name: node for node, name in enumerate(names)}
    shape = (len(names), days)
    growth: dict[str, Floats] = {}
    for name, causes in COUNTERS.items():
        noise = chance.random(shape) < 1 / _QUIET_DAYS
        growth[name] = np.where(noise, chance.poisson(3.0, shape), 0).astype(np.float64)
        own = [
            (number[fault.node], fault.start_day + begins)
            for fault in faults
            if fault.cause in causes and fault.source is FaultSource.OWN and fault.start_day > 0
        ]
        announced = [pair for pair in own if chance.random() < model.announced]
        in_vain = [
            (int(chance.integers(len(names))), float(chance.uniform(0, days)))
            for _ in range(round(_FALSE_GROWTH * len(announced)))
        ]
        for node, day in (*announced, *in_vain):
            _grow(growth[name][node], day, chance)
    rows, day_of = np.nonzero(np.any([*growth.values()], axis=0))
    every = np.arange(len(names), dtype=np.int32)
    return CounterDays(
        node=rows.astype(np.int32),
        day=day_of.astype(np.int32),
        growth={name: grown[rows, day_of] for name, grown in growth.items()},
        seen_node=every,
        first_day=np.zeros(len(names), np.int32),
        last_day=np.full(len(names), days - 1, np.int32),
    )


def _grow(counts: Floats, day: float, chance: np.random.Generator) -> None:
    """More errors each day until ``day``."""
    length = int(chance.integers(*_GROWS_DAYS, endpoint=True))
    last = min(int(day), len(counts) - 1)
    for before in range(length):
        if last - before >= 0:
            counts[last - before] += chance.poisson(40 * 0.7**before)
