"""How late ranks issue collectives, and whose doing it is.

Only creation times are precise, and clocks differ between nodes. Offsets are estimated first: per
node where a map is known (the ranks of a node share a clock, and one slow rank does not move their
median), else per rank from when collectives end, which is at one moment for all members.

A rank's *own gap* is the time from when it could go on (the last member of its
previous collective had come, or a send/recv of its own had ended) to its next issue.
Lateness that is inherited has a short own gap. The *delay* a rank causes at a
collective is the smaller of its excess gap and of how long the others had to wait for it.
"""

from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from triage.analysis.clocks.rank_clocks import POLL_NS, group_median, measure_clock_offsets
from triage.analysis.snapshots.finished import (
    FinishedOperations,
    collect_finished_operations,
    number_collectives,
    number_pairs,
)
from triage.analysis.snapshots.snapshot import Snapshot
from triage.domain.arrays import F64, I64, Flags

# Fewer steps than this decide nothing.
_MIN_STEPS: Final = 3
# A rank holds up the steps in which it causes this share of what it causes in a step on average:
# one long pause is in one of them.
_NOTICED: Final = 0.3
_NEVER: Final = 1 << 40


@dataclass(frozen=True, slots=True)
class Lateness:
    """Per digest: delay caused in ms per step, matched operations, share of steps that
    it held up, and the clock offset that was taken off, ms. ``since_ns`` is when it first held
    up a step in the record, -1 for never; ``from_ns`` when what was compared of it begins.
    ``step_ms`` is how long a step takes.
    """

    delay_ms: F64
    matched: I64
    held_share: F64
    offset_ms: F64
    num_steps: int
    step_ms: float
    since_ns: I64
    from_ns: I64


# Several ask for that of one snapshot: two detectors, and what is told of each rank.
_MEASURED: WeakKeyDictionary[Snapshot, Lateness | None] = WeakKeyDictionary()


def measure(snapshot: Snapshot) -> Lateness | None:
    """Lateness over the newest finished collectives; None on too little data."""
    if snapshot not in _MEASURED:
        _MEASURED[snapshot] = measure_anew(snapshot, None)
    return _MEASURED[snapshot]


def measure_anew(snapshot: Snapshot, told_from: float | None) -> Lateness | None:
    """As :func:`measure`, computed anew.

    ``told_from``: from how many ns on clocks of ranks without a node are told apart.
    """
    rows = collect_finished_operations(snapshot)
    count = len(snapshot.digests)
    if count < 2 or len(rows.digest) < 40:
        return None
    created = rows.created - rows.created.min()
    # Where in the program a row stands, over all ranks: kind of group and number; for send/recv,
    # whose numbers are local, the operation before it.
    place = number_pairs(rows.desc, rows.seq)
    behind = np.flatnonzero(rows.p2p & ~rows.first)
    fresh = int(place.max()) + 1
    place[rows.p2p] = fresh
    place[behind] = fresh + 1 + place[behind - 1]
    offsets = measure_clock_offsets(snapshot, rows, created, snapshot.node_of, told_from)
    created = created - offsets[rows.digest]
    key = number_collectives(rows)
    latest, second, size = _last_two(key, created)
    # How long a stretch the rows of a rank span, in the middle of the ranks.
    begin, end = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(begin, rows.digest, created)
    np.maximum.at(end, rows.digest, created)
    span_ms = float(np.median((end - begin)[np.isfinite(begin)])) / 1e6
    ended = rows.completed - rows.created.min() - offsets[rows.digest]
    freed = find_release_times(rows, created, ended)
    excess = _own_excess(rows, created, latest, freed, place)
    others = np.where(created >= latest, second, latest)
    waited = np.where((size > 1) & ~rows.p2p, created - others, 0.0)
    delay = np.clip(np.minimum(_carry_excess(rows, excess), waited), 0.0, None)
    paces = _count_paces(rows)
    steps = _count_steps(paces)
    total = np.bincount(rows.digest, delay, count)
    matched = np.bincount(rows.digest[(size > 1) & ~rows.p2p], minlength=count)
    step = _number_steps(rows, paces)
    in_step = np.bincount(step, delay)
    held_up = (delay > 0) & (in_step[step] > _NOTICED * total[rows.digest] / max(steps, 1))
    held = _count_held_steps(rows, step, held_up, count)
    return Lateness(
        delay_ms=total / max(steps, 1) / 1e6,
        matched=matched,
        held_share=np.minimum(held / max(steps, 1), 1.0),
        offset_ms=offsets / 1e6,
        num_steps=steps,
        step_ms=span_ms / max(steps, 1),
        since_ns=_find_first_of_digest(rows, held_up, count),
        from_ns=_find_first_of_digest(rows, held_up | True, count),
    )


