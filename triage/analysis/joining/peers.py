"""Who is blamed by whom: errors of connections name two ends, and one of them is at fault.

An end that many others complain of, and that complains of nobody or of all, is
the likely one. Of a single pair nobody can be told from the other. Where all
ends hang on one leaf switch, the switch is.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from triage.analysis.placement.topology import Placement
from triage.domain.evidence import Blame, Evidence

_NAMING = frozenset({Blame.PEER, Blame.PAIR})


@dataclass(slots=True)
class Complaints:
    """The pairs of one kind of error: node -> the nodes it has trouble with, either way."""

    others: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    blamed_by: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    rows: dict[str, list[Evidence]] = field(default_factory=lambda: defaultdict(list))

    def worst(self) -> tuple[str, ...]:
        """The nodes with the most others; of a tie those that complain of nobody, else all."""
        if not self.others:
            return ()
        most = max(len(others) for others in self.others.values())
        tied = sorted(node for node, others in self.others.items() if len(others) == most)
        complaining = set().union(*self.blamed_by.values())
        return tuple(node for node in tied if node not in complaining) or tuple(tied)


def collect_complaints(
    rows: Iterable[Evidence], placement: Placement, nodes: Collection[str] = ()
) -> Complaints:
    """The pairs that ``rows`` name; rows whose other end is on no known node are left out.

    An address that all ``nodes`` but one complain of is that one's.
    """
    pairs = Complaints()
    rows = list(rows)
    left = resolve_by_elimination(rows, placement, nodes)
    for row in rows:
        peer = find_peer_node(row, placement) or left.get(strip_port(row.peer))
        if row.blame not in _NAMING or row.node is None or peer is None or peer == row.node:
            continue
        pairs.others[row.node].add(peer)
        pairs.others[peer].add(row.node)
        pairs.blamed_by[peer].add(row.node)
        for node in (row.node, peer):
            if len(pairs.rows[node]) < 16:
                pairs.rows[node].append(row)
    return pairs


def resolve_by_elimination(
    rows: Iterable[Evidence], placement: Placement, nodes: Collection[str]
) -> dict[str, str]:
    """Address on no known node -> the only node that does not complain of it."""
    reporters: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row.peer is not None and row.node is not None and find_peer_node(row, placement) is None:
            reporters[strip_port(row.peer)].add(row.node)
    everybody = frozenset(nodes)
    by_address = {}
    for address, complaining in sorted(reporters.items()):
        if len(complaining) == len(everybody) - 1 and complaining <= everybody:
            (by_address[address],) = everybody - complaining
    return by_address


def strip_port(peer: str | None) -> str:
    """An address without its port: ``10.0.0.3<4791>`` is ``10.0.0.3``."""
    return (peer or "").partition("<")[0]


def find_peer_node(row: Evidence, placement: Placement) -> str | None:
    """The node of the other end that a row names."""
    if row.peer is None:
        return None
    word, _, number = row.peer.partition(" ")
    if word == "rank" and number.isdecimal() and len(number) <= 7:
        return placement.node_of(int(number))
    return placement.node_of_address(row.peer)


def find_common_leaf(nodes: Iterable[str], leaf_switch: Mapping[str, str]) -> str | None:
    """The leaf switch that all of ``nodes`` (two or more) hang on, None where there is none."""
    leaves = [leaf_switch.get(node) for node in set(nodes)]
    if len(leaves) < 2 or None in leaves or len(set(leaves)) != 1:
        return None
    return leaves[0]
