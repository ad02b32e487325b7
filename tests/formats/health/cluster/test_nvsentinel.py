"""NVSentinel's events: bare, wrapped and in lists; what is fatal, cleared or advice."""

import json

import pytest

from tests.formats.health.agents import health_event
from tests.formats.health.reading import checks_of, format_of, logs_of, verdicts

CLOUD = {"specversion": "1.0", "type": "com.nvidia.nvsentinel.health.v1"}
CHECK = "nvsentinel.syslogsxiderror"


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda event: event,
        lambda event: [event],
        lambda event: {"healthEvent": event},
        lambda event: {**CLOUD, "data": {"healthEvent": event}},
        lambda event: {"events": [{"healthEvent": event}]},
    ],
    ids=["bare", "list", "named", "CloudEvent", "events"],
)
def test_an_event_is_the_same_in_all_its_wrappings(wrapped):
    checks = checks_of(json.dumps(wrapped(health_event()), indent=1))

    assert checks is not None
    (result,) = checks.results
    assert (result.node, result.check, str(result.outcome)) == ("n4", CHECK, "fail")
    assert result.at is not None
    assert result.at.isoformat() == "2026-11-21T03:14:00.118402+00:00"


def test_its_own_log_prints_the_time_in_parts():
    event = health_event(generatedTimestamp={"seconds": 1795230840, "nanos": 118402339})
    line = {"time": "2026-11-21T03:14:01.5Z", "level": "INFO", "event": {"HealthEvent": event}}
    checks = checks_of(json.dumps(line) + "\n")

    assert checks is not None
    (result,) = checks.results
    assert (result.check, str(result.outcome)) == (CHECK, "fail")
    assert result.at is not None
    assert result.at.timestamp() == 1795230840


@pytest.mark.parametrize("said", [{}, {"seconds": "1795230840"}, {"seconds": 1e300}, [1], True])
def test_a_time_that_is_none_leaves_an_event_undated(said):
    checks = checks_of(json.dumps(health_event(generatedTimestamp=said)))

    assert checks is not None
    assert [one.at for one in checks.results] == [None]


def test_events_may_stand_one_a_line():
    text = "\n".join(json.dumps(health_event(nodeName=f"n{k}")) for k in range(3)) + "\n"
    checks = checks_of(text)

    assert checks is not None
    assert [one.node for one in checks.results] == ["n0", "n1", "n2"]


@pytest.mark.parametrize(
    ("differs", "wanted"),
    [
        ({}, ("fail", "gpu")),
        ({"isHealthy": True}, ("pass", None)),
        ({"isFatal": False}, ("warn", "gpu")),
        ({"recommendedAction": "NONE"}, ("warn", "gpu")),
        ({"recommendedAction": 0}, ("warn", "gpu")),
        ({"recommendedAction": 24}, ("fail", "gpu")),
        ({"errorCode": ["48"]}, ("fail", "gpu_hbm")),
        ({"errorCode": ["45"]}, ("warn", "software_user")),  # the driver's own consequence
        ({"errorCode": ["DCGM_FR_NVLINK_DOWN"]}, ("fail", "nvlink")),
        ({"errorCode": ["DCGM_FR_SXID_ERROR"]}, ("fail", "nvlink")),
        ({"errorCode": [], "message": "NVLink error on GPU 3"}, ("fail", "nvlink")),
        ({"errorCode": None, "message": "", "checkName": "X"}, ("fail", "gpu")),
    ],
)
def test_how_bad_an_event_is_and_of_what(differs, wanted):
    found = verdicts(json.dumps(health_event(**differs)))

    assert {(outcome, category) for _, _, outcome, category in found} == {wanted}


@pytest.mark.parametrize(
    ("entities", "parts"),
    [
        ([("PCI", "0000:6d:00"), ("GPU_UUID", "GPU-6b1f0c25-54a1-9d0e-77aa-0c5f3e1b2a95")],
         {"0000:6d:00"}),
        ([("GPU", "5")], {"gpu 5"}),
        ([("PCI", "0000:6d:00.0"), ("PCI", "0000:7e:00.0")], {"0000:6d:00", "0000:7e:00"}),
        ([("PROCESS", "4711")], {None}),
    ],
)  # fmt: skip
def test_the_gpus_that_an_event_names(entities, parts):
    listed = [{"entityType": kind, "entityValue": value} for kind, value in entities]

    assert {part for _, part, _, _ in verdicts(json.dumps(health_event(entitiesImpacted=listed)))} \
        == parts  # fmt: skip


def test_its_words_are_not_read_as_a_log(tmp_path):
    logs = logs_of(tmp_path, n4__events=json.dumps(health_event(), indent=1))

    assert {row.signature for row in logs.evidence} == {f"check.{CHECK}"}
    assert all(not row.weak for row in logs.evidence)


@pytest.mark.parametrize(
    "text",
    ['{"checkName": "x", "status": "ok"}\n', 'INFO {"isHealthy": false, "checkName": "x"}\n', "[]"],
)
def test_other_json_and_logs_are_none(text):
    assert format_of(text) != "nvsentinel"
