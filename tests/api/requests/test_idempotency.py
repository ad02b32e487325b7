"""``Idempotency-Key``: sent again, a request is carried out once, whoever died in between."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import func, select

from models import Audit, Idempotency, Resolution
from tests.api.service import Answer, Service, serving
from tests.store.racing import in_threads
from triage.api.requests import idempotency as keys
from triage.services.context import Context
from triage.services.incidents import resolve as resolving
from triage.services.retention.prune import prune
from triage.store.access import idempotency
from triage.store.incidents import settling

URL = "http://127.0.0.1:9/hook"
SAID = {"category": "gpu", "node": "n1"}


@pytest.fixture
def key(request: pytest.FixtureRequest) -> str:
    """A key that no other test uses."""
    return f"{request.node.name[:200]}".replace("\\", "/")


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[timedelta], None]:
    """Lets so much time pass for keys."""

    def passed(by: timedelta) -> None:
        monkeypatch.setattr(keys, "read_utc_now", lambda: datetime.now(UTC) + by)

    return passed


def send(service: Service, path: str, body: object, key: str, **more: object) -> Answer:
    return service.post(path, body, headers={"Idempotency-Key": f'"{key}"'}, **more)


def acts(service: Service, action: str, subject: str) -> int:
    with service.ctx.database.reading() as session:
        query = select(func.count()).where(Audit.action == action, Audit.subject == subject)
        return session.scalar(query) or 0


def num_kept(service: Service) -> int:
    with service.ctx.database.reading() as session:
        return session.scalar(select(func.count()).select_from(Idempotency)) or 0


def test_a_resolution_sent_again_is_the_same_answer_and_one_act(service: Service, key: str) -> None:
    incident = service.opened(key)
    path = f"/v1/incidents/{incident}/resolution"

    first, again = send(service, path, SAID, key), send(service, path, SAID, key)

    assert (first.status, again.status) == (201, 201)
    assert again.body == first.body
    assert again.headers["location"] == first.headers["location"]
    assert again.headers["content-type"] == "application/json"
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert acts(service, "resolve", incident) == 1
    # Without the key, or with another one, it is a new request.
    assert service.post(path, SAID).status == 201
    assert send(service, path, SAID, key + "2").status == 201
    assert acts(service, "resolve", incident) == 3


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("job-failed", {"job_id": "once-job"}),
        ("alertmanager", {"version": "4", "alerts": []}),
        ("cloudevents", {"specversion": "1.0", "id": "1", "source": "s", "type": "other"}),
    ],
)
def test_hooks_sent_again(service: Service, key: str, route: str, body: dict) -> None:
    sent = {"Content-Type": "application/cloudevents+json"} if route == "cloudevents" else {}
    sent["Idempotency-Key"] = f'"{key}"'
    path = f"/v1/hooks/{route}"

    first = service.post(path, body, token="ingest", headers=sent)
    again = service.post(path, body, token="ingest", headers=sent)

    assert (first.status, again.status) == (202, 202), first.body
    assert again.body == first.body
    assert again.headers["idempotency-replayed"] == "true"


def test_a_message_is_sent_once_more_once(service: Service, key: str) -> None:
    receiver = service.post("/v1/subscriptions", {"kind": "generic", "url": URL}).json()["id"]
    incident = service.opened(key)
    service.post(f"/v1/incidents/{incident}/resolution", SAID)
    [message] = service.get(f"/v1/subscriptions/{receiver}/deliveries").json()["items"]
    path = f"/v1/deliveries/{message['id']}/resend"

    first, again = send(service, path, b"", key), send(service, path, b"", key)

    assert (first.status, again.status, again.body) == (202, 202, first.body)
    assert acts(service, "resend", message["id"]) == 1


def test_a_secret_lies_nowhere_and_is_not_shown_again(service: Service, key: str) -> None:
    body = {"kind": "generic", "url": f"{URL}/{key}"}
    made = send(service, "/v1/subscriptions", body, key)
    secret = made.json()["secret"]

    again = send(service, "/v1/subscriptions", body, key)

    assert (made.status, again.status) == (201, 409)
    problem = again.problem()
    assert made.json()["id"] in problem["detail"]
    assert "subscribe again" in problem["hint"]
    assert secret not in again.body.decode()
    assert acts(service, "subscribe", made.json()["id"]) == 1
    listed = service.get("/v1/subscriptions?limit=500").json()["items"]
    assert [one["url"] for one in listed].count(body["url"]) == 1
    with service.ctx.database.reading() as session:
        rows = session.execute(select(Idempotency.__table__)).all()
    assert secret not in repr(rows)
    assert key not in repr(rows)


def test_a_key_with_another_request_is_refused(service: Service, key: str) -> None:
    incident = service.opened(key)
    path = f"/v1/incidents/{incident}/resolution"
    send(service, path, SAID, key)

    for other, body in ((path, {**SAID, "node": "n2"}), ("/v1/subscriptions", SAID)):
        answer = send(service, other, body, key)
        assert answer.status == 422
        [error] = answer.problem()["errors"]
        assert (error["in"], error["parameter"]) == ("header", "Idempotency-Key")
    assert send(service, path, SAID, key).status == 201
    assert acts(service, "resolve", incident) == 1


def test_a_key_belongs_to_its_token(service: Service, key: str) -> None:
    incident = service.opened(key)
    path = f"/v1/incidents/{incident}/resolution"
    first = send(service, path, SAID, key, token="read")

    other = send(service, path, {**SAID, "node": "n2"}, key, token="admin")

    assert (first.status, other.status) == (201, 201)
    assert "idempotency-replayed" not in other.headers
    for token, status in ((None, 401), ("ingest", 403)):
        assert send(service, path, SAID, key, token=token).status == status


def test_a_refusal_is_not_kept(service: Service, key: str) -> None:
    incident = service.opened(key)
    path = f"/v1/incidents/{incident}/resolution"
    before = num_kept(service)

    assert send(service, path, {"category": "nonsense"}, key).status == 422
    assert send(service, path, b"{", key).status == 400
    assert num_kept(service) == before
    assert send(service, path, SAID, key).status == 201


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ('"a"', 201), ("8e03978e-40d5-43dd-bc93-6894a57f9324", 201), (f'"{"x" * 255}"', 201),
        (r'"say \"it\" \\ once"', 201), ('" "', 201),
        ('""', 400), ("", 400), (f'"{"x" * 256}"', 400), ('"a', 400), ('"a";b=1', 400),
        ("a, b", 400), ('"\u00e9"', 400), (r'"\x"', 400), ("a b", 400),
    ],
)  # fmt: skip
def test_what_a_key_is(service: Service, given: str, status: int) -> None:
    incident = service.opened("forms")
    path = f"/v1/incidents/{incident}/resolution"

    body = {**SAID, "note": given}
    answer = service.post(path, body, headers={"Idempotency-Key": given.encode("latin-1")})

    assert answer.status == status, answer.body
    if status == 400:
        assert answer.problem()["errors"][0]["parameter"] == "Idempotency-Key"


def test_quotes_are_not_part_of_the_key(service: Service, key: str) -> None:
    path = f"/v1/incidents/{service.opened(key)}/resolution"
    bare = "quotes-are-not-part"
    first = service.post(path, SAID, headers={"Idempotency-Key": bare})

    assert send(service, path, SAID, bare).headers["idempotency-replayed"] == "true"
    assert first.status == 201


def test_at_the_same_moment_one_is_carried_out(service: Service, key: str) -> None:
    incident = service.opened(key)
    path = f"/v1/incidents/{incident}/resolution"
    answers: list[Answer] = []

    in_threads(8, lambda _: answers.append(send(service, path, SAID, key)))

    assert {one.status for one in answers} <= {201, 409}
    assert sum("idempotency-replayed" not in one.headers for one in answers
               if one.status == 201) == 1  # fmt: skip
    for one in answers:
        if one.status == 409:
            assert one.headers["retry-after"] == "1"
    assert acts(service, "resolve", incident) == 1


def test_on_each_database_many_senders_at_once_open_one_incident(ctx: Context, key: str) -> None:
    answers: list[Answer] = []
    with serving(ctx) as found:
        path = "/v1/hooks/job-failed"
        in_threads(8, lambda _: answers.append(send(found, path, {"job_id": key}, key)))
        incident = next(one for one in answers if one.status == 202).json()["id"]
        with ctx.database.writing() as session:
            settling.settle(session, incident, datetime.now(UTC))
        # The failure is over: only the key tells that this one is it, and no new one.
        assert send(found, path, {"job_id": key}, key).json()["id"] == incident
        assert found.post(path, {"job_id": key}).json()["id"] != incident

    assert {one.status for one in answers} <= {202, 409}
    assert {one.json()["id"] for one in answers if one.status == 202} == {incident}


def test_while_it_is_carried_out_it_is_409(
    service: Service, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    incident = service.opened(key)
    path = f"/v1/incidents/{incident}/resolution"
    inside, go_on = threading.Event(), threading.Event()
    # Before the transaction, so that an embedded database can be read and written meanwhile.
    check = resolving.read_utc_now

    def at() -> datetime:
        inside.set()
        assert go_on.wait(60)
        return check()

    monkeypatch.setattr(resolving, "read_utc_now", at)
    answers: list[Answer] = []
    sender = threading.Thread(target=lambda: answers.append(send(service, path, SAID, key)))
    sender.start()
    assert inside.wait(60)
    meanwhile = send(service, path, SAID, key)
    other = send(service, path, {**SAID, "node": "n2"}, key)
    go_on.set()
    sender.join()

    assert (meanwhile.status, other.status) == (409, 422)
    assert meanwhile.headers["retry-after"] == "1"
    assert answers[0].status == 201
    assert send(service, path, SAID, key).headers["idempotency-replayed"] == "true"


def claimed_by_the_dead(service: Service, path: str, key: str) -> None:
    """As a process leaves it that died over the request, with its transaction."""

    def die(*given: object, **more: object) -> None:
        raise RuntimeError("dead")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keys.idempotency, "finish", die)
        patch.setattr(keys, "release", lambda *given: None)
        assert send(service, path, SAID, key).status == 500


def test_who_dies_over_it_leaves_neither_act_nor_answer(
    service: Service, key: str, later: Callable[[timedelta], None]
) -> None:
    incident = service.opened(key)
    path = f"/v1/incidents/{incident}/resolution"
    claimed_by_the_dead(service, path, key)
    with service.ctx.database.reading() as session:
        assert session.get(Resolution, incident) is None

    assert send(service, path, SAID, key).status == 409
    later(timedelta(seconds=61))
    assert send(service, path, {**SAID, "node": "n2"}, key).status == 422
    assert send(service, path, SAID, key).status == 201
    assert acts(service, "resolve", incident) == 1
    assert send(service, path, SAID, key).headers["idempotency-replayed"] == "true"


def test_who_was_taken_for_dead_does_not_act_after_all(service: Service, key: str) -> None:
    incident = service.opened(key)
    path = f"/v1/incidents/{incident}/resolution"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keys.idempotency, "finish", lambda *given, **more: False)
        assert send(service, path, SAID, key).status == 409

    assert acts(service, "resolve", incident) == 0
    with service.ctx.database.reading() as session:
        assert session.get(Resolution, incident) is None


def test_a_day_later_it_is_a_new_request_and_nothing_is_left(
    service: Service, key: str, later: Callable[[timedelta], None]
) -> None:
    incident = service.opened(key)
    path = f"/v1/incidents/{incident}/resolution"
    send(service, path, SAID, key)

    later(timedelta(hours=23, minutes=59))
    assert send(service, path, SAID, key).headers["idempotency-replayed"] == "true"
    later(timedelta(hours=24, minutes=1))
    assert "idempotency-replayed" not in send(service, path, {**SAID, "node": "n9"}, key).headers
    assert acts(service, "resolve", incident) == 2

    assert num_kept(service) > 0
    with service.ctx.database.writing() as session:
        idempotency.prune(session, datetime.now(UTC) + timedelta(days=3))
    assert num_kept(service) == 0


def test_the_daily_round_forgets_old_keys_and_keeps_new_ones(
    service: Service, key: str, later: Callable[[timedelta], None]
) -> None:
    path = f"/v1/incidents/{service.opened(key)}/resolution"
    later(-timedelta(hours=25))
    send(service, path, SAID, key + "-old")
    later(timedelta(0))
    send(service, path, SAID, key + "-new")
    before = num_kept(service)

    prune(service.ctx, 90, 30)

    assert num_kept(service) < before
    assert send(service, path, SAID, key + "-new").headers["idempotency-replayed"] == "true"
