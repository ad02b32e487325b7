"""What would decide an incident is asked of the node that has it, and comes in the same run."""

import re
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from shutil import copyfile
from typing import Any

import pytest

from tests.api.service import Service
from tests.collectors.scripted import ROOT, bare_environment
from tests.support.waiting import eventually
from tests.support.work import ReadersHere, do_all
from triage.collectors.artifact import Deadline
from triage.collectors.collect import Outcome, collect
from triage.collectors.options import Options
from triage.domain.states import WorkKind
from triage.formats.dumps import DumpReader
from triage.formats.extractor import make_digest_file
from triage.parsers.flight_recorder.limits import DEFAULT_LIMITS
from triage.parsers.flight_recorder.shared import Shared
from triage.services.tokens import create_token

# Rank 4 is the culprit; the groups in question begin with ranks 0, 1, 3 and 5.
DUMPS = ROOT / "tests" / "data" / "nccl-p2p-mismatch-w8"
CULPRIT, WAITING = 4, (0, 1, 3, 5)
DEADLINE_S = 900.0  # a loaded machine compiles the loops first


def dump_of(rank: int) -> bytes:
    return (DUMPS / f"comm_lib_trace_rank_{rank}").read_bytes()


@pytest.fixture(scope="module")
def digests() -> Mapping[int, bytes]:
    reader = DumpReader(Shared(), DEFAULT_LIMITS)
    return {
        rank: make_digest_file(reader, dump_of(rank), f"comm_lib_trace_rank_{rank}")
        for rank in range(8)
    }


def worked_off(service: Service) -> None:
    do_all(service.ctx, ReadersHere(), WorkKind.PARSE, WorkKind.ANALYSE)


def send(service: Service, job_id: str, rank: int, data: bytes, node: str | None = None) -> int:
    node = node or f"n{rank // 4}"
    query = f"node={node}&filename=fr/comm_lib_trace_rank_{rank}"
    return service.post(f"/v1/jobs/{job_id}/artifacts?{query}", data, token="ingest").status


def answered(service: Service, digests: Mapping[int, bytes], job_id: str, **more: Any) -> str:
    """The incident of a job whose digests are all in."""
    told = {"nodes": ["n0", "n1"], "gpus_per_node": 4, "expected_artifacts": len(digests), **more}
    incident = service.opened(job_id, **told)
    assert {send(service, job_id, rank, data) for rank, data in digests.items()} == {201}
    worked_off(service)
    assert service.get(f"/v1/incidents/{incident}").json()["state"] == "ready"
    return incident


def wanted_of(service: Service, job_id: str, incident: str, node: str, **more: Any) -> Any:
    path = f"/v1/jobs/{job_id}/wanted?incident={incident}&node={node}"
    return service.get(path, **{"token": "ingest", **more}).json()


def dumps_wanted(answer: Mapping[str, Any]) -> list[int]:
    return [one["rank"] for one in answer["wanted"] if one["kind"] == "flight_recorder"]


