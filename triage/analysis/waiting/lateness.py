"""How late ranks issue collectives, and whose doing it is.

Only creation times are precise, and clocks differ between nodes. Offsets are
estimated first: per node where a map is known (the ranks of a node share a
clock, and one slow rank does not move their median), else per rank from when
collectives end, which is at one moment for all members.

A rank's *own gap* is the time from when it could go on (the last member of its
previous collective had come, or a send/recv of its own had ended) to its next issue.
Lateness that is inherited has a short own gap. The *delay* a rank causes at a
collective is the smaller of its excess gap and of how long the others had to wait for it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from triage.analysis.clocks.dump_clocks import against_each_other, group_median
from triage.analysis.snapshots.snapshot import Snapshot
from triage.domain.rank_digest import FINISHED, MISSING, P2P

__all__ = ["Lateness", "measure", "node_clocks"]

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]

# All rows together; a few hundred operations per rank decide.
MAX_ROWS: Final = 4_000_000
MIN_UNITS: Final = 128
# The watchdog looks every 100 ms, so ends are noticed that much late: offsets
# below it cannot be told from its phase, and are taken for none.
POLL_NS: Final = 100_000_000
# A table of so many times as many numbers as there are rows costs less than sorting the rows.
SPARSE: Final = 4
# Fewer steps than this decide nothing.
MIN_STEPS: Final = 3


@dataclass(frozen=True, slots=True)
class Rows:
    """One row per finished operation: parallel arrays, in record order within a rank.

    Send/recv is there for the gap before it; who waited for whom in it is not told,
    so the gap behind it counts for nothing.
    """

    digest: I64
    group: I64
    desc: I64
    seq: I64
    created: F64
    completed: F64
    p2p: NDArray[np.bool_]
    first: NDArray[np.bool_]
    """The first row of its rank, or one after an operation that is not compared."""


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


def measure(
    snapshot: Snapshot, node_of: Callable[[int], str | None], *, told_from: float | None = None
) -> Lateness | None:
    """Lateness over the newest finished collectives; None on too little data.

    ``told_from``: from how many ns on clocks of ranks without a node are told apart.
    """
    rows = collect(snapshot)
    count = len(snapshot.digests)
    if count < 2 or len(rows.digest) < 40:
        return None
    created = rows.created - rows.created.min()
    place = places(rows)
    offsets = clock_offsets(snapshot, rows, created, node_of, told_from)
    created = created - offsets[rows.digest]
    key = members_together(rows)
    latest, second, size = last_two(key, created)
    ended = rows.completed - rows.created.min() - offsets[rows.digest]
    freed = freed_by_peers(rows, created, ended)
    excess = own_excess(rows, created, latest, freed, place)
    others = np.where(created >= latest, second, latest)
    waited = np.where((size > 1) & ~rows.p2p, created - others, 0.0)
    delay = np.clip(np.minimum(carried(rows, excess), waited), 0.0, None)
    steps = count_steps(rows)
    total = np.bincount(rows.digest, delay, count)
    matched = np.bincount(rows.digest[(size > 1) & ~rows.p2p], minlength=count)
    noticeable = delay > 0.3 * total[rows.digest] / max(steps, 1)
    held = np.bincount(rows.digest, noticeable & (delay > 0), count)
    return Lateness(
        delay_ms=total / max(steps, 1) / 1e6,
        matched=matched,
        held_share=np.minimum(held / max(steps, 1), 1.0),
        offset_ms=offsets / 1e6,
        num_steps=steps,
        step_ms=span_ms(rows, created, count) / max(steps, 1),
        since_ns=first_of_digest(rows, noticeable & (delay > 0), count),
        from_ns=first_of_digest(rows, np.ones(len(delay), np.bool_), count),
    )


def span_ms(rows: Rows, created: F64, count: int) -> float:
    """How long a stretch the rows of a rank span, in the middle of the ranks."""
    first, last = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(first, rows.digest, created)
    np.maximum.at(last, rows.digest, created)
    return float(np.median((last - first)[np.isfinite(first)])) / 1e6


def first_of_digest(rows: Rows, wanted: NDArray[np.bool_], count: int) -> I64:
    """When the first wanted row of each digest was issued, by its own clock; -1 for none."""
    found = np.full(count, -1, np.int64)
    digest = rows.digest[wanted][::-1]
    found[digest] = rows.created[wanted][::-1].astype(np.int64)
    return found


def node_clocks(snapshot: Snapshot, node_of: Callable[[int], str | None]) -> dict[str, int]:
    """Node -> ns that its clock is ahead of the others'; only those that are told apart."""
    if len({node for rank in snapshot.ranks if (node := node_of(int(rank))) is not None}) < 2:
        return {}
    rows = collect(snapshot)
    if len(rows.digest) < 40:
        return {}
    created = rows.created - rows.created.min()
    offsets = clock_offsets(snapshot, rows, created, node_of)
    found: dict[str, list[float]] = {}
    for rank, offset in zip(snapshot.ranks, offsets.tolist(), strict=True):
        node = node_of(int(rank))
        if node is not None:
            found.setdefault(node, []).append(offset)
    middle = {node: int(np.median(values)) for node, values in found.items()}
    return {node: ns for node, ns in sorted(middle.items()) if ns}


