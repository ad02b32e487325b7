"""Outages of made-up fleets whose law is known: alone, long, in bursts, in batches, drifting."""

from typing import Final

import numpy as np
import numpy.typing as npt

from triage.statistics.away.steps import Away, cut_outages

KINDS: Final = ("alone", "long_tail", "bursts", "batches", "drifting", "all_of_it")
LONGEST_DAYS: Final = 150.0
# Days before the record, so that it begins with the usual number of nodes away.
BEFORE: Final = 200.0
Floats = npt.NDArray[np.float64]


def planted_outages(
    kind: str, seed: int, *, num_nodes: int = 400, days: float = 360.0, rate: float = 0.004
) -> Away:
    """Outages of ``num_nodes``, each node ``rate`` times a day, in one of ``KINDS``.

    Repairs are lognormal around 0.85 days with sigma 1.3 (alone) to 1.9 (long tail), cut at 150.
    """
    chance = np.random.default_rng([seed, KINDS.index(kind)])
    expected = rate * num_nodes * (days + BEFORE)
    sigma = {"alone": 1.3, "long_tail": 1.9, "drifting": 1.6, "all_of_it": 1.8}.get(kind, 1.7)
    singles = {"batches": 0.7, "all_of_it": 0.8}.get(kind, 1.0) * expected
    start = chance.uniform(-BEFORE, days, chance.poisson(singles))
    if kind in ("drifting", "all_of_it"):
        start = drifting(chance, singles * (0.5 if kind == "all_of_it" else 1.0), days)
    if kind == "bursts":
        start = with_followers(chance, start[chance.random(len(start)) < 0.4], 0.6, (0.5, 7.0))
    if kind == "all_of_it":
        start = with_followers(chance, start, 0.5, (1.0, 1.0))
    lasted = chance.lognormal(np.log(0.85), sigma, len(start))
    if kind in ("batches", "all_of_it"):
        together, as_long = batches(chance, expected - singles, days)
        start, lasted = np.append(start, together), np.append(lasted, as_long)
    end = start + np.minimum(lasted, LONGEST_DAYS)
    within = (end > 0) & (start < days)
    return cut_outages(start[within], end[within], days)


def drifting(chance: np.random.Generator, expected: float, days: float) -> Floats:
    """Starts at a rate whose logarithm wanders (0.6, remembered for 30 days)."""
    whole_days = np.arange(-BEFORE, days)
    kept = np.exp(-1 / 30)
    level = np.zeros(len(whole_days))
    noise = chance.normal(0.0, 0.6, len(whole_days))
    for day in range(1, len(whole_days)):
        level[day] = kept * level[day - 1] + noise[day] * np.sqrt(1 - kept**2)
    number = chance.poisson(expected / len(whole_days) * np.exp(level - 0.18))
    starts = np.repeat(whole_days, number)
    return np.asarray(starts + chance.random(len(starts)), np.float64)


def with_followers(
    chance: np.random.Generator, start: Floats, share: float, within_days: tuple[float, float]
) -> Floats:
    """Each outage is followed by ``share`` others on average, which are followed in turn."""
    waves = [start]
    while len(start):
        number = chance.poisson(share, len(start))
        near = np.where(chance.random(number.sum()) < 0.5, *within_days)
        start = np.repeat(start, number) + chance.exponential(near)
        waves.append(start)
    return np.concatenate(waves)


def batches(chance: np.random.Generator, expected: float, days: float) -> tuple[Floats, Floats]:
    """Batches of 8 nodes on average that leave together and come back together."""
    times = chance.poisson(expected / 8)
    sizes = chance.geometric(1 / 8, times)
    start = np.repeat(chance.uniform(-BEFORE, days, times), sizes)
    return start, np.repeat(chance.lognormal(np.log(2.0), 1.3, times), sizes)
