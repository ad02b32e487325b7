"""A scheduler in memory, for tests: it keeps what it was asked, and can be away or refuse."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from triage.actions.schedulers.interface import (
    NodeView,
    NoSuchNode,
    PoolView,
    SchedulerAway,
    SchedulerRefused,
    parse_reason_incident,
)
from triage.clock import read_utc_now


class MemoryScheduler:
    """:class:`triage.actions.schedulers.interface.Scheduler` over a dict.

    ``asked`` holds the acts that it was asked for, as (verb, node, reason). While ``away`` is not
    empty nothing is answered; ``refuses`` is said to every act.
    """

    name = "memory"

    def __init__(self, nodes: Iterable[str]) -> None:
        self.nodes = {node: NodeView(node) for node in nodes}
        self.drained_at: dict[str, datetime] = {}
        self.asked: list[tuple[str, str, str]] = []
        self.away = ""
        self.refuses = ""

    def node(self, node: str) -> NodeView:
        """How the node stands."""
        self._answer()
        if node not in self.nodes:
            raise NoSuchNode(f"knows no node {node}")
        return self.nodes[node]

    def pool(self) -> PoolView:
        """How many nodes there are, and which are drained with a reason of ours."""
        self._answer()
        drained = (one for one in self.nodes.values() if one.drained)
        out = (one.name for one in drained if parse_reason_incident(one.reason))
        return PoolView(len(self.nodes), {node: self.drained_at.get(node) for node in out})

    def drain(self, node: str, reason: str) -> None:
        """Drain the node."""
        self._act("drain", node, reason)
        self.nodes[node] = replace(self.nodes[node], drained=True, reason=reason, by="triage")
        self.drained_at[node] = read_utc_now()

    def undrain(self, node: str, reason: str, earlier: str) -> None:
        """Take this drain back."""
        self._act("undrain", node, reason)
        if self.nodes[node].reason == reason:
            self.nodes[node] = NodeView(node, reason=earlier)

    def _answer(self) -> None:
        if self.away:
            raise SchedulerAway(self.away)

    def _act(self, verb: str, node: str, reason: str) -> None:
        self._answer()
        if self.refuses:
            raise SchedulerRefused(self.refuses)
        self.asked.append((verb, node, reason))
