"""A token that is bound reaches its cluster, its nodes and its job, and nothing beside them."""

import io
import tarfile
from collections.abc import Mapping

import pytest

from tests.api.service import Service
from triage.services.tokens import create_token
from triage.store.incidents.facts import read_facts_json

LOG = b"<time> kernel: NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.\n"


def tar_of(*names: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for number, name in enumerate(names):
            data = b'{"job_id": "1", "nodes": ["innocent"]}' if name == "job.json" else LOG * number
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return packed.getvalue()


@pytest.fixture(scope="module")
def bound(service: Service) -> Mapping[str, str]:
    """Tokens by name: of cluster a, of two of its nodes, of one node, of one job."""
    bounds = {
        "a": {"cluster": "a"},
        "nodes": {"cluster": "a", "node_pattern": "gpu-00?"},
        "node": {"node_pattern": "gpu-001"},
        "job": {"cluster": "a", "job_id": "4711"},
    }
    return {
        name: create_token(service.ctx, name, ["ingest"], "test", **of)[1]  # type: ignore[arg-type]
        for name, of in bounds.items()
    }


def test_a_hook_that_names_no_cluster_is_of_the_tokens(
    service: Service, bound: Mapping[str, str]
) -> None:
    answer = service.post("/v1/hooks/job-failed", {"job_id": "own"}, token=bound["a"])
    assert (answer.status, answer.json()["cluster"]) == (202, "a")
    ended = service.post("/v1/hooks/job-ended", {"job_id": "own"}, token=bound["a"])
    assert (ended.status, ended.json()["cluster"]) == (202, "a")


@pytest.mark.parametrize(
    ("who", "path", "body", "words"),
    [
        ("a", "/v1/hooks/job-failed", {"job_id": "1", "cluster": "b"}, "cluster 'a'"),
        ("a", "/v1/hooks/job-ended", {"job_id": "1", "cluster": "b"}, "cluster 'a'"),
        ("a", "/v1/jobs/1/artifacts?cluster=b", LOG, "cluster 'a'"),
        ("a", "/v1/jobs/1/bundle?cluster=b", tar_of("x.log"), "cluster 'a'"),
        ("a", "/v1/fleet/import?cluster=b", b"node,rack\nn1,r1\n", "cluster 'a'"),
        ("a", "/v1/fleet/checks?cluster=b&node=n", b"x", "cluster 'a'"),
        ("a", "/v1/fleet/telemetry?cluster=b", b"x", "cluster 'a'"),
        ("job", "/v1/hooks/job-failed", {"job_id": "4712"}, "job '4711'"),
        ("job", "/v1/hooks/job-ended", {"job_id": "4712"}, "job '4711'"),
        ("job", "/v1/jobs/4712/artifacts", LOG, "job '4711'"),
        ("job", "/v1/jobs/4712/bundle", tar_of("x.log"), "job '4711'"),
        ("job", "/v1/fleet/import", b"node,rack\nn1,r1\n", "of no one job"),
        ("job", "/v1/fleet/checks?node=n", b"x", "of no one job"),
        ("job", "/v1/fleet/telemetry", b"x", "of no one job"),
        ("nodes", "/v1/hooks/job-failed", {"job_id": "1"}, "whole jobs"),
        ("nodes", "/v1/hooks/job-ended", {"job_id": "1"}, "whole jobs"),
        ("nodes", "/v1/fleet/import", b"node,rack\ngpu-001,r1\n", "whole jobs"),
        ("nodes", "/v1/jobs/1/artifacts?node=gpu-010", LOG, "'gpu-010'"),
        ("nodes", "/v1/jobs/1/artifacts?filename=nodes/innocent/kernel.log", LOG, "'innocent'"),
        ("nodes", "/v1/jobs/1/artifacts", LOG, "which node"),
        ("nodes", "/v1/jobs/1/bundle", tar_of("nodes/gpu-001/a.log", "nodes/n7/b.log"), "'n7'"),
        ("nodes", "/v1/fleet/checks?node=n7", b"x", "'n7'"),
    ],
)
def test_what_lies_outside_is_refused_and_leaves_nothing(
    service: Service, bound: Mapping[str, str], who: str, path: str, body: object, words: str
) -> None:
    before = len(service.get("/v1/incidents").json()["items"])
    answer = service.post(path, body, token=bound[who])
    assert answer.status == 403, answer.body
    problem = answer.problem()
    assert words in problem["detail"]
    assert "triage token create" in problem["hint"]
    assert len(service.get("/v1/incidents").json()["items"]) == before


def test_a_file_does_not_go_into_an_incident_of_another_cluster(
    service: Service, bound: Mapping[str, str]
) -> None:
    foreign = service.opened("shared", cluster="b")
    nameless = service.opened("shared-too")
    for job, incident in (("shared", foreign), ("shared-too", nameless)):
        answer = service.post(
            f"/v1/jobs/{job}/artifacts?incident={incident}&node=n", LOG, token=bound["a"]
        )
        assert answer.status == 403
        assert service.get(f"/v1/incidents/{incident}/artifacts").json()["items"] == []


def test_a_node_sends_its_own_files_and_says_nothing_of_its_job(
    service: Service, bound: Mapping[str, str]
) -> None:
    incident = service.opened("4711", cluster="a", nodes=["gpu-001", "gpu-002"])
    files = tar_of("job.json", "nodes/gpu-001/a.log", "nodes/gpu-002/b.log")
    answer = service.post(f"/v1/jobs/4711/bundle?incident={incident}", files, token=bound["nodes"])
    assert answer.status == 201, answer.body
    shown = service.get(f"/v1/incidents/{incident}/artifacts").json()["items"]
    reasons = {one["filename"]: one["reason"] for one in shown}
    assert "bound to the nodes 'gpu-00?'" in reasons["job.json"]
    assert {one["node"] for one in shown} == {"gpu-001", "gpu-002", None}
    with service.ctx.database.reading() as session:
        assert b"innocent" not in read_facts_json(session, incident)


def test_a_token_of_one_node_names_it_by_itself(service: Service, bound: Mapping[str, str]) -> None:
    answer = service.post("/v1/jobs/alone/artifacts", LOG, token=bound["node"])
    assert (answer.status, answer.json()["node"]) == (201, "gpu-001")
    path = f"/v1/incidents/{answer.json()['incident_id']}/artifacts"
    [shown] = service.get(path).json()["items"]
    assert shown == answer.json()
    assert shown["key_id"].removeprefix("key_") in bound["node"]


def test_rows_of_another_cluster_are_left_out_of_an_import(
    service: Service, bound: Mapping[str, str]
) -> None:
    rows = b"node,rack,cluster\nn1,r1,a\nn2,r2,b\n"
    answer = service.post("/v1/fleet/import", rows, token=bound["a"]).json()
    assert (answer["rows"], answer["num_skipped"]) == (1, 1)
    assert "bound to the cluster 'a'" in answer["skipped"][0]["why"]
    foreign = service.post("/v1/fleet/import", b"node,rack,cluster\nn2,r2,b\n", token=bound["a"])
    assert foreign.status == 403


def test_of_alerts_those_that_the_token_may_tell_are_taken(
    service: Service, bound: Mapping[str, str]
) -> None:
    def alert(name: str, cluster: str) -> dict[str, object]:
        labels = {"alertname": "SlurmJobFailed", "job_id": name, "cluster": cluster}
        return {"status": "firing", "fingerprint": name, "labels": labels}

    both = {"version": "4", "alerts": [alert("mine", "a"), alert("theirs", "b")]}
    answer = service.post("/v1/hooks/alertmanager", both, token=bound["a"])
    assert answer.status == 202
    assert [one["job_id"] for one in answer.json()["incidents"]] == ["mine"]
    assert [one["fingerprint"] for one in answer.json()["ignored"]] == ["theirs"]
    foreign = {"version": "4", "alerts": [alert("theirs", "b")]}
    assert service.post("/v1/hooks/alertmanager", foreign, token=bound["a"]).status == 403
    assert service.post("/v1/hooks/alertmanager", both, token=bound["nodes"]).status == 403
