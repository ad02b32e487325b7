"""Levels of a noisy series: where its middle changed, and by how much.

Ranks and medians alone: single steps that take ten times as long (a checkpoint, an
evaluation) move nothing, and no shape of the noise is assumed. A series is cut in two where
the ranks of both sides differ most, and each side again.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEAST_CHANGE", "Level", "levels_of", "noise_of"]

Values = NDArray[np.float64]

# A change of five per cent is told. Medians of a noisy series may show it as a little less.
LEAST_CHANGE: Final = 0.045
# A level has so many points at least.
LEAST_POINTS: Final = 5
# How far the ranks of both sides must differ, in standard deviations of what chance makes of
# them. The best of all places to cut is looked at, which chance alone takes to 3 of a few hundred.
LEAST_Z: Final = 3.6
# A change that is less than the noise of single points is none, however many points there are.
LEAST_SIGMAS: Final = 1.0
# Few points on one side: then they must all stand out.
FEW: Final = 12
FEW_SIGMAS: Final = 3.0
DEEPEST: Final = 5


@dataclass(frozen=True, slots=True)
class Level:
    """The points ``start`` to ``stop`` of a series, about ``middle``; ``noise`` is robust."""

    start: int
    stop: int
    middle: float
    noise: float

    @property
    def points(self) -> int:
        """How many points lie on the level."""
        return self.stop - self.start


def noise_of(values: Values) -> float:
    """The standard deviation of the bulk of ``values``, by the median distance from the median."""
    return float(1.4826 * np.median(np.abs(values - np.median(values)))) if len(values) else 0.0


def levels_of(values: Values, least_change: float = LEAST_CHANGE) -> list[Level]:
    """The levels of a series of positive numbers, in order; one where nothing changed."""
    cuts = [0, *sorted(cuts_in(values, 0, len(values), least_change, DEEPEST)), len(values)]
    return [
        Level(start, stop, float(np.median(values[start:stop])), noise_of(values[start:stop]))
        for start, stop in pairwise(cuts)
        if stop > start
    ]


def cuts_in(values: Values, start: int, stop: int, least_change: float, depth: int) -> list[int]:
    at = best_cut(values[start:stop], least_change) if depth else None
    if at is None:
        return []
    cut = start + at
    return [
        *cuts_in(values, start, cut, least_change, depth - 1),
        cut,
        *cuts_in(values, cut, stop, least_change, depth - 1),
    ]


def best_cut(values: Values, least_change: float) -> int | None:
    """Where the ranks of both sides differ most, if that is a change of level; None otherwise."""
    size = len(values)
    if size < 2 * LEAST_POINTS:
        return None
    left = np.arange(1, size)
    excess = np.cumsum(ranks_of(values))[:-1] - left * (size + 1) / 2
    spread = np.sqrt(left * (size - left) * (size + 1) / 12)
    z = np.abs(excess) / spread
    z[: LEAST_POINTS - 1] = 0
    z[size - LEAST_POINTS :] = 0
    cut = int(np.argmax(z)) + 1
    if z[cut - 1] < LEAST_Z:
        return None
    one, other = values[:cut], values[cut:]
    before, after = float(np.median(one)), float(np.median(other))
    apart = abs(after - before)
    if apart < least_change * min(before, after):
        return None
    noise = (noise_of(one) * len(one) + noise_of(other) * len(other)) / size
    needed = FEW_SIGMAS if min(len(one), len(other)) < FEW else LEAST_SIGMAS
    return cut if apart >= needed * noise else None


def ranks_of(values: Values) -> Values:
    """Ranks from 1; equal values share the middle of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Values = ((last - counts + 1 + last) / 2)[inverse]
    return ranks
