"""Reading: pages, tags, forms and waiting, over an incident that was really analysed."""

import csv
import io
import json
import threading
from urllib.parse import quote

import pytest

import triage
from tests.api.service import Service
from tests.services.whole_jobs import GPU_LOST, files_of, tar_of
from tests.support.waiting import eventually
from tests.support.work import ReadersHere, do_all
from triage.domain.answer_wire import MEDIA_TYPE, answer_from_bytes
from triage.domain.states import WorkKind
from triage.services.tokens import create_token

JOB = files_of(GPU_LOST)


def analyse(service: Service) -> None:
    do_all(service.ctx, ReadersHere(), WorkKind.PARSE, WorkKind.ANALYSE)


@pytest.fixture(scope="module")
def ready(service: Service) -> str:
    """The id of an incident with its final answer."""
    incident = service.opened("4711", cluster="a", expected_artifacts=len(JOB))
    path = f"/v1/jobs/4711/bundle?incident={incident}"
    assert service.post(path, tar_of(JOB), token="ingest").status == 201
    analyse(service)
    assert service.get(f"/v1/incidents/{incident}").json()["state"] == "ready"
    return incident


def all_pages(service: Service, path: str, limit: int) -> list[dict]:
    found, cursor = [], ""
    while True:
        mark = "&" if "?" in path else "?"
        page = service.get(f"{path}{mark}limit={limit}{cursor}").json()
        found += page["items"]
        assert len(page["items"]) <= limit
        if page["next_cursor"] is None:
            return found
        assert len(page["items"]) == limit
        cursor = f"&cursor={quote(page['next_cursor'])}"


def test_the_report_is_that_of_the_command(service: Service, ready: str) -> None:
    report = service.get(f"/v1/incidents/{ready}/report", token="read").json()
    wanted = triage.analyze(GPU_LOST).to_dict()
    assert report["verdict"] == wanted["verdict"]
    assert [s["node"] for s in report["suspects"]] == [s["node"] for s in wanted["suspects"]]
    found = service.get(f"/v1/incidents/{ready}").json()
    assert found["verdict"] == wanted["verdict"]
    assert (found["cluster"], found["provisional"]) == ("a", False)


def test_the_stored_answer_is_given_to_who_accepts_it(service: Service, ready: str) -> None:
    path = f"/v1/incidents/{ready}/report"
    whole = service.get(path, headers={"Accept": f"{MEDIA_TYPE}, application/json"})
    assert (whole.status, whole.headers["content-type"]) == (200, MEDIA_TYPE)
    plain = service.get(path, headers={"Accept": "*/*"})
    answer = answer_from_bytes(whole.body)
    assert answer.to_dict() == plain.json()
    assert len(answer.ranks) == 8
    assert whole.headers["etag"] != plain.headers["etag"]
    assert whole.headers["vary"] == plain.headers["vary"] == "Accept"
    again = service.get(
        path, headers={"Accept": MEDIA_TYPE, "If-None-Match": whole.headers["etag"]}
    )
    assert again.status == 304


@pytest.mark.parametrize("part", ["artifacts", "evidence", "collectives", "timeline"])
@pytest.mark.parametrize("limit", [1, 3, 500])
def test_pages_hold_every_row_once(service: Service, ready: str, part: str, limit: int) -> None:
    path = f"/v1/incidents/{ready}/{part}"
    whole = service.get(f"{path}?limit=500").json()["items"]
    assert whole
    assert all_pages(service, path, limit) == whole


def test_evidence_is_filtered(service: Service, ready: str) -> None:
    rows = all_pages(service, f"/v1/incidents/{ready}/evidence?role=root&kind=xid", 2)
    assert rows
    assert {(row["role"], row["kind"]) for row in rows} == {("root", "xid")}
    node = rows[0]["node"]
    only = all_pages(service, f"/v1/incidents/{ready}/evidence?node={node}", 50)
    assert {row["node"] for row in only} == {node}


def test_incidents_are_listed_newest_first_and_stay_put(service: Service) -> None:
    made = [service.opened("pages", failed_at=f"2026-11-2{i}T00:00:00Z") for i in range(7)]
    first = service.get("/v1/incidents?job_id=pages&limit=3").json()
    assert [one["id"] for one in first["items"]] == made[:3:-1]
    service.opened("pages", failed_at="2026-11-29T00:00:00Z")
    rest = service.get(f"/v1/incidents?job_id=pages&limit=500&cursor={first['next_cursor']}").json()
    assert [one["id"] for one in rest["items"]] == made[3::-1]
    assert rest["next_cursor"] is None


