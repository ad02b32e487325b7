"""What messages say of a verdict, its suspects and the restart of the job."""

from collections.abc import Sequence
from typing import Final

from triage.domain.category import Category, Role, VerdictKind
from triage.domain.report import Because, Suspect, Verdict
from triage.notify.message import Message
from triage.render.words.answer import restart_text

# A message that names more than a few suspects helps nobody.
_MAX_TOP: Final = 3


def is_healthy(verdict: Verdict) -> bool:
    """Nothing stopped: there is nobody to wake."""
    return verdict.kind == VerdictKind.HEALTHY or verdict.category == Category.NONE


def select_top_suspects(suspects: Sequence[Suspect]) -> tuple[Suspect, ...]:
    """The best three that may be the origin; those the cause only names come last."""
    origins = [suspect for suspect in suspects if suspect.role != Role.AFFECTED]
    return tuple(origins[:_MAX_TOP])


def format_place(reason: Because) -> str:
    """``kernel.log:8``, ``fr/rank_3``, or nothing."""
    if reason.artifact is None:
        return ""
    return reason.artifact if reason.line is None else f"{reason.artifact}:{reason.line}"


def format_reason(reason: Because) -> str:
    """The text, with its place in brackets where it has one."""
    place = format_place(reason)
    return f"{reason.text} ({place})" if place else reason.text


def describe_restart(message: Message) -> str:
    """What to do with the job and why, in words; empty where nothing is known."""
    return "" if message.restart is None else restart_text(message.restart)
