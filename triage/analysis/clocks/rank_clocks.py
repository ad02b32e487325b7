"""How far the clocks of nodes and ranks are apart, from when collectives end.

Per node where a map is known: the ranks of a node share a clock, and one slow rank does not move
their median. Else per rank.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np

from triage.analysis.snapshots.finished import (
    FinishedOperations,
    collect_finished_operations,
    number_collectives,
    number_pairs,
)
from triage.analysis.snapshots.snapshot import Snapshot
from triage.domain.arrays import F64, I64, Flags
from triage.domain.evidence import Evidence, Kind

# The watchdog looks every 100 ms, so ends are noticed that much late: offsets
# below it cannot be told from its phase, and are taken for none.
POLL_NS: Final = 100_000_000


def measure_node_clocks(snapshot: Snapshot, node_of: Callable[[int], str | None]) -> dict[str, int]:
    """Node -> ns that its clock is ahead of the others'; only those that are told apart."""
    if len({node for rank in snapshot.ranks if (node := node_of(int(rank))) is not None}) < 2:
        return {}
    rows = collect_finished_operations(snapshot)
    if len(rows.digest) < 40:
        return {}
    created = rows.created - rows.created.min()
    offsets = measure_clock_offsets(snapshot, rows, created, node_of)
    found: dict[str, list[float]] = {}
    for rank, offset in zip(snapshot.ranks, offsets.tolist(), strict=True):
        node = node_of(int(rank))
        if node is not None:
            found.setdefault(node, []).append(offset)
    middle = {node: int(np.median(values)) for node, values in found.items()}
    return {node: ns for node, ns in sorted(middle.items()) if ns}


def measure_clock_offsets(
    snapshot: Snapshot,
    rows: FinishedOperations,
    created: F64,
    node_of: Callable[[int], str | None],
    told_from: float | None = None,
) -> F64:
    """Per digest, ns that its clock is ahead of the others'.

    A collective ends at one moment for all members, so when its end was noticed tells clocks apart,
    to within the watchdog's phase. Where no ends are recorded (gloo), issue times have to do.
    """
    count = len(snapshot.digests)
    nodes = [node_of(int(rank)) for rank in snapshot.ranks]
    distinct = sorted({node for node in nodes if node is not None})
    ended = rows.completed - rows.created.min()
    recorded = not bool(np.isnan(ended).all())
    seen = ended if recorded else created
    key = number_collectives(rows)
    seen = np.where(rows.p2p, np.nan, seen)
    if len(distinct) < 2 or None in nodes or len(distinct) * 2 > count:
        apart = np.nan_to_num(
            _measure_by_groups(rows, rows.digest, seen - group_median(key, seen), count)
        )
        if told_from is None:
            told_from = float(POLL_NS * (1 if recorded else 10))
        return np.where(np.abs(apart) > told_from, share_clocks(apart, told_from), 0.0)
    number = {node: k for k, node in enumerate(distinct)}
    where = np.array([number[str(node)] for node in nodes])
    seen = np.where(_flag_rows_between_nodes(rows, where), seen, np.nan)
    apart = _measure_by_groups(
        rows, where[rows.digest], seen - group_median(key, seen), len(distinct)
    )
    offsets = np.nan_to_num(apart)[where]
    return np.where(np.abs(offsets) > POLL_NS / (4 if recorded else 1), offsets, 0.0)


def share_clocks(apart: F64, told_from: float) -> F64:
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


def _flag_rows_between_nodes(rows: FinishedOperations, where: I64) -> Flags:
    """Rows of groups with members on more than one node."""
    node = where[rows.digest]
    groups = int(rows.group.max()) + 1
    low = np.full(groups, len(where) + 1)
    high = np.full(groups, -1)
    np.minimum.at(low, rows.group, node)
    np.maximum.at(high, rows.group, node)
    return (high > low)[rows.group]


def _measure_by_groups(rows: FinishedOperations, clock: I64, apart: F64, count: int) -> F64:
    """Per clock, how far it is ahead; ``apart`` is each row against its collective's middle."""
    key = number_pairs(rows.group, clock)
    told = np.flatnonzero(~np.isnan(apart))
    # Of those that are written into one place the last one stays.
    first = np.full(int(key.max()) + 1, -1)
    first[key[told][::-1]] = told[::-1]
    first = first[first >= 0]
    middle = group_median(key, apart)[first]
    return compare_clocks(rows.group[first], clock[first], middle, count)


