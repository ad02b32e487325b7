"""Errors of connections and links: to a node, to a leaf switch, or to nobody.

A line about a connection names two ends (see peers.py); links that go down on
several nodes at once have the switch in common.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from triage.analysis.facts.stop import ABOUT_THE_STOP, SECOND, Stop
from triage.analysis.joining.hypothesis import (
    MANY_VOTES,
    Hypothesis,
    is_seen_at_stop,
    is_sure,
    is_sure_reading,
    select_earliest,
)
from triage.analysis.joining.peers import (
    Complaints,
    collect_complaints,
    find_common_leaf,
    find_peer_node,
)
from triage.analysis.joining.place import AtNode, Domain, DomainKind, Outside
from triage.analysis.placement.topology import JobTopology, Placement
from triage.domain.category import HARDWARE, SOFTWARE, Category
from triage.domain.evidence import ECHO, KERNEL_KINDS, Blame, Evidence, EvidenceRole, Kind, Trait

# Causes whose lines name a connection rather than a node.
_CONNECTED: Final = frozenset({Category.NETWORK, Category.NIC})
_OF_TWO_ENDS: Final = frozenset({Blame.PEER, Blame.PAIR})
_MAX_ROWS: Final = 16


def _has_two_ends(row: Evidence) -> bool:
    return row.category in _CONNECTED and row.blame in _OF_TWO_ENDS


def gather_connections(
    causes: Sequence[Hypothesis], topology: JobTopology, ends: Mapping[str, Evidence], stop: Stop
) -> list[Hypothesis]:
    """Errors of connections: to the end that most complain of, or to the leaf switch of all.

    Connections to a node that failed for a reason of its own follow from that. ``ends`` has the
    first line in which a process of a node says that it failed.
    """
    naming = [row for cause in causes for row in cause.rows if _has_two_ends(row)]
    if not naming:
        return list(causes)
    kept, naming = _drop_errors_of_lost_peers(
        _drop_two_ended_rows(causes), naming, topology.placement
    )
    if not naming:
        return kept
    pairs = collect_complaints(naming, topology.placement, topology.nodes)
    ended = _find_first_exited_peer(pairs, ends)
    if ended is not None:
        return [*kept, ended]
    if not pairs.others:
        return _gather_unknown_ends(kept, naming, stop)
    # Links flap on any other day.
    now = [cause for cause in kept if cause.category in _CONNECTED and is_seen_at_stop(cause, stop)]
    own = {cause.node for cause in now if cause.node is not None} & pairs.others.keys()
    shared = None if own else _find_common_switch(pairs, topology.leaf_switch)
    if shared is None and not own and _is_everywhere(pairs):
        rows = select_earliest(naming, _MAX_ROWS)
        shared = Hypothesis(Category.NETWORK, Outside(), rows, votes=len(pairs.others))
    return [*kept, shared] if shared is not None else _gather_worst_ends(kept, pairs, own)


# Where no node is an end of this share of so many pairs, the fabric between them fails.
_WORST_SHARE: Final = 1 / 3
_LEAST_PAIRS: Final = 8


def _is_everywhere(pairs: Complaints) -> bool:
    """Whether each node loses others, and none of them is what most pairs have in common."""
    count = _count_pairs(pairs.others)
    most = max(map(len, pairs.others.values()))
    return count >= _LEAST_PAIRS and most < _WORST_SHARE * count


def _drop_two_ended_rows(causes: Sequence[Hypothesis]) -> list[Hypothesis]:
    """The hypotheses with the rows that name one end; without those that have no other."""
    kept = []
    for cause in causes:
        rows = tuple(row for row in cause.rows if not _has_two_ends(row))
        if rows or not cause.rows:
            kept.append(cause if len(rows) == len(cause.rows) else replace(cause, rows=rows))
    return kept


def _gather_unknown_ends(
    causes: Sequence[Hypothesis], naming: Sequence[Evidence], stop: Stop
) -> list[Hypothesis]:
    """The other ends are on no known node: what is left is that somebody's link failed."""
    rows = select_earliest(naming, _MAX_ROWS)
    failing = [cause for cause in causes if _link_fails(cause, stop)]
    if len(failing) != 1:
        also = frozenset({Category.NIC, Category.DEPENDENCY})
        return [*causes, Hypothesis(Category.NETWORK, Outside(), rows, also=also)]
    match = replace(
        failing[0],
        rows=select_earliest([*failing[0].rows, *rows], 2 * _MAX_ROWS),
        votes=max(failing[0].votes, len({row.node for row in naming} - {failing[0].node, None})),
        also=failing[0].also | {Category.NIC},
    )
    return [match if cause is failing[0] else cause for cause in causes]


