"""Who is told what, how often, and what happens while a receiver is away."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from standardwebhooks import Webhook

from tests.services.incidents.test_incident_life import JOB, announce_and_settle, upload, work_off
from tests.support.work import do_all
from triage.domain.failure_match import Failure
from triage.domain.states import DeliveryState, WorkKind
from triage.errors import Conflict, NotFound, Unprocessable
from triage.notify.registry import validate
from triage.sandbox.pool import Readers
from triage.services.context import Context
from triage.services.incidents.announce import announce
from triage.services.incidents.resolve import resolve
from triage.services.notifications.subscribe import resend, subscribe, unsubscribe
from triage.store.access import audit
from triage.store.messages import deliveries, subscriptions


class Receiver:
    """A receiver on loopback: answers with ``status``, keeps what came."""

    def __init__(self) -> None:
        self.status = 200
        self.headers: dict[str, str] = {}
        self.came: list[tuple[dict[str, str], bytes]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.came.append(({k.lower(): v for k, v in self.headers.items()}, body))
                self.send_response(outer.status)
                for name, value in outer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *arguments: object) -> None:
                """Stay silent."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=[0.02], daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/hook"

    def bodies(self) -> list[dict[str, object]]:
        return [json.loads(body) for _, body in self.came]


@contextmanager
def listening() -> Iterator[Receiver]:
    found = Receiver()
    found.thread.start()
    try:
        yield found
    finally:
        found.server.shutdown()
        found.server.server_close()
        found.thread.join()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with listening() as found:
        yield found


def send_all(ctx: Context, readers: Readers) -> None:
    do_all(ctx, readers, WorkKind.NOTIFY)


def later(monkeypatch: pytest.MonkeyPatch, **delta: float) -> None:
    """The services' clock is ahead by so much."""
    monkeypatch.setattr("triage.clock.read", lambda: datetime.now(UTC) + timedelta(**delta))


def states(ctx: Context, subscription_id: str) -> list[tuple[str, DeliveryState, int]]:
    with ctx.database.reading() as session:
        rows = deliveries.list_by_subscription(session, subscription_id)
    return [(row.event, row.state, row.attempts) for row in rows[::-1]]


def test_an_answer_is_told_once_and_signed(
    ctx: Context, readers: Readers, receiver: Receiver
) -> None:
    told = subscribe(ctx, validate("generic", receiver.url, None), None, None, "key_1")
    found = announce_and_settle(ctx, readers, JOB)
    send_all(ctx, readers)
    send_all(ctx, readers)

    [(headers, body)] = receiver.came
    Webhook(told.secrets[0]).verify(body, headers)
    said = json.loads(body)
    assert said["type"] == "incident.ready"
    assert said["data"]["incident_id"] == found.id
    assert said["data"]["verdict"] == found.verdict
    assert said["data"]["provisional"] is False
    assert states(ctx, told.id) == [("incident.ready", DeliveryState.DELIVERED, 1)]


def test_provisional_answers_are_told_on_request_alone(
    ctx: Context, readers: Readers, receiver: Receiver
) -> None:
    subscribe(ctx, validate("generic", receiver.url, None), None, ["incident.provisional"], "key_1")
    announce(ctx, Failure("4711", None, expected_artifacts=99))
    upload(ctx, JOB)
    work_off(ctx, readers)
    send_all(ctx, readers)

    assert [one["type"] for one in receiver.bodies()] == ["incident.provisional"]
    assert receiver.bodies()[0]["data"]["provisional"] is True


def test_a_receiver_that_was_away_is_served_when_it_is_back(
    ctx: Context, readers: Readers, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = subscribe(ctx, validate("generic", receiver.url, None), None, None, "key_1")
    receiver.status = 503
    found = announce_and_settle(ctx, readers, JOB)
    for second in range(0, 601, 15):
        later(monkeypatch, seconds=second)
        send_all(ctx, readers)
    tried = len(receiver.came)
    assert 10 <= tried <= 20
    assert states(ctx, told.id) == [("incident.ready", DeliveryState.PENDING, tried)]
    resolve(ctx, found.id, "gpu", None, None, "key_1")

    receiver.status = 204
    later(monkeypatch, seconds=660)
    send_all(ctx, readers)

    ids = [headers["webhook-id"] for headers, _ in receiver.came]
    bodies = {body for headers, body in receiver.came if headers["webhook-id"] == ids[0]}
    assert len(set(ids)) == 2
    assert len(bodies) == 1
    for headers, body in receiver.came[-2:]:
        timestamp = datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)
        assert timedelta(minutes=9) < timestamp - datetime.now(UTC) < timedelta(minutes=13)
        assert headers["webhook-signature"].startswith("v1,")
        assert body
    assert {state for _, state, _ in states(ctx, told.id)} == {DeliveryState.DELIVERED}
    with ctx.database.reading() as session:
        assert subscriptions.find(session, told.id).failing_since is None


