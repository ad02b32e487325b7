"""Hooks over HTTP: what they answer, and the incident they lead to."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.api.service import Service
from tests.support.work import ReadersHere, do_all
from triage.domain.states import WorkKind
from triage.services.tokens import create_token
from triage.store.incidents.facts import read_facts_json

SECRET = "whsec_" + "A" * 32
ALERT = {
    "status": "firing", "fingerprint": "f1", "startsAt": "2026-11-21T03:14:15Z",
    "labels": {"alertname": "GpuXid", "node": "n-alert", "xid": "79", "pci_bus_id": "0000:5d:00.0"},
    "annotations": {"summary": "GPU has fallen off the bus"},
}  # fmt: skip
EVENT = {
    "specversion": "1.0", "id": "5c1f", "source": "nvsentinel://a", "type": "health",
    "data": {"healthEvent": {"nodeName": "n-event", "errorCode": ["79"], "message": "lost"}},
}  # fmt: skip


def test_the_answer_of_job_failed_holds_the_incident_both_ways(service: Service) -> None:
    _, both = create_token(service.ctx, "both", ["read", "ingest"], "test")
    answer = service.post("/v1/hooks/job-failed", {"job_id": 4712, "x": 1}, token=both)
    found = answer.json()
    assert answer.status == 202
    assert found["incident"]["job_id"] == "4712"
    assert found["id"] == found["incident"]["id"]
    assert answer.headers["location"] == f"/v1/incidents/{found['id']}"
    shown = service.get(answer.headers["location"]).json()
    assert shown == {**found["incident"], "wanted": []}


NAMED = {"id", "job_id", "cluster", "state"}


def test_a_token_that_only_sends_is_told_where_to_send(service: Service) -> None:
    answer = service.post("/v1/hooks/job-failed", {"job_id": "blind"}, token="ingest").json()
    assert answer.keys() == {*NAMED, "incident", "upload_url", "ignored"}
    assert answer["incident"].keys() == NAMED
    assert answer["ignored"] == []
    alert = {"alertname": "SlurmJobFailed", "job_id": "blind"}
    payload = {"version": "4", "alerts": [{"status": "firing", "labels": alert}]}
    for token, keys in (("ingest", NAMED), ("admin", service.get("/v1/incidents").json())):
        [shown] = service.post("/v1/hooks/alertmanager", payload, token=token).json()["incidents"]
        assert shown.keys() == (keys if token == "ingest" else keys["items"][0].keys())


@pytest.fixture
def calling(service: Service) -> Iterator[Service]:
    """The service with one host that callbacks may go to."""
    settings = service.ctx.settings.model_copy(
        update={"callback_allow": ("ours.example", "127.0.0.2"), "callback_secret": SECRET}
    )
    before = service.app.state.triage
    ctx = replace(service.ctx, settings=settings)
    service.app.state.triage = replace(before, context=ctx)
    yield replace(service, ctx=ctx)
    service.app.state.triage = before


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("https://evil.example/x", "TRIAGE_CALLBACK_ALLOW"),
        ("https://localhost/x", "TRIAGE_CALLBACK_ALLOW"),
        ("https://127.0.0.3/", "TRIAGE_CALLBACK_ALLOW"),
        ("https://ours.example.evil.example/", "TRIAGE_CALLBACK_ALLOW"),
        ("https://ours.example/", "does not resolve, or not to public"),
        ("file:///etc/passwd", "address"),
        ("", "text"),
    ],
)
def test_a_callback_to_another_host_is_left_out_and_the_alarm_is_not(
    calling: Service, url: str, why: str
) -> None:
    body = {"job_id": f"callback {url}", "callback_url": url}
    answer = calling.post("/v1/hooks/job-failed", body, token="ingest")
    assert answer.status == 202, answer.body
    [ignored] = answer.json()["ignored"]
    assert ignored["field"] == "callback_url"
    assert why in ignored["why"]
    assert calling.get("/v1/subscriptions").json()["items"] == []


def test_no_callback_goes_out_unsigned(service: Service) -> None:
    body = {"job_id": "unsigned", "callback_url": "https://127.0.0.2/x"}
    [ignored] = service.post("/v1/hooks/job-failed", body, token="ingest").json()["ignored"]
    assert "TRIAGE_CALLBACK_SECRET" in ignored["why"]


def test_a_callback_is_listed_for_admins_with_its_token(calling: Service) -> None:
    body = {"job_id": "listed", "callback_url": "https://127.0.0.2/x"}
    answer = calling.post("/v1/hooks/job-failed", body, token="ingest").json()
    assert answer["ignored"] == []
    [listed] = calling.get("/v1/subscriptions").json()["items"]
    assert (listed["url"], listed["incident_id"]) == (body["callback_url"], answer["id"])
    assert listed["key_id"].removeprefix("key_") in calling.tokens["ingest"]
    assert calling.call("DELETE", f"/v1/subscriptions/{listed['id']}").status == 204


def test_the_same_failure_is_the_same_incident(service: Service) -> None:
    body = {"job_id": "same", "cluster": "a", "failed_at": "2026-11-21T03:14:15Z"}
    first, again = service.opened(**body), service.opened(**body)
    shifted = service.opened(**{**body, "failed_at": "2026-11-21T04:14:15.000+01:00"})
    other = service.opened(**{**body, "failed_at": "2026-11-21T03:24:16Z"})
    assert first == again == shifted != other


@pytest.mark.parametrize(
    "content_type", ["application/json", "text/plain", "application/x-www-form-urlencoded", ""]
)
def test_json_is_json_whatever_curl_calls_it(service: Service, content_type: str) -> None:
    headers = {"Content-Type": content_type} if content_type else {}
    answer = service.post("/v1/hooks/job-failed", b'{"job_id": "curl"}', headers=headers)
    assert answer.status == 202


def test_alerts_are_accepted_kept_out_or_joined(service: Service) -> None:
    incident = service.opened("alerted", nodes=["n-alert"])
    payload = {
        "version": "4", "truncatedAlerts": 3,
        "alerts": [
            ALERT,
            {**ALERT, "status": "resolved", "fingerprint": "f2"},
            {**ALERT, "labels": {"alertname": "X", "node": "n-other"}, "fingerprint": "f3"},
            {**ALERT, "labels": {"alertname": "SlurmJobFailed", "job_id": "by-alert"}},
        ],
    }  # fmt: skip
    answer = service.post("/v1/hooks/alertmanager", payload, token="ingest")
    assert answer.status == 202
    found = answer.json()
    assert (found["accepted"], found["waiting"], found["truncated"]) == (3, 1, 3)
    assert [one["fingerprint"] for one in found["ignored"]] == ["f2"]
    assert {one["job_id"] for one in found["incidents"]} == {"alerted", "by-alert"}
    do_all(service.ctx, ReadersHere(), WorkKind.ANALYSE)
    files = service.get(f"/v1/incidents/{incident}/artifacts").json()["items"]
    assert [(one["node"], one["kind"]) for one in files] == [("n-alert", "kernel_log")]


@pytest.mark.parametrize("mode", ["structured", "batch", "binary"])
def test_cloudevents_in_three_modes(service: Service, mode: str) -> None:
    service.opened("evented", nodes=["n-event"])
    if mode == "structured":
        body, headers = EVENT, {"Content-Type": "application/cloudevents+json"}
    elif mode == "batch":
        body, headers = [EVENT, EVENT], {"Content-Type": "application/cloudevents-batch+json"}
    else:
        body = EVENT["data"]
        headers = {f"ce-{key}": value for key, value in EVENT.items() if key != "data"}
    answer = service.post("/v1/hooks/cloudevents", body, token="ingest", headers=headers)
    assert answer.status == 202, answer.body
    assert answer.json()["accepted"] == (2 if mode == "batch" else 1)
    assert [one["job_id"] for one in answer.json()["incidents"]] == ["evented"]


def test_an_event_before_any_failure_is_shown_with_its_node(service: Service) -> None:
    health = {"nodeName": "n-early", "errorCode": ["79"], "message": "<b>lost</b>"}
    event = {**EVENT, "data": {"healthEvent": health}}
    answer = service.post("/v1/hooks/cloudevents", event, token="ingest").json()
    assert (answer["accepted"], answer["waiting"], answer["incidents"]) == (1, 1, [])
    [shown] = service.get("/v1/nodes/n-early", token="read").json()["events"]
    assert shown["summary"] == "unnamed 79 (not healthy): <b>lost</b>"
    page = service.get("/nodes/n-early", token="read").body.decode()
    assert "unnamed 79 (not healthy): &lt;b&gt;lost&lt;/b&gt;" in page


def test_an_event_of_a_type_that_nobody_reads_is_kept_out(service: Service) -> None:
    event = {**EVENT, "type": "com.example.coffee", "data": {}}
    answer = service.post("/v1/hooks/cloudevents", event, token="ingest")
    assert (answer.status, answer.json()["accepted"]) == (202, 0)
    assert "com.example.coffee" in answer.json()["ignored"][0]["why"]


def test_an_alarm_is_not_lost_for_a_field(service: Service) -> None:
    body = {
        "job_id": "fields", "world_size": "sixty-four", "nodes": "n0", "failed_at": "yesterday",
        "expected_artifacts": "many", "rank_to_node": ["n0"], "cluster": ["a"], "gpus_per_node": 8,
    }  # fmt: skip
    answer = service.post("/v1/hooks/job-failed", body, token="ingest")
    assert answer.status == 202, answer.body
    found = answer.json()
    ignored = {one["field"]: one["why"] for one in found["ignored"]}
    assert ignored.keys() == body.keys() - {"job_id", "gpus_per_node"}
    assert all(ignored.values())
    assert found["cluster"] is None
    with service.ctx.database.reading() as session:
        facts = json.loads(read_facts_json(session, found["id"]))
    assert facts == {"job_id": "fields", "gpus_per_node": 8, "triage.ignored": ignored}
    # Near misses: nothing is wrong, and no job.
    assert service.post("/v1/hooks/job-failed", {"job_id": "f2"}).json()["ignored"] == []
    for job_id in (None, "", ["7"], True):
        refused = service.post("/v1/hooks/job-failed", {**body, "job_id": job_id})
        assert refused.status == 422
        assert [one["pointer"] for one in refused.problem()["errors"]] == ["#/job_id"]


def test_uploads_name_cluster_and_attempt(service: Service) -> None:
    ids = {
        (cluster, attempt): service.opened("named", cluster=cluster, attempt=attempt)
        for cluster in ("x", "y")
        for attempt in (0, "1")
    }
    assert len(set(ids.values())) == 4
    for (cluster, attempt), incident in ids.items():
        where = f"/v1/jobs/named/artifacts?cluster={cluster}&attempt={attempt}&filename=a.log"
        sent = service.post(where, f"{cluster}{attempt} RuntimeError\n".encode(), token="ingest")
        assert (sent.status, sent.json()["incident_id"]) == (201, incident)
    wrong = service.post("/v1/jobs/named/artifacts?attempt=", b"x\n", token="ingest")
    assert wrong.status == 422
