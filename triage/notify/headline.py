"""Headline: a message in one line, as it stands on a phone at night.

It claims no more than the verdict does: a suspect that is not convicted is "possibly", a
verdict that may still change is "provisional". Names in it are not neutralised yet.
"""

from triage.domain.category import Role, VerdictKind
from triage.domain.report import Suspect, Verdict
from triage.notify.message import Event, Message
from triage.notify.suspects import select_top_suspects
from triage.render.words.answer import format_belief
from triage.render.words.ranges import name_ranks

_FEW_NODES = 3


def compose_headline(message: Message) -> str:
    """``Job 88213 hang: gpu_hbm on gpu-0203 (0.99)``."""
    job = f"Job {message.job_id}"
    if message.event is Event.FAILED:
        return f"triage could not analyse {job}: {message.reason or 'no reason is known'}"
    if message.event is Event.DELETED:
        return f"{job}: the incident was deleted; delete what you keep of it"
    if message.event is Event.RESOLVED:
        return f"{job} resolved{_describe_resolution(message)}"
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


def _describe_resolution(message: Message) -> str:
    resolution = message.resolution or {}
    category, node = resolution.get("category"), resolution.get("node")
    on = f" on {node}" if isinstance(node, str) and node else ""
    return f": {category}{on}" if isinstance(category, str) and category else ""


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