def test_a_receiver_that_is_gone_is_left_alone(
    ctx: Context, readers: Readers, receiver: Receiver
) -> None:
    told = subscribe(ctx, validate("generic", receiver.url, None), None, None, "key_1")
    receiver.status = 410
    found = announce_and_settle(ctx, readers, JOB)
    send_all(ctx, readers)
    resolve(ctx, found.id, "gpu", None, None, "key_1")
    send_all(ctx, readers)

    assert len(receiver.came) == 1
    [(_, state, _)] = states(ctx, told.id)
    assert state is DeliveryState.FAILED
    with ctx.database.reading() as session:
        [row] = deliveries.list_by_subscription(session, told.id)
    with pytest.raises(Conflict):
        resend(ctx, row.id, "key_1")


def test_a_receiver_may_ask_for_time(
    ctx: Context, readers: Readers, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    subscribe(ctx, validate("generic", receiver.url, None), None, None, "key_1")
    receiver.status, receiver.headers = 429, {"Retry-After": "300"}
    announce_and_settle(ctx, readers, JOB)
    send_all(ctx, readers)
    later(monkeypatch, seconds=200)
    send_all(ctx, readers)
    assert len(receiver.came) == 1

    receiver.status = 200
    later(monkeypatch, seconds=310)
    send_all(ctx, readers)
    assert len(receiver.came) == 2


def test_the_same_message_is_sent_once_more_on_request(
    ctx: Context, readers: Readers, receiver: Receiver
) -> None:
    told = subscribe(ctx, validate("generic", receiver.url, None), None, None, "key_1")
    announce_and_settle(ctx, readers, JOB)
    send_all(ctx, readers)
    with ctx.database.reading() as session:
        [row] = deliveries.list_by_subscription(session, told.id)

    resend(ctx, row.id, "key_1")
    send_all(ctx, readers)

    (first, one), (second, other) = receiver.came
    assert first["webhook-id"] == second["webhook-id"] == row.id
    assert one == other
    with pytest.raises(NotFound):
        resend(ctx, "msg_none", "key_1")


def test_a_callback_is_told_of_its_incident_alone(
    ctx: Context, readers: Readers, receiver: Receiver
) -> None:
    mine = announce(ctx, Failure("1", None, expected_artifacts=0, callback_url=receiver.url))
    announce(ctx, Failure("2", None, expected_artifacts=0))
    work_off(ctx, readers)
    send_all(ctx, readers)

    assert [one["data"]["incident_id"] for one in receiver.bodies()] == [mine.id]
    with ctx.database.reading() as session:
        [listed] = subscriptions.list_subscriptions(session)
        act = next(one for one in audit.list_acts(session) if one.action == "callback")
    assert (listed.url, listed.incident_id) == (receiver.url, mine.id)
    assert (act.actor, act.subject) == ("local", listed.id)


def test_a_receiver_inside_is_refused_unless_it_is_allowed(ctx: Context) -> None:
    with pytest.raises(Unprocessable):
        subscribe(ctx, validate("generic", "http://10.0.0.1/", None), None, None, "key_1")
    with pytest.raises(Unprocessable):
        subscribe(
            ctx, validate("carrier pigeon", "https://example.com/", None), None, None, "key_1"
        )


def test_nobody_is_told_after_unsubscribing(
    ctx: Context, readers: Readers, receiver: Receiver
) -> None:
    told = subscribe(ctx, validate("generic", receiver.url, None), None, None, "key_1")
    announce_and_settle(ctx, readers, JOB)

    unsubscribe(ctx, told.id, "key_1")
    send_all(ctx, readers)

    assert receiver.came == []
    with pytest.raises(NotFound):
        unsubscribe(ctx, told.id, "key_1")


def test_a_page_is_closed_by_the_resolution_and_not_opened_again(
    ctx: Context, readers: Readers, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    subscribe(ctx, validate("pagerduty", receiver.url, "R" * 32), None, None, "key_1")
    receiver.status = 500
    found = announce_and_settle(ctx, readers, JOB)
    send_all(ctx, readers)
    resolve(ctx, found.id, "gpu", None, None, "key_1")
    receiver.status = 202
    later(monkeypatch, minutes=2)
    send_all(ctx, readers)

    actions = [one["event_action"] for one in receiver.bodies()]
    assert actions == ["trigger", "resolve"]
    assert len({one["dedup_key"] for one in receiver.bodies()}) == 1


def test_a_message_holds_what_was_seen_first(
    ctx: Context, readers: Readers, receiver: Receiver
) -> None:
    subscribe(ctx, validate("slack", receiver.url, None), None, None, "key_1")
    line = b"a1:8812:8901 [0] NCCL INFO transport/net_ib.cc:877 -> 2\n"
    announce_and_settle(ctx, readers, {"job.log": line})
    send_all(ctx, readers)
    assert "*Seen first:*" in receiver.came[0][1].decode()
    assert "net_ib.cc:877" in receiver.came[0][1].decode()


def settled(ctx: Context, readers: Readers, job_id: str) -> str:
    opened = announce(ctx, Failure(job_id, "a", expected_artifacts=0))
    work_off(ctx, readers)
    return opened.id


@pytest.mark.parametrize("kind", ["generic", "slack", "alertmanager", "pagerduty"])
def test_a_storm_of_incidents_is_one_message(
    ctx: Context, readers: Readers, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    few = replace(ctx, settings=ctx.settings.model_copy(update={"messages_per_minute": 2}))
    key = "R0" if kind == "pagerduty" else None
    told = subscribe(few, validate(kind, receiver.url, key), None, None, "key_1")
    incidents = [settled(few, readers, f"storm-{number}") for number in range(6)]
    send_all(few, readers)
    assert len(receiver.came) == 2
    later(monkeypatch, seconds=70)
    send_all(few, readers)
    send_all(few, readers)

    assert len(receiver.came) == 3
    text = receiver.came[2][1].decode()
    assert "4 more incidents" in text or json.loads(text)["data"]["num_incidents"] == 4
    if kind in {"generic", "slack", "pagerduty"}:
        assert all(one in text for one in incidents[2:])
        assert not any(one in text for one in incidents[:2])
    assert states(few, told.id)[-1] == ("incident.storm", DeliveryState.DELIVERED, 1)


def test_a_storm_that_goes_on_into_the_next_minute_is_still_one_message(
    ctx: Context, readers: Readers, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = replace(ctx, settings=ctx.settings.model_copy(update={"messages_per_minute": 2}))
    subscribe(few, validate("generic", receiver.url, None), None, None, "key_1")
    to_the_minute = 60 - datetime.now(UTC).second
    for number in range(6):
        later(monkeypatch, seconds=to_the_minute - 15 + 5 * number)
        settled(few, readers, f"storm-{number}")
    later(monkeypatch, seconds=to_the_minute + 90)
    send_all(few, readers)
    told = [one for one in receiver.bodies() if one["type"] == "incident.storm"]
    assert [one["data"]["num_incidents"] for one in told] == [4]


def test_what_a_receiver_knows_of_is_told_further_in_a_storm(
    ctx: Context, readers: Readers, receiver: Receiver
) -> None:
    few = replace(ctx, settings=ctx.settings.model_copy(update={"messages_per_minute": 1}))
    subscribe(few, validate("generic", receiver.url, None), None, None, "key_1")
    first = settled(few, readers, "first")
    settled(few, readers, "second")
    resolve(few, first, "gpu", None, None, "key_1")
    send_all(few, readers)
    assert [one["type"] for one in receiver.bodies()] == ["incident.ready", "incident.resolved"]


def test_the_message_of_a_storm_is_the_same_on_every_try(
    ctx: Context, readers: Readers, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = replace(ctx, settings=ctx.settings.model_copy(update={"messages_per_minute": 1}))
    subscribe(few, validate("generic", receiver.url, None), None, None, "key_1")
    for number in range(3):
        settled(few, readers, f"again-{number}")
    send_all(few, readers)
    receiver.status = 500
    later(monkeypatch, seconds=70)
    send_all(few, readers)
    receiver.status = 200
    later(monkeypatch, seconds=200)
    send_all(few, readers)
    assert len(receiver.came) == 3
    assert receiver.came[1][1] == receiver.came[2][1]
    assert receiver.came[1][0]["webhook-id"] == receiver.came[2][0]["webhook-id"]
