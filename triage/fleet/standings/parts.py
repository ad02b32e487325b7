"""Parts: what several interruptions name.

A part of a node is named again when two episodes name the same GPU, NIC or link. A leaf switch
has a test of its own: nodes behind it accused more than the fleet, each of them counted once,
so that one bad node does not pass for its switch. What a leaf explains is held against no node.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.domain.standing import PartKind, RepeatedPart
from triage.fleet.record.columns import Flags, FleetRecord, Floats
from triage.fleet.standings.strikes import Strikes, find_outliers, sum_by_member

_NAMED_AGAIN: Final = 2
# Two nodes behind one switch may be chance, or one link between them.
_LEAF_NODES: Final = 3
_SHOWN: Final = 4


@dataclass(frozen=True, slots=True)
class OfLeaves:
    """Leaf switches that stand out; ``explained`` says which strikes are put down to them.

    ``hit`` are the nodes whom they made look bad.
    """

    parts: tuple[RepeatedPart, ...]
    explained: Flags
    hit: Flags

    def behind(self, record: FleetRecord, node: int) -> RepeatedPart | None:
        """The leaf that a node's accusations are put down to."""
        if not self.hit[node]:
            return None
        return next((one for one in self.parts if one.name == record.leaf_switch[node]), None)


def find_outlying_leaves(
    record: FleetRecord, strikes: Strikes, from_ns: int, days: Floats
) -> OfLeaves:
    """The leaves whose nodes are accused of link and network trouble more than the fleet's.

    ``days`` is each node's time in runs since ``from_ns``.
    """
    nothing = OfLeaves(
        (), np.zeros(len(strikes.node), dtype=bool), np.zeros(len(record.nodes), dtype=bool)
    )
    names = sorted({leaf for leaf in record.leaf_switch if leaf is not None})
    index = {name: place for place, name in enumerate(names)}
    leaf_of = np.array([index.get(leaf or "", -1) for leaf in record.leaf_switch], dtype=np.int64)
    counts = strikes.fabric & (strikes.at_ns >= from_ns) & (leaf_of[strikes.node] >= 0)
    if not names or not counts.any():
        return nothing
    of_node = sum_by_member(strikes.node[counts], strikes.blame[counts], len(record.nodes))
    placed = leaf_of >= 0
    blame = sum_by_member(leaf_of[placed], np.minimum(of_node, 1.0)[placed], len(names))
    exposure = sum_by_member(leaf_of[placed], days[placed], len(names))
    excess = find_outliers(blame, exposure)
    found: list[RepeatedPart] = []
    explained = nothing.explained.copy()
    for place in np.flatnonzero(excess.found).tolist():
        mine = counts & (leaf_of[strikes.node] == place)
        nodes = tuple(sorted({record.nodes[one] for one in strikes.node[mine].tolist()}))
        if len(nodes) < _LEAF_NODES:
            continue
        explained |= strikes.fabric & (leaf_of[strikes.node] == place)
        num = len(np.unique(record.accusations.interruption[strikes.row[mine]]))
        expected, p = float(excess.expected[place]), float(excess.p[place])
        text, q = _describe_leaf(names[place], nodes, num, expected), float(excess.q[place])
        leaf = (PartKind.LEAF_SWITCH, names[place], None, nodes)
        found.append(RepeatedPart(*leaf, num, expected, p, q, text))
    found.sort(key=lambda part: (part.p_value or 0.0, part.name))
    hit = np.zeros(len(record.nodes), dtype=bool)
    hit[strikes.node[explained]] = True
    return OfLeaves(tuple(found), explained, hit)


def _describe_leaf(name: str, nodes: tuple[str, ...], num: int, expected: float) -> str:
    shown = ", ".join(nodes[:_SHOWN]) + (" ..." if len(nodes) > _SHOWN else "")
    return (
        f"leaf switch {name}: {len(nodes)} nodes behind it ({shown}) were accused in {num}"
        f" interruptions by links and network, where {expected:.2g} accused nodes are expected:"
        " look at the switch and its cables before the nodes"
    )


def map_repeated_parts(
    record: FleetRecord, strikes: Strikes
) -> dict[int, tuple[RepeatedPart, ...]]:
    """For each node the parts that at least two of its strikes name, the most frequent first.

    ``strikes`` are episodes: a job that starts again on a broken GPU names it once.
    """
    named: dict[int, Counter[str]] = {}
    total = np.bincount(strikes.node, minlength=len(record.nodes))
    for row, node in zip(strikes.row.tolist(), strikes.node.tolist(), strict=True):
        part = record.accusations.part[row]
        if part is not None:
            named.setdefault(node, Counter())[part] += 1
    found = {}
    for node, counted in named.items():
        again = sorted((-num, part) for part, num in counted.items() if num >= _NAMED_AGAIN)
        if again:
            found[node] = tuple(
                _describe_part(record.nodes[node], part, -num, int(total[node]))
                for num, part in again
            )
    return found


def _describe_part(node: str, part: str, num: int, total: int) -> RepeatedPart:
    text = f"{part} of {node} is named in {num} of {total} interruptions that accuse the node"
    return RepeatedPart(PartKind.PART, part, node, (node,), num, None, None, None, text)