@pytest.mark.parametrize(
    ("query", "there"),
    [
        ("state=ready", True),
        ("state=failed", False),
        ("category={category}", True),
        ("category=none", False),
        ("node={node}", True),
        ("node=nobody", False),
        ("job_id=4711", True),
        ("job_id=47", False),
        ("since=2020-01-01T00:00:00Z", True),
        ("since=2020-01-01t00:00:00.123456789%2B05:30", True),
        ("since=9998-01-01T00:00:00Z", False),
        ("since=0000-01-01T00:00:00Z", True),
        ("since=0001-01-01T00:00:00%2B14:00", True),
        ("since=9999-12-31T23:59:60-01:00", False),
    ],
)
def test_the_list_is_filtered(service: Service, ready: str, query: str, there: bool) -> None:
    found = service.get(f"/v1/incidents/{ready}").json()
    suspect = service.get(f"/v1/incidents/{ready}/suspects").json()["suspects"][0]
    query = query.format(category=found["verdict"]["category"], node=suspect["node"])
    answer = service.get(f"/v1/incidents?{query}&limit=500")
    assert answer.status == 200
    assert (ready in {one["id"] for one in answer.json()["items"]}) is there


def test_the_list_is_filtered_by_cluster_and_a_bound_token_stays_in_its_own(
    service: Service,
) -> None:
    hook = "/v1/hooks/job-failed"
    made = {
        cluster: service.post(hook, {"job_id": "both", **named}, token="ingest").json()["id"]
        for cluster, named in (("a", {"cluster": "a"}), ("b", {"cluster": "b"}), ("", {}))
    }
    bound = create_token(service.ctx, "bound", ["read"], "test", cluster="a")[1]

    def listed(query: str, token: str) -> list[str]:
        answer = service.get(f"/v1/incidents?job_id=both{query}", token=token)
        assert answer.status == 200
        return [one["id"] for one in answer.json()["items"]]

    assert listed("&cluster=a", "read") == [made["a"]]
    assert listed("&cluster=b", "admin") == [made["b"]]
    assert listed("&cluster=nowhere", "read") == []
    assert set(listed("", "read")) == set(made.values())
    assert listed("", bound) == listed("&cluster=a", bound) == [made["a"]]
    for other in ("b", "nowhere"):
        refused = service.get(f"/v1/incidents?cluster={other}", token=bound)
        assert refused.status == 404
        assert "leave cluster out" in refused.problem()["hint"]
    assert service.get("/v1/incidents?cluster=%00", token="read").status == 422


@pytest.mark.parametrize("part", ["", "/report", "/suspects"])
def test_who_has_it_already_is_told_so(service: Service, ready: str, part: str) -> None:
    path = f"/v1/incidents/{ready}{part}"
    first = service.get(path)
    tag = first.headers["etag"]
    for header in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = service.get(path, headers={"If-None-Match": header})
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    for header in ('"other"', tag.strip('"'), ""):
        assert service.get(path, headers={"If-None-Match": header}).status == 200


def test_a_tag_changes_with_what_is_told(service: Service) -> None:
    incident = service.opened("tags")
    before = service.get(f"/v1/incidents/{incident}").headers["etag"]
    said = service.post(f"/v1/incidents/{incident}/resolution", {"category": "nic"}, token="read")
    assert said.status == 201
    assert service.get(f"/v1/incidents/{incident}").headers["etag"] != before


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        (None, "application/json"),
        ("*/*", "application/json"),
        ("", "application/json"),
        ("text/csv", "text/csv"),
        ("application/x-ndjson", "application/x-ndjson"),
        ("text/markdown", "text/markdown"),
        ("text/*", "text/csv"),
        ("text/csv;q=0.5, text/markdown", "text/markdown"),
        ("text/csv;q=0, text/*;q=0.1", "text/markdown"),
        ("image/png, application/json;q=0.1", "application/json"),
    ],
)
def test_the_form_that_is_accepted(
    service: Service, ready: str, accept: str | None, media: str
) -> None:
    headers = {} if accept is None else {"Accept": accept}
    answer = service.get(f"/v1/incidents/{ready}/suspects", headers=headers)
    assert answer.status == 200
    assert answer.headers["content-type"].partition(";")[0] == media
    assert answer.headers["vary"] == "Accept"


@pytest.mark.parametrize("accept", ["image/png", "application/json;q=0", "*/*;q=0"])
def test_no_form_that_is_accepted(service: Service, ready: str, accept: str) -> None:
    answer = service.get(f"/v1/incidents/{ready}/suspects", headers={"Accept": accept})
    assert answer.status == 406
    assert "text/csv" in answer.problem()["hint"]


def test_the_forms_say_the_same(service: Service, ready: str) -> None:
    path = f"/v1/incidents/{ready}/suspects"
    rows = service.get(path).json()["suspects"]
    table = service.get(path, headers={"Accept": "text/csv"}).body.decode()
    lines = service.get(path, headers={"Accept": "application/x-ndjson"}).body.splitlines()
    text = service.get(path, headers={"Accept": "text/markdown"}).body.decode()
    assert [json.loads(line) for line in lines] == rows
    assert [row["node"] for row in csv.DictReader(io.StringIO(table))] == [r["node"] for r in rows]
    assert all(f"| {row['node']} |" in text for row in rows)
    assert "Coverage: " in text