def _find_first_of_digest(rows: FinishedOperations, wanted: Flags, count: int) -> I64:
    """When the first wanted row of each digest was issued, by its own clock; -1 for none."""
    found = np.full(count, -1, np.int64)
    digest = rows.digest[wanted][::-1]
    found[digest] = rows.created[wanted][::-1].astype(np.int64)
    return found


def find_release_times(rows: FinishedOperations, created: F64, ended: F64) -> F64:
    """For every row, until when a send/recv of its rank held it up at least; -inf for never.

    A host runs ahead of its GPU as far as the queue goes, and a send/recv that waits for
    another stage fills it: what is issued right when it ends was held up by that stage.
    """
    freed = np.full(len(created), -np.inf)
    told = np.flatnonzero(rows.p2p & ~np.isnan(ended))
    if not len(told):
        return freed
    bounds = np.searchsorted(rows.digest, np.arange(int(rows.digest[-1]) + 2))
    for digest in np.unique(rows.digest[told]):
        own = slice(bounds[digest], bounds[digest + 1])
        peers = rows.p2p[own] & ~np.isnan(ended[own])
        # An end is noticed up to one look of the watchdog late.
        ends = np.sort(np.maximum(ended[own] - POLL_NS, created[own])[peers])
        last = np.searchsorted(ends, created[own], side="left") - 1
        freed[own] = np.where(last >= 0, ends[last], -np.inf)
    return freed


def _own_excess(rows: FinishedOperations, created: F64, latest: F64, freed: F64, place: I64) -> F64:
    """How much longer than usual at its place a rank took by itself before each row, ns."""
    gap = np.full(len(created), np.nan)
    behind = ~rows.first
    behind[1:] &= ~rows.p2p[:-1]
    at = np.flatnonzero(behind)
    ready, before = np.maximum(latest[at - 1], freed[at]), created[at - 1]
    # Who issues before the others have come runs ahead: it waited for nobody.
    gap[at] = created[at] - np.where(created[at] >= ready, ready, before)
    return np.nan_to_num(gap - group_median(place, gap), nan=0.0)


def _carry_excess(rows: FinishedOperations, excess: F64) -> F64:
    """The excess at each collective, with what gathered at the send/recv right before it."""
    own = np.clip(excess, 0.0, None)
    total = np.cumsum(own)
    # The last row of this rank, before this one, that was compared.
    marks = np.where(~rows.p2p, np.arange(len(own)), -1)
    before = np.concatenate([[-1], np.maximum.accumulate(marks)[:-1]])
    first_of_rank = np.searchsorted(rows.digest, rows.digest)
    start = np.maximum(before, first_of_rank - 1)
    return total - np.where(start >= 0, total[start], 0.0)


def _last_two(key: I64, created: F64) -> tuple[F64, F64, I64]:
    """For every row: the latest and second latest member of its collective, and how many."""
    order = np.lexsort((created, key))
    counts = np.bincount(key)
    ends = np.cumsum(counts) - 1
    latest = created[order[ends]]
    second = np.where(counts > 1, created[order[np.maximum(ends - 1, 0)]], latest)
    return latest[key], second[key], counts[key]


def _count_paces(rows: FinishedOperations) -> I64:
    """How often each digest ran each kind of group, shape ``(digests, kinds)``; a kind that does
    not recur counts as never.
    """
    kinds = int(rows.desc.max()) + 1
    collective = ~rows.p2p
    counts = np.bincount(
        rows.digest[collective] * kinds + rows.desc[collective],
        minlength=(int(rows.digest.max()) + 1) * kinds,
    )
    return np.where(counts >= _MIN_STEPS, counts, 0).reshape(-1, kinds)


def _count_steps(paces: I64) -> int:
    """Steps that a rank's record spans: operations of its rarest kind of group that recurs."""
    lowest = np.where(paces > 0, paces, _NEVER).min(axis=1)
    lowest = lowest[lowest < _NEVER]
    return int(np.median(lowest)) if len(lowest) else 0


def _number_steps(rows: FinishedOperations, paces: I64) -> I64:
    """A number for each step of each digest: which rows share one."""
    rarest = np.where(paces > 0, paces, _NEVER).argmin(axis=1)
    begins = ~rows.p2p & (rows.desc == rarest[rows.digest])
    begins |= np.diff(rows.digest, prepend=-1) != 0
    return np.cumsum(begins) - 1


def _count_held_steps(rows: FinishedOperations, step: I64, held_up: Flags, count: int) -> I64:
    """In how many steps of each digest a row is held up: one pause holds up several operations."""
    _, at = np.unique(step[held_up], return_index=True)
    return np.bincount(rows.digest[held_up][at], minlength=count)
