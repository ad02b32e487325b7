"""Exports and ends of jobs over HTTP: what is answered, and what is refused with its place."""

import gzip

from tests.api.service import Service

SACCT = (
    "JobIDRaw|Cluster|State|Start|End|NNodes|AllocTRES|NodeList\n"
    "1|imported|NODE_FAIL|2026-11-01T00:00:00|2026-11-01T10:00:30|4|gres/gpu=32|n[0-3]\n"
    "bad\n"
)


def send(service: Service, body: bytes, query: str = "", **headers: str):
    return service.call(
        "POST", f"/v1/fleet/import{query}", body, token="ingest",
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )  # fmt: skip


def test_an_export_is_taken_in_and_its_bad_rows_are_listed(service: Service) -> None:
    answer = send(service, SACCT.encode(), "?zone=Europe/Berlin")
    assert answer.status == 200
    found = answer.json()
    assert (found["format"], found["rows"], found["added"]) == ("sacct", 1, 1)
    assert found["skipped"] == [{"line": 3, "why": "it has 1 fields, the header 8"}]
    again = send(
        service, gzip.compress(SACCT.encode()), "?zone=Europe/Berlin", Content_Encoding="gzip"
    )
    assert (again.json()["added"], again.json()["unchanged"]) == (0, 1)


def test_what_is_no_export_is_refused(service: Service) -> None:
    refused = send(service, b"a,b\n1,2\n")
    assert refused.status == 422
    assert "no header that we know" in refused.problem()["detail"]
    assert refused.problem()["errors"][0]["pointer"] in ("", "#")
    assert send(service, b"").status == 422
    assert send(service, b'{"kind": "List"').status == 422
    assert send(service, SACCT.encode(), Content_Encoding="br").status == 415


def test_a_zone_that_is_none_is_named(service: Service) -> None:
    refused = send(service, SACCT.encode(), "?zone=Mars")
    assert refused.status == 422
    assert refused.problem()["errors"][0]["parameter"] == "zone"
    assert send(service, SACCT.encode(), "?zones=UTC").status == 422


def test_days_are_counted_from_a_day(service: Service) -> None:
    trace = b"node,from_day,to_day,cause\nd0,1,2,Hardware\n"
    assert send(service, trace, "?cluster=imported&day_zero=2024-03-30").json()["added"] == 1
    assert send(service, trace, "?cluster=imported&day_zero=2024-03-30").json()["unchanged"] == 1
    assert send(service, trace, "?cluster=imported").json()["added"] == 1
    refused = send(service, trace, "?day_zero=soon")
    assert (refused.status, refused.problem()["errors"][0]["parameter"]) == (422, "day_zero")


def test_a_job_that_ended_is_told(service: Service) -> None:
    body = {
        "job_id": 77, "cluster": "imported", "started_at": "2026-11-01T00:00:00Z",
        "ended_at": "2026-11-01T02:00:00Z", "state": "COMPLETED", "nodes": ["n0"],
    }  # fmt: skip
    first = service.post("/v1/hooks/job-ended", body, token="ingest")
    assert (first.status, first.json()["run"]) == (202, "new")
    assert service.post("/v1/hooks/job-ended", body, token="ingest").json()["run"] == "known"
    assert service.get("/v1/incidents?job_id=77").json()["items"] == []
    refused = service.post("/v1/hooks/job-ended", {**body, "state": "RUNNING"}, token="ingest")
    assert refused.status == 422
    assert "state" in refused.problem()["errors"][0]["pointer"]