def test_before_the_first_verdict(service: Service) -> None:
    incident = service.opened("young")
    path = f"/v1/incidents/{incident}"
    assert service.get(f"{path}/report").status == 409
    assert service.get(f"{path}/report").problem()["hint"]
    answer = service.get(f"{path}/suspects").json()
    assert answer == {
        "incident_id": incident, "state": "collecting", "revision": 0, "provisional": True,
        "suspects": [],
    }  # fmt: skip
    for part in ("artifacts", "evidence", "collectives", "timeline"):
        assert service.get(f"{path}/{part}").json() == {"items": [], "next_cursor": None}
    assert service.get(f"{path}/suspects", headers={"Accept": "text/csv"}).body.count(b"\n") == 1


def test_waiting_ends_with_the_verdict(service: Service, ready: str) -> None:
    assert ready, "what reads and analyses is compiled before anybody waits"
    incident = service.opened("waits", expected_artifacts=len(JOB))
    got = []

    def wait() -> None:
        got.append(service.get(f"/v1/incidents/{incident}/suspects?wait_s=60", timeout_s=120))

    threads = [threading.Thread(target=wait) for _ in range(5)]
    for thread in threads:
        thread.start()
    watch = service.app.state.triage.watch
    eventually(lambda: watch.waiters == 5)
    assert list(watch.watched) == [incident]
    service.post(f"/v1/jobs/waits/bundle?incident={incident}", tar_of(JOB), token="ingest")
    analyse(service)
    for thread in threads:
        thread.join(120)
    assert [(one.status, one.json()["state"]) for one in got] == [(200, "ready")] * 5
    assert watch.waiters == 0
    assert watch.watched == {}


def test_waiting_ends_with_the_time(service: Service) -> None:
    incident = service.opened("waits-in-vain")
    answer = service.get(f"/v1/incidents/{incident}/suspects?wait_s=0.2")
    assert (answer.status, answer.json()["state"]) == (200, "collecting")


def test_a_settled_incident_is_not_waited_for(service: Service, ready: str) -> None:
    answer = service.get(f"/v1/incidents/{ready}/suspects?wait_s=1e300", timeout_s=50)
    assert answer.json()["state"] == "ready"


def test_a_resolution_is_kept_and_replaced(service: Service) -> None:
    incident = service.opened("resolved")
    path = f"/v1/incidents/{incident}/resolution"
    said = {"category": "network", "node": "n3", "note": "cable"}
    first = service.post(path, said, token="read")
    assert first.status == 201
    assert {key: first.json()[key] for key in said} == said
    assert service.post(path, {"category": "nic"}, token="admin").status == 201
    found = service.get(f"/v1/incidents/{incident}").json()["resolution"]
    assert (found["category"], found["node"], found["note"]) == ("nic", None, None)
    assert found["by"].startswith("key_")


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({}, "#/category"),
        ({"category": "gpus"}, "#/category"),
        ({"category": 5}, "#/category"),
        ({"category": "nic", "node": ""}, "#/node"),
        ({"category": "nic", "node": "a\nb"}, "#/node"),
        ({"category": "nic", "node": 1}, "#/node"),
        ({"category": "nic", "note": "x" * 10_001}, "#/note"),
        ({"category": "nic", "notes": ""}, "#/notes"),
    ],
)
def test_a_wrong_resolution_says_where(
    service: Service, ready: str, body: dict, place: str
) -> None:
    answer = service.post(f"/v1/incidents/{ready}/resolution", body)
    assert answer.status == 422
    assert [one["pointer"] for one in answer.problem()["errors"]] == [place]


def test_the_history_of_a_node(service: Service, ready: str) -> None:
    node = service.get(f"/v1/incidents/{ready}/suspects").json()["suspects"][0]["node"]
    found = service.get(f"/v1/nodes/{node}").json()
    assert found["node"] == node
    assert ready in {one["incident_id"] for one in found["incidents"]}
    assert found["errors"]
    service.opened("slashed", nodes=["rack1/n0"])
    assert service.get("/v1/nodes/rack1%2Fn0").json()["node"] == "rack1/n0"


def test_a_page_of_an_older_answer_says_so(service: Service, ready: str) -> None:
    from triage.api.requests.cursors import place_cursor

    cursor = place_cursor("collectives", 99, 1)
    answer = service.get(f"/v1/incidents/{ready}/collectives?cursor={cursor}")
    assert answer.status == 409
    assert "without a cursor" in answer.problem()["hint"]
    foreign = place_cursor("timeline", 1, 1)
    assert service.get(f"/v1/incidents/{ready}/collectives?cursor={foreign}").status == 422
