"""The same node again, over HTTP: two jobs that were really analysed."""

from tests.api.service import Service
from tests.services.whole_jobs import GPU_LOST, files_of, tar_of
from tests.support.work import ReadersHere, do_all
from triage.domain.states import WorkKind

JOB = files_of(GPU_LOST)


def answered(service: Service, job_id: str) -> str:
    """The id of an incident that these files answered."""
    incident = service.opened(job_id, cluster="a", expected_artifacts=len(JOB))
    path = f"/v1/jobs/{job_id}/bundle?incident={incident}"
    assert service.post(path, tar_of(JOB), token="ingest").status == 201
    do_all(service.ctx, ReadersHere(), WorkKind.PARSE, WorkKind.ANALYSE)
    return incident


def test_a_second_failure_names_the_first_and_changes_nothing_else(service: Service) -> None:
    first = answered(service, "repeat-1")
    alone = service.get(f"/v1/incidents/{first}")
    second = answered(service, "repeat-2")

    before = service.get(f"/v1/incidents/{second}", token="read")
    found = before.json()
    [suspect, *_] = service.get(f"/v1/incidents/{second}/suspects").json()["suspects"]
    [repeat] = found["repeats"]
    assert set(repeat) == {"incident_id", "job_id", "at", "node", "part", "why"}
    assert (repeat["incident_id"], repeat["job_id"]) == (first, "repeat-1")
    assert repeat["node"] == suspect["node"]
    assert repeat["part"] == f"GPU {suspect['gpus'][0]}"
    assert repeat["why"].startswith(f"same node, same {repeat['part']}, ")
    assert repeat["why"].endswith("; 2 incidents in 1 day")
    # The first is what it was.
    again = service.get(f"/v1/incidents/{first}", headers={"If-None-Match": alone.headers["etag"]})
    assert (again.status, alone.json()["repeats"]) == (304, [])
    # A node's history says the part of each.
    history = service.get(f"/v1/nodes/{suspect['node']}").json()
    assert {one["part"] for one in history["incidents"]} == {repeat["part"]}

    said = {"category": "gpu", "node": "another"}
    assert service.post(f"/v1/incidents/{first}/resolution", said, token="read").status == 201

    after = service.get(f"/v1/incidents/{second}")
    assert after.json() == {**found, "repeats": []}
    assert after.headers["etag"] != before.headers["etag"]


def test_an_incident_without_an_answer_has_none(service: Service) -> None:
    incident = service.opened("repeat-none")

    assert service.get(f"/v1/incidents/{incident}").json()["repeats"] == []
