"""What the actuator asks of a scheduler, what it is told, and which one the settings name.

Every act can be repeated: one that finds the node as it would leave it changes nothing. So a
process that was killed between decision and act looks first, and acts at most once.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, Final, Protocol, cast

from triage.domain.category import Category
from triage.domain.patterns import compile_re
from triage.errors import TriageError, UsageError
from triage.render.words.clean import format_one_line
from triage.settings import Settings

NODE: Final = compile_re(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?", re.ASCII)
"""A node's name that is handed to a scheduler; every other one is refused."""
_REASON: Final = compile_re(r"triage:(?P<incident>[A-Za-z0-9_-]{1,64}):", re.ASCII)


def format_act_reason(incident_id: str, category: Category, confidence: float) -> str:
    """The reason that stands at the scheduler: one word, so that other tools can read it."""
    return f"triage:{incident_id}:{category}:{confidence:.2f}"


def parse_reason_incident(reason: str) -> str | None:
    """The incident of a reason of ours; None for the words of others, who are left alone."""
    match = _REASON.match(reason)
    return match["incident"] if match else None


class SchedulerAway(TriageError):
    """The scheduler did not answer, or not in time: whether the act took is not known.

    The same act is tried again later, after a look at the node.
    """


class SchedulerRefused(TriageError):
    """The scheduler said no, in words that do not change by asking again."""


class NoSuchNode(SchedulerRefused):
    """The scheduler knows no node of this name."""


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node as its scheduler sees it.

    ``drained`` is whether no new work is placed on it, ``reason`` why, in the words that stand
    there, and ``by`` who wrote them (empty where the scheduler does not say). ``details`` is what
    else it tells, as plain JSON values; ``boot_time`` is when the node was started.
    """

    name: str
    drained: bool = False
    reason: str = ""
    by: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def incident(self) -> str | None:
        """The incident for which we drained it; None where it is not drained, or not by us."""
        return parse_reason_incident(self.reason) if self.drained else None

    @property
    def why(self) -> str:
        """The reason and who wrote it, for people."""
        return f"{self.reason or 'no reason'}{f' (by {self.by})' if self.by else ''}"

    @property
    def booted_at(self) -> datetime | None:
        """When the node was started, where that is told."""
        return parse_scheduler_time(self.details.get("boot_time"))


@dataclass(frozen=True, slots=True)
class PoolView:
    """All nodes of a cluster, as its scheduler sees them.

    ``size`` is how many there are. ``out`` names those that are out of service with a reason of
    ours, whichever service wrote it, with the time since when where the scheduler tells it.
    """

    size: int
    out: Mapping[str, datetime | None] = field(default_factory=dict)

    def out_since(self, moment: datetime) -> set[str]:
        """The nodes that were taken out after ``moment``."""
        return {node for node, since in self.out.items() if since is not None and since > moment}


class Scheduler(Protocol):
    """One cluster's scheduler.

    ``reason`` is one line without blanks, ``triage:INCIDENT:CATEGORY:CONFIDENCE``, by which our
    acts are known. Each method raises :class:`SchedulerAway` or :class:`SchedulerRefused`.
    """

    name: str

    def node(self, node: str) -> NodeView:
        """How the node stands. Raises :class:`NoSuchNode`, as all acts on a node do."""

    def pool(self) -> PoolView:
        """What a budget by share is counted by, in one question however many nodes there are."""

    def drain(self, node: str, reason: str) -> None:
        """Let no new work be placed on the node; what runs there goes on."""

    def undrain(self, node: str, reason: str, earlier: str, /) -> None:
        """Take the drain of this reason back; ``earlier`` is the one that stood there before."""


def parse_scheduler_time(text: object) -> datetime | None:
    """A scheduler's time in ISO 8601; UTC where it has no zone. None for what is no time."""
    try:
        found = datetime.fromisoformat(str(text).strip())
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def check_node_name(node: str) -> str:
    """The name of one node. Raises :class:`SchedulerRefused` for a list of hosts (``n[1-900]``),
    an option, ``ALL``, and whatever else names no single node.
    """
    if not NODE.fullmatch(node) or node.upper() == "ALL":
        raise SchedulerRefused(f"{format_one_line(node)[:80]!r} is no name of a node")
    return node


def make_scheduler(settings: Settings) -> Scheduler | None:
    """The scheduler of the settings; None where none is named. It is not asked anything yet.

    Its module is imported when it is first asked for: the client of Kubernetes takes longer to
    import than most commands take. Raises :class:`TriageError` where it cannot be set up here.
    """
    if settings.act_system == "none":
        return None
    try:
        module = import_module(f"triage.actions.schedulers.{settings.act_system}")
    except ImportError as error:
        name = settings.act_system
        raise UsageError(
            f"TRIAGE_ACT_SYSTEM={name} needs its client: pip install 'nccl-triage[{name}]'"
        ) from error
    return cast("Scheduler", module.open_scheduler(settings))
