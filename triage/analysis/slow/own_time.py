"""How long each rank computes by itself, from how long its kernels ran: dumps with timing on.

A collective ends at one moment for all members, and a member's kernel runs from when it entered
to that moment: the last to enter has the shortest kernel. Between two operations of one group all
its members have the same time to spend; what of it no kernel takes is a rank's *own time*. Clocks
do not matter, nor when a watchdog noticed an end.

Own time holds two things. In the *step* it is the device that computes: the host runs ahead. At the
*start* of a step, behind the rarest operation that recurs (the loss, for which hosts wait), it is
the host that prepares the step.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.analysis.clocks.rank_clocks import group_median
from triage.analysis.snapshots.finished import FinishedOperations, number_pairs
from triage.domain.arrays import F64, I64, Flags

_LEAST_MEMBERS: Final = 2
# Fewer steps than this decide nothing.
_LEAST_STEPS: Final = 3
# Fewer operations of a rank than this decide nothing.
LEAST_COMPARED: Final = 20
# Ranks that are asked what ends a step, and the share of steps that are of equal length.
_MOST_LOOKED: Final = 32
_REGULAR: Final = 0.7
# Durations of so many of a rank's operations must be told.
_LEAST_TOLD: Final = 0.9


@dataclass(frozen=True, slots=True)
class OwnTime:
    """Per digest, ns a step; NaN where nothing tells it.

    ``own`` is a rank's own time, ``start`` and ``within`` how much more of it there is than its
    nearest peers have: before the first operation of a step, and within it. ``wide`` is how much
    more it has than all ranks of its stage. ``steady`` is the share of steps in which ``within``
    is positive, ``start_steady`` that of ``start``. ``stage`` numbers the stages; ``step_ns`` is
    how long a step takes, and ``ends`` are the rows that end one.
    """

    own: F64
    start: F64
    within: F64
    wide: F64
    steady: F64
    start_steady: F64
    compared: I64
    stage: I64
    step_ns: float
    num_steps: int
    ends: Flags


def measure_own_time(rows: FinishedOperations, count: int) -> OwnTime | None:
    """Own times of ``count`` digests; None without timing, or on too little data."""
    if not len(rows.digest) or np.isnan(rows.lasted).mean() > 1 - _LEAST_TOLD:
        return None
    boundary = step_ends(rows)
    if boundary is None:
        return None
    spent = np.cumsum(np.nan_to_num(rows.lasted, nan=0.0))
    stretch = np.cumsum(
        rows.first, dtype=np.int64
    )  # operations that are not compared lie between two of these
    steps = _find_stretches(rows, boundary, spent, stretch)
    if len(steps.digest) < 2:
        return None
    # By the ranks' own clocks.
    at = np.flatnonzero(boundary)
    same = (np.diff(rows.digest[at]) == 0) & (np.diff(stretch[at]) == 0)
    gaps = np.diff(rows.created[at])[same]
    step_ns = float(np.median(gaps)) if len(gaps) else 0.0
    num_steps = int(np.median(np.bincount(steps.digest, minlength=count)))
    if num_steps < _LEAST_STEPS or step_ns <= 0:
        return None
    stage = _assign_stages(rows, count)
    own = _average_per_digest(steps.digest, step_ns - steps.spent, count)
    key = number_pairs(number_pairs(steps.group, steps.seq), stage[steps.digest])
    wide = _average_per_digest(steps.digest, group_median(key, steps.spent) - steps.spent, count)
    near = _find_stretches(rows, _select_nearest(rows, count), spent, stretch)
    passed = np.cumsum(boundary, dtype=np.int64)
    starts: Flags = (
        passed[near.last] - boundary[near.last] > passed[near.first] - boundary[near.first]
    )
    ahead = _compare_with_peers(near)
    start, start_steady, _ = _sum_steps(near, ahead, starts, passed, count)
    within, steady, compared = _sum_steps(near, ahead, ~starts, passed, count)
    return OwnTime(
        own, start, within, wide, steady, start_steady, compared, stage, step_ns, num_steps,
        boundary,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Stretches:
    """From one operation of a group to its next, by rank: rows ``first`` and ``last``.

    ``spent`` is how long kernels ran behind the first, up to the end of the last.
    """

    digest: I64
    group: I64
    seq: I64
    first: I64
    last: I64
    spent: F64


def _find_stretches(
    rows: FinishedOperations, wanted: Flags, spent: F64, stretch: I64
) -> _Stretches:
    """The stretches from each wanted row of a rank to its next, where both are of one group."""
    at = np.flatnonzero(wanted)
    one, other = at[:-1], at[1:]
    good = (
        (rows.digest[one] == rows.digest[other])
        & (rows.group[one] == rows.group[other])
        & (stretch[one] == stretch[other])
    )
    one, other = one[good], other[good]
    return _Stretches(
        rows.digest[other], rows.group[other], rows.seq[other], one, other,
        spent[other] - spent[one],
    )  # fmt: skip


def step_ends(rows: FinishedOperations) -> Flags | None:
    """The operation that ends each step: which recurs most seldom, at equal distances.

    It is told by some of the ranks, and all must have it. Of several that are as seldom the one
    behind which hosts pause longest is the last of a step.
    """
    digests = np.unique(rows.digest)
    looked = digests[:: max(len(digests) // _MOST_LOOKED, 1)][:_MOST_LOOKED]
    found: dict[tuple[int, int], list[tuple[float, ...]]] = {}
    bounds = np.searchsorted(rows.digest, [looked, looked + 1]).T
    for begin, end in bounds.tolist():
        own = slice(begin, end)
        collective = np.flatnonzero(~rows.p2p[own]) + begin
        kinds, which = np.unique(rows.sig[collective], return_inverse=True)
        pause = np.diff(rows.created[own], append=np.nan)
        for kind in range(len(kinds)):
            at = collective[which == kind]
            if len(at) < _LEAST_STEPS:
                continue
            # How many operations lie between two of these, nearly always the same.
            gaps = np.diff(at)
            period = float(np.median(gaps))
            is_regular = (np.abs(gaps - period) <= 0.02 * period).mean() >= _REGULAR
            if is_regular and period > 1:
                key = int(rows.desc[at[0]]), int(kinds[kind])
                behind = float(np.nan_to_num(np.nanmedian(pause[at[:-1] - begin])))
                found.setdefault(key, []).append((period, behind, float(len(at))))
    usual = {
        key: tuple(np.median(values, axis=0).tolist())
        for key, values in found.items()
        if len(values) * 2 > len(looked)
    }
    if not usual:
        return None
    longest = max(values[0] for values in usual.values())
    seldom = [key for key in usual if usual[key][0] > 0.98 * longest]
    desc, sig = max(seldom, key=lambda key: (usual[key][1], key))
    if usual[desc, sig][2] <= _LEAST_STEPS:  # the record is too short, whatever recurs more often
        return None
    ends: Flags = (rows.desc == desc) & (rows.sig == sig) & ~rows.p2p
    return ends


def _select_nearest(rows: FinishedOperations, count: int) -> Flags:
    """The rows of the group in which each rank meets its peers most often."""
    groups = int(rows.group.max()) + 1
    collective = np.flatnonzero(~rows.p2p)
    pair = rows.digest[collective] * groups + rows.group[collective]
    pairs, often = np.unique(pair, return_counts=True)
    digest, group = pairs // groups, pairs % groups
    size = np.bincount(group, minlength=groups)[group]
    size = np.where((size < _LEAST_MEMBERS) | (often < LEAST_COMPARED), 1 << 40, size)
    # Where most operations are, there is least between two; of two such groups the smaller.
    order = np.lexsort((size, -np.where(size < 1 << 40, often, 0), digest))
    leading = order[np.r_[True, np.diff(digest[order]) != 0]]
    chosen = np.full(count, -1, np.int64)
    usable = size[leading] < 1 << 40
    chosen[digest[leading][usable]] = group[leading][usable]
    found: Flags = (rows.group == chosen[rows.digest]) & ~rows.p2p
    return found


def _compare_with_peers(near: _Stretches) -> F64:
    """How much longer each rank took by itself than the middle of its group; NaN when alone."""
    if not len(near.digest):
        return np.empty(0)
    key = number_pairs(near.group, near.seq)
    members = np.bincount(key)[key]
    ahead = np.where(members > 1, group_median(key, near.spent) - near.spent, np.nan)
    # The middle of a pair lies half way: who is behind by 2 ms stands 1 ms behind it. That the
    # other one is not ahead instead is seen by the whole stage.
    found: F64 = np.where(members == 2, 2 * ahead, ahead)
    return found


def _sum_steps(
    near: _Stretches, ahead: F64, chosen: Flags, passed: I64, count: int
) -> tuple[F64, F64, I64]:
    """Per digest: the sum of a step in the middle, the share of steps that are positive, and how
    many stretches were compared. Steps that the record begins or ends in are left out.
    """
    good = chosen & ~np.isnan(ahead)
    digest, step = near.digest[good], passed[near.first[good]]
    middle, steady = np.full(count, np.nan), np.zeros(count)
    compared = np.bincount(digest, minlength=count)
    if not len(digest):
        return middle, steady, compared
    key = number_pairs(digest, step)
    sums = np.bincount(key, ahead[good]).astype(np.float64)
    number = np.bincount(key)
    owner = np.zeros(len(sums), np.int64)
    owner[key] = digest
    usual = group_median(owner, number.astype(np.float64))
    whole = number >= 0.9 * usual
    middle = _average_per_digest(owner[whole], sums[whole], count)
    steps = np.bincount(owner[whole], minlength=count)
    steady = np.bincount(owner[whole], sums[whole] > 0, count) / np.maximum(steps, 1)
    return middle, steady, compared


def _average_per_digest(digest: I64, values: F64, count: int) -> F64:
    """The mean of the middle half of each digest's values; NaN where it has none.

    As sure against single steps as a median, and a fifth less noisy.
    """
    order = np.lexsort((values, digest))
    digest, values = digest[order], values[order]
    size = np.bincount(digest, minlength=count)
    place = np.arange(len(digest)) - (np.cumsum(size) - size)[digest]
    cut = size[digest] // 4
    inner = (place >= cut) & (place < size[digest] - cut)
    total = np.bincount(digest[inner], values[inner], count)
    number = np.bincount(digest[inner], minlength=count)
    found: F64 = np.where(number > 0, total / np.maximum(number, 1), np.nan)
    return found


def _assign_stages(rows: FinishedOperations, count: int) -> I64:
    """The pipeline stage of each digest: ranks joined by collectives of less than all ranks.

    A group with send/recv joins stages, and so does one of all ranks: neither counts.
    """
    groups = int(rows.group.max()) + 1
    pairs = np.unique(rows.group * count + rows.digest)
    group, digest = pairs // count, pairs % count
    piped = np.zeros(groups, np.bool_)
    piped[rows.group[rows.p2p]] = True
    size = np.bincount(group, minlength=groups)
    kept = ~piped[group] & (size[group] * 2 <= count) if piped.any() else size[group] > 0
    label = np.arange(count)
    group, digest = group[kept], digest[kept]
    while True:
        lowest = np.full(groups, count)
        np.minimum.at(lowest, group, label[digest])
        fresh = label.copy()
        np.minimum.at(fresh, digest, lowest[group])
        if (fresh == label).all():
            break
        label = fresh
    stage: I64 = np.unique(label, return_inverse=True)[1].astype(np.int64)
    return stage
