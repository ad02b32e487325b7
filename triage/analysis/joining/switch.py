"""Links that fail on several nodes at once: what they have in common is the switch."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from triage.analysis.facts.stop import ABOUT_THE_STOP, SECOND, Stop, When, is_at_end_of_boot_log
from triage.analysis.joining.consequences import is_own_port
from triage.analysis.joining.hypothesis import (
    Hypothesis,
    get_time_key,
    may_count,
    select_earliest,
    select_rows_at_stop,
)
from triage.analysis.joining.peers import find_common_leaf
from triage.analysis.joining.place import Domain, DomainKind
from triage.domain.category import Category
from triage.domain.evidence import Evidence, Kind

# Ports of several nodes that fail within this time fail on the switch's side.
_TOGETHER_NS: Final = 20 * SECOND


# An error of hours is that of a zone that nobody knows; what is left of it is the clock's own.
_HOUR: Final = 3600 * SECOND


def _align_unknown_zone(
    links: Mapping[str, Sequence[Evidence]], stop: Stop
) -> dict[str, list[Evidence]]:
    """Rows of several nodes that lie together in a zone that nobody knows: it is that of all
    kernel logs, so that they are of one event, and that may be the stop.
    """
    unzoned = sorted(
        ((node, row) for node, rows in links.items() for row in rows if _may_be_at_stop(row, stop)),
        key=lambda at: (get_time_key(at[1]), at[0]),
    )
    together: dict[str, dict[int, Evidence]] = defaultdict(dict)
    for (node, row), (other, following) in pairwise(unzoned):
        if node != other and _is_same_event(row, following):
            together[node][id(row)] = row
            together[other][id(following)] = following
    return {node: list(rows.values()) for node, rows in together.items()}


def _may_be_at_stop(row: Evidence, stop: Stop) -> bool:
    """Whether a time in a zone that nobody knows may be that of the stop."""
    if row.at_ns is None or stop.start_ns is None or row.error_ns < _HOUR:
        return False
    return abs(row.at_ns - stop.start_ns) <= row.error_ns


def _is_same_event(row: Evidence, other: Evidence) -> bool:
    """Whether two rows of one zone lie so near that they are of one event."""
    apart = abs((row.at_ns or 0) - (other.at_ns or 0))
    return apart <= _TOGETHER_NS + row.error_ns % _HOUR + other.error_ns % _HOUR


def _collect_failing_links(
    causes: Sequence[Hypothesis], stop: Stop, leaf_switch: Mapping[str, str]
) -> dict[str, list[Evidence]]:
    """Node -> the lines in which its kernel says that its links fail, at the stop or maybe then;
    where fewer than two kernels say so, also those of its processes.
    """
    links = {
        cause.node: [
            row
            for row in cause.rows
            if (row.kind is Kind.LINK or is_own_port(row)) and not (row.is_generic or row.is_mild)
        ]
        for cause in causes
        if cause.category is Category.NETWORK and cause.node is not None
    }
    told = {
        node: rows_now
        for node, rows in links.items()
        if (rows_now := [row for row in rows if may_count(row, stop)])
    }
    shown = {
        node: by_kernel
        for node, rows in told.items()
        if (by_kernel := [row for row in rows if row.kind is Kind.LINK])
    }
    if len(shown) < 2:
        shown = told
    if len(shown) < 2:
        shown |= _align_unknown_zone(links, stop)
    # What no clock dates counts behind one switch, where it stands at the end of its log.
    leaves = {leaf_switch.get(node) for node in shown}
    leaf = leaves.pop() if len(leaves) == 1 else None
    for node, rows in links.items():
        if leaf is None or node in shown or leaf_switch.get(node) != leaf:
            continue
        rows_now = [
            row for row in rows if is_at_end_of_boot_log(row) and stop.of(row) in ABOUT_THE_STOP
        ]
        if rows_now:
            shown[node] = rows_now
    return shown


def _find_first_failures(links: Mapping[str, Sequence[Evidence]]) -> dict[str, int]:
    """Node -> when its first link failed. A log without a clock goes with those that have one,
    where there is one.
    """
    dated = {
        node: min(times)
        for node, rows in links.items()
        if (times := [row.at_ns for row in rows if row.at_ns is not None])
    }
    return dict.fromkeys(links, min(dated.values(), default=0)) | dated


def gather_switch(
    causes: Sequence[Hypothesis], leaf_switch: Mapping[str, str], stop: Stop
) -> list[Hypothesis]:
    """Links that go down on several nodes at once: what they have in common is the switch."""
    shown = _collect_failing_links(causes, stop, leaf_switch)
    if len(shown) < 2:
        return list(causes)
    firsts = _find_first_failures(shown)
    group = [
        cause for cause in causes if cause.category is Category.NETWORK and cause.node in firsts
    ]
    errors = sorted((row.error_ns for cause in group for row in cause.rows[:1]), reverse=True)[:2]
    apart = max(firsts.values()) - min(firsts.values())
    if apart > _TOGETHER_NS + min(sum(errors), 120 * SECOND):
        return list(causes)
    leaf = find_common_leaf(firsts, leaf_switch)
    # Who complains behind the same switch hangs on it too, whatever its kernel's clock says.
    group += [
        cause
        for cause in causes
        if leaf is not None
        and cause.category is Category.NETWORK
        and cause.node is not None
        and cause.node not in firsts
        and leaf_switch.get(cause.node) == leaf
        and any(stop.of(row) is When.AT for row in cause.rows)
    ]
    nodes = tuple(sorted({cause.node for cause in group if cause.node is not None}))
    rows = (
        row
        for cause in group
        for row in select_rows_at_stop(cause, stop) or shown[cause.node or ""]
    )
    merged = Hypothesis(
        Category.NETWORK,
        Domain(DomainKind.LEAF_SWITCH, leaf, nodes),
        select_earliest(rows, 24),
        votes=len(nodes),
        followers=sum(cause.followers for cause in group),
    )
    gone = {id(cause) for cause in group}
    return [*(cause for cause in causes if id(cause) not in gone), merged]