def _find_common_switch(pairs: Complaints, leaf_switch: Mapping[str, str]) -> Hypothesis | None:
    """The leaf switch that all pairs have an end on; None where there is none."""
    leaf = find_common_leaf(pairs.others, leaf_switch) or _find_leaf_of_all_pairs(
        pairs.others, leaf_switch
    )
    if leaf is None or len(pairs.others) <= 2:
        return None
    behind = tuple(sorted(node for node in pairs.others if leaf_switch.get(node) == leaf))
    rows = select_earliest(
        {id(r): r for node in behind for r in pairs.rows[node]}.values(), _MAX_ROWS
    )
    place = Domain(DomainKind.LEAF_SWITCH, leaf, behind)
    return Hypothesis(Category.NETWORK, place, rows, votes=len(behind))


def _gather_worst_ends(
    causes: Sequence[Hypothesis], pairs: Complaints, own: Collection[str]
) -> list[Hypothesis]:
    """The errors at the ends that most complain of, and at those (``own``) whose machine says so
    too. Where several complain of another end than those, no machine proves that it is its own.
    """
    elsewhere = [
        node for node in pairs.worst() if node not in own and len(pairs.others[node]) >= MANY_VOTES
    ]
    kept = [
        replace(cause, rows=tuple(replace(row, weak=True) for row in cause.rows))
        if elsewhere and cause.node in own and cause.category in _CONNECTED
        else cause
        for cause in causes
    ]
    at_node = {
        cause.node: k for k, cause in enumerate(kept) if cause.category in _CONNECTED and cause.node
    }
    for node in sorted({*pairs.worst(), *own}):
        if node not in at_node:
            at_node[node] = len(kept)
            kept.append(Hypothesis(Category.NETWORK, AtNode(node)))
        match = kept[at_node[node]]
        kept[at_node[node]] = replace(
            match,
            rows=select_earliest([*match.rows, *pairs.rows[node]], 2 * _MAX_ROWS),
            votes=len(pairs.others[node]),
            also=match.also | {Category.NIC},
        )
    return kept


def _link_fails(cause: Hypothesis, stop: Stop) -> bool:
    """Whether a machine says that a link or an adapter of a node fails at the stop."""
    return (
        cause.node is not None
        and cause.category in _CONNECTED
        and any(
            row.kind in KERNEL_KINDS
            and not (row.is_generic or row.is_mild)
            and stop.of(row) in ABOUT_THE_STOP
            for row in cause.rows
        )
    )


# Connections to a process that ended itself this long before are lost by that.
_ENDED_NS: Final = 3 * SECOND


def _find_first_exited_peer(pairs: Complaints, ends: Mapping[str, Evidence]) -> Hypothesis | None:
    """The one node that all others lose, where its own process had ended before they did."""
    worst = pairs.worst()
    if len(worst) != 1 or len(pairs.others[worst[0]]) < 2:
        return None
    (node,) = worst
    own = ends.get(node)
    losses = [row.at_ns for row in pairs.rows[node] if row.at_ns is not None and row.node != node]
    if own is None or own.at_ns is None or not losses:
        return None
    slack = min(own.error_ns, 60 * SECOND)
    others = [row.at_ns for name, row in ends.items() if name != node and row.at_ns is not None]
    first = min([*losses, *others])
    if first - own.at_ns < _ENDED_NS + slack:
        return None
    row = replace(own, role=EvidenceRole.ROOT, weak=True, blame=Blame.SELF)
    return Hypothesis(
        Category.NCCL_TIMEOUT,
        AtNode(node),
        (row,),
        also=frozenset({Category.HOST_STALL, Category.SOFTWARE_FRAMEWORK, Category.NETWORK}),
        followers=len(pairs.rows[node]),
        votes=len(pairs.others[node]),
        ranks=() if row.rank is None else (row.rank,),
    )


