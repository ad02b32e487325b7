"""Outages out of single changes: a node goes out of service, it comes back, somebody says why.

A log tells of changes, not of outages. They are gathered first, since a log may be put together
from files in any order, and joined node by node in the order of their times.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import IntEnum
from typing import Final, NamedTuple

from triage.errors import Forbidden
from triage.fleet.domain.cause import OutageCause, classify_outage_cause, classify_repair_action
from triage.fleet.domain.exposure import Outage
from triage.fleet.parsers.rows import MAX_REASON, Options, Passed, Row, remove_names

# A quarter of a kilobyte each; in a process with other things to do fewer.
MOST_CHANGES: Final = 2_000_000
_SPARING_CHANGES: Final = 200_000
# Of reasons, which most changes share.
_MOST_CHARS: Final = 64 << 20
# A reason is set with the state, or shortly before it.
_REASON_HOLDS: Final = timedelta(minutes=10)
_MOST_REASONS: Final = 8
_NOT_OUT: Final = Passed("returns of nodes that were not seen to go")


class StateChange(IntEnum):
    """What happens to a node; of one instant the reason comes first, the return last."""

    REASON = 0
    DOWN = 1
    DRAIN = 2
    UP = 3  # no longer down; drained it stays
    UNDRAIN = 4  # no longer drained; down it stays
    BACK = 5


class NodeChange(NamedTuple):
    """One change of one node."""

    at: datetime
    change: StateChange
    node: str
    reason: str


@dataclass(slots=True)
class _OutState:
    """A node while its changes are gone through."""

    since: datetime | None = None
    down: bool = False
    drained: bool = False
    reasons: list[str] = field(default_factory=list)
    last_reason_at: datetime | None = None
    last_reason: str = ""

    def add(self, reason: str) -> None:
        """Keep a reason once."""
        if reason and reason not in self.reasons and len(self.reasons) < _MOST_REASONS:
            self.reasons.append(reason)

    def go(self, change: NodeChange) -> None:
        """Take the node out, or keep it out for one reason more."""
        if self.since is None:
            self.since = change.at
            told = self.last_reason_at
            if told is not None and change.at - told <= _REASON_HOLDS:
                self.add(self.last_reason)
        self.down |= change.change is StateChange.DOWN
        self.drained |= change.change is StateChange.DRAIN
        self.add(change.reason)


def join_changes(changes: Iterable[NodeChange | Row], options: Options) -> Iterator[Row]:
    """The outages that the changes make, by node and start; those that last have no end.

    Rows among the changes are passed on at once. A reason that is told while a node is out
    belongs to its outage, and so does the last one of the ten minutes before it. Raises
    :class:`Forbidden` for more changes than are held.
    """
    gathered: set[NodeChange] = set()
    reasons: dict[str, str] = {}
    most = _SPARING_CHANGES if options.sparing else MOST_CHANGES
    room = _MOST_CHARS // (4 if options.sparing else 1)
    for change in changes:
        if not isinstance(change, NodeChange):
            yield change
            continue
        if change.reason not in reasons:
            reasons[change.reason] = change.reason
            room -= len(change.reason)
        gathered.add(change._replace(reason=reasons[change.reason]))
        if len(gathered) > most or room < 0:
            raise Forbidden(f"more than {most:,} changes of nodes, or too long reasons")
    of_node: dict[str, list[NodeChange]] = {}
    for change in gathered:
        of_node.setdefault(change.node, []).append(change)
    for node in sorted(of_node):
        yield from _join_node_changes(node, sorted(of_node[node]), options.cluster)


def _join_node_changes(node: str, changes: Iterable[NodeChange], cluster: str) -> Iterator[Row]:
    state = _OutState()
    for change in changes:
        if change.change is StateChange.REASON:
            if state.since is None:
                state.last_reason_at, state.last_reason = change.at, change.reason
            else:
                state.add(change.reason)
        elif change.change in (StateChange.DOWN, StateChange.DRAIN):
            state.go(change)
        elif state.since is None:
            yield _NOT_OUT
        else:
            state.down = state.down and change.change is StateChange.UNDRAIN
            state.drained = state.drained and change.change is StateChange.UP
            state.add(change.reason)
            if not (state.down or state.drained):
                yield make_outage_for_reasons(node, state.since, change.at, state.reasons, cluster)
                state = _OutState()
    if state.since is not None:
        yield make_outage_for_reasons(node, state.since, None, state.reasons, cluster)


def make_outage_for_reasons(
    node: str, from_at: datetime, to_at: datetime | None, reasons: list[str], cluster: str
) -> Outage:
    """The outage; the first reason that names a cause has it, the last that names an action."""
    words = [remove_names(reason, (node,)) for reason in reasons]
    causes = (
        cause for text in words if (cause := classify_outage_cause(text)) is not OutageCause.UNKNOWN
    )
    cause = next(causes, OutageCause.UNKNOWN)
    actions = (action for text in reversed(words) if (action := classify_repair_action(text)))
    return Outage(
        node=node,
        from_at=from_at,
        to_at=to_at,
        reason="; ".join(reasons)[:MAX_REASON],
        cluster=cluster,
        cause=cause,
        action=next(actions, None),
        planned=cause is OutageCause.MAINTENANCE,
    )
