"""The words of acting: what can be done to a node, and how an act stands."""

from enum import StrEnum
from typing import Final


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
    REFUSED = "refused"
    """A person said no."""
    EXPIRED = "expired"
    """Nobody said yes in time."""
    LEFT_ALONE = "left_alone"
    """The node was found in a state that is not ours to change."""
    FAILED = "failed"


ACTIVE: Final = (ActionState.PROPOSED, ActionState.APPROVED, ActionState.ACTING)
ENDED: Final = tuple(state for state in ActionState if state not in ACTIVE)
