"""Whether a job may start, and without which nodes: what a launcher asks before rendezvous."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from triage.domain.wire import Count, WireForm


class LaunchDecision(StrEnum):
    """What to do with the start that is about to be made."""

    START = "start"
    START_WITHOUT = "start_without"  # the excluded nodes


class LaunchStatus(StrEnum):
    """Whether the newest failure of the job has its answer."""

    COMPLETED = "completed"
    IN_FLIGHT = "in_flight"


@dataclass(frozen=True, slots=True)
class LeftOut(WireForm):
    """One node to leave out. ``until`` is when nothing keeps it out any more; null: until
    somebody undoes the act.
    """

    node: str
    why: str
    incident_id: str
    until: datetime | None


@dataclass(frozen=True, slots=True)
class Launch(WireForm):
    """The answer to "may I start, and without whom?".

    ``exclude`` are the names of ``excluded``. ``incident_id`` is the job's newest failure; None
    where none is on record. ``why`` is what the answer to it says of another start.
    """

    job_id: str
    cluster: str | None
    decision: LaunchDecision
    exclude: tuple[str, ...]
    excluded: tuple[LeftOut, ...]
    why: str
    retries_left: Count | None
    incident_id: str | None
    status: LaunchStatus