# Within one group the clocks stand against the group's middle; groups overlap, so that a clock is
# known against all others by way of the groups between them. The median within a group alone is
# half the difference in a pair, and wrong by as much as the clocks are apart.

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


# Watchdogs of one collective start together: the time a node prints minus how long the collective
# ran is its start, the same on all clocks. Offsets below what the prints resolve are left alone.

_SECOND: Final = 1_000_000_000
# Nearer than this is not told apart from when the line was printed.
_LEAST: Final = 2 * _SECOND

_MAX_NOTES: Final = 6
# Half of the nodes must agree on what the time is.
_MIN_NODES: Final = 3


def align(
    evidence: Iterable[Evidence], dump_offsets_ns: Mapping[str, int]
) -> tuple[list[Evidence], dict[str, int], list[str]]:
    """Rows with the offset of their node's clock taken off, the offsets, and notes of them."""
    rows = list(evidence)
    offsets = {node: ns for node, ns in dump_offsets_ns.items() if abs(ns) >= _LEAST}
    for node, ns in _measure_printed_offsets(rows).items():
        offsets.setdefault(node, ns)
    if not offsets:
        return rows, {}, []
    measured = {**offsets, **dump_offsets_ns}
    # How far a clock that nothing shows may be off, by those that are known.
    usual = int(np.median(list(map(abs, measured.values())))) if len(measured) >= _MIN_NODES else 0
    unknown = 2 * usual if usual >= _LEAST else 0
    by_one = _find_stamped_by_one_clock(rows, offsets)
    moved = []
    for row in rows:
        ahead_ns = offsets.get(row.node or "", 0)
        if row.node is not None and (row.node not in measured or row.artifact in by_one):
            row = replace(row, error_ns=max(row.error_ns, unknown))
        elif ahead_ns and row.at_ns is not None:
            last = None if row.last_at_ns is None else row.last_at_ns - ahead_ns
            row = replace(row, at_ns=row.at_ns - ahead_ns, last_at_ns=last)
        moved.append(row)
    told = sorted(offsets.items(), key=lambda one: (-abs(one[1]), one[0]))
    notes = [
        f"clock of {node} is {_format_offset(abs(ns))} {'ahead' if ns > 0 else 'behind'}: its times"
        " are corrected"
        for node, ns in told
    ]
    if len(notes) > _MAX_NOTES:
        notes[_MAX_NOTES:] = [f"and the clocks of {len(notes) - _MAX_NOTES} more nodes"]
    return moved, offsets, notes


def _find_stamped_by_one_clock(rows: Iterable[Evidence], offsets: Mapping[str, int]) -> set[str]:
    """Artifacts of several nodes whose lines stand in the order of time as they are printed, and
    would not once corrected: their collector wrote the time.
    """
    lines: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for row in rows:
        if row.at_ns is not None and row.line is not None:
            ahead = offsets.get(row.node or "", 0)
            lines[row.artifact].append((row.line, row.at_ns, row.at_ns - ahead))
    found = set()
    for artifact, told in lines.items():
        told.sort()
        back = [sum(two[k] < one[k] - _LEAST for one, two in pairwise(told)) for k in (1, 2)]
        if back[0] < back[1]:
            found.add(artifact)
    return found


def _measure_printed_offsets(rows: Iterable[Evidence]) -> dict[str, int]:
    """Node -> offset, from the starts of the collectives that its watchdogs report."""
    starts: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        ran_ms = row.fields.get("ran_ms", "")
        if row.kind is not Kind.NCCL or row.node is None or row.at_ns is None:
            continue
        if ran_ms.isdecimal() and len(ran_ms) < 12:
            starts[row.node].append(row.at_ns - int(ran_ms) * 1_000_000)
    if len(starts) < _MIN_NODES:
        return {}
    middle = {node: int(np.median(found)) for node, found in starts.items()}
    common = int(np.median(list(middle.values())))
    agree = sum(abs(ns - common) < 60 * _SECOND for ns in middle.values())
    if agree * 2 < len(middle):
        return {}
    # Ranks enter a collective at different times; a minute apart is another clock.
    return {node: ns - common for node, ns in middle.items() if abs(ns - common) >= 20 * _SECOND}


def _format_offset(ns: int) -> str:
    seconds = ns / _SECOND
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
