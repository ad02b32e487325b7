"""What a fleet was exposed to: runs of jobs on nodes, and when nodes were out of service.

A rate is a count over an exposure; without the second the first says nothing. A run is one
attempt of a job on one set of nodes, from its start to its end.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import Any, Final, NamedTuple, Protocol

from triage.domain.category import Category
from triage.domain.hardware import PartIdentity
from triage.domain.patterns import compile_re
from triage.fleet.domain.cause import OutageCause, RepairAction, load_words, rank_vagueness

FIRST: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""Nobody trained on GPUs before; Slurm prints 1970 for a job that never started."""
AHEAD: Final = timedelta(days=1)
"""A clock that is ahead of ours by more is wrong, and so is what it says."""
MAX_GPUS: Final = 10_000_000
MOST_GPUS_OF_NODE: Final = 72
"""NVIDIA's largest node has 16 GPUs, a rack that is one system 72."""
FACTS: Final = ("generation", "rack", "leaf_switch", "batch", "cage", "slot", "role")
"""What an inventory may say of a node, as its columns are named."""


class Ending(StrEnum):
    """How a run ended. Planned and unexpected interruptions are never added up."""

    RUNNING = "running"  # still is, or nobody has said otherwise
    COMPLETED = "completed"
    UNEXPECTED = "unexpected"  # failed, of whatever cause
    PLANNED = "planned"  # cancelled, preempted, time limit, maintenance that was announced
    UNKNOWN = "unknown"


# A hook calls all that did not end well a failure; the scheduler knows what was meant.
ORDER = (Ending.RUNNING, Ending.UNKNOWN, Ending.COMPLETED, Ending.UNEXPECTED, Ending.PLANNED)


def weigh_ending(ending: Ending) -> int:
    """How much an ending tells: where two sources differ on one run, the higher one stands."""
    return ORDER.index(ending)


@dataclass(frozen=True, slots=True)
class Run:
    """One attempt of a job.

    ``nodes`` are scheduler names; empty where the source says only how many. ``cause`` is what
    the source itself says of the end (a scheduler's NODE_FAIL, OUT_OF_MEMORY), before any triage.
    ``source`` names who told it: ``hook``, ``sacct``, ``kubernetes``, ``csv``.
    """

    job_id: str
    started_at: datetime
    ended_at: datetime | None
    ending: Ending
    num_nodes: int
    num_gpus: int
    nodes: tuple[str, ...] = ()
    cluster: str = ""
    cause: Category | None = None
    source: str = "csv"


@dataclass(frozen=True, slots=True)
class Outage:
    """A node out of service; ``to_at`` is None while it still is.

    ``cause`` is why, ``action`` what was done before it came back, None where nobody says.
    A ``planned`` one (maintenance) is no fault.
    """

    node: str
    from_at: datetime
    to_at: datetime | None
    reason: str = ""
    cluster: str = ""
    cause: OutageCause = OutageCause.UNKNOWN
    action: RepairAction | None = None
    planned: bool = False


@dataclass(frozen=True, slots=True)
class NodeRepair:
    """What was done to a node, where nobody says when it went out of service and came back.

    ``text`` is the note or the ticket that says so.
    """

    node: str
    at: datetime
    action: RepairAction
    text: str = ""
    cluster: str = ""


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What an inventory says of a node; None where it does not.

    ``batch`` is the delivery that it came with, ``cage`` and ``slot`` where it sits in its rack.
    ``role`` says that it does other work than most: front end, login, test stand.
    """

    node: str
    generation: str | None = None
    rack: str | None = None
    leaf_switch: str | None = None
    cluster: str = ""
    batch: str | None = None
    cage: str | None = None
    slot: str | None = None
    role: str | None = None


@dataclass(frozen=True, slots=True)
class PartSeen:
    """A part was in a node from ``first_at`` to ``last_at``; both None where nobody says when."""

    node: str
    part: PartIdentity
    first_at: datetime | None = None
    last_at: datetime | None = None
    cluster: str = ""


ExposureRow = Run | Outage | NodeRepair | NodeFacts | PartSeen
"""Any of what is stored of a fleet's exposure."""


class JobState(NamedTuple):
    """What a scheduler's word for the state of a job says of how its run ended.

    ``started`` is False for a job that has not been on any node yet.
    """

    ending: Ending
    cause: Category | None = None
    started: bool = True


_OTHER_STATES: Final = {
    "out_of_memory": JobState(Ending.UNEXPECTED, Category.HOST_OOM),
    "waiting": JobState(Ending.UNKNOWN, started=False),
}
# "CANCELLED by 1000", "CANCELLED+" where sacct cut it.
_DETAIL: Final = compile_re(r"(?: by .*|\+)$", re.ASCII)


def parse_job_state(text: str) -> JobState | None:
    """What the word says, in any case; None for one that is not known."""
    return _load_job_states().get(_DETAIL.sub("", text.strip().lower()))


@cache
def _load_job_states() -> Mapping[str, JobState]:
    return {
        word: _OTHER_STATES.get(name) or JobState(Ending(name))
        for name, words in load_words()["job_states"].items()
        for word in words
    }


# Two reports of one outage: which of them stands, and whether they contradict each other.
#
# Of different ends the earlier one stands; of causes and reasons the one that names a part, then
# the first in the alphabet; so that neither the order of reports nor a repeat changes the result.

# Two sources see one return by their own clocks.
_CLOCKS_APART: Final = timedelta(minutes=1)


class OutageReport(Protocol):
    """An outage as one source tells it."""

    @property
    def to_at(self) -> datetime | None:
        """When the node came back; None where it is still out."""

    @property
    def reason(self) -> str:
        """In the source's words."""

    @property
    def cause(self) -> str | None:
        """A value of ``OutageCause``; None where nobody looked for one."""

    @property
    def action(self) -> str | None:
        """A value of ``RepairAction``."""

    @property
    def planned(self) -> bool | None:
        """Whether it is maintenance."""


def is_contradiction(one: OutageReport, other: OutageReport) -> bool:
    """Whether both say an end, or a cause, and not the same."""
    causes = {report.cause for report in (one, other) if not rank_vagueness(report.cause)}
    if one.to_at is None or other.to_at is None:
        return len(causes) > 1
    return len(causes) > 1 or abs(one.to_at - other.to_at) > _CLOCKS_APART


def order_reports(report: OutageReport) -> tuple[int, bool, str, str, bool]:
    """The order of reports: the first stands."""
    return (
        rank_vagueness(report.cause),
        not report.reason,
        report.reason,
        report.cause or "",
        bool(report.planned),
    )


def complete_fields(first: OutageReport, last: OutageReport) -> dict[str, Any]:
    """The fields of the one that stands, as far as the other one changes them."""
    ends = [end for end in (first.to_at, last.to_at) if end is not None]
    actions = [action for action in (first.action, last.action) if action is not None]
    return {
        "to_at": min(ends, default=None),
        "action": min(actions, default=None),
        "planned": last.planned if first.planned is None else first.planned,
    }


def describe_contradictions(number: int) -> str:
    """So many reports of one outage contradict each other, in words."""
    return (
        "outages whose end or cause another report contradicts (the earlier end and the first"
        f" cause in the alphabet stand): {number:,}"
    )
