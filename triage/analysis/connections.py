"""Errors of connections and links: to a node, to a leaf switch, or to nobody.

A line about a connection names two ends (see peers.py); links that go down on
several nodes at once have the switch in common.
"""

from collections.abc import Collection, Mapping
from typing import Final

from triage.analysis.hypothesis import UNKNOWN_LEAF, Hypothesis, Seats, by_time
from triage.analysis.peers import common_leaf, complaints
from triage.analysis.stop import SECOND, Stop, When
from triage.domain.category import Category
from triage.domain.evidence import Blame, Kind

__all__ = ["gather_connections", "gather_switch"]

# Causes whose lines name a connection rather than a node.
CONNECTED: Final = frozenset({Category.NETWORK, Category.NIC})


def gather_connections(
    found: list[Hypothesis],
    seats: Seats,
    leaf_switch: Mapping[str, str],
    nodes: Collection[str],
) -> list[Hypothesis]:
    """Errors of connections: to the end that most complain of, or to the leaf switch of all."""
    naming = [
        row
        for one in found
        if one.category in CONNECTED
        for row in one.rows
        if row.blame in (Blame.PEER, Blame.PAIR)
    ]
    if not naming:
        return found
    pairs = complaints(naming, seats, nodes)
    own = {
        one.node
        for one in found
        if one.node is not None
        and one.category in CONNECTED
        and any(row.blame is Blame.SELF for row in one.rows)
    }
    kept: list[Hypothesis] = []
    for one in found:
        if one.category in CONNECTED:
            one.rows = [row for row in one.rows if row.blame not in (Blame.PEER, Blame.PAIR)]
            if not one.rows:
                continue
        kept.append(one)
    if not pairs.others:
        # The other ends are on no known node: what is left is that somebody's link failed.
        one = Hypothesis(Category.NETWORK, None, sorted(naming, key=by_time)[:16], shared=True)
        one.also = frozenset({Category.NIC, Category.DEPENDENCY})
        return [*kept, one]
    leaf = common_leaf(pairs.others, leaf_switch) or side_leaf(pairs.others, leaf_switch)
    if leaf is not None and len(pairs.others) > 2 and not own & set(pairs.others):
        nodes = tuple(sorted(n for n in pairs.others if leaf_switch.get(n) == leaf))
        rows = sorted({id(r): r for n in nodes for r in pairs.rows[n]}.values(), key=by_time)
        kept.append(
            Hypothesis(
                Category.NETWORK, None, rows[:16], nodes=nodes, shared=True, leaf=leaf,
                votes=len(nodes),
            )
        )  # fmt: skip
        return kept
    worst = set(pairs.worst())
    for node in sorted(worst | {node for node in own if node in pairs.others}):
        match = next((o for o in kept if o.node == node and o.category in CONNECTED), None)
        if match is None:
            match = Hypothesis(Category.NETWORK, node)
            kept.append(match)
        match.rows = sorted([*match.rows, *pairs.rows[node]], key=by_time)[:32]
        match.votes = len(pairs.others[node])
        match.also |= {Category.NIC}
        match.nodes = ()
    return kept


def side_leaf(others: Mapping[str, set[str]], leaf_switch: Mapping[str, str]) -> str | None:
    """The one leaf switch that every pair has an end on, where several of its nodes take part.

    None where one node is an end of every pair: then it is that node, whose leaf is on all too.
    """
    if any(len(peers) >= STAR and len(peers) == len(others) - 1 == pairs_in(others)
           for peers in others.values()):  # fmt: skip
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


# So many ends of one node are no accident of who talked to whom.
STAR: Final = 3


def pairs_in(others: Mapping[str, set[str]]) -> int:
    return sum(len(peers) for peers in others.values()) // 2


# Ports of several nodes that fail within this time fail on the switch's side.
TOGETHER_NS: Final = 20 * SECOND


def gather_switch(
    found: list[Hypothesis], stop: Stop, leaf_switch: Mapping[str, str]
) -> list[Hypothesis]:
    """Links that go down on several nodes at once: what they have in common is the switch."""
    shown = {
        one.node: rows
        for one in found
        if one.category is Category.NETWORK
        and one.node is not None
        and (
            rows := [
                row
                for row in one.rows
                if row.kind is Kind.LINK and stop.of(row) in (When.AT, When.AFTER, When.UNDATED)
            ]
        )
    }
    dated = {
        node: min(times)
        for node, rows in shown.items()
        if (times := [row.at_ns for row in rows if row.at_ns is not None])
    }
    # A log without a clock goes with those that have one, where there is one.
    firsts = dict.fromkeys(shown, min(dated.values(), default=0)) | dated
    group = [one for one in found if one.category is Category.NETWORK and one.node in firsts]
    errors = sorted((row.error_ns for one in group for row in one.rows[:1]), reverse=True)[:2]
    slack = min(sum(errors), 120 * SECOND)
    if len(firsts) < 2 or max(firsts.values()) - min(firsts.values()) > TOGETHER_NS + slack:
        return found
    leaf = common_leaf([node for node in firsts if node], leaf_switch)
    rows = sorted((row for one in group for row in one.rows[:4]), key=by_time)
    merged = Hypothesis(
        Category.NETWORK, None, rows[:24], shared=True, leaf=leaf or UNKNOWN_LEAF,
        nodes=tuple(sorted(node for node in firsts if node)), votes=len(firsts),
        followers=sum(one.followers for one in group),
    )  # fmt: skip
    kept = [one for one in found if not any(one is other for other in group)]
    return [*kept, merged]
