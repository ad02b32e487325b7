"""The weekly digest: worked out once a week where somebody wants it, and told once to each.

It stands in the table of work like everything that must not get lost. A scheduler that was away
sends the digest of the last week that ended, and none of those before it.
"""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, get_args
from urllib.parse import urlencode

import structlog
from sqlalchemy.orm import Session

from triage.clock import read_utc_now
from triage.domain.standing import FleetStandings, Grade
from triage.domain.wire import format_iso_utc
from triage.notify.message import Event, Kind, Target
from triage.notify.registry import Notice, digest_id, render_notice
from triage.queue.runner import Claim
from triage.services.context import Context
from triage.services.notifications.outbox import write_message
from triage.settings import Settings, Weekday
from triage.store.messages import deliveries, subscriptions
from triage.store.views import SubscriptionView
from triage.store.work.table import enqueue_by

if TYPE_CHECKING:
    from triage.fleet.services.answers import FleetAnswer

DIGEST: Final = "digest"
WEEK: Final = timedelta(days=7)
_WEEKDAYS: Final = get_args(Weekday)


def compute_due_before(now: datetime, settings: Settings) -> datetime:
    """When the last week ended: the settings' weekday and hour in UTC, at or before ``now``."""
    end = now.replace(hour=settings.digest_hour_utc, minute=0, second=0, microsecond=0)
    end -= timedelta(days=(end.weekday() - _WEEKDAYS.index(settings.digest_weekday)) % 7)
    return end if end <= now else end - WEEK


def format_week_name(end: datetime) -> str:
    """The name of the week that ends then."""
    return end.date().isoformat()


def enqueue_digest(session: Session, settings: Settings, now: datetime) -> bool:
    """Put the next digest in line where somebody wants one; whether something was put there."""
    if not subscriptions.list_by_event(session, str(Event.FLEET_DIGEST)):
        return False
    end = compute_due_before(now, settings)
    return enqueue_by(
        session, DIGEST, now if list_due_subscriptions(session, end) else end + WEEK, now
    )


def list_due_subscriptions(session: Session, end: datetime) -> list[SubscriptionView]:
    """Who wanted the digest of that week before it ended, and has not been told."""
    return [
        one
        for one in subscriptions.list_by_event(session, str(Event.FLEET_DIGEST))
        if one.created_at <= end
        and deliveries.find(session, digest_id(format_week_name(end), one.id)) is None
    ]


log = structlog.get_logger(__name__)
# The week is held against the four before it.
_AROUND: Final = 5 * WEEK
_MAX_LISTED: Final = 50


def send_digest(ctx: Context, claim: Claim) -> None:
    """Write the digest of the last week to all who want it and have not got it."""
    now = read_utc_now()
    end = compute_due_before(now, ctx.settings)
    with ctx.database.reading() as session:
        waiting = list_due_subscriptions(session, end)
    if waiting:
        digest = build_digest(ctx, end)
        with ctx.database.writing() as session:
            for one in waiting:
                _write(session, digest, end, one, now)
        log.info("digest written", week=format_week_name(end), receivers=len(waiting))
    claim.finish(again_at=end + WEEK)


def build_digest(ctx: Context, end: datetime) -> Notice:
    """The digest of the week that ended then."""
    # Each scheduler asks whether a digest is due; what works one out is loaded where one is.
    from triage.fleet.render.sentences import compose_weekly_headline, list_weekly_sentences
    from triage.fleet.report.options import FleetOptions
    from triage.fleet.services.answers import look_at_fleet, look_at_standings, make_fleet_report

    week = look_at_fleet(ctx, since=end - WEEK, until=end)
    options = FleetOptions(compare_last_days=7.0)
    trend = make_fleet_report(ctx, since=end - _AROUND, until=end, options=options)
    before = _map_grades(look_at_standings(ctx, until=end - WEEK))
    week_wire, trend_wire = week.report.to_dict(), trend.to_dict()
    standings = week.standings.to_dict()
    headline = compose_weekly_headline(week_wire, standings)
    sentences = list_weekly_sentences(week_wire, trend_wire, standings, before, week.checks)
    notes = tuple(dict.fromkeys([*trend.notes, *week.standings.notes]))
    # The page of the week, whose days are whole ones; nowhere where nobody said how to get there.
    days = {"from": f"{end - WEEK:%Y-%m-%d}", "to": f"{end - timedelta(seconds=1):%Y-%m-%d}"}
    site = ctx.settings.public_url
    url = f"{site.rstrip('/')}/fleet?{urlencode(days)}" if site else ""
    data = {
        "week": format_week_name(end),
        "since": format_iso_utc(end - WEEK),
        "until": format_iso_utc(end),
        "headline": headline,
        "sentences": list(sentences),
        "notes": list(notes),
        **_build_data(week, week_wire, trend_wire, before),
        "url": url,
    }
    return Notice(Event.FLEET_DIGEST, end, headline, tuple(sentences), data, url, notes=notes)


def _build_data(
    answer: "FleetAnswer", week: dict[str, Any], trend: dict[str, Any], before: dict[str, str]
) -> dict[str, Any]:
    """The figures: of the week, of the weeks around it, and the nodes that stand out."""
    outstanding = [
        {
            "node": row.node,
            "grade": str(row.grade),
            "before": before.get(row.node),
            "strikes": row.strikes,
            "reasons": list(row.reasons),
        }
        for row in answer.standings.nodes
        if row.grade in (Grade.LEMON, Grade.WATCH)
    ]
    failing = sum(check["state"] == "failing" for check in answer.checks)
    return {
        "cluster": answer.cluster,
        "stops": week["stops"],
        "mtti": week["rates"]["mtti"],
        "reference_mtti": week["reference_mtti"],
        "reference_gpus": week["exposure"]["reference_gpus"],
        "gpu_hours": week["exposure"]["gpu_hours"],
        "comparison": trend["comparison"],
        "causes": [
            {"row": row["row"], "count": row["count"]}
            for row in week["mix"]["rows"]
            if row["count"]
        ],
        "standings": {"counts": answer.standings.counts, "nodes": outstanding[:_MAX_LISTED]},
        "probation": [
            row.probation.to_dict() for row in answer.standings.nodes if row.probation is not None
        ][:_MAX_LISTED],
        "parts": [one.to_dict() for one in answer.standings.parts[:_MAX_LISTED]],
        "checks": {"failing": failing, "due": len(answer.checks) - failing},
    }


def _map_grades(standings: FleetStandings) -> dict[str, str]:
    """Grade by node, of those that stand out."""
    return {
        one.node: str(one.grade)
        for one in standings.nodes
        if one.grade in (Grade.LEMON, Grade.WATCH)
    }


def _write(
    session: Session, digest: Notice, end: datetime, one: SubscriptionView, now: datetime
) -> None:
    """One message, and the work of sending it."""
    request = render_notice(digest, Target(Kind(one.kind), one.url, one.routing_key))
    if request is not None:
        message_id = digest_id(format_week_name(end), one.id)
        write_message(session, message_id, one.id, Event.FLEET_DIGEST, request, now)
