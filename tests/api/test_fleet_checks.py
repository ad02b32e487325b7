"""Checks and telemetry over HTTP: what goes in, what comes back, and what is refused."""

import gzip
from datetime import timedelta
from urllib.parse import quote

import pytest

from tests.api.service import context_at, serving
from tests.formats.health import samples
from triage.clock import read_utc_now
from triage.fleet.services.telemetry.rollups import sum_node_telemetry

ISO = "%Y-%m-%dT%H:%M:%SZ"


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    ctx = context_at(tmp_path_factory.mktemp("checks"))
    with serving(ctx) as found:
        yield found
    ctx.close()


def send(service, text, query="", **more):
    data = text if isinstance(text, bytes) else text.encode()
    return service.post(f"/v1/fleet/checks{query}", data, token="ingest", **more)


def listed(service, query=""):
    answer = service.get(f"/v1/fleet/checks{query}", token="read")
    assert answer.status == 200, answer.body
    return answer.json()["items"]


def test_results_come_in_and_are_listed_once(service):
    first = send(service, samples.dcgm3(), "?node=a1&cluster=a&at=2026-11-01T00:00:00Z")
    assert first.status == 200, first.body
    assert {k: first.json()[k] for k in ("format", "results", "added", "unchanged")} == {
        "format": "dcgm_diag", "results": 2, "added": 2, "unchanged": 0,
    }  # fmt: skip
    again = send(service, samples.dcgm3(), "?node=a1&cluster=a&at=2026-11-01T00:00:00Z")
    assert (again.json()["added"], again.json()["unchanged"]) == (0, 2)

    rows = listed(service, "?node=a1&state=failing")
    assert [(row["check"], row["part"], row["category"]) for row in rows] == [
        ("dcgm.memory", "gpu 3", "gpu_hbm")
    ]
    assert rows[0]["at"] == "2026-11-01T00:00:00.000Z"
    assert listed(service, "?node=a1&cluster=b") == []


def test_a_check_that_other_nodes_have_is_due(service):
    send(service, samples.smi({}), "?node=b1&cluster=b")
    send(service, samples.ibstat(mlx5_0=("Active", "LinkUp", 400)), "?node=b2&cluster=b")

    due = listed(service, "?cluster=b&state=due")
    assert [(row["node"], row["check"]) for row in due] == [("b1", "ib"), ("b2", "gpu")]
    assert all(row["because"] and row["outcome"] is None for row in due)


def test_pages_follow_each_other(service):
    send(service, samples.smi({}, {"bus": "5D"}), "?node=c1&cluster=c")
    whole = listed(service, "?cluster=c&limit=500")
    seen, path = [], "/v1/fleet/checks?cluster=c&limit=3"
    while path:
        answer = service.get(path, token="read").json()
        seen += answer["items"]
        more = answer["next_cursor"]
        path = f"/v1/fleet/checks?cluster=c&limit=3&cursor={more}" if more else ""

    assert seen == whole
    assert len(seen) > 6


def test_a_packed_body_and_a_bandwidth_to_reach(service):
    body = gzip.compress(samples.nccl("d1", busbw=300).encode())
    answer = send(service, body, "?cluster=d&busbw_gbps=480", headers={"Content-Encoding": "gzip"})

    assert answer.json()["outcomes"] == {"pass": 1, "fail": 1}


@pytest.mark.parametrize(
    ("text", "query", "status", "words"),
    [
        ("hello", "?node=n", 422, "no result of a check"),
        ("", "?node=n", 422, "no result of a check"),
        (samples.smi({}), "", 422, "which node"),
        (samples.smi({}), "?node=", 422, "characters"),
        (samples.smi({}), "?node=n&at=yesterday", 422, "RFC 3339"),
        (samples.smi({}), "?node=n&busbw_gbps=-1", 422, "number"),
        (samples.smi({}), "?nodes=n", 422, "not one of this route"),
        (samples.dcgm3()[:150], "?node=n", 422, "holds no result"),
        (b"PK\x03\x04" + bytes(200), "?node=n", 422, ""),
    ],
    ids=range(9),
)
def test_what_cannot_be_used_is_refused(service, text, query, status, words):
    answer = send(service, text, query)

    assert answer.status == status
    assert words in answer.problem()["detail"]


@pytest.mark.parametrize("query", ["?state=ill", "?cursor=x", "?limit=0", "?what=1"])
def test_a_question_that_is_none_is_refused(service, query):
    assert service.get(f"/v1/fleet/checks{query}", token="read").status == 422


@pytest.mark.parametrize(("token", "status"), [("read", 403), (None, 401)])
def test_only_ingest_may_send(service, token, status):
    for path in ("/v1/fleet/checks?node=n", "/v1/fleet/telemetry"):
        assert service.post(path, b"x", token=token).status == status


def test_odd_names_of_nodes_are_names(service):
    name = "né/1 <b>"
    send(service, samples.smi({}), f"?cluster=e&node={quote(name, safe='')}")

    assert {row["node"] for row in listed(service, "?cluster=e")} == {name}


class TestTelemetry:
    def table(self, *lines):
        return "\n".join(["at,gpu,gpu_temp_c,throttle_reasons", *lines]) + "\n"

    def post(self, service, text, query="?node=n3", **more):
        return service.post(f"/v1/fleet/telemetry{query}", text.encode(), token="ingest", **more)

    def test_samples_come_in_and_are_told_once(self, service):
        # Within one hour: a sample that is alone in its hour stands for five minutes.
        begin = (read_utc_now() - timedelta(hours=2)).replace(minute=0, second=0)
        text = self.table(
            *[f"{(begin + timedelta(minutes=m)).strftime(ISO)},0,61,64" for m in range(30)]
        )
        first = self.post(service, text)
        assert first.status == 200, first.body
        assert (first.json()["kept"], first.json()["repeated"]) == (90, 0)
        again = self.post(service, text).json()
        assert (again["kept"], again["repeated"]) == (0, 90)
        with service.ctx.database.reading() as session:
            found = sum_node_telemetry(session, read_utc_now())
        assert found["n3"]["throttled_hours"] == pytest.approx(0.5)
        assert found["n3"]["gpu_temp_max_c"] == 61

    @pytest.mark.parametrize(
        ("text", "words"), [("hello\n", "no telemetry"), ("", "no telemetry"), ("{}", "")]
    )
    def test_what_is_no_telemetry_is_refused(self, service, text, words):
        answer = self.post(service, text)

        assert answer.status == 422
        assert words in answer.problem()["detail"]

    def test_a_body_that_is_too_long_is_refused(self, tmp_path):
        ctx = context_at(tmp_path, max_artifact_bytes=1000)
        with serving(ctx) as service:
            answer = self.post(service, self.table(*["2026-11-20T00:00:00Z,0,61,0"] * 200))
            assert answer.status == 413
            answer.problem()
        ctx.close()
