"""The digest of a week: worked out from the record, told once to each who asked for it."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from models import Work
from tests.fleet.services.small_fleet import END, LEMON, keep_fleet
from tests.services.notifications.test_outbox import Receiver, listening, send_all
from tests.support.work import do_all
from triage.domain.states import WorkKind
from triage.errors import Unprocessable
from triage.fleet.services.weekly import build_digest, compute_due_before, enqueue_digest
from triage.notify.message import DEFAULT_EVENTS, Event
from triage.notify.registry import digest_id, validate
from triage.sandbox.pool import Readers
from triage.server.work import make_sweeper
from triage.services.context import Context
from triage.services.notifications.subscribe import subscribe, unsubscribe
from triage.services.retention.prune import prune
from triage.settings import Settings
from triage.store.messages import deliveries, subscriptions
from triage.store.messages.subscriptions import NewSubscription

DIGEST = ["fleet.digest"]
HOUR = timedelta(hours=1)
# A Monday, 07:00 UTC, is when weeks end by default.
DUE = END + 7 * HOUR


@pytest.fixture
def receiver():
    with listening() as found:
        yield found


@pytest.fixture
def clock(monkeypatch):
    """The services' clock, to be set."""

    class Clock:
        now = DUE - HOUR

    monkeypatch.setattr("triage.clock.read", lambda: Clock.now)
    return Clock


def sweep(ctx: Context, readers: Readers, now: datetime) -> None:
    """As the scheduler does: put in line what is due, do it, send it."""
    with ctx.database.writing() as session:
        enqueue_digest(session, ctx.settings, now)
    do_all(ctx, readers, WorkKind.RETENTION)
    send_all(ctx, readers)


def test_it_is_told_when_the_week_ends_and_once(
    ctx: Context, readers: Readers, receiver: Receiver, clock
) -> None:
    keep_fleet(ctx)
    told = subscribe(ctx, validate("generic", receiver.url, None), None, DIGEST, "key_1")
    sweep(ctx, readers, clock.now)
    assert receiver.came == []

    clock.now = DUE
    sweep(ctx, readers, clock.now)
    clock.now = DUE + 3 * HOUR
    sweep(ctx, readers, clock.now)

    [(headers, body)] = receiver.came
    said = json.loads(body)
    assert headers["webhook-id"] == digest_id("2026-11-16", told.id)
    assert said["type"] == "fleet.digest"
    assert said["data"]["week"] == "2026-11-16"
    assert said["data"]["standings"]["nodes"][0]["node"] == LEMON


def test_whoever_sweeps_puts_it_in_line(ctx: Context, clock) -> None:
    with ctx.database.writing() as session:
        new = NewSubscription("sub_1", "generic", "http://127.0.0.1/x", None, [], DIGEST)
        subscriptions.add(session, new, clock.now)
    make_sweeper(ctx).sweep()

    with ctx.database.reading() as session:
        row = session.scalars(select(Work).where(Work.key == "digest")).one()
    assert row.not_before == DUE


def test_each_week_has_its_own(ctx: Context, readers: Readers, receiver: Receiver, clock) -> None:
    subscribe(ctx, validate("generic", receiver.url, None), None, DIGEST, "key_1")
    for week in range(3):
        clock.now = DUE + timedelta(weeks=week)
        sweep(ctx, readers, clock.now)

    weeks = [one["data"]["week"] for one in receiver.bodies()]
    assert weeks == ["2026-11-16", "2026-11-23", "2026-11-30"]


def test_a_scheduler_that_was_away_tells_the_last_week_alone(
    ctx: Context, readers: Readers, receiver: Receiver, clock
) -> None:
    subscribe(ctx, validate("generic", receiver.url, None), None, DIGEST, "key_1")
    clock.now = DUE + timedelta(weeks=4, days=2)
    sweep(ctx, readers, clock.now)

    assert [one["data"]["week"] for one in receiver.bodies()] == ["2026-12-14"]