def test_collectors_send_what_is_asked_for_in_the_same_run(
    service: Service, tmp_path: Path
) -> None:
    told = {"nodes": ["n0", "n1"], "gpus_per_node": 4, "expected_artifacts": 8}
    incident = service.opened("whole-path", **told)
    outcomes: dict[str, Outcome] = {}

    def on_node(number: int) -> None:
        home = tmp_path / f"n{number}"
        home.mkdir()
        for rank in range(4 * number, 4 * number + 4):
            copyfile(DUMPS / f"comm_lib_trace_rank_{rank}", home / f"comm_lib_trace_rank_{rank}")
        options = Options(
            url=f"http://127.0.0.1:{service.port}", job_id="whole-path", node=f"n{number}",
            fr=(f"{home}/comm_lib_trace_rank_*",), logs=(f"{home}/no.log",), no_kernel_log=True,
            spool=str(home / "spool"), shared="own", digest=True, deadline_s=DEADLINE_S,
            wait_for_wanted_s=DEADLINE_S,
        )  # fmt: skip
        environment = bare_environment(home, TRIAGE_TOKEN=service.tokens["ingest"])
        outcomes[options.node or ""] = collect(options, environment, Deadline(DEADLINE_S))

    def num_artifacts() -> int:
        return int(service.get(f"/v1/incidents/{incident}").json()["num_artifacts"])

    nodes = [threading.Thread(target=on_node, args=(number,), daemon=True) for number in (0, 1)]
    for one in nodes:
        one.start()
    # Of the digests of one node alone another answer is made, which asks for other dumps.
    eventually(lambda: num_artifacts() == 8, DEADLINE_S)
    while any(one.is_alive() for one in nodes):
        worked_off(service)
        time.sleep(0.2)
    for one in nodes:
        one.join()

    assert all(one.complete for one in outcomes.values())
    counts = {name: [b.packed.counts for b in one.bundles] for name, one in outcomes.items()}
    assert counts == {"n0": [{"dump": 4}, {"dump": 3}], "n1": [{"dump": 4}, {"dump": 2}]}
    worked_off(service)
    files = service.get(f"/v1/incidents/{incident}/artifacts").json()["items"]
    whole = {one["rank"]: one for one in files if one["digest"] is None}
    assert sorted(whole) == sorted([CULPRIT, *WAITING])
    assert {rank: one["bytes"] for rank, one in whole.items()} == {
        rank: len(dump_of(rank)) for rank in whole
    }
    found = service.get(f"/v1/incidents/{incident}").json()
    # The dumps say what their digests said: no further revision, no further file expected.
    assert (found["state"], found["num_artifacts"]) == ("ready", 8)
    assert dumps_wanted(found) == []
    assert not [note for note in found["coverage"]["notes"] if "two dumps" in note]


def test_an_answer_lists_what_would_decide_and_why(
    service: Service, digests: Mapping[int, bytes]
) -> None:
    incident = answered(service, digests, "listed")
    found = service.get(f"/v1/incidents/{incident}").json()
    revision = found["revision"]

    assert [one["rank"] for one in found["wanted"] if one["filename"]] == [CULPRIT, *WAITING]
    first = next(one for one in found["wanted"] if one["filename"])
    assert first == {
        "kind": "flight_recorder", "node": "n1", "rank": 4,
        "filename": "fr/comm_lib_trace_rank_4",
        "why": "only its digest is here; the dump has the stacks of all its operations",
    }  # fmt: skip
    report = service.get(f"/v1/incidents/{incident}/report").json()
    assert report["wanted"] == [one for one in found["wanted"] if not one["filename"]]

    own = wanted_of(service, "listed", incident, "n1")
    assert own == {
        "incident_id": incident, "again_s": None,
        "wanted": [
            *({"kind": "job_log", "rank": None, "filename": None},) * 1,
            {"kind": "flight_recorder", "rank": 4, "filename": "fr/comm_lib_trace_rank_4"},
            {"kind": "flight_recorder", "rank": 5, "filename": "fr/comm_lib_trace_rank_5"},
        ],
    }  # fmt: skip
    assert dumps_wanted(wanted_of(service, "listed", incident, "n0")) == [0, 1, 3]
    assert wanted_of(service, "listed", incident, "n7")["wanted"] == []

    assert send(service, "listed", 4, dump_of(4)) == 201
    assert dumps_wanted(wanted_of(service, "listed", incident, "n1")) == [5]
    worked_off(service)
    # Asked by the next answer too: it is never wanted twice.
    assert dumps_wanted(wanted_of(service, "listed", incident, "n1")) == [5]
    assert service.get(f"/v1/incidents/{incident}").json()["revision"] == revision


