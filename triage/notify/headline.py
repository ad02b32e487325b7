"""What messages say: headline, suspects and their reasons, how loud it may be, the next steps.

The headline is a message in one line, as it stands on a phone at night. It claims no more than the
verdict does: a suspect that is not convicted is "possibly", a verdict that may still change is
"provisional". Names in it are not neutralised yet.
"""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Final

from triage.domain.category import HARDWARE, Action, Category, Role, VerdictKind
from triage.domain.counts import count
from triage.domain.report import Answer, Because, Coverage, Suspect, Verdict
from triage.notify.message import Event, Message
from triage.render.words.answer import describe_symptom, format_belief, restart_text
from triage.render.words.next_step import (
    cordon_commands,
    describe_next_step,
    list_inspection_commands,
)
from triage.render.words.ranges import name_ranks

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


_FEW_NODES = 3


def compose_headline(message: Message) -> str:
    """``Job 88213 hang: gpu_hbm on gpu-0203 (0.99)``."""
    job = f"Job {message.job_id}"
    if message.event is Event.FAILED:
        return f"triage could not analyse {job}: {message.reason or 'no reason is known'}"
    if message.event is Event.DELETED:
        return f"{job}: the incident was deleted; delete what you keep of it"
    if message.event is Event.RESOLVED:
        found = message.resolution or {}
        category, node = found.get("category"), found.get("node")
        on = f" on {node}" if isinstance(node, str) and node else ""
        what = f": {category}{on}" if isinstance(category, str) and category else ""
        return f"{job} resolved{what}"
    verdict, suspects = message.verdict, message.suspects
    if verdict is None:
        return f"{job} stopped; there is no verdict yet"
    line = f"{job}{_describe_decision(verdict, suspects)} ({format_belief(verdict.confidence)})"
    if message.provisional or message.event is Event.PROVISIONAL:
        return f"Provisional: {line}"
    return f"Revised: {line}" if message.event is Event.REVISED else line


def describe_suspect_place(suspect: Suspect) -> str:
    """Its node, else its ranks."""
    if suspect.node is not None:
        return suspect.node
    return name_ranks(suspect.ranks, max_chars=40) or "unknown"


def _describe_decision(verdict: Verdict, suspects: tuple[Suspect, ...]) -> str:
    if verdict.kind in (VerdictKind.HEALTHY, VerdictKind.INCONCLUSIVE):
        return f": {verdict.kind}"
    culprits = [suspect for suspect in suspects if suspect.role == Role.CULPRIT]
    named = culprits or list(select_top_suspects(suspects))
    if not named:
        return f" {verdict.kind}: {verdict.category}"
    more = f" and {len(named) - _FEW_NODES} more" if len(named) > _FEW_NODES else ""
    places = ", ".join(map(describe_suspect_place, named[:_FEW_NODES]))
    on = "on" if culprits else "possibly on"
    return f" {verdict.kind}: {verdict.category} {on} {places}{more}"


class Severity(StrEnum):
    """The loudest first."""

    CRITICAL = "critical"
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


_BY_ACTION = {
    Action.DRAIN_NODE: Severity.CRITICAL,
    Action.REBOOT_NODE: Severity.CRITICAL,
    Action.RESET_GPU: Severity.ERROR,
    Action.CHECK_NETWORK: Severity.ERROR,
    Action.CHECK_STORAGE: Severity.ERROR,
    Action.INVESTIGATE: Severity.WARNING,
    Action.RESTART_JOB: Severity.WARNING,
    Action.FIX_CODE: Severity.WARNING,
    Action.NONE: Severity.INFO,
}


def choose_severity(verdict: Verdict) -> Severity:
    """By the action that the verdict asks for.

    ``critical`` only where a node is believed in as surely as a cordon asks for; a cause
    that is nobody's hardware is a ``warning`` at most, a healthy job ``info``.
    """
    if is_healthy(verdict):
        return Severity.INFO
    by_action = _BY_ACTION[verdict.action]
    if verdict.category not in HARDWARE:
        return Severity.INFO if by_action is Severity.INFO else Severity.WARNING
    if by_action is Severity.CRITICAL and not verdict.cordon:
        return Severity.ERROR
    return by_action


def add_answer(message: Message, answer: Answer) -> Message:
    """The message with what an answer says.

    Its commands take nodes out where nodes are cordoned, else they only look.
    """
    return replace(
        message,
        verdict=answer.verdict,
        suspects=answer.suspects,
        restart=answer.restart,
        next_step=describe_next_step(answer),
        actions=cordon_commands(answer) or list_inspection_commands(answer),
        coverage_text=describe_coverage(answer.coverage),
        seen_first=tuple(map(describe_symptom, answer.symptoms)),
    )


def describe_coverage(coverage: Coverage) -> str:
    """``63 of 64 dumps, 120,331 lines of logs; 1 file unreadable``."""
    read = []
    if coverage.dumps_read or coverage.ranks_expected:
        of = f" of {coverage.ranks_expected:,}" if coverage.ranks_expected else ""
        read.append(f"{coverage.dumps_read:,}{of} dumps")
    if coverage.lines_read:
        read.append(f"{coverage.lines_read:,} lines of logs")
    parts = [", ".join(read) or "nothing was read"]
    for files, word in ((coverage.partial, "partial"), (coverage.unreadable, "unreadable")):
        if files:
            parts.append(f"{count(len(files), 'file')} {word}")
    return "; ".join(parts)
