"""Recurring problems over HTTP: three jobs that were really analysed."""

import pytest

from tests.api.service import Service
from tests.services.whole_jobs import GPU_LOST, files_of, tar_of
from tests.support.work import ReadersHere, do_all
from triage.clock import read_utc_now
from triage.domain.states import WorkKind
from triage.store.work import table as work
from triage.store.work.table import PROBLEMS

JOB = files_of(GPU_LOST)


def answered(service: Service, job_id: str) -> str:
    """The id of an incident that these files answered."""
    incident = service.opened(job_id, cluster="a", expected_artifacts=len(JOB))
    path = f"/v1/jobs/{job_id}/bundle?incident={incident}"
    assert service.post(path, tar_of(JOB), token="ingest").status == 201
    do_all(service.ctx, ReadersHere(), WorkKind.PARSE, WorkKind.ANALYSE)
    return incident


@pytest.fixture(scope="module")
def three(service: Service) -> list[str]:
    return [answered(service, f"problem-{k}") for k in range(3)]


def test_an_incident_says_the_how_manieth_of_its_kind_it_is(
    service: Service, three: list[str]
) -> None:
    said = {"category": "gpu", "node": "gpu-0102"}
    assert service.post(f"/v1/incidents/{three[0]}/resolution", said, token="read").status == 201

    found = [service.get(f"/v1/incidents/{one}", token="read").json()["problem"] for one in three]

    assert {one["id"] for one in found} == {found[0]["id"]}
    assert [one["nth"] for one in found] == [1, 2, 3]
    assert {one["count"] for one in found} == {3}
    assert found[2]["resolved_by"] == [{**said, "count": 1}]
    assert set(found[0]) == {"id", "count", "nth", "first_seen", "last_seen", "resolved_by"}
    listed = service.get(f"/v1/incidents?problem={found[0]['id']}").json()["items"]
    assert [one["id"] for one in listed] == three[::-1]
    assert listed[0]["problem"] == found[2]
    ticket = service.get(f"/v1/incidents/{three[2]}/suspects", headers={"Accept": "text/markdown"})
    assert b"The 3rd of this kind in 1 day; once resolved as gpu on gpu-0102." in ticket.body


def test_problems_are_listed_and_shown(service: Service, three: list[str]) -> None:
    [one] = service.get("/v1/problems?node=gpu-0102&category=gpu", token="read").json()["items"]
    shown = service.get(f"/v1/problems/{one['id']}", token="read").json()

    assert (one["count"], one["cluster"], one["category"]) == (3, "a", "gpu")
    assert one["nodes"] == [{"node": "gpu-0102", "count": 3}]
    assert {**one, "incidents": shown["incidents"]} == shown
    assert [it["id"] for it in shown["incidents"]] == three[::-1]
    assert service.get("/v1/problems?node=another").json()["items"] == []
    assert service.get("/v1/problems?since=2099-01-01T00:00:00Z").json()["items"] == []
    service.get("/v1/problems/prb_none").problem()
    first = service.get("/v1/problems?limit=1")
    assert first.json()["next_cursor"] is None


def test_a_person_splits_and_merges_and_the_task_keeps_it(
    service: Service, three: list[str]
) -> None:
    whole = service.get(f"/v1/incidents/{three[0]}").json()["problem"]["id"]
    asked = {"incidents": three[2:]}
    made = service.post(f"/v1/problems/{whole}/split", asked, token="read")

    assert (made.status, made.json()["count"]) == (201, 1)
    assert made.headers["location"] == f"/v1/problems/{made.json()['id']}"
    keep(service)
    assert service.get(made.headers["location"]).json()["incidents"][0]["id"] == three[2]
    refused = service.post(f"/v1/problems/{whole}/split", asked, token="read")
    assert refused.status == 422
    refused.problem()

    path = f"/v1/problems/{whole}/merge"
    merged = service.post(path, {"problem": made.json()["id"]}, token="read")

    assert (merged.status, merged.json()["count"]) == (200, 3)
    keep(service)
    assert service.get(f"/v1/incidents/{three[2]}").json()["problem"]["id"] == whole
    assert service.post(path, {"problem": made.json()["id"]}, token="read").status == 404
    acts = service.get("/v1/audit", token="admin").json()["items"]
    assert {"problem.merge", "problem.split"} <= {one["action"] for one in acts}


def keep(service: Service) -> None:
    """The task groups all anew."""
    with service.ctx.database.writing() as session:
        work.enqueue(session, WorkKind.RETENTION, PROBLEMS, read_utc_now())
    do_all(service.ctx, ReadersHere(), WorkKind.RETENTION)


def test_an_incident_without_an_answer_is_of_none(service: Service) -> None:
    incident = service.opened("problem-none")
    assert service.get(f"/v1/incidents/{incident}").json()["problem"] is None
