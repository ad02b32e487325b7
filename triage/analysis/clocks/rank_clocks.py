"""How far the clocks of nodes and ranks are apart, from when collectives end.

Per node where a map is known: the ranks of a node share a clock, and one slow rank does not move
their median. Else per rank.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from triage.analysis.clocks.dump_clocks import compare_clocks, group_median
from triage.analysis.snapshots.finished import (
    FinishedOperations,
    collect_finished_operations,
    number_collectives,
    number_pairs,
)
from triage.analysis.snapshots.snapshot import Snapshot
from triage.domain.arrays import F64, I64, Flags

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
