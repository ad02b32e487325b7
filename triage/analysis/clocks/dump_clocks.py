"""Clocks against each other, from what ends at one moment for several of them.

Within one group the clocks stand against the group's middle; groups overlap, so that a
clock is known against all others by way of the groups between them. The median within a
group alone is half the difference in a pair, and wrong by as much as the clocks are apart.
"""

from typing import Final

import numpy as np

from triage.domain.arrays import F64, I64

# Behind the first pass every clock takes the median of what its groups say, a few times over.
_SWEEPS: Final = 3


def compare_clocks(group: I64, clock: I64, apart: F64, count: int) -> F64:
    """For each of ``count`` clocks, how far it is ahead of the one in the middle.

    Parallel arrays, one row a group and clock: ``apart`` is how far the clock is ahead of
    that group's middle. NaN for a clock of no group. Clocks that no chain of groups joins
    stand against those that they are joined with.
    """
    out = np.full(count, np.nan)
    if not len(group):
        return out
    order = np.argsort(group, kind="stable")
    group, clock, apart = group[order], clock[order], apart[order]
    starts = np.flatnonzero(np.concatenate([[True], np.diff(group) != 0]))
    rows = [slice(a, b) for a, b in zip(starts, [*starts[1:], len(group)], strict=True)]
    groups_of: list[list[int]] = [[] for _ in range(count)]
    for number, part in enumerate(rows):
        for member in clock[part].tolist():
            groups_of[member].append(number)
    size = np.array([part.stop - part.start for part in rows])
    for joined in _join_groups(rows, clock, groups_of, np.argsort(-size, kind="stable")):
        for number in joined:
            part = rows[number]
            fresh = np.isnan(out[clock[part]])
            if not fresh.any():
                continue
            known = out[clock[part][~fresh]] - apart[part][~fresh]
            middle = float(np.median(known)) if len(known) else 0.0
            out[clock[part][fresh]] = apart[part][fresh] + middle
        members = np.unique(np.concatenate([clock[rows[number]] for number in joined]))
        out[members] -= np.median(out[members])
    for _ in range(_SWEEPS):
        said = apart + group_median(group, out[clock] - apart)
        out[clock] = group_median(clock, said)
    return out


def _join_groups(
    rows: list[slice], clock: I64, groups_of: list[list[int]], largest: I64
) -> list[list[int]]:
    """The groups that share clocks, from the largest outward, so that few steps lie between."""
    seen = np.zeros(len(rows), np.bool_)
    found = []
    for start in largest.tolist():
        if seen[start]:
            continue
        seen[start] = True
        joined = [start]
        for number in joined:  # grows on the way
            for member in clock[rows[number]].tolist():
                for other in groups_of[member]:
                    if not seen[other]:
                        seen[other] = True
                        joined.append(other)
        found.append(joined)
    return found


def group_median(key: I64, values: F64) -> F64:
    """The median of ``values`` over rows of equal ``key``, for every row; NaNs left out."""
    good = ~np.isnan(values)
    if not good.any():
        return np.full(len(key), np.nan)
    known, present = values[good], key[good]
    ordered = known[np.lexsort((known, present))]
    counts = np.bincount(present, minlength=int(key.max()) + 1)
    first = np.cumsum(counts) - counts
    last = len(ordered) - 1
    low = ordered[np.minimum(first + np.maximum(counts - 1, 0) // 2, last)]
    high = ordered[np.minimum(first + counts // 2, last)]
    high = np.where(counts % 2 == 0, high, low)
    return np.where(counts > 0, (low + high) / 2, np.nan)[key]
