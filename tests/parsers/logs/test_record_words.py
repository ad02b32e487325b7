# ruff: noqa: E501 - real records are as long as they are
"""What records of monitors, tickets and chats say, and those whose trouble is over."""

import json

import pytest

from triage.parsers.logs.envelope import read_envelope

DATADOG = {"date_happened": 1775396666, "title": "[Triggered] RAM module failed", "alert_type": "error", "host": "n7", "text": "slot D5", "status": "triggered"}  # fmt: skip
CLOUDWATCH = {"AlarmName": "gpu-xid", "AlarmDescription": "Xid seen", "OldStateValue": "OK", "NewStateValue": "ALARM", "NewStateReason": "Threshold Crossed", "StateChangeTime": "2026-05-20T05:26:34.000+0000"}  # fmt: skip
JIRA = {"key": "OPS-1", "fields": {"summary": "n7 is down", "description": "DIMM A3 failed", "created": "2026-05-20T05:26:34.000+0000", "status": {"name": "Open"}}}  # fmt: skip
OPSGENIE = {"message": "n7 is down", "description": "DIMM A3 failed", "status": "open", "createdAt": "2026-05-20T05:26:34Z"}  # fmt: skip
SERVICENOW = {"short_description": "n7 is down", "description": "DIMM A3 failed", "state": "New", "opened_at": "2026-05-20 05:26:34"}  # fmt: skip
GRAFANA = {"title": "[FIRING:1] n7 is down", "message": "DIMM A3 failed", "state": "alerting"}
EVENT = {"lastTimestamp": "2026-05-20T05:26:34Z", "reason": "Evicted", "involvedObject": {"kind": "pod", "name": "p-1"}, "message": "The node had condition: [MemoryPressure].", "source": {"host": "n7"}}  # fmt: skip


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (DATADOG, "[Triggered] RAM module failed: slot D5"),
        (CLOUDWATCH, "gpu-xid: Xid seen: Threshold Crossed"),
        (JIRA, "n7 is down: DIMM A3 failed"),
        (OPSGENIE, "n7 is down: DIMM A3 failed"),
        (SERVICENOW, "n7 is down: DIMM A3 failed"),
        (GRAFANA, "[FIRING:1] n7 is down: DIMM A3 failed"),
        ({"title": "n7 is down", "status": "triggered"}, "n7 is down"),
        # a title that the text says too
        ({**GRAFANA, "title": "DIMM A3"}, "DIMM A3 failed"),
        ({"ts": "1716180000.123456", "user": "U1", "text": "n7 is down"}, "n7 is down"),
        ({"timestamp": "2026-05-20T05:26:34Z", "content": "n7 is down"}, "n7 is down"),
        (EVENT, "Evicted pod/p-1 The node had condition: [MemoryPressure]. (on node/n7)"),
    ],
)
def test_a_record_says_its_title_and_its_text(record: dict[str, object], words: str) -> None:
    assert read_envelope(json.dumps(record)).text == words


@pytest.mark.parametrize(
    "record",
    [
        {**DATADOG, "status": "recovered"},
        {"title": "[Recovered] RAM module failed", "text": "slot D5"},
        {"title": "[P1] [Recovered on host:n7] RAM module failed", "text": "slot D5"},
        {**DATADOG, "status": "", "alert_type": "success"},
        {**CLOUDWATCH, "OldStateValue": "ALARM", "NewStateValue": "OK"},
        {**JIRA, "fields": {**JIRA["fields"], "status": {"name": "Closed"}}},  # type: ignore[dict-item]
        {**OPSGENIE, "status": "closed"},
        {**SERVICENOW, "state": "Resolved"},
        {**GRAFANA, "state": "ok"},
    ],
)
def test_a_record_whose_trouble_is_over_says_nothing(record: dict[str, object]) -> None:
    assert read_envelope(json.dumps(record)).text == ""


@pytest.mark.parametrize(
    "record",
    [
        {"ts": "2026-05-20T05:26:34Z", "msg": "training done", "status": "success"},
        {
            "ts": "2026-05-20T05:26:34Z",
            "level": "error",
            "msg": "socket is gone",
            "state": "closed",
        },
        {"title": "closed loop cooling: pump 2 stands", "text": "n7", "status": "open"},
        {"title": "n7 [unresolved]", "text": "DIMM A3 failed", "status": "acknowledged"},
    ],
)
def test_a_state_of_something_else_ends_no_trouble(record: dict[str, object]) -> None:
    assert read_envelope(json.dumps(record)).text


@pytest.mark.parametrize(
    "text",
    [
        '{"time": "2026-05-20 05:26:34", "summary": {"loss": 3}}',
        '{"time": "2026-05-20 05:26:34", "summary": "3 epochs", "loss": 3}',
    ],
)
def test_a_title_alone_is_a_field_among_others(text: str) -> None:
    assert read_envelope(text).text == text


OTEL = {
    "timeUnixNano": "1779254794000000000", "severityText": "ERROR",
    "body": {"stringValue": "Detected XID 62 for GPU 0"},
    "attributes": [{"key": "component", "value": {"stringValue": "dcgm"}}],
    "resource": {"attributes": [{"key": "host.name", "value": {"stringValue": "n7"}}]},
}  # fmt: skip
SYSLOG = {"timestamp": 1779254794000, "message": "n7 kernel: NVRM: Xid (PCI:0000:ca:00): 95, x"}


@pytest.mark.parametrize(
    ("record", "words", "node"),
    [
        (OTEL, "Detected XID 62 for GPU 0", "n7"),
        ({**OTEL, "resource": {"host.name": "n7"}}, "Detected XID 62 for GPU 0", "n7"),
        (SYSLOG, "NVRM: Xid (PCI:0000:ca:00): 95, x", "n7"),
        ({**SYSLOG, "message": "Server n7: it broke"}, "Server n7: it broke", None),
        ({**SYSLOG, "message": "error: it broke"}, "error: it broke", None),
        ({**SYSLOG, "host": "n8"}, "n7 kernel: NVRM: Xid (PCI:0000:ca:00): 95, x", "n8"),
    ],
)
def test_who_wrote_a_record(record: dict[str, object], words: str, node: str | None) -> None:
    found = read_envelope(json.dumps(record))
    assert (found.text[found.pos :], found.node) == (words, node)
    assert found.stamp.wall_ns == 1_779_254_794_000_000_000
