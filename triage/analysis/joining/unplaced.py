"""Lines that name no node, and the one node that shows the same."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from triage.analysis.facts.stop import (
    SECOND,
    Stop,
    When,
)
from triage.analysis.joining.hypothesis import Hypothesis, is_sure, select_earliest
from triage.analysis.joining.place import AtNode, AtRank, Unplaced
from triage.analysis.placement.topology import Placement
from triage.domain.category import Category
from triage.domain.evidence import KERNEL_KINDS, Evidence, Kind, Trait


def with_unplaced(
    causes: Sequence[Hypothesis], placement: Placement, stop: Stop
) -> list[Hypothesis]:
    """Lines that name no node go to the one node that shows the same, where there is only one."""
    sure: dict[Category, list[int]] = defaultdict(list)
    weak: dict[Category, list[int]] = defaultdict(list)
    for k, cause in enumerate(causes):
        if isinstance(cause.place, AtNode):
            homes = sure if is_sure(cause) else weak
            homes[cause.category].append(k)
    kept = list(causes)
    gone = set()
    for k, cause in enumerate(causes):
        if not _is_lost(cause, placement):
            continue
        # What a process says of several parts alike is of the one that a machine names; a node that
        # a manager misses said what it died of before its patience ended.
        is_by_manager = any(row.kind is Kind.SCHEDULER for row in cause.rows)
        left_open = frozenset.intersection(*(frozenset(row.also) for row in cause.rows))
        at = sure[cause.category] or [
            home
            for category in sorted(left_open)
            for home in sure[category]
            if any(row.kind in KERNEL_KINDS for row in causes[home].rows)
            and (not is_by_manager or _is_missed(cause, causes[home]))
        ]
        # A weak line is the machine's side of a firm one of the same moment.
        at = at or [
            home for home in weak[cause.category] if _is_same_moment(cause, causes[home], stop)
        ]
        # What a process leaves open is what was found out of one node after the stop.
        at = at or [
            home
            for category in sorted({cause.category, *left_open})
            for home in weak[category]
            if any(Trait.FOUND_OUT in row.traits for row in causes[home].rows)
            or _is_missed(cause, causes[home])
        ]
        if isinstance(cause.place, AtRank):
            at = [home for home in at if not placement.ranks_on(causes[home].node or "")]
        if len(at) == 1:
            (home,) = at
            kept[home] = replace(
                kept[home],
                rows=select_earliest([*kept[home].rows, *cause.rows]),
                followers=kept[home].followers + cause.followers,
                ranks=tuple(dict.fromkeys((*kept[home].ranks, *cause.ranks))),
            )
            gone.add(k)
    return [one for k, one in enumerate(kept) if k not in gone]


# How long Slurm waits for a node by default: SlurmdTimeout.
_PATIENCE_NS: Final = 300 * SECOND


def _is_missed(cause: Hypothesis, other: Hypothesis) -> bool:
    """Whether a manager lost some node soon after a machine told of a fault of its own."""
    losses = [
        row.at_ns
        for row in cause.rows
        if row.kind is Kind.SCHEDULER and row.also and row.at_ns is not None
    ]
    return any(
        0 <= at_ns - row.at_ns <= _PATIENCE_NS
        for row in other.rows
        if row.kind in KERNEL_KINDS and row.at_ns is not None and not row.is_mild
        for at_ns in losses
    )


def _is_lost(cause: Hypothesis, placement: Placement) -> bool:
    """Whether nobody says on which node it is."""
    if isinstance(cause.place, AtRank):
        return bool(cause.rows) and placement.node_of(cause.place.rank) is None
    return isinstance(cause.place, Unplaced)


# The clocks of a node and of its processes are one.
_ONE_MOMENT_NS: Final = 2 * SECOND


def _is_same_moment(cause: Hypothesis, other: Hypothesis, stop: Stop) -> bool:
    """Whether two hypotheses show at the stop within seconds of each other, or in lines of one
    log that stand together and print no time.
    """
    lost = any(_is_loss_of_node(row) for row in other.rows)
    told = [row for row in cause.rows if row.is_firm or (lost and not row.is_generic)]
    if any(_stand_together(row, near) for row in told for near in other.rows):
        return True
    times = [row.at_ns for row in told if row.at_ns is not None]
    return any(
        abs(row.at_ns - at_ns) <= _ONE_MOMENT_NS
        for row in other.rows
        if row.at_ns is not None and stop.of(row) is When.AT and not row.is_mild
        for at_ns in times
    )


# `kubectl get events` and the like print a line each, sorted by age; one or two of another object
# may stand between.
_TOGETHER: Final = 3


def _stand_together(row: Evidence, near: Evidence) -> bool:
    """Whether a line is the next of a list whose other one is about a node."""
    if row.artifact != near.artifact or near.is_mild:
        return False
    if _is_loss_of_node(near):
        dated = row.at_ns is not None and near.at_ns is not None
    elif "said_of" in near.fields:
        dated = row.at_ns is not None or near.at_ns is not None
    else:
        return False
    return not dated and abs((row.line or 0) - (near.line or 0)) <= _TOGETHER


def _is_loss_of_node(row: Evidence) -> bool:
    """Whether a manager says that it lost a node: what it says of no node then is of that one."""
    return row.kind is Kind.SCHEDULER and Trait.ROOT_WHEN_ALONE in row.traits
