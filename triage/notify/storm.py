"""Storm: many incidents within a minute, told as one message.

Somebody who is paged three hundred times in a minute reads none of it. Beyond a number of
messages a minute what is new to a receiver is told together, once the minute is over.
"""

from dataclasses import dataclass
from datetime import datetime

from triage.domain.wire import format_iso_utc
from triage.notify import alertmanager, digest_slack, pagerduty
from triage.notify.digest import Digest
from triage.notify.generic import build_webhook_request
from triage.notify.message import Event
from triage.notify.request import Kind, Request, Target


@dataclass(frozen=True, slots=True)
class StormIncident:
    """One of them: ``summary`` is its verdict's sentence, empty where there is none."""

    incident_id: str
    job_id: str
    summary: str


@dataclass(frozen=True, slots=True)
class Storm:
    """``num_incidents`` since ``since`` until ``until``, of which the newest are listed."""

    since: datetime
    until: datetime
    num_incidents: int
    newest: tuple[StormIncident, ...]
    url: str

    @property
    def headline(self) -> str:
        """One line."""
        return (
            f"{self.num_incidents} more incidents since {format_iso_utc(self.since)}, told as one"
        )


def render_storm(storm: Storm, target: Target) -> Request:
    """The message in the form of ``target``."""
    lines = tuple(f"{one.incident_id}, job {one.job_id}: {one.summary}" for one in storm.newest)
    if target.kind is Kind.SLACK:
        week = Digest("", storm.since, storm.until, storm.headline, lines, {}, url=storm.url)
        return digest_slack.render(week, target, link_text="Open the incidents")
    if target.kind is Kind.PAGERDUTY:
        at = format_iso_utc(storm.until) or ""
        return pagerduty.build_notice_page(target, storm.headline, at, lines, storm.url)
    if target.kind is Kind.ALERTMANAGER:
        return alertmanager.build_notice_alert(target, storm.headline, storm.until, storm.url)
    data = {
        "since": format_iso_utc(storm.since),
        "num_incidents": storm.num_incidents,
        "incidents": [
            {"incident_id": one.incident_id, "job_id": one.job_id, "summary": one.summary}
            for one in storm.newest
        ],
        "url": storm.url,
    }
    return build_webhook_request(target, Event.STORM, storm.until, data)