def places(rows: Rows) -> I64:
    """Where in the program a row stands, over all ranks: kind of group and number; for
    send/recv, whose numbers are local, the operation before it.
    """
    place = compact(rows.desc, rows.seq)
    at = np.flatnonzero(rows.p2p & ~rows.first)
    fresh = int(place.max()) + 1
    place[rows.p2p] = fresh
    place[at] = fresh + 1 + place[at - 1]
    return place


def members_together(rows: Rows) -> I64:
    """The same number for all members of one collective; send/recv rows stand alone."""
    key = compact(rows.group, rows.seq)
    alone = np.flatnonzero(rows.p2p)
    key[alone] = int(key.max()) + 1 + np.arange(len(alone))
    return key


def freed_by_peers(rows: Rows, created: F64, ended: F64) -> F64:
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


def own_excess(rows: Rows, created: F64, latest: F64, freed: F64, place: I64) -> F64:
    """How much longer than usual at its place a rank took by itself before each row, ns."""
    gap = np.full(len(created), np.nan)
    behind = ~rows.first
    behind[1:] &= ~rows.p2p[:-1]
    at = np.flatnonzero(behind)
    ready, before = np.maximum(latest[at - 1], freed[at]), created[at - 1]
    # Who issues before the others have come runs ahead: it waited for nobody.
    gap[at] = created[at] - np.where(created[at] >= ready, ready, before)
    return np.nan_to_num(gap - group_median(place, gap), nan=0.0)


def carried(rows: Rows, excess: F64) -> F64:
    """The excess at each collective, with what gathered at the send/recv right before it."""
    own = np.clip(excess, 0.0, None)
    total = np.cumsum(own)
    # The last row of this rank, before this one, that was compared.
    marks = np.where(~rows.p2p, np.arange(len(own)), -1)
    before = np.concatenate([[-1], np.maximum.accumulate(marks)[:-1]])
    first_of_rank = np.searchsorted(rows.digest, rows.digest)
    start = np.maximum(before, first_of_rank - 1)
    return total - np.where(start >= 0, total[start], 0.0)


