"""The words of acting: what can be done to a node, how an act stands, and without which nodes a
job may start: what a launcher asks before rendezvous.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from triage.domain.wire import Count, WireForm


class Verb(StrEnum):
    """What can be done to a node."""

    DRAIN = "drain"
    """No new work is placed on the node; what runs there goes on."""
    UNDRAIN = "undrain"
    """New work may be placed again: takes a drain of ours back."""
    EXCLUDE = "exclude"
    """The next start of the job leaves the node out; the scheduler is not asked."""


class ActMode(StrEnum):
    """How far the actuator goes by itself (``TRIAGE_ACT_MODE``)."""

    OFF = "off"
    APPROVE = "approve"
    """It proposes, and a person approves."""
    AUTO = "auto"


class ActionState(StrEnum):
    """How an act stands."""

    PROPOSED = "proposed"
    """It waits for a person."""
    APPROVED = "approved"
    """It may be carried out, and no process has begun."""
    ACTING = "acting"
    """A process has begun; after a kill here, the node itself says whether it was done."""
    DONE = "done"
    UNDONE = "undone"
    EXPIRED = "expired"
    """Nobody said yes in time."""
    LEFT_ALONE = "left_alone"
    """The node was found in a state that is not ours to change."""
    FAILED = "failed"


ACTIVE: Final = (ActionState.PROPOSED, ActionState.APPROVED, ActionState.ACTING)
ENDED: Final = tuple(state for state in ActionState if state not in ACTIVE)


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
