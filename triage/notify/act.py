"""Acts: what is asked for, or was done, to a node; told to those who subscribed to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from triage.notify import digest_slack
from triage.notify.digest import Digest
from triage.notify.generic import build_webhook_request
from triage.notify.message import Event
from triage.notify.request import Kind, Request, Target


@dataclass(frozen=True, slots=True)
class ActNotice:
    """News of one act. ``url`` is the page on which a person decides, empty where none is known."""

    event: Event
    at: datetime
    headline: str
    facts: Mapping[str, object]
    url: str


def render_act(notice: ActNotice, target: Target) -> Request | None:
    """The message in the form of ``target``; None for receivers of alarms: an act is none."""
    if target.kind is Kind.SLACK:
        ends = notice.facts.get("expires_at")
        lines: tuple[str, ...] = (f"Incident {notice.facts['incident_id']}",)
        if notice.event is Event.ACTION_PROPOSED and ends:
            lines += (f"It may be approved until {ends}.",)
        digest = Digest("", notice.at, notice.at, notice.headline, lines, {}, url=notice.url)
        return digest_slack.render(digest, target, link_text="Open the act")
    if target.kind is Kind.GENERIC:
        data = {"headline": notice.headline, "action": dict(notice.facts), "url": notice.url}
        return build_webhook_request(target, notice.event, notice.at, data)
    return None
