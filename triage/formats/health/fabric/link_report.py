"""How one end of a link is told: the node and its adapter, or a switch and its port.

A description of a node (``gpu-n02 mlx5_5``) is the way from a fabric's identifiers to a node. A
link that is bad at both of its ends is a bad cable or transceiver; bad at one end only, it is
the device there; and bad links of several nodes on one leaf switch are the leaf's.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.reading import Reading

__all__ = ["BadEnd", "LinkEnd", "end_of", "report_ends", "switch_name"]

# "gpu-n02 mlx5_5", "gpu-n02 HCA-1": what an adapter of a node calls itself
ADAPTER: Final = re.compile(
    r'"?(?P<node>[^\s"]{1,253}) '
    r'(?P<device>mlx\w{1,20}|HCA-\d{1,3}|hfi\w{1,10}|qib\w{1,10}|ib\w{0,8}\d)"?'
)
# "MF0;leaf07:MQM9700/U1" of a managed switch
SWITCH: Final = re.compile(r'"?MF\d{1,2};(?P<name>[\w.-]{1,120})[:;]')
LEAF_NODES: Final = 3
MAX_REPORTED: Final = 20_000


@dataclass(frozen=True, slots=True)
class LinkEnd:
    """One end: ``node`` is None for a switch, whose name is then ``device``."""

    node: str | None
    device: str
    port: str

    @property
    def part(self) -> str:
        """``mlx5_5/1``; ``port 1`` where nothing names the adapter."""
        return f"{self.device}/{self.port}" if self.device else f"port {self.port}"

    @property
    def words(self) -> str:
        """``gpu-n02 mlx5_5 port 1``, ``leaf07 port 21``."""
        return " ".join(word for word in (self.node, self.device, "port", self.port) if word)


@dataclass(frozen=True, slots=True)
class BadEnd:
    """An end at which a link was seen bad, and what was said of it.

    ``fails`` is whether it got worse while somebody looked, rather than at any time before.
    """

    end: LinkEnd
    detail: str
    line: int
    fails: bool = True


def end_of(description: str, port: str) -> LinkEnd:
    """The end that a description of a node means."""
    text = description.strip()
    adapter = ADAPTER.fullmatch(text)
    if adapter is not None:
        return LinkEnd(adapter["node"], adapter["device"], port)
    return LinkEnd(None, switch_name(text), port)


def switch_name(description: str) -> str:
    """``leaf07`` of ``MF0;leaf07:MQM9700/U1``."""
    named = SWITCH.match(description.strip())
    return named["name"] if named else description.strip().strip('"')[:80]


def report_ends(
    check: str, bad: Sequence[BadEnd], links: Mapping[LinkEnd, LinkEnd], reading: Reading
) -> None:
    """A result for the node of each bad link: the cable's, the adapter's, or its leaf's.

    ``links`` is end -> other end, both ways.
    """
    by_end = worst_of(bad)
    by_link: dict[LinkEnd, list[BadEnd]] = defaultdict(list)
    for end, seen in by_end.items():
        at_node = end if end.node else links.get(end)
        if at_node is None or not at_node.node:
            reading.skip(seen.line, f"{end.words}: {seen.detail}: it belongs to no node")
        else:
            by_link[at_node].append(seen)
    nodes_of_leaf: dict[str, set[str]] = defaultdict(set)
    for at_node in by_link:
        leaf = links.get(at_node)
        if leaf is not None and leaf.node is None and at_node.node:
            nodes_of_leaf[leaf.device].add(at_node.node)
    for at_node, ends in by_link.items():
        other = links.get(at_node)
        nodes = nodes_of_leaf.get(other.device, set()) if other is not None else set()
        add_link(check, at_node, ends, other, len(nodes), reading)


def worst_of(bad: Sequence[BadEnd]) -> dict[LinkEnd, BadEnd]:
    """The first complaint of each end, rather one that fails."""
    by_end: dict[LinkEnd, BadEnd] = {}
    for seen in bad[:MAX_REPORTED]:
        known = by_end.get(seen.end)
        if known is None or (seen.fails and not known.fails):
            by_end[seen.end] = seen
    return by_end


def add_link(
    check: str,
    at_node: LinkEnd,
    ends: Sequence[BadEnd],
    other: LinkEnd | None,
    num_nodes: int,
    reading: Reading,
) -> None:
    """The result of one link; ``num_nodes`` have bad links on the same switch."""
    both = len(ends) > 1
    at_adapter = ends[0].end == at_node and not both
    where = f"at {ends[0].end.words} alone"
    if both:
        where = "at both ends: the cable or a transceiver"
    shared = num_nodes >= LEAF_NODES and other is not None
    if shared and other is not None:
        where = f"as links of {num_nodes} nodes on {other.device}"
    fails = any(seen.fails for seen in ends) and not shared
    reading.add(
        check,
        Outcome.FAIL if fails else Outcome.WARN,
        part=at_node.part,
        node=at_node.node,
        detail=f"{ends[0].detail}, {where}" + (f" ({other.words})" if other else ""),
        category=Category.NIC if at_adapter else Category.NETWORK,
        line=ends[0].line,
    )