def test_who_subscribes_after_the_week_waits_for_the_next(
    ctx: Context, readers: Readers, receiver: Receiver, clock
) -> None:
    clock.now = DUE + HOUR
    subscribe(ctx, validate("generic", receiver.url, None), None, DIGEST, "key_1")
    sweep(ctx, readers, clock.now)
    assert receiver.came == []

    clock.now = DUE + timedelta(weeks=1)
    sweep(ctx, readers, clock.now)
    assert len(receiver.came) == 1


def test_nobody_is_told_who_did_not_ask(
    ctx: Context, readers: Readers, receiver: Receiver, clock
) -> None:
    subscribe(ctx, validate("generic", receiver.url, None), None, None, "key_1")
    clock.now = DUE
    sweep(ctx, readers, clock.now)

    assert receiver.came == []
    with ctx.database.writing() as session:
        assert not enqueue_digest(session, ctx.settings, clock.now)


def test_who_is_gone_is_not_told(ctx: Context, readers: Readers, receiver: Receiver, clock) -> None:
    gone = subscribe(ctx, validate("generic", receiver.url, None), None, DIGEST, "key_1")
    unsubscribe(ctx, gone.id, "key_1")
    clock.now = DUE
    sweep(ctx, readers, clock.now)

    assert receiver.came == []


def test_slack_gets_sentences(ctx: Context, readers: Readers, receiver: Receiver, clock) -> None:
    keep_fleet(ctx)
    subscribe(ctx, validate("slack", receiver.url, None), None, DIGEST, "key_1")
    clock.now = DUE
    sweep(ctx, readers, clock.now)

    [body] = receiver.bodies()
    assert f"1 lemon to take out: {LEMON}" in json.dumps(body)


@pytest.mark.parametrize(("kind", "key"), [("pagerduty", "R0UT1NG"), ("alertmanager", None)])
def test_alarms_are_not_raised_for_a_look_back(ctx: Context, kind: str, key: str | None) -> None:
    url, events = "http://127.0.0.1/alarms", ["incident.ready", "fleet.digest"]
    with pytest.raises(Unprocessable, match=r"fleet\.digest") as refused:
        subscribe(ctx, validate(kind, url, key), None, events, "key_1")

    assert refused.value.places[0].where == "body/events/1"
    assert subscribe(ctx, validate(kind, url, key), None, events[:1], "key_1").events


def test_an_empty_fleet_is_told_as_one(ctx: Context) -> None:
    found = build_digest(ctx, DUE)

    assert "Nothing is known of this fleet" in found.sentences[0]
    assert found.headline.endswith("0 unexpected interruptions")
    assert found.url == ""


def test_the_same_week_is_the_same_digest(ctx: Context) -> None:
    keep_fleet(ctx)

    assert build_digest(ctx, DUE) == build_digest(ctx, DUE)


def test_what_was_told_is_pruned_with_incidents_of_its_age(
    ctx: Context, readers: Readers, receiver: Receiver, clock
) -> None:
    told = subscribe(ctx, validate("generic", receiver.url, None), None, DIGEST, "key_1")
    clock.now = DUE
    sweep(ctx, readers, clock.now)
    for days, left in ((80, 1), (91, 0)):
        clock.now = DUE + timedelta(days=days)
        prune(ctx, 90, 30)
        with ctx.database.reading() as session:
            assert len(deliveries.list_by_subscription(session, told.id)) == left


@pytest.mark.parametrize(
    ("now", "weekday", "hour", "end"),
    [
        ("2026-11-16T07:00", "monday", 7, "2026-11-16T07:00"),
        ("2026-11-16T06:59", "monday", 7, "2026-11-09T07:00"),
        ("2026-11-18T00:00", "monday", 7, "2026-11-16T07:00"),
        ("2026-11-18T00:00", "sunday", 23, "2026-11-15T23:00"),
        ("2026-11-15T22:59", "sunday", 23, "2026-11-08T23:00"),
        ("2026-03-01T00:00", "sunday", 0, "2026-03-01T00:00"),
    ],
)
def test_a_week_ends_when_the_settings_say(now, weekday, hour, end) -> None:
    settings = Settings(digest_weekday=weekday, digest_hour_utc=hour)

    assert compute_due_before(utc(now), settings) == utc(end)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_it_is_never_told_by_default() -> None:

    assert Event.FLEET_DIGEST not in DEFAULT_EVENTS
