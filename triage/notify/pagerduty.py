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
from triage.domain.wire import format_iso_utc
from triage.notify.headline import (
    choose_severity,
    compose_headline,
    describe_restart,
    format_reason,
    is_healthy,
    select_top_suspects,
)
from triage.notify.message import JSON, Event, Message, Request, Target
from triage.notify.safe_text import find_web_link, format_plain
from triage.render.data.wire import encode_line
from triage.render.words.answer import format_belief

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
    return _request(target, _build_trigger(message, target, verdict, suspects))


def build_notice_page(
    target: Target, summary: str, at: str, lines: Sequence[str], url: str
) -> Request:
    """A page that is about no single incident; a person resolves it."""
    payload: dict[str, object] = {
        "summary": format_plain(summary, MAX_SUMMARY),
        "source": "nccl-triage",
        "severity": "critical",
        "timestamp": at,
        "custom_details": {"incidents": [format_plain(line, 400) for line in lines]},
    }
    return _request(target, _make_trigger(target, f"nccl-triage {at}", payload, url))


def _build_trigger(
    message: Message, target: Target, verdict: Verdict, suspects: tuple[Suspect, ...]
) -> dict[str, object]:
    nodes = [one.node for one in select_top_suspects(suspects) if one.node]
    named = [*nodes, message.cluster or f"job {message.job_id}"]
    payload: dict[str, object] = {
        "summary": format_plain(f"{compose_headline(message)}. {verdict.summary}", MAX_SUMMARY),
        "source": format_plain(named[0], 256),
        "severity": str(choose_severity(verdict)),
        "timestamp": format_iso_utc(message.at),
        "component": format_plain(verdict.category, 64),
        "group": format_plain(f"job {message.job_id}", 280),
        "class": format_plain(verdict.kind, 64),
        "custom_details": _build_details(message, verdict, suspects),
    }
    event = _make_trigger(target, _derive_dedup_key(message), payload, message.url)
    if "client_url" in event:
        event["links"] = [{"href": event["client_url"], "text": "Open the incident"}]
    return event


def _make_trigger(
    target: Target, dedup_key: str, payload: dict[str, object], url: str
) -> dict[str, object]:
    event: dict[str, object] = {
        "routing_key": target.routing_key or "",
        "event_action": "trigger",
        "dedup_key": dedup_key,
        "client": "nccl-triage",
        "payload": payload,
    }
    link = find_web_link(url)
    return {**event, "client_url": link} if link else event


def _resolve(message: Message, target: Target) -> dict[str, object]:
    return {
        "routing_key": target.routing_key or "",
        "event_action": "resolve",
        "dedup_key": _derive_dedup_key(message),
    }


def _build_details(
    message: Message, verdict: Verdict, suspects: tuple[Suspect, ...]
) -> dict[str, object]:
    restart = format_plain(describe_restart(message), 1000)
    return {
        "incident_id": format_plain(message.incident_id, 255),
        "job_id": format_plain(message.job_id, 256),
        "cluster": format_plain(message.cluster or "", 256),
        "revision": message.revision,
        "provisional": message.provisional,
        "confidence": format_belief(verdict.confidence),
        "action": format_plain(verdict.action, 64),
        "next_step": format_plain(message.next_step, 1000),
        **({"restart": restart} if restart else {}),
        **({"recurrence": format_plain(message.recurrence, 400)} if message.recurrence else {}),
        "commands": [format_plain(command, 300) for command in message.actions],
        "coverage": format_plain(message.coverage_text, 300),
        "suspects": [
            {
                "node": None if suspect.node is None else format_plain(suspect.node, 256),
                "ranks": list(suspect.ranks[:16]),
                "gpus": [format_plain(gpu, 40) for gpu in suspect.gpus[:8]],
                "category": format_plain(suspect.category, 64),
                "role": format_plain(suspect.role, 16),
                "score": format_belief(suspect.score),
                "because": [
                    format_plain(format_reason(reason), 400)
                    for reason in suspect.because[:_MAX_REASONS]
                ],
            }
            for suspect in select_top_suspects(suspects)
        ],
        "more_suspects": len(suspects) - len(select_top_suspects(suspects)),
    }


def _derive_dedup_key(message: Message) -> str:
    if len(message.incident_id) <= MAX_KEY:
        return message.incident_id
    return hashlib.sha256(message.incident_id.encode("utf-8", "backslashreplace")).hexdigest()


def _request(target: Target, event: dict[str, object]) -> Request:
    return Request("POST", target.url or EVENTS_URL, JSON, encode_line(event).rstrip(b"\n"))
