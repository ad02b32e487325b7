"""Levels of a noisy series: where its middle changed, and by how much.

Ranks and medians alone: single steps that take ten times as long (a checkpoint, an
evaluation) move nothing, and no shape of the noise is assumed. A series is cut in two where
the ranks of both sides differ most, and each side again.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from triage.domain.arrays import F64

# A change of five per cent is told. Medians of a noisy series may show it as a little less.
LEAST_CHANGE: Final = 0.045
# A level has at least this many points.
_LEAST_POINTS: Final = 5
# How far the ranks of both sides must differ, in standard deviations of what chance makes of
# them. The best of all places to cut is looked at, which chance alone takes to 3 of a few hundred.
_LEAST_Z: Final = 3.6
# A change that is less than the noise of single points is none, however many points there are.
_LEAST_SIGMAS: Final = 1.0
# Few points on one side: then they must all stand out.
_FEW: Final = 12
_FEW_SIGMAS: Final = 3.0
_DEEPEST: Final = 5


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


def estimate_noise(values: F64) -> float:
    """The standard deviation of the bulk of ``values``, by the median distance from the median."""
    return float(1.4826 * np.median(np.abs(values - np.median(values)))) if len(values) else 0.0


def find_levels(values: F64) -> list[Level]:
    """The levels of a series of positive numbers, in order; one where nothing changed."""
    cuts = [0, *sorted(_find_cuts(values, 0, len(values), _DEEPEST)), len(values)]
    levels = [_make_level(values, start, stop) for start, stop in pairwise(cuts) if stop > start]
    # A cut is taken back where its sides are not apart; the two that are most alike go first.
    while len(levels) > 1:
        apart = [_measure_distance(one, other) for one, other in pairwise(levels)]
        at = int(np.argmin(apart))
        if apart[at] >= 1:
            break
        levels[at : at + 2] = [_make_level(values, levels[at].start, levels[at + 1].stop)]
    for at in range(1, len(levels)):
        level, other = levels[at - 1], levels[at]
        cut = _sharpen_cut(values[level.start : other.stop], level, other)
        levels[at - 1 : at + 1] = [
            _make_level(values, level.start, cut),
            _make_level(values, cut, other.stop),
        ]
    return levels


def _make_level(values: F64, start: int, stop: int) -> Level:
    part = values[start:stop]
    return Level(start, stop, float(np.median(part)), estimate_noise(part))


def _measure_distance(level: Level, other: Level) -> float:
    """How far two levels are apart, in what is needed at the least."""
    noise = (level.noise * level.points + other.noise * other.points) / (
        level.points + other.points
    )
    sigmas = _FEW_SIGMAS if min(level.points, other.points) < _FEW else _LEAST_SIGMAS
    needed = max(LEAST_CHANGE * min(level.middle, other.middle), sigmas * noise)
    return abs(level.middle - other.middle) / needed if needed > 0 else np.inf


def _sharpen_cut(values: F64, level: Level, other: Level) -> int:
    """Where fewest points lie on the wrong side of the middle between two levels."""
    high = values > (level.middle + other.middle) / 2
    wrong_left = high if other.middle > level.middle else ~high
    before = np.concatenate([[0], np.cumsum(wrong_left)])
    behind = np.concatenate([[0], np.cumsum(~wrong_left)])
    wrong = before + (behind[-1] - behind)
    first, last = _LEAST_POINTS, len(values) - _LEAST_POINTS
    return level.start + first + int(np.argmin(wrong[first : last + 1]))


def _find_cuts(values: F64, start: int, stop: int, depth: int) -> list[int]:
    at = _find_best_cut(values[start:stop]) if depth else None
    if at is None:
        return []
    cut = start + at
    return [
        *_find_cuts(values, start, cut, depth - 1),
        cut,
        *_find_cuts(values, cut, stop, depth - 1),
    ]


def _find_best_cut(values: F64) -> int | None:
    """Where the ranks of both sides differ most; None where chance may do as much."""
    size = len(values)
    if size < 2 * _LEAST_POINTS:
        return None
    left = np.arange(1, size)
    # Ranks from 1; equal values share the middle of theirs.
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = ((2 * np.cumsum(counts) - counts + 1) / 2)[inverse]
    excess = np.cumsum(ranks)[:-1] - left * (size + 1) / 2
    spread = np.sqrt(left * (size - left) * (size + 1) / 12)
    z = np.abs(excess) / spread
    z[: _LEAST_POINTS - 1] = 0
    z[size - _LEAST_POINTS :] = 0
    cut = int(np.argmax(z)) + 1
    return cut if z[cut - 1] >= _LEAST_Z else None