def collect(snapshot: Snapshot) -> Rows:
    """The newest finished collectives of every rank as flat arrays."""
    keep = int(np.clip(MAX_ROWS // max(len(snapshot.digests), 1), MIN_UNITS, 1024))
    descs: dict[str, int] = {}
    desc_of = np.array(
        [descs.setdefault(group.desc, len(descs)) for group in snapshot.groups] + [-1], np.int64
    )
    parts: list[tuple[NDArray[Any], ...]] = []
    for index, digest in enumerate(snapshot.digests):
        if int(snapshot.ranks[index]) in snapshot.apart or not len(digest.unit_seq):
            continue
        table = np.array([*snapshot.membership.stream_groups[index], -1], np.int64)
        group = table[digest.unit_stream[-keep:]]
        flags = digest.unit_flags[-keep:]
        created = digest.unit_created[-keep:]
        good = (group >= 0) & ((flags & FINISHED) != 0) & (created != MISSING)
        first = np.ones(len(good), np.bool_)
        first[1:] = ~good[:-1]
        wait = digest.unit_wait_us[-keep:].astype(np.float64) * 1e3
        completed = np.where(wait >= 0, created + wait, np.nan)
        parts.append(
            (
                np.full(int(good.sum()), index, np.int64),
                group[good],
                digest.unit_seq[-keep:][good].astype(np.int64),
                created[good].astype(np.float64),
                completed[good],
                (flags[good] & P2P) != 0,
                first[good],
            )
        )
    if not parts:
        none = np.empty(0, np.int64)
        return Rows(none, none, none, none, np.empty(0), np.empty(0), none > 0, none > 0)
    index_, group_, seq_, created_, completed_, p2p_, first_ = (
        np.concatenate([part[k] for part in parts]) for k in range(7)
    )
    return Rows(index_, group_, desc_of[group_], seq_, created_, completed_, p2p_, first_)


def compact(major: I64, minor: I64) -> I64:
    """Pairs as dense numbers, in the order of the pairs; ``major`` counts from 0."""
    count = int(major.max()) + 1
    low, high = np.full(count, minor.max()), np.full(count, minor.min())
    np.minimum.at(low, major, minor)
    np.maximum.at(high, major, minor)
    # As floats: what a dump says may be as far apart as integers can be.
    apart = np.maximum(high.astype(np.float64) - low.astype(np.float64) + 1, 0)
    if apart.sum() > SPARSE * len(minor):
        order = np.lexsort((minor, major))
        fresh = (np.diff(major[order]) != 0) | (np.diff(minor[order]) != 0)
        dense = np.zeros(len(minor), np.int64)
        dense[order[1:]] = np.cumsum(fresh)
        return dense
    # Nearly every number between the lowest and the highest is there: counting beats sorting.
    width = apart.astype(np.int64)
    pair = (np.cumsum(width) - width - low)[major] + minor
    there = np.zeros(int(width.sum()), np.bool_)
    there[pair] = True
    number: I64 = (np.cumsum(there) - 1)[pair]
    return number


def last_two(key: I64, created: F64) -> tuple[F64, F64, I64]:
    """For every row: the latest and second latest member of its collective, and how many."""
    order = np.lexsort((created, key))
    counts = np.bincount(key)
    ends = np.cumsum(counts) - 1
    latest = created[order[ends]]
    second = np.where(counts > 1, created[order[np.maximum(ends - 1, 0)]], latest)
    return latest[key], second[key], counts[key]


def clock_offsets(
    snapshot: Snapshot,
    rows: Rows,
    created: F64,
    node_of: Callable[[int], str | None],
    told_from: float | None = None,
) -> F64:
    """Per digest, ns that its clock is ahead of the others'.

    A collective ends at one moment for all members, so when its end was noticed
    tells clocks apart, to within the watchdog's phase. Where no ends are
    recorded (gloo), issue times have to do.
    """
    count = len(snapshot.digests)
    nodes = [node_of(int(rank)) for rank in snapshot.ranks]
    distinct = sorted({node for node in nodes if node is not None})
    ended = rows.completed - rows.created.min()
    recorded = not bool(np.isnan(ended).all())
    seen = ended if recorded else created
    key = members_together(rows)
    seen = np.where(rows.p2p, np.nan, seen)
    if len(distinct) < 2 or None in nodes or len(distinct) * 2 > count:
        apart = np.nan_to_num(by_groups(rows, rows.digest, seen - group_median(key, seen), count))
        if told_from is None:
            told_from = float(POLL_NS * (1 if recorded else 10))
        return np.where(np.abs(apart) > told_from, of_shared_clocks(apart, told_from), 0.0)
    number = {node: k for k, node in enumerate(distinct)}
    where = np.array([number[str(node)] for node in nodes])
    seen = np.where(between_nodes(rows, where), seen, np.nan)
    apart = by_groups(rows, where[rows.digest], seen - group_median(key, seen), len(distinct))
    offsets = np.nan_to_num(apart)[where]
    return np.where(np.abs(offsets) > POLL_NS / (4 if recorded else 1), offsets, 0.0)


def of_shared_clocks(apart: F64, told_from: float) -> F64:
    """Ranks whose clocks cannot be told apart, and stand off from all others, share one: that
    of their node. It is their median, or the noise of each would pass for lateness.
    """
    order = np.argsort(apart, kind="stable")
    breaks = np.flatnonzero(np.diff(apart[order]) > told_from) + 1
    shared = apart.copy()
    for members in np.split(order, breaks):
        if np.ptp(apart[members]) <= 2 * told_from:
            shared[members] = np.median(apart[members])
    return shared


def between_nodes(rows: Rows, where: I64) -> NDArray[np.bool_]:
    """Rows of groups with members on more than one node."""
    node = where[rows.digest]
    groups = int(rows.group.max()) + 1
    low = np.full(groups, len(where) + 1)
    high = np.full(groups, -1)
    np.minimum.at(low, rows.group, node)
    np.maximum.at(high, rows.group, node)
    return (high > low)[rows.group]


def by_groups(rows: Rows, clock: I64, apart: F64, count: int) -> F64:
    """Per clock, how far it is ahead; ``apart`` is each row against its collective's middle."""
    key = compact(rows.group, clock)
    told = np.flatnonzero(~np.isnan(apart))
    # Of those that are written into one place the last one stays.
    first = np.full(int(key.max()) + 1, -1)
    first[key[told][::-1]] = told[::-1]
    first = first[first >= 0]
    middle = group_median(key, apart)[first]
    return against_each_other(rows.group[first], clock[first], middle, count)


def count_steps(rows: Rows) -> int:
    """Steps that a rank's record spans: operations of its rarest kind of group that recurs."""
    kinds = int(rows.desc.max()) + 1
    collective = ~rows.p2p
    counts = np.bincount(rows.digest[collective] * kinds + rows.desc[collective])
    table = np.zeros((int(rows.digest.max()) + 1) * kinds, np.int64)
    table[: len(counts)] = counts
    fewest = np.where(table.reshape(-1, kinds) >= MIN_STEPS, table.reshape(-1, kinds), 1 << 40)
    lowest = fewest.min(axis=1)
    lowest = lowest[lowest < 1 << 40]
    return int(np.median(lowest)) if len(lowest) else 0