def _drop_errors_of_lost_peers(
    causes: Sequence[Hypothesis], naming: Sequence[Evidence], placement: Placement
) -> tuple[list[Hypothesis], list[Evidence]]:
    """Errors of connections to a node, or of one, that failed first for a reason of its own."""
    firsts: dict[str, tuple[int, int]] = {}
    for k, cause in enumerate(causes):
        if cause.node is None or cause.category in _CONNECTED:
            continue
        read = cause.category in HARDWARE and any(map(_is_read, cause.rows))
        if not (read or is_sure(cause)):
            continue
        telling = (row for row in cause.rows if row.is_firm or _is_read(row))
        # What was found out later had happened before.
        times = [
            0 if _is_found_out(row) or row.at_ns is None else row.at_ns
            for row in telling
            if row.at_ns is not None or row.family == _CHECK
        ]
        if times and (cause.node not in firsts or min(times) < firsts[cause.node][0]):
            firsts[cause.node] = (min(times), k)
    raised = _find_first_exceptions(causes)
    lost_by: dict[int, list[str | None]] = defaultdict(list)
    left = []
    for row in naming:
        ends = [
            end
            for end in (find_peer_node(row, placement), row.node)
            if end is not None and end in firsts
        ]
        first = firsts[ends[0]] if ends else None
        slack = SECOND + min(row.error_ns, 60 * SECOND)
        if first is not None and row.at_ns is not None and row.at_ns - first[0] + slack >= 0:
            category = causes[first[1]].category
            if category in HARDWARE or ends[0] != row.node:
                lost_by[first[1]].append(row.node)
                continue
        own = raised.get((ends[0] if ends else find_peer_node(row, placement), row.artifact))
        if own is not None and own[0] < (row.line or 0):
            lost_by[own[1]].append(row.node)
            continue
        left.append(row)
    kept = [
        replace(
            cause,
            followers=cause.followers + len(lost_by[k]),
            votes=max(cause.votes, len({*lost_by[k]} - {cause.node, None})),
        )
        if k in lost_by
        else cause
        for k, cause in enumerate(causes)
    ]
    return kept, left


def _is_read(row: Evidence) -> bool:
    """Whether the reader surely takes a line for what it is, or somebody, or a check without a
    time, found it out later.
    """
    return is_sure_reading(row) or _is_found_out(row)


def _is_found_out(row: Evidence) -> bool:
    """Whether it tells later what had happened before: people, monitors, checks without a time."""
    is_told_later = Trait.FOUND_OUT in row.traits or ECHO in row.fields
    return is_told_later or (row.family == _CHECK and row.at_ns is None)


_CHECK: Final = "check"


def _find_first_exceptions(
    causes: Sequence[Hypothesis],
) -> dict[tuple[str | None, str], tuple[int, int]]:
    """By node and log: the line of the first exception of a program at the stop, and its cause.

    What one log tells above a lost connection came before it, also within one second.
    """
    firsts: dict[tuple[str | None, str], tuple[int, int]] = {}
    for k, cause in enumerate(causes):
        if cause.node is None or cause.category not in SOFTWARE:
            continue
        for row in cause.rows:
            is_raised = row.kind in (Kind.CUDA, Kind.PYTHON) and row.role is EvidenceRole.ROOT
            if is_raised and row.node is not None and row.line is not None and not row.is_mild:
                first = (row.line, k)
                key = (row.node, row.artifact)
                firsts[key] = min(first, firsts.get(key, first))
    return firsts


def _find_leaf_of_all_pairs(
    others: Mapping[str, set[str]], leaf_switch: Mapping[str, str]
) -> str | None:
    """The one leaf switch that every pair has an end on, where several of its nodes take part.

    None where one node is an end of every pair: then it is that node, whose leaf is on all too.
    """
    if any(
        len(peers) >= _STAR and len(peers) == len(others) - 1 == _count_pairs(others)
        for peers in others.values()
    ):
        return None
    common: set[str] | None = None
    for node, peers in others.items():
        for peer in peers:
            ends = {leaf_switch.get(node, ""), leaf_switch.get(peer, "")} - {""}
            common = ends if common is None else common & ends
    if common is None or len(common) != 1:
        return None
    leaf = next(iter(common))
    return leaf if sum(leaf_switch.get(node) == leaf for node in others) > 1 else None


# This many ends of one node are no accident of who talked to whom.
_STAR: Final = 3


def _count_pairs(others: Mapping[str, set[str]]) -> int:
    return sum(len(peers) for peers in others.values()) // 2
