"""Uploading from a page: what its script sends, and what is refused."""

import pytest

from tests.api.service import Answer, Service
from tests.services.whole_jobs import tar_of
from tests.web.site import GOOD, Visit, analyse
from triage.services.tokens import create_token


def upload(visit: Visit, files: dict[str, bytes], query: str = "", **headers: str) -> Answer:
    """What the script sends: one tar, signed by the word of the form."""
    signed = {"X-Triage-Word": visit.word(), **headers}
    return visit.service.call(
        "POST", f"/upload/bundle?{query}", tar_of(files), token=None, headers=visit.headers(signed)
    )


def answered(visit: Visit, where: str) -> str:
    analyse(visit.service)
    return visit.read(where).words


@pytest.fixture
def visit(opened: Service) -> Visit:
    return Visit(opened)


def test_a_tar_is_answered_at_once_and_the_script_is_told_where_to_go(visit: Visit) -> None:
    answer = upload(visit, GOOD, "job_id=script")
    assert answer.status == 200
    told = answer.json()
    assert told["num_files"] == len(GOOD)
    assert told["refused"] == []
    words = answered(visit, told["incident"])
    assert "GPU has fallen off the bus" in words
    assert "this page follows" not in words
    found = visit.service.get("/v1/incidents?job_id=script", token=None).json()["items"]
    assert [one["state"] for one in found] == ["ready"]
    assert found[0]["verdict"]["cordon"] == ["gpu-0102"]


def test_without_the_script_the_page_says_what_to_do_instead(visit: Visit) -> None:
    page = visit.read("/upload")
    assert "where scripts are off, send them from a terminal" in page.words
    [button] = [one for one in page.all("button") if one.get("class") == "button first"]
    assert "disabled" in button


def test_the_cluster_is_the_one_that_is_asked_for(visit: Visit) -> None:
    for cluster in ("east", "west"):
        assert upload(visit, GOOD, f"job_id=two&cluster={cluster}").status == 200
    found = visit.service.get("/v1/incidents?job_id=two", token=None).json()["items"]
    assert sorted(one["cluster"] for one in found) == ["east", "west"]
    assert upload(visit, GOOD, f"cluster={'e' * 300}").status == 422
    assert visit.read("/upload?cluster=east").all("input", name="cluster")[0]["value"] == "east"


def test_a_visitor_of_one_cluster_uploads_to_it_alone(service: Service) -> None:
    visit = Visit(service)
    token = create_token(service.ctx, "east", ["ingest"], "test", cluster="east")[1]
    visit.submit("/login", {"token": token})
    (field,) = visit.read("/upload?cluster=west").all("input", name="cluster")
    assert (field["value"], "readonly" in field) == ("east", True)
    there = upload(visit, {"a.log": b"[1.0] x\n"}, "job_id=bound")
    other = upload(visit, {"a.log": b"[1.0] x\n"}, "job_id=bound&cluster=west")
    assert there.status == 200
    assert "bound to the cluster" in other.problem()["detail"]
    found = service.get("/v1/incidents?job_id=bound").json()["items"]
    assert [one["cluster"] for one in found] == ["east"]


def test_a_job_without_a_name_gets_one(visit: Visit) -> None:
    answer = upload(visit, {"a.log": b"[1.0] all is well\n"})
    assert "upload-20" in answered(visit, answer.json()["incident"])


def test_what_is_refused_is_named_and_the_rest_goes_on(visit: Visit) -> None:
    files = {"k.log": b"[1.0] all is well\n", "b.tar.gz": b"\x1f\x8b\x08 broken"}
    told = upload(visit, files, "job_id=mixed").json()
    assert told["num_files"] == len(files)
    assert [one["name"] for one in told["refused"]] == ["b.tar.gz"]
    assert visit.get(told["incident"]).status == 200


def test_what_is_not_signed_leaves_nothing(visit: Visit) -> None:
    files = {"k.log": b"[1.0] all is well\n"}
    for word in ("", "wrong"):
        answer = upload(visit, files, "job_id=foreign", **{"X-Triage-Word": word})
        assert answer.status == 403
        answer.problem()
    found = visit.service.get("/v1/incidents?job_id=foreign", token=None).json()
    assert found["items"] == []


def test_an_incident_that_somebody_reported_goes_on_waiting(visit: Visit) -> None:
    incident = visit.service.post(
        "/v1/hooks/job-failed", {"job_id": "reported", "expected_artifacts": 5}, token=None
    ).json()["incident"]["id"]
    told = upload(visit, {"k.log": b"[1.0] all is well\n"}, "job_id=reported").json()
    assert told["incident"] == f"/incidents/{incident}"
    analyse(visit.service)
    found = visit.service.get(f"/v1/incidents/{incident}", token=None).json()
    assert (found["state"], found["num_artifacts"]) == ("collecting", 1)
    assert "1 of 5 files read" in visit.read(f"/incidents/{incident}").words