def test_a_dump_that_came_broken_is_not_wanted_again(
    service: Service, digests: Mapping[int, bytes]
) -> None:
    incident = answered(service, digests, "broken")
    assert send(service, "broken", 4, dump_of(4)[:100]) == 201
    worked_off(service)
    assert dumps_wanted(wanted_of(service, "broken", incident, "n1")) == [5]


def test_a_dump_that_is_missing_is_wanted_until_its_digest_comes(
    service: Service, digests: Mapping[int, bytes]
) -> None:
    rest = {rank: data for rank, data in digests.items() if rank != 4}
    incident = answered(service, rest, "missing")
    rows = service.get(f"/v1/incidents/{incident}").json()["wanted"]
    [row] = [one for one in rows if one["rank"] == 4]
    assert (row["kind"], row["node"], row["filename"]) == ("flight_recorder", "n1", None)
    assert re.fullmatch("left no dump, and (a group waits|[2-9] groups wait) for it", row["why"])

    assert send(service, "missing", 4, digests[4]) == 201
    assert 4 not in dumps_wanted(wanted_of(service, "missing", incident, "n1"))


def test_a_digest_of_another_decoder_is_wanted_as_a_dump(
    service: Service, digests: Mapping[int, bytes]
) -> None:
    newer = b"triage-digest 1 999\n" + digests[7].partition(b"\n")[2]
    incident = answered(service, {**digests, 7: newer}, "other-decoder")
    rows = service.get(f"/v1/incidents/{incident}").json()["wanted"]
    [row] = [one for one in rows if one["rank"] == 7 and one["filename"]]
    assert row["why"].startswith("its digest cannot be read: ")
    assert "decoder 999" in row["why"]


def test_dumps_do_not_count_as_further_files(
    service: Service, digests: Mapping[int, bytes]
) -> None:
    """An incident does not settle before the last digest because a dump came twice."""
    told = {"nodes": ["n0", "n1"], "gpus_per_node": 4, "expected_artifacts": 8}
    incident = service.opened("counted", **told)
    for rank in range(7):
        send(service, "counted", rank, digests[rank])
    send(service, "counted", 4, dump_of(4))
    worked_off(service)
    found = service.get(f"/v1/incidents/{incident}").json()
    assert (found["state"], found["num_artifacts"]) == ("collecting", 7)
    assert wanted_of(service, "counted", incident, "n0")["again_s"] >= 3


def test_an_ingest_token_learns_nothing_else(
    service: Service, digests: Mapping[int, bytes]
) -> None:
    incident = answered(service, digests, "bound", cluster="c")
    path = f"/v1/jobs/bound/wanted?incident={incident}&node="

    def asks(node: str, job: str = "bound", **bounds: str | None) -> int:
        token = create_token(service.ctx, "test", ["ingest"], "test", **bounds)[1]
        return service.get(path.replace("bound", job) + node, token=token).status

    assert asks("n1") == asks("n1", cluster="c") == asks("n1", node_pattern="n?") == 200
    assert asks("n1", job_id="bound") == 200
    assert asks("n1", cluster="d") == asks("n1", node_pattern="n0") == 404
    assert asks("n1", job_id="other") == asks("n1", job="other") == 404
    refusals = [
        service.get(path + "n1", token=create_token(service.ctx, "t", ["ingest"], "t", **one)[1])
        for one in ({"cluster": "d"}, {"node_pattern": "n0"}, {"job_id": "other"})
    ]
    unknown = service.get(path.replace(incident, "inc_nowhere") + "n1", token="ingest")
    assert {one.problem()["detail"] for one in (*refusals, unknown)} == {
        "there is no such incident of this job and node"
    }
    assert service.get(path + "n1", token="read").status == 403
    assert service.get(path + "n1", token=None).status == 401
    told = wanted_of(service, "bound", incident, "n1")
    assert {key for one in told["wanted"] for key in one} == {"kind", "rank", "filename"}
    token = create_token(service.ctx, "own", ["ingest"], "test", node_pattern="n1")[1]
    assert service.get(path.removesuffix("&node="), token=token).json() == told
