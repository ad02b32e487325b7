"""What the actuator asks of a scheduler, and what it is told.

Every act can be repeated: one that finds the node as it would leave it changes nothing. So a
process that was killed between decision and act looks first, and acts at most once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from triage.errors import TriageError

__all__ = ["NodeView", "PoolView", "Scheduler", "SchedulerAway", "SchedulerRefused", "time_in"]


class SchedulerAway(TriageError):
    """The scheduler did not answer, or not in time: whether the act took is not known.

    The same act is tried again later, after a look at the node.
    """


class SchedulerRefused(TriageError):
    """The scheduler said no, in words that do not change by asking again."""


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node as its scheduler sees it.

    ``drained`` is whether no new work is placed on it, ``reason`` why, in the words that stand
    there, and ``by`` who wrote them (empty where the scheduler does not say). ``busy`` is
    whether work still runs. ``details`` is what an undo needs besides, as plain JSON values.
    """

    name: str
    exists: bool
    drained: bool = False
    reason: str = ""
    by: str = ""
    busy: bool = False
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PoolView:
    """All nodes of a cluster, as its scheduler sees them.

    ``size`` is how many there are. ``out`` names those that are out of service with a reason of
    ours, whichever service wrote it, with the time since when where the scheduler tells it;
    ``num_out`` counts them where the scheduler names none.
    """

    size: int
    out: Mapping[str, datetime | None] = field(default_factory=dict)
    num_out: int = 0

    def out_since(self, moment: datetime) -> set[str]:
        """The nodes that were taken out after ``moment``."""
        return {node for node, since in self.out.items() if since is not None and since > moment}


def time_in(text: object) -> datetime | None:
    """A scheduler's time in ISO 8601; UTC where it has no zone. None for what is no time."""
    try:
        found = datetime.fromisoformat(str(text).strip())
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


class Scheduler(Protocol):
    """One cluster's scheduler.

    Node names are checked by the caller against :data:`triage.actions.names.NODE`. ``reason`` is
    one line without blanks, ``triage:INCIDENT:CATEGORY:CONFIDENCE``, by which our acts are known.

    Each method raises :class:`SchedulerAway` or :class:`SchedulerRefused`.
    """

    name: str

    def node(self, node: str) -> NodeView:
        """How the node stands; ``exists`` is False for one that the scheduler does not know."""

    def pool(self) -> PoolView:
        """What a budget by share is counted by, in one question however many nodes there are."""

    def drain(self, node: str, reason: str) -> None:
        """Let no new work be placed on the node; what runs there goes on."""

    def undrain(self, node: str, reason: str, before: NodeView | None) -> None:
        """Take a drain back that has this reason, and leave what ``before`` says was there."""

    def reboot(self, node: str, reason: str) -> None:
        """Ask for a reboot as soon as nothing runs on the node."""

    def command(self, verb: str, node: str, reason: str) -> str:
        """The act as a command that a person can paste, for the record and for dry runs."""
