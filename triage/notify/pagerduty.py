"""PagerDuty: Events API v2. One incident is one alert, however often it is revised.

``dedup_key`` is the id of the incident, so a later revision updates the alert and never
pages again. Only a job that something stopped pages; when a revision says that nothing
did, or a person resolves the incident, the alert is resolved.

Source: PagerDuty, "PD-CEF" and "Events API v2": summary at most 1,024 characters,
dedup_key at most 255, severity one of four words.
"""

import hashlib
from collections.abc import Sequence

from triage.domain.report import Suspect, Verdict
from triage.domain.wire import iso_utc
from triage.notify.headline import headline
from triage.notify.message import Event, Message
from triage.notify.request import JSON, Request, Target
from triage.notify.safe_text import plain, web_link
from triage.notify.severity import severity
from triage.notify.suspects import is_healthy, restart_of, sentence_of, top_suspects
from triage.render.data.wire import encode_line
from triage.render.words.belief import belief

EVENTS_URL = "https://events.pagerduty.com/v2/enqueue"
MAX_SUMMARY = 1024
MAX_KEY = 255
_MAX_REASONS = 4


def render(message: Message, target: Target) -> Request | None:
    """A trigger or a resolve; None where there is nothing to page for."""
    verdict, suspects = message.verdict, message.suspects
    if message.event is Event.FAILED:
        return None  # triage failed, not the job: its own metrics and logs say so
    if message.event in (Event.RESOLVED, Event.DELETED):
        return _request(target, _resolve(message, target))
    if verdict is None:
        return None
    if is_healthy(verdict):
        # An earlier revision may have paged; to resolve an alert that never was does nothing.
        revised = message.event is Event.REVISED
        return _request(target, _resolve(message, target)) if revised else None
    return _request(target, _trigger(message, target, verdict, suspects))


def notice(target: Target, summary: str, at: str, lines: Sequence[str], url: str) -> Request:
    """A page that is about no single incident; a person resolves it."""
    payload: dict[str, object] = {
        "summary": plain(summary, MAX_SUMMARY),
        "source": "nccl-triage",
        "severity": "critical",
        "timestamp": at,
        "custom_details": {"incidents": [plain(line, 400) for line in lines]},
    }
    event: dict[str, object] = {
        "routing_key": target.routing_key or "",
        "event_action": "trigger",
        "dedup_key": f"nccl-triage {at}",
        "client": "nccl-triage",
        "payload": payload,
    }
    link = web_link(url)
    return _request(target, {**event, "client_url": link} if link else event)


def _trigger(
    message: Message, target: Target, verdict: Verdict, suspects: tuple[Suspect, ...]
) -> dict[str, object]:
    link = web_link(message.url)
    payload: dict[str, object] = {
        "summary": plain(f"{headline(message)}. {verdict.summary}", MAX_SUMMARY),
        "source": _source(message, suspects),
        "severity": str(severity(verdict)),
        "timestamp": iso_utc(message.at),
        "component": plain(verdict.category, 64),
        "group": plain(f"job {message.job_id}", 280),
        "class": plain(verdict.kind, 64),
        "custom_details": _details(message, verdict, suspects),
    }
    event: dict[str, object] = {
        "routing_key": target.routing_key or "",
        "event_action": "trigger",
        "dedup_key": _key(message),
        "client": "nccl-triage",
        "payload": payload,
    }
    if link:
        event["client_url"] = link
        event["links"] = [{"href": link, "text": "Open the incident"}]
    return event


def _resolve(message: Message, target: Target) -> dict[str, object]:
    return {
        "routing_key": target.routing_key or "",
        "event_action": "resolve",
        "dedup_key": _key(message),
    }


def _details(
    message: Message, verdict: Verdict, suspects: tuple[Suspect, ...]
) -> dict[str, object]:
    restart = plain(restart_of(message), 1000)
    return {
        "incident_id": plain(message.incident_id, 255),
        "job_id": plain(message.job_id, 256),
        "cluster": plain(message.cluster or "", 256),
        "revision": message.revision,
        "provisional": message.provisional,
        "confidence": belief(verdict.confidence),
        "action": plain(verdict.action, 64),
        "next_step": plain(message.next_step, 1000),
        **({"restart": restart} if restart else {}),
        "commands": [plain(command, 300) for command in message.actions],
        "coverage": plain(message.coverage_text, 300),
        "suspects": [
            {
                "node": None if suspect.node is None else plain(suspect.node, 256),
                "ranks": list(suspect.ranks[:16]),
                "gpus": [plain(gpu, 40) for gpu in suspect.gpus[:8]],
                "category": plain(suspect.category, 64),
                "role": plain(suspect.role, 16),
                "score": belief(suspect.score),
                "because": [
                    plain(sentence_of(reason), 400) for reason in suspect.because[:_MAX_REASONS]
                ],
            }
            for suspect in top_suspects(suspects)
        ],
        "more_suspects": len(suspects) - len(top_suspects(suspects)),
    }


def _source(message: Message, suspects: tuple[Suspect, ...]) -> str:
    nodes = [suspect.node for suspect in top_suspects(suspects) if suspect.node]
    named = next(iter(nodes), None) or message.cluster or f"job {message.job_id}"
    return plain(named, 256)


def _key(message: Message) -> str:
    if len(message.incident_id) <= MAX_KEY:
        return message.incident_id
    return hashlib.sha256(message.incident_id.encode("utf-8", "backslashreplace")).hexdigest()


def _request(target: Target, event: dict[str, object]) -> Request:
    return Request("POST", target.url or EVENTS_URL, JSON, encode_line(event).rstrip(b"\n"))
