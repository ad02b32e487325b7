# ruff: noqa: E501 - tables of what senders send
"""Foreign shapes become our values: hits and near misses of each sender."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.domain.health import CheckResult
from triage.domain.hosts import MAX_HOSTS, expand
from triage.errors import BadRequest, Place, Refusal, Unprocessable, Unsupported
from triage.formats.health.reading import Reading
from triage.formats.registry import CHECKS
from triage.services.hooks.alertmanager import read_alert_notices
from triage.services.hooks.cloudevents import BATCH, STRUCTURED, read_event_notices, read_events
from triage.services.hooks.job_failed import parse_failure
from triage.services.hooks.times import parse_moment

NVSENTINEL = next(row for row in CHECKS if row.name == "nvsentinel")

AT = datetime(2026, 11, 21, 3, 14, 15, tzinfo=UTC)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("expression", "hosts"),
    [
        ("n0", ["n0"]),
        ("n0,n1", ["n0", "n1"]),
        ("gpu[001-003,130]", ["gpu001", "gpu002", "gpu003", "gpu130"]),
        ("gpu[8-11]", ["gpu8", "gpu9", "gpu10", "gpu11"]),
        ("gpu[08-11]", ["gpu08", "gpu09", "gpu10", "gpu11"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("a[1]-ib,login1", ["a1-ib", "login1"]),
        ("n0,n0", ["n0"]),
        (" n0 , n1 ,", ["n0", "n1"]),
        ("[1-2]", ["1", "2"]),
        ("", []),
    ],
)
def test_host_lists(expression: str, hosts: list[str]) -> None:
    assert expand(expression) == hosts


@pytest.mark.parametrize(
    "expression",
    ["gpu[1-", "gpu1]", "gpu[[1]]", "gpu[2-1]", "gpu[a-b]", "gpu[]", "gpu[1,]", "gpu[-1]", "a b",
     "gpu[1-2", "gpu[٣]", f"gpu[0-{MAX_HOSTS}]", "gpu[0-999999999]", "a[0-999]b[0-999]",
     ",".join(f"n[{i}-{i + 999}]" for i in range(0, 30_000, 1000)), "x" * 300_000],
    ids=lambda text: text[:20],
)  # fmt: skip
def test_host_lists_that_are_none(expression: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        expand(expression)


def test_a_host_list_may_name_a_whole_cluster() -> None:
    assert len(expand(f"gpu[1-{MAX_HOSTS}]")) == MAX_HOSTS


@given(st.text(alphabet="ab01[],- ", max_size=40))
def test_any_text_is_a_host_list_or_refused(text: str) -> None:
    try:
        hosts = expand(text)
    except ValueError:
        return
    assert len(set(hosts)) == len(hosts)
    assert not any(set(host) & set("[], ") for host in hosts)


@pytest.mark.parametrize(
    ("value", "at"),
    [
        ("2026-11-21T03:14:15Z", AT),
        ("2026-11-21t03:14:15z", AT),
        ("2026-11-21 04:14:15+01:00", AT),
        ("2026-11-20T22:14:15-0500", AT),
        ("2026-11-21T03:14:15.926535897Z", AT.replace(microsecond=926535)),
        ("2026-11-21T03:14:15.9Z", AT.replace(microsecond=900000)),
        (1795230855, AT),
        ("1795230855", AT),
        (1795230855.0, AT),
        ("2016-12-31T23:59:60Z", datetime(2016, 12, 31, 23, 59, 59, tzinfo=UTC)),
        ("0000-02-29T00:00:00Z", datetime.min.replace(tzinfo=UTC)),
        ("0001-01-01T00:00:00+14:00", datetime.min.replace(tzinfo=UTC)),
        ("9999-12-31T23:59:59-14:00", datetime.max.replace(tzinfo=UTC)),
    ],
)
def test_times(value: object, at: datetime) -> None:
    assert parse_moment(value) == at


@pytest.mark.parametrize(
    "value",
    ["", "soon", "2026-11-21", "2026-11-21T03:14:15", "2026-11-21T03:14Z", "2026-02-30T00:00:00Z",
     "2026-11-21T24:00:01Z", "2026-11-21T03:14:15+25:00", "٢٠٢٦-11-21T03:14:15Z", None, True, [],
     1e300, float("inf"), float("nan"), "2026-11-21T03:14:15.Z", "47"],
)  # fmt: skip
def test_times_that_are_none(value: object) -> None:
    assert parse_moment(value) is None


def test_a_slurm_epilogue_is_understood() -> None:
    failure = parse_failure(
        {
            "source": "slurm", "job_id": 4711, "nodelist": "gpu[001-003]", "exit_code": "1:9",
            "cluster": "a", "failed_at": "1795230855", "partition": "train", "user": "me",
        }
    )  # fmt: skip
    assert (failure.job_id, failure.cluster, failure.failed_at) == ("4711", "a", AT)
    assert failure.facts is not None
    assert failure.facts["nodes"] == ["gpu001", "gpu002", "gpu003"]
    assert failure.facts["exit_code"] == 137
    assert failure.facts["failed_at"] == "2026-11-21T03:14:15Z"
    assert (failure.facts["partition"], failure.facts["user"]) == ("train", "me")


def test_slurms_own_variables_are_names_too() -> None:
    failure = parse_failure(
        {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[0-1]", "SLURM_CLUSTER_NAME": "b"}
    )
    assert (failure.job_id, failure.cluster) == ("7", "b")
    assert failure.facts is not None
    assert failure.facts["nodes"] == ["n0", "n1"]


def test_what_is_said_wins_over_what_slurm_says() -> None:
    failure = parse_failure({"job_id": "7", "SLURM_JOB_ID": "8", "nodes": ["x"], "nodelist": "y"})
    assert failure.job_id == "7"
    assert failure.facts is not None
    assert failure.facts["nodes"] == ["x"]


def test_settings_of_the_hook_are_no_facts_and_unknown_keys_are() -> None:
    failure = parse_failure(
        {"job_id": "7", "expected_artifacts": 0, "collect_within_s": 0.5, "x": {"y": [1]}}
    )
    assert (failure.expected_artifacts, failure.collect_within_s) == (0, 0.5)
    assert failure.facts == {"job_id": "7", "x": {"y": [1]}}


@given(st.dictionaries(st.sampled_from(
    ["job_id", "cluster", "failed_at", "started_at", "nodelist", "nodes", "expected_artifacts",
     "collect_within_s", "callback_url", "exit_code", "SLURM_JOB_ID"]), JSON))  # fmt: skip
def test_any_body_is_a_failure_or_refused_with_places(body: dict[str, Any]) -> None:
    places: tuple[Place, ...] = ()
    try:
        job_id = parse_failure(body).job_id
    except Unprocessable as refusal:
        job_id, places = "", refusal.places
    assert bool(job_id) != bool(places)
    assert len(job_id) <= 256
    assert all(place.where.startswith("body/") for place in places)


def alert(labels: dict[str, str], **more: Any) -> dict[str, Any]:
    base = {
        "status": "firing", "labels": labels, "annotations": {"summary": "it says so"},
        "startsAt": "2026-11-21T03:14:15Z", "fingerprint": "f1",
    }  # fmt: skip
    return {**base, **more}


def notices(*alerts: dict[str, Any], **more: Any):
    return read_alert_notices({"version": "4", "alerts": list(alerts), **more})


@pytest.mark.parametrize(
    ("labels", "job"),
    [
        ({"alertname": "KubeJobFailed", "job_name": "train-7", "job": "kube-state-metrics"}, "train-7"),
        ({"alertname": "SlurmJobFailed", "slurm_job_id": "4711"}, "4711"),
        ({"alertname": "job_failed", "job_id": "4711", "job": "scrape"}, "4711"),
        ({"alertname": "PyTorchJobFailed", "pytorchjob_name": "llm"}, "llm"),
        ({"alertname": "JobSetFailed", "jobset_name": "set"}, "set"),
        ({"alertname": "TrainingJobFailure", "job": "train"}, "train"),
    ],
)  # fmt: skip
def test_an_alert_that_a_job_failed(labels: dict[str, str], job: str) -> None:
    found = notices(alert({**labels, "cluster": "a"}))
    ((ref, failure),) = found.failures
    assert (ref, failure.job_id, failure.cluster, failure.failed_at) == ("f1", job, "a", AT)
    assert found.lines == []


@pytest.mark.parametrize(
    ("labels", "node", "text"),
    [
        (
            {"alertname": "GpuXid", "instance": "n3:9400", "xid": "79", "pci_bus_id": "00000000:5D:00.0"},
            "n3", "NVRM: Xid (PCI:00000000:5D:00.0): 79, GpuXid: it says so",
        ),
        ({"alertname": "NicFlapping", "node": "n3", "instance": "10.0.0.1:9100"}, "n3", "NicFlapping: it says so"),
        ({"alertname": "Hot", "Hostname": "n3"}, "n3", "Hot: it says so"),
        ({"alertname": "Xid", "node": "n3", "xid": "79; rm", "pci_bus_id": "0000:5d:00.0"}, "n3", "Xid: it says so"),
        ({"alertname": "Job queue failing over", "node": "n3"}, "n3", "Job queue failing over: it says so"),
    ],
)  # fmt: skip
def test_an_alert_on_a_node(labels: dict[str, str], node: str, text: str) -> None:
    (line,) = notices(alert(labels)).lines
    assert (line.node, line.text, line.at, line.job_id) == (node, text, AT, None)


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (alert({"alertname": "X", "node": "n3"}, status="resolved"), "resolved"),
        (alert({"alertname": "Watchdog"}), "no label names"),
        (alert({"alertname": "KubeJobFailed"}), "no label names the job"),
        (alert({"alertname": "X", "node": "a\nb"}), "no label names"),
        ({}, "no label names"),
    ],
)
def test_an_alert_that_is_kept_out(one: dict[str, Any], why: str) -> None:
    found = notices(one)
    assert (found.lines, found.failures) == ([], [])
    (ignored,) = found.ignored
    assert why in ignored.why


def test_common_labels_count_and_what_was_left_out_is_told() -> None:
    found = notices(
        alert({"alertname": "X"}), commonLabels={"node": "n9"}, truncatedAlerts=12, extra=1
    )
    assert found.lines[0].node == "n9"
    assert found.truncated == 12


@pytest.mark.parametrize(
    "body",
    [{}, {"alerts": None}, {"alerts": {}}, {"alerts": [1]}, {"version": "3", "alerts": []},
     {"alerts": [{}] * 10_001}],
    ids=lambda body: str(body)[:30],
)  # fmt: skip
def test_what_is_no_alertmanager_payload(body: dict[str, Any]) -> None:
    with pytest.raises(Unprocessable) as caught:
        read_alert_notices(body)
    assert caught.value.places


@given(
    st.dictionaries(st.sampled_from(["version", "alerts", "commonLabels", "truncatedAlerts"]), JSON)
)
def test_any_payload_is_read_or_refused(body: dict[str, Any]) -> None:
    places: tuple[Place, ...] = ()
    try:
        found = read_alert_notices(body)
    except Unprocessable as refusal:
        found, places = None, refusal.places
    assert (found is None) == bool(places)


@given(st.dictionaries(st.sampled_from(
    ["status", "labels", "annotations", "startsAt", "fingerprint"]), JSON))  # fmt: skip
def test_any_alert_is_one_of_three_things(one: dict[str, Any]) -> None:
    found = notices(one)
    assert len(found.lines) + len(found.failures) + len(found.ignored) == 1


HEALTH = {
    "version": 1, "agent": "syslog-health-monitor", "componentClass": "GPU",
    "checkName": "SysLogsXIDError", "isFatal": True, "isHealthy": False,
    "message": "GPU has fallen off the bus", "recommendedAction": 2, "errorCode": ["79"],
    "entitiesImpacted": [
        {"entityType": "GPU", "entityValue": "0"},
        {"entityType": "PCI", "entityValue": "0000:17:00.0"},
    ],
    "generatedTimestamp": "2026-11-21T03:14:15Z", "nodeName": "gpu-node-42",
}  # fmt: skip


def health_event(**more: Any) -> dict[str, Any]:
    return {
        "specversion": "1.0", "id": "5c1f", "source": "nvsentinel://a/healthevents",
        "type": "com.nvidia.nvsentinel.health.v1", "time": "2026-11-21T00:00:00Z",
        "data": {"metadata": {"cluster": "a"}, "healthEvent": {**HEALTH, **more}},
    }  # fmt: skip


def results_of(event: dict[str, Any]) -> list[CheckResult]:
    (one,) = read_event_notices(event).reports
    assert NVSENTINEL.begins(one.body.decode()[:8192])
    reading = Reading("nvsentinel.json")
    NVSENTINEL.parse(one.body.decode(), reading)
    assert {found.node for found in reading.results} == {one.node}
    return reading.results


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ({}, ("fail", "gpu", "0000:17:00")),
        ({"errorCode": ["XID_48"], "message": "double bit"}, ("fail", "gpu_hbm", "0000:17:00")),
        ({"message": "", "errorCode": ["48"]}, ("fail", "gpu_hbm", "0000:17:00")),
        ({"entitiesImpacted": []}, ("fail", "gpu", None)),
        ({"errorCode": None, "entitiesImpacted": None}, ("fail", "gpu", None)),
        ({"errorCode": "79"}, ("fail", "gpu", "0000:17:00")),
        ({"isHealthy": True}, ("pass", None, "0000:17:00")),
        ({"isFatal": False}, ("warn", "gpu", "0000:17:00")),
        ({"recommendedAction": 0}, ("warn", "gpu", "0000:17:00")),
        ({"recommendedAction": "NONE"}, ("warn", "gpu", "0000:17:00")),
    ],
)
def test_a_health_event_says_the_same_as_in_a_file(
    more: dict[str, Any], wanted: tuple[str, str | None, str | None]
) -> None:
    (found,) = results_of(health_event(**more))
    assert (str(found.outcome), found.category, found.part) == wanted
    assert found.at == AT


def test_the_time_of_the_event_stands_in_for_its_own() -> None:
    (found,) = results_of(health_event(generatedTimestamp=None))
    assert found.at == datetime(2026, 11, 21, tzinfo=UTC)
    (found,) = results_of({**health_event(generatedTimestamp="soon"), "time": "later"})
    assert found.at is None


def test_the_same_event_again_is_the_same_file() -> None:
    first, again = (read_event_notices(health_event()).reports[0].body for _ in range(2))
    later = (
        read_event_notices(health_event(generatedTimestamp="2026-11-21T03:14:16Z")).reports[0].body
    )
    assert first == again != later


@pytest.mark.parametrize(
    "more",
    [
        {"agent": "nccl-triage"},
        {"checkName": "TriageSuspect"},
        # As NVSentinel names the condition that it makes of one.
        {"agent": "platform-connector", "checkName": "TriageSuspectIsNotHealthy"},
        {"agent": "nccl-triage", "isHealthy": True},
    ],
)
def test_what_we_said_ourselves_is_no_evidence(more: dict[str, Any]) -> None:
    found = read_event_notices(health_event(**more))
    assert found.reports == []
    assert "this service said itself" in found.ignored[0].why


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (health_event(nodeName=""), "no node"),
        (health_event(nodeName=None), "no node"),
        (health_event(message="", checkName="", errorCode=[]), "neither"),
        ({**health_event(), "data": {}}, "not read"),
        ({**health_event(), "data": "text"}, "not read"),
    ],
)
def test_an_event_that_is_kept_out(event: dict[str, Any], why: str) -> None:
    found = read_event_notices(event)
    assert (found.lines, found.reports) == ([], [])
    assert why in found.ignored[0].why


@given(st.dictionaries(st.sampled_from(sorted(HEALTH)), JSON))
def test_any_health_event_is_read_or_kept_out(more: dict[str, Any]) -> None:
    found = read_event_notices(health_event(**more))
    assert bool(found.reports) != bool(found.ignored)
    for one in found.reports:
        reading = Reading("nvsentinel.json")
        NVSENTINEL.parse(one.body.decode(), reading)
        assert len(reading.results) >= 1


def test_three_modes_of_cloudevents_are_one() -> None:
    event = health_event()
    headers = {
        "ce-specversion": "1.0", "ce-id": "5c1f", "ce-source": event["source"],
        "ce-type": event["type"], "ce-time": event["time"], "host": "x",
    }  # fmt: skip
    structured = read_events(STRUCTURED + "; charset=utf-8", {}, lambda: event)
    batch = read_events(BATCH, {}, lambda: [event])
    binary = read_events("application/json", headers, lambda: event["data"])
    assert structured == batch == binary == [event]


@pytest.mark.parametrize(
    ("content_type", "value", "error"),
    [
        (STRUCTURED, {}, Unprocessable),
        (STRUCTURED, 5, Unprocessable),
        (STRUCTURED, {**health_event(), "specversion": "0.3"}, Unprocessable),
        (STRUCTURED, {**health_event(), "id": ""}, Unprocessable),
        (BATCH, [health_event(), None], Unprocessable),
        (BATCH, health_event(), BadRequest),
        (BATCH, [health_event()] * 10_001, Unprocessable),
    ],
)
def test_what_is_no_cloudevent(content_type: str, value: object, error: type[Refusal]) -> None:
    with pytest.raises(error):
        read_events(content_type, {}, lambda: value)


def test_event_data_of_another_type_is_not_read() -> None:
    with pytest.raises(Unsupported):
        read_events("application/xml", {"ce-specversion": "1.0"}, dict)
