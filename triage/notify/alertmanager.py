"""Alertmanager: one alert for each of the top suspects, over its v2 API.

The labels are an alert's identity, so they hold what routes it and no list of ranks. An
alert is sent once and stands for a day, unless the incident is resolved before, or a
revision no longer names that node: then the same labels are sent with an end.

Source: Alertmanager, `api/v2/openapi.yaml` (postableAlerts); an alert without `endsAt`
would end after the server's `resolve_timeout`, five minutes by default.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from urllib.parse import urlsplit, urlunsplit

import orjson

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
from triage.render.words.answer import format_belief
from triage.render.words.ranges import condense

STANDS_FOR = timedelta(days=1)
_PATH = "/api/v2/alerts"
_MAX_LABEL = 256

_Labels = tuple[tuple[str, str], ...]


def render(message: Message, target: Target) -> Request | None:
    """The alerts that stand and those that end; None where there are neither."""
    current = _build_alerts(message, message.verdict, message.suspects)
    previous = _build_alerts(message, message.previous_verdict, message.previous_suspects)
    if message.event is Event.FAILED:
        return None
    standing, ended = message.split_standing(current, previous)
    body = [
        _build_alert(labels, notes, message.at, ends_at, message.url)
        for alerts, ends_at in ((standing, message.at + STANDS_FOR), (ended, message.at))
        for labels, notes in alerts.items()
    ]
    return _make_request(target, body) if body else None


def build_notice_alert(target: Target, summary: str, at: datetime, url: str) -> Request:
    """An alert that is about no single incident; it ends by itself after an hour."""
    labels = (("alertname", "TrainingJobsStopped"), ("severity", "critical"))
    notes = {"summary": format_plain(summary, 400)}
    return _make_request(target, [_build_alert(labels, notes, at, at + timedelta(hours=1), url)])


def _make_request(target: Target, alerts: Sequence[Mapping[str, object]]) -> Request:
    parts = urlsplit(target.url)
    # The path of the v2 API stands behind it, unless it is there already.
    path = parts.path.rstrip("/").removesuffix(_PATH) + _PATH
    return Request("POST", urlunsplit(parts._replace(path=path)), JSON, orjson.dumps(alerts))


def _build_alerts(
    message: Message, verdict: Verdict | None, suspects: Sequence[Suspect]
) -> dict[_Labels, Mapping[str, str]]:
    """Annotations by labels, for a verdict and its suspects; nothing for a healthy job."""
    if verdict is None or is_healthy(verdict):
        return {}
    top: tuple[Suspect | None, ...] = select_top_suspects(suspects) or (None,)
    return {
        _build_labels(message, verdict, suspect): _build_annotations(message, verdict, suspect)
        for suspect in reversed(top)  # of two ranks on an unknown node, the better one stays
    }


def _build_labels(message: Message, verdict: Verdict, suspect: Suspect | None) -> _Labels:
    labels = {
        "alertname": "TrainingJobStopped",
        "severity": str(choose_severity(verdict)),
        "category": verdict.category if suspect is None else suspect.category,
        "cluster": message.cluster or "",
        "incident": message.incident_id,
        "job_id": message.job_id,
        "node": "" if suspect is None else suspect.node or "",
    }
    # An empty label is no label to Alertmanager.
    clean = {name: format_plain(value, _MAX_LABEL) for name, value in labels.items()}
    return tuple((name, value) for name, value in clean.items() if value)


def _build_annotations(
    message: Message, verdict: Verdict, suspect: Suspect | None
) -> Mapping[str, str]:
    provisional = "Provisional: " if message.provisional else ""
    notes = {
        "summary": format_plain(compose_headline(message), 400),
        "description": format_plain(f"{provisional}{verdict.summary}", 1000),
        "confidence": format_belief(verdict.confidence if suspect is None else suspect.score),
        "action": format_plain(verdict.action, 64),
        "next_step": format_plain(message.next_step, 1000),
        "restart": format_plain(describe_restart(message), 1000),
        "recurrence": format_plain(message.recurrence, 400),
        "commands": "\n".join(format_plain(command, 300) for command in message.actions),
        "coverage": format_plain(message.coverage_text, 300),
    }
    if suspect is not None:
        notes["role"] = format_plain(suspect.role, 16)
        notes["ranks"] = format_plain(condense(suspect.ranks, max_chars=60), 100)
        notes["because"] = "\n".join(
            format_plain(format_reason(reason), 400) for reason in suspect.because[:3]
        )
    return {name: text for name, text in notes.items() if text}


def _build_alert(
    labels: _Labels,
    annotations: Mapping[str, str],
    starts_at: datetime,
    ends_at: datetime,
    url: str,
) -> dict[str, object]:
    alert: dict[str, object] = {
        "labels": dict(labels),
        "annotations": annotations,
        "startsAt": format_iso_utc(starts_at),
        "endsAt": format_iso_utc(ends_at),
    }
    link = find_web_link(url)
    return {**alert, "generatorURL": link} if link else alert
