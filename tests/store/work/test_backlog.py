"""What people see of the queue and of logins, on both databases."""

from datetime import UTC, datetime, timedelta

from triage.domain.failure_match import JobAttempt
from triage.domain.states import DeliveryState, WorkKind, WorkState
from triage.services.context import Context
from triage.services.tokens import create_token, find_session_key, log_in, log_out
from triage.store.access import keys
from triage.store.incidents.matching import find_for_upload
from triage.store.messages import deliveries, subscriptions
from triage.store.messages.deliveries import DeliveryAttempt
from triage.store.messages.subscriptions import NewSubscription
from triage.store.views import KeyView, NewDelivery
from triage.store.work import backlog
from triage.store.work import table as work

NOW = datetime(2026, 11, 21, 3, 4, 5, tzinfo=UTC)


def test_what_was_given_up_stands_before_what_waits_and_done_work_is_gone(ctx: Context) -> None:
    with ctx.database.writing() as session:
        for number, key in enumerate(("later", "runs", "given up", "done")):
            work.enqueue(session, WorkKind.PARSE, key, NOW + timedelta(seconds=number - 9))
    for end in ("later", "runs", "given up", "done"):
        with ctx.database.writing() as session:
            row = work.claim(session, WorkKind.PARSE, "w", NOW, 60)
            assert row is not None
            assert row.key == end
            if end == "later":
                work.fail(session, row, "w", NOW, "broken", max_tries=9)
            elif end == "given up":
                work.fail(session, row, "w", NOW, "poison", max_tries=1)
            elif end == "done":
                work.finish(session, row, "w", NOW)
    with ctx.database.reading() as session:
        rows = backlog.list_newest_work(session)
        assert [row.key for row in rows] == ["given up", "runs", "later"]
        assert [row.last_error for row in rows] == ["poison", None, "broken"]
        assert backlog.list_newest_work(session, 1) == rows[:1]
        assert backlog.count_by_state(session) == {
            WorkState.WAITING: 1, WorkState.RUNNING: 1, WorkState.QUARANTINED: 1
        }  # fmt: skip


def test_messages_that_did_not_arrive_stand_first(ctx: Context) -> None:
    with ctx.database.writing() as session:
        incident = find_for_upload(session, JobAttempt("1"), None, within_s=9, quiet_s=9, now=NOW)
        receiver = NewSubscription("sub_1", "generic", "https://a.example/", None, [], [])
        subscriptions.add(session, receiver, NOW)
        for number, state in enumerate(("delivered", "failed", "delivered", "pending")):
            of = ("sub_1", incident, number, "incident.ready")
            new = NewDelivery(f"msg_{number}", *of, "POST", "https://a.example/", {}, b"")
            deliveries.add(session, new, NOW + timedelta(seconds=number))
            attempt = DeliveryAttempt(DeliveryState(state), None, 500, None, 1, NOW)
            deliveries.record(session, new.id, attempt, NOW)
    with ctx.database.reading() as session:
        found = backlog.list_messages(session)
        assert [sent.id for sent, _ in found] == ["msg_3", "msg_1", "msg_2", "msg_0"]
        assert {receiver.id for _, receiver in found} == {"sub_1"}
        assert backlog.count_messages(session) == {
            DeliveryState.PENDING: 1, DeliveryState.DELIVERED: 2, DeliveryState.FAILED: 1
        }  # fmt: skip


def test_a_login_is_good_for_its_time_and_until_it_is_ended(ctx: Context) -> None:
    key, token = create_token(ctx, "Ada", ["read"], "test")
    secret, other = log_in(ctx, token), log_in(ctx, token)
    assert secret is not None
    assert other is not None
    assert secret != other
    found = find_session_key(ctx, secret)
    assert isinstance(found, KeyView)
    assert found.id == key.id
    log_out(ctx, secret)
    assert find_session_key(ctx, secret) is None
    assert find_session_key(ctx, other) is not None
    assert log_in(ctx, token + "x") is None


def test_logins_that_are_over_go_when_the_next_one_comes(ctx: Context) -> None:
    key, _ = create_token(ctx, "Ada", ["read"], "test")
    later = NOW + timedelta(hours=1)
    with ctx.database.writing() as session:
        keys.open_session(session, "a", key.id, NOW, later)
    with ctx.database.reading() as session:
        assert keys.find_session_key(session, "a", NOW) is not None
        assert keys.find_session_key(session, "a", later) is None
    with ctx.database.writing() as session:
        keys.open_session(session, "b", key.id, later, later + timedelta(hours=1))
    with ctx.database.reading() as session:
        assert keys.find_session_key(session, "a", NOW) is None
