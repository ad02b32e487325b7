# ruff: noqa: E501 - real records are as long as they are
"""Documents of records as lines: what each becomes, and files that are no such document."""

import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from triage.domain.evidence import Evidence, EvidenceRole
from triage.formats.format import Head
from triage.formats.logs import documents
from triage.formats.logs.controller_lists import EVENT_TABLE
from triage.formats.logs.field_blocks import FIELD_BLOCKS
from triage.formats.logs.json_document import JSON_DOCUMENT
from triage.formats.logs.pod_description import POD_DESCRIPTION
from triage.formats.logs.yaml_document import YAML_DOCUMENT
from triage.formats.streams import StreamReader, read_logs
from triage.parsers.files.inputs import find_inputs
from triage.parsers.logs.catalogue import get_standard
from triage.parsers.logs.envelope import read_envelope
from triage.parsers.logs.logset import LogKind
from triage.parsers.logs.read import DEFAULT_BOUNDS, LineReader
from triage.parsers.logs.source import LogStream
from triage.parsers.logs.state import Envelope


def lines_of_document(text: str) -> str | None:
    head = Head(text.encode()[: 64 << 10])
    claims = [
        row
        for row in (JSON_DOCUMENT, FIELD_BLOCKS, EVENT_TABLE, POD_DESCRIPTION)
        if row.claims(head)
    ]
    return documents.convert_document_to_lines(text, claims[0]) if claims else None


EVENTS = json.dumps(
    {
        "apiVersion": "v1",
        "kind": "List",
        "items": [
            {
                "kind": "Event", "type": "Normal", "reason": "Scheduled",
                "message": "Successfully assigned ml/llm-worker-0 to gpu-17",
                "involvedObject": {"kind": "Pod", "name": "llm-worker-0"},
                "lastTimestamp": "2026-03-03T19:44:09Z",
            },
            {
                "kind": "Event", "type": "Warning", "reason": "NodeNotReady",
                "message": "Node is not ready",
                "involvedObject": {"kind": "Node", "name": "gpu-17"},
                "lastTimestamp": None, "eventTime": "2026-03-03T20:29:09.123456Z",
            },
            {
                "kind": "Event", "type": "Warning", "reason": "Evicted",
                "message": "The node had condition: [DiskPressure].",
                "involvedObject": {"kind": "Pod", "name": "llm-worker-1"},
                "source": {"component": "kubelet", "host": "gpu-18"},
                "lastTimestamp": "2026-03-03T20:30:09Z",
            },
        ],
    },
    indent=1,
)  # fmt: skip
NODES = json.dumps(
    {
        "kind": "List",
        "items": [
            {
                "kind": "Node", "metadata": {"name": "gpu-17"},
                "spec": {"taints": [{"key": "node.kubernetes.io/out-of-service",
                                     "effect": "NoExecute"}]},
                "status": {"conditions": [
                    {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown",
                     "message": "Kubelet stopped posting node status.",
                     "lastTransitionTime": "2026-03-03T20:29:09Z"},
                    {"type": "DiskPressure", "status": "False", "reason": "KubeletHasNoDisk"}]},
            },
            {
                "kind": "Node", "metadata": {"name": "gpu-18"}, "spec": {},
                "status": {"conditions": [{"type": "Ready", "status": "True",
                                           "reason": "KubeletReady"}]},
            },
        ],
    },
    indent=2,
)  # fmt: skip
SUPERMICRO = """Event ID,Time Stamp,Sensor Name,Sensor Type,Description
1,2026/02/11 07:50:20,OS Boot,OS,C: boot completed - Assertion
2,2026/02/11 07:57:20,Fan SYS_FAN4_R,Fan,Lower Critical going low - Assertion
3,2026/02/11 07:57:21,Power Supply PS2 Status,Power Supply,Failure detected - Assertion
"""
RACADM = """Record:      1
Date/Time:   02/11/2026 07:57:20
Source:      system
Severity:    Ok
Description: Log cleared.
-------------------------------------------------------------------------------
Record:      2
Date/Time:   02/11/2026 08:57:20
Source:      system
Severity:    Critical
Description: The input power for power supply 1 has been lost.
-------------------------------------------------------------------------------
Record:      3
Date/Time:   02/11/2026 08:58:20
Source:      system
Severity:    Critical
Description: A fatal error was detected on a component at bus 23 device 0 function 0.
"""
ILO = """Severity;Class;Last Update;Initial Update;Count;Description
Critical;Environment;02/11/2026 07:57;02/11/2026 07:57;1;Fan 3 has failed (Location System)
Informational;Maintenance;02/11/2026 07:58;02/11/2026 07:58;1;IML cleared
"""
REDFISH = json.dumps(
    {
        "@odata.type": "#LogEntryCollection.LogEntryCollection",
        "Members": [
            {"Id": "1", "Created": "2026-02-11T07:57:20+00:00", "EntryType": "SEL",
             "Severity": "Critical", "Message": "Power Supply PSU3: Power Supply AC lost",
             "Resolved": False},
            {"Id": "2", "Created": "2026-02-11T07:58:20+00:00", "EntryType": "Event",
             "Severity": "Critical", "MessageId": "ResourceEvent.1.0.ResourceErrorsDetected",
             "Message": "The resource property has detected errors of type.",
             "MessageArgs": ["GPU_SXM_6 Driver Event Message", "XID 79, GPU has fallen off"],
             "Resolved": False},
            {"Id": "3", "Created": "2026-02-11T07:59:20+00:00", "EntryType": "SEL",
             "Severity": "Critical", "Message": "Fan FAN1: Lower Critical going low",
             "Resolved": True},
        ],
    },
    indent=1,
)  # fmt: skip
JOURNAL = """{
\t"_HOSTNAME" : "gpu-17",
\t"__REALTIME_TIMESTAMP" : "1767225600000000",
\t"MESSAGE" : "NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus."
}
{
\t"_HOSTNAME" : "gpu-18",
\t"__REALTIME_TIMESTAMP" : "1767225601000000",
\t"MESSAGE" : "usb 1-1: new device"
}
"""


VERBOSE = """Mon 2026-01-05 00:00:00.920117 UTC [s=0411165bc8;i=18cf0db;b=0411165]
    PRIORITY=3
    _TRANSPORT=kernel
    _HOSTNAME=gpu-17
    MESSAGE=NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.
Mon 2026-01-05 00:00:01.125681 UTC [s=0411165bc8;i=1a51b93;b=0411165]
    _TRANSPORT=syslog
    SYSLOG_IDENTIFIER=sshd
    _HOSTNAME=gpu-17
    MESSAGE=Accepted publickey
"""
EXPORT = """__CURSOR=s=0411165bc8;i=18cf0db
__REALTIME_TIMESTAMP=1767571200000000
_TRANSPORT=kernel
_HOSTNAME=gpu-17
MESSAGE=NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.

__CURSOR=s=0411165bc8;i=18cf0dc
__REALTIME_TIMESTAMP=1767571201000000
_HOSTNAME=gpu-17
MESSAGE=Accepted publickey
"""


def rows_of(text: str) -> list[Evidence]:
    reader = StreamReader(LineReader(get_standard(), DEFAULT_BOUNDS, templates=False))
    stream = LogStream("x/anything", text.encode(), io.BytesIO(b"").read)
    return reader.read(stream).rows


def time_of(row: Evidence) -> str:
    """The time of day as printed."""
    printed = datetime.fromtimestamp((row.stamp.wall_ns or 0) / 1e9, UTC)
    return f"{printed:%H:%M:%S}"


# text, then line, signature, category, node, time of day, role of each row that is no noise
READ = [
    (EVENTS, [(16, "kubernetes.ready", "host_maintenance", "gpu-17", "20:29:09", "consequence"),
              (28, "kubernetes.eviction", "host_maintenance", "gpu-18", "20:30:09", "root")]),
    (NODES, [(4, "kubernetes.ready", "host_maintenance", "gpu-17", "20:29:09", "consequence"),
             (5, "kubernetes.provider", "host_maintenance", "gpu-17", None, "root")]),
    (SUPERMICRO, [(3, "sel.fan", "chassis", None, "07:57:20", "root"),
                  (4, "sel.power", "power", None, "07:57:21", "root")]),
    (RACADM, [(7, "sel.vendor", "power", None, "08:57:20", "root"),
              (13, "sel.vendor", "io_board", None, "08:58:20", "root")]),
    (ILO, [(2, "sel.vendor", "chassis", None, "07:57:00", "root")]),
    (REDFISH, [(4, "sel.power", "power", None, "07:57:20", "root"),
               (12, "sel.vendor", "gpu", None, "07:58:20", "root")]),
    (JOURNAL, [(4, "nvidia.xid", "gpu", "gpu-17", "00:00:00", "root")]),
    (VERBOSE, [(5, "nvidia.xid", "gpu", "gpu-17", "00:00:00", "root")]),
    (EXPORT, [(5, "nvidia.xid", "gpu", "gpu-17", "00:00:00", "root")]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "rows"),
    READ,
    ids=[
        "events",
        "nodes",
        "supermicro",
        "racadm",
        "ilo",
        "redfish",
        "pretty",
        "verbose",
        "export",
    ],
)
def test_reads_each_record_at_its_line(
    text: str, rows: list[tuple[int, str, str, str | None, str | None, str]]
) -> None:
    found = [
        (
            row.line,
            row.signature,
            str(row.category),
            row.node,
            None if row.stamp.wall_ns is None else time_of(row),
            str(row.role),
        )
        for row in rows_of(text)
        if row.role is not EvidenceRole.NOISE
    ]

    assert found == rows


NODE = """{prompt}Name:               gpu-17
Labels:             cloud.example/pool=a3
Conditions:
  Type   Status   LastHeartbeatTime                 LastTransitionTime                Reason
  ----   ------   -----------------                 ------------------                ------
  Ready  Unknown  Sun, 15 Nov 2026 07:49:26 +0000   Sun, 15 Nov 2026 07:50:07 +0000   {reason}
Addresses:
  InternalIP:  10.0.0.7
"""


@pytest.mark.parametrize("prompt", ["", "$ kubectl describe node gpu-17\n"])
def test_a_condition_is_of_the_node_that_is_described(prompt: str) -> None:
    silent = "NodeStatusUnknown   Kubelet stopped posting node status."
    text = NODE.format(prompt=prompt, reason=silent)

    assert POD_DESCRIPTION.claims(Head(text.encode()))
    lines = (documents.convert_document_to_lines(text, POD_DESCRIPTION) or "").split("\n")
    (row,) = [read_envelope(line) for line in lines if "Kubelet stopped" in line]
    assert (row.node, row.stamp.wall_ns) == ("gpu-17", 1_794_729_007_000_000_000)
    assert "  InternalIP:  10.0.0.7" in lines


def test_keeps_which_pod_runs_where() -> None:
    bound = [row for row in rows_of(EVENTS) if row.signature == "kubernetes.pod_bound"]

    assert [(row.fields["pod"], row.node) for row in bound] == [("llm-worker-0", "gpu-17")]


NO_DOCUMENTS = [
    '{"log": "step 1", "time": "2026-01-01T00:00:00Z"}\n{"log": "step 2"}\n',
    "[rank0]: Traceback (most recent call last):\n",
    "[2026-01-01 00:00:00] step 1\n[2026-01-01 00:00:01] step 2\n",
    "Time,Level,Message\n2026-01-01,INFO,step 1\n",
    "epoch,step,loss\n1,2,3\n",
    "Record: 1 of the dataset\nsource: web\n",
    "{'loss': 2.3, 'epoch': 0.1}\n",
    "[  12.3] usb 1-1: new device\n",
    "[1, 2, 3]\n",
]


@pytest.mark.parametrize("text", NO_DOCUMENTS)
def test_leaves_other_files_as_they_are(text: str) -> None:
    assert lines_of_document(text) is None


@pytest.mark.parametrize("cut", [40, 200, 500, 700])
def test_reads_what_is_there_of_a_document_that_breaks_off(cut: int) -> None:
    rows_of(EVENTS[:cut])
    rows_of(REDFISH[:cut])


def test_survives_nesting_without_end() -> None:
    assert lines_of_document('[\n{"items": ' + "[" * 100_000) is None


XID = "NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus."
SYSLOG = f"Jan  5 00:00:00 gpu-17 kernel: {XID}"
TIME = "2026-01-05T00:00:00Z"
MS = 1767571200000
# What stores of logs give back: a document, or one object a line.
STORES = {
    "cloudwatch get-log-events": {"events": [{"timestamp": MS, "message": SYSLOG}], "nextToken": "f/1"},
    "cloudwatch subscription": {"messageType": "DATA_MESSAGE", "logStream": "s", "logEvents": [{"id": "1", "timestamp": MS, "message": SYSLOG}]},
    "cloudwatch insights": {"results": [[{"field": "@timestamp", "value": "2026-01-05 00:00:00.000"}, {"field": "@message", "value": SYSLOG}]], "status": "Complete"},
    "loki query_range": {"status": "success", "data": {"resultType": "streams", "result": [{"stream": {"node": "gpu-17", "transport": "kernel"}, "values": [[f"{MS}000000", XID]]}]}},
    "logcli": {"labels": {"job": "systemd-journal", "node": "gpu-17", "unit": "kernel"}, "line": XID, "timestamp": TIME},
    "elastic hit": {"_index": "x", "_source": {"@timestamp": TIME, "message": XID, "host": {"name": "gpu-17"}, "syslog": {"identifier": "kernel"}}},
    "elastic search": {"took": 3, "hits": {"total": {"value": 1}, "hits": [{"_index": "x", "_source": {"@timestamp": TIME, "message": XID, "host": {"hostname": "gpu-17"}}}]}},
    "azure query": {"tables": [{"name": "PrimaryResult", "columns": [{"name": "TimeGenerated"}, {"name": "Computer"}, {"name": "Facility"}, {"name": "SyslogMessage"}], "rows": [[TIME, "gpu-17", "kern", XID]]}]},
    "azure line": {"TimeGenerated": TIME, "Computer": "gpu-17", "Facility": "kern", "SyslogMessage": XID},
    "gcloud": {"jsonPayload": {"message": XID}, "labels": {"compute.googleapis.com/resource_name": "gpu-17"}, "timestamp": TIME},
    "gcloud serial": {"textPayload": f"[   12.345678] {XID}", "resource": {"labels": {"node_name": "gpu-17"}}, "timestamp": TIME},
    "splunk": {"preview": False, "result": {"_raw": SYSLOG, "_time": "2026-01-05T01:00:00.000+01:00", "host": "gpu-17"}},
    "datadog": {"id": "1", "attributes": {"timestamp": TIME, "host": "gpu-17", "message": XID}},
    "fluent-bit": {"date": 1767571200.123, "_HOSTNAME": "gpu-17", "_TRANSPORT": "kernel", "MESSAGE": XID},
}  # fmt: skip


@pytest.mark.parametrize("indent", [None, 1], ids=["one line", "indented"])
@pytest.mark.parametrize("name", STORES)
def test_reads_what_stores_of_logs_give_back(name: str, indent: int | None) -> None:
    (row,) = rows_of(json.dumps(STORES[name], indent=indent) + "\n")

    assert (row.signature, row.node, row.stamp.has_year) == ("nvidia.xid", "gpu-17", True)
    at_ns = (row.stamp.wall_ns or 0) - (row.stamp.zone_s or 0) * 10**9
    assert at_ns // 10**9 == MS // 1000


@pytest.mark.parametrize(
    ("date", "wall", "zone"),
    [
        ("01/05/2026 | 03:04:05 UTC", "03:04:05", 0),
        ("01/05/2026 | 03:04:05 AM UTC", "03:04:05", 0),
        ("01/05/26 | 12:04:05 AM", "00:04:05", None),
        ("01/05/2026 | 03:04:05 PM CET", "15:04:05", 3600),
        ("01/05/2026 | 03:04:05 -05:00", "03:04:05", -18000),
        ("Jan-05-2026 | 03:04:05", "03:04:05", None),
    ],
)
def test_dates_rows_of_event_lists(date: str, wall: str, zone: int | None) -> None:
    (row,) = rows_of(f"   1 | {date} | Power Supply PS2 | Power Supply AC lost | Asserted\n")

    assert (row.signature, time_of(row), row.stamp.zone_s) == ("sel.power", wall, zone)


def test_keeps_the_zone_of_a_controllers_entry() -> None:
    text = REDFISH.replace("07:57:20+00:00", "07:57:20-05:00")
    assert text != REDFISH

    assert rows_of(text)[0].stamp.zone_s == -18000


def test_an_event_is_known_by_what_it_is_about() -> None:
    """``kubectl get events -o json`` of old versions, and exporters, leave out the kind."""
    event = {
        "type": "Warning", "reason": "PreemptScheduled", "message": "Preempt is scheduled",
        "involvedObject": {"kind": "Node", "name": "gpu-17"},
        "lastTimestamp": "2026-03-03T20:29:09Z",
    }  # fmt: skip
    lines = lines_of_document(json.dumps({"kind": "List", "items": [event]}, indent=1))
    assert lines is not None
    [line] = [json.loads(one) for one in lines.splitlines() if one]
    assert line["node"] == "gpu-17"
    assert line["time"] == "2026-03-03T20:29:09Z"
    assert line["message"].startswith("Warning PreemptScheduled node/gpu-17 ")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (REDFISH, LogKind.CHECKS),
        (EVENTS, LogKind.CHECKS),
        (json.dumps({"kind": "Node", "metadata": {"name": "n3"}, "status": {}}, indent=1),
         LogKind.CHECKS),
        # a store of logs answers with lines of a job, whatever they quote
        (json.dumps({"data": {"resultType": "streams", "result": [
            {"stream": {"app": "x"}, "values": [["1", '"kind": "Event" "EntryType": 3']]}]}}),
         LogKind.JOB),
        (json.dumps([{"message": "step 3 loss 2.1"}], indent=1), LogKind.JOB),
    ],
)  # fmt: skip
def test_what_tools_say_of_machines_is_no_log_of_a_job(
    tmp_path: Path, text: str, wanted: LogKind
) -> None:
    (tmp_path / "x.json").write_text(text)
    (file,) = read_logs(find_inputs([tmp_path]).files).files

    assert file.kind is wanted


POD = """Name:             trainer-worker-1
Namespace:        ml
Node:             gpu-17/10.0.0.12
Containers:
  trainer:
    Container ID:  containerd://ab
    State:          Terminated
      Reason:       {reason}
      Exit Code:    {code}
      Finished:     Fri, 20 Nov 2026 10:29:40 +0000
    Ready:          False
  sidecar:
    State:          Running
      Started:      Fri, 20 Nov 2026 09:50:10 +0000
"""
POD_JSON = {
    "kind": "Pod", "metadata": {"name": "trainer-worker-1", "namespace": "ml"},
    "spec": {"nodeName": "gpu-17"},
    "status": {
        "containerStatuses": [
            {"name": "sidecar", "state": {"running": {"startedAt": "2026-11-20T09:50:10Z"}}},
            {"name": "trainer", "state": {"terminated": {
                "exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-11-20T10:29:40+00:00",
            }}},
        ]
    },
}  # fmt: skip


def test_a_container_that_was_killed_is_of_the_node_of_its_pod() -> None:
    ended = {
        "time": "2026-11-20T10:29:40+00:00", "node": "gpu-17",
        "message": "pod/trainer-worker-1 container trainer terminated: Reason: OOMKilled,"
        " Exit Code: 137",
    }  # fmt: skip
    described = lines_of_document(POD.format(reason="OOMKilled", code=137)) or ""
    assert json.loads(described.split("\n")[6]) == ended
    got = lines_of_document(json.dumps(POD_JSON, indent=1)) or ""
    assert [json.loads(line) for line in got.split("\n") if "terminated" in line] == [ended]


def test_a_container_that_was_done_is_no_failure() -> None:
    assert "terminated" not in (lines_of_document(POD.format(reason="Completed", code=0)) or "")


ALERT = {
    "labels": {"alertname": "GpuXid", "instance": "gpu-17:9400", "xid": "79", "pci_bus_id": "1b:00"},
    "annotations": {"summary": "gone", "description": "a GPU is gone"}, "startsAt": "2026-11-20T10:29:10Z",
}  # fmt: skip
FIRING = {
    "time": "2026-11-20T10:29:10Z", "node": "gpu-17", "message": "NVRM: Xid (PCI:1b:00): 79, GpuXid: a GPU is gone",
}  # fmt: skip


@pytest.mark.parametrize(
    ("document", "lines"),
    [
        ([{**ALERT, "status": {"state": "active"}}], [FIRING]),
        ({"version": "4", "status": "firing", "alerts": [{**ALERT, "status": "firing"}]}, [FIRING]),
        ({"receiver": "x", "alerts": [{**ALERT, "status": "resolved"}]}, []),
    ],
    ids=["amtool", "webhook", "resolved"],
)
def test_alerts_are_lines_about_the_node_of_their_labels(
    document: object, lines: list[object]
) -> None:
    for indent in (None, 1):
        text = lines_of_document(json.dumps(document, indent=indent)) or ""
        assert [json.loads(line) for line in text.split("\n") if line] == lines


DIMM = "gpu-17: DIMM A3 failed, board goes back"
CHAT = [
    {"ts": "2026-03-03T20:29:09Z", "from": "Sam", "text": DIMM},
    {"ts": "2026-03-03T20:30:09Z", "from": "Ann", "text": "lunch?"},
]
# Exports of chats and desks: the list has any name, and lies in anything.
EXPORTS = {
    "chat": {"channel": "gpu-incidents", "messages": CHAT},
    "chat with a date": {"channel": "x", "export_date": "2026-03-05", "messages": CHAT},
    "channels": {"channels": [{"name": "gpu-incidents", "messages": CHAT}]},
    "inside": {"export": {"thread": CHAT}},
    "beside another": {"alerts": [{"time": "2026-03-03T20:00:00Z", "message": "x"}], "chat": CHAT},
    "with what says nothing": {"users": [{"name": "Sam"}, {"name": "Ann"}], "messages": CHAT},
    "incidents": {"incidents": [{"created_at": "2026-03-03T20:29:09Z", "title": "gpu-17", "description": "DIMM A3 failed, board goes back", "status": "triggered"}]},
    "issues": {"issues": [{"key": "OPS-1", "fields": {"created": "2026-03-03T20:29:09.000+0000", "summary": "gpu-17", "description": "DIMM A3 failed, board goes back", "status": {"name": "Open"}}}]},
}  # fmt: skip


@pytest.mark.parametrize("indent", [None, 1], ids=["one line", "indented"])
@pytest.mark.parametrize("name", EXPORTS)
def test_reads_a_list_of_any_name_whose_members_say_something(
    name: str, indent: int | None
) -> None:
    lines = lines_of_document(json.dumps(EXPORTS[name], indent=indent)) or ""
    told = [read_envelope(line) for line in lines.split("\n")]

    assert [time_of_day(one) for one in told if one.text == DIMM] == ["20:29:09"]


def time_of_day(envelope: Envelope) -> str:
    return f"{datetime.fromtimestamp((envelope.stamp.wall_ns or 0) / 1e9, UTC):%H:%M:%S}"


# What quotes lines, and says not when: results, training data, advice.
QUOTING = {
    "checks": {"checks": [{"name": "dcgm", "message": "Xid 79"}]},
    "training": {"messages": [{"role": "user", "content": "what is Xid 79?"}]},
    "advice": {"advice": [{"title": "Xid 79", "description": "reseat the GPU"}]},
    "times without words": {"steps": [{"time": "2026-03-03T20:29:09Z", "loss": 3.1}]},
}


@pytest.mark.parametrize("name", QUOTING)
def test_a_list_that_says_not_what_or_when_is_none(name: str) -> None:
    assert (lines_of_document(json.dumps(QUOTING[name], indent=1)) or "").strip() == ""


CUT_OUT = """name: gpu-17
conditions:
- type: DiskPressure
  status: "False"
  message: "kubelet has no disk pressure"
- type: GPUClockThrottling
  status: "True"
  lastTransitionTime: "2026-03-03T20:29:09Z"
  reason: HWThermalSlowdown
  message: "GPU 2 runs at 345 MHz:
    hardware thermal slowdown"
"""
WHOLE = """apiVersion: v1
items:
- apiVersion: v1
  kind: Node
  metadata:
    labels:
      kubernetes.io/hostname: gpu-16
    name: gpu-16
  status:
    conditions:
    - message: kubelet is posting ready status
      status: "True"
      type: Ready
- apiVersion: v1
  kind: Node
  metadata:
    name: gpu-17
  spec:
    taints:
    - effect: NoSchedule
      key: nvidia.com/gpu-unhealthy
  status:
    conditions:
    - lastTransitionTime: "2026-03-03T20:29:09Z"
      message: |-
        GPU 2 runs at 345 MHz:
        hardware thermal slowdown
      reason: HWThermalSlowdown
      status: "True"
      type: GPUClockThrottling
    images:
    - names:
      - registry/a:1
kind: List
"""
HOT = "GPUClockThrottling  True  HWThermalSlowdown GPU 2 runs at 345 MHz: hardware thermal slowdown"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (CUT_OUT, [(1, "gpu-17")]),
        ("---\n" + CUT_OUT.replace("gpu-17", "gpu-18") + "---\n" + CUT_OUT,
         [(2, "gpu-18"), (14, "gpu-17")]),
        (CUT_OUT + CUT_OUT.replace("gpu-17", "gpu-18"), [(1, "gpu-17"), (12, "gpu-18")]),
        (WHOLE, [(14, "gpu-17")]),
        (CUT_OUT.removeprefix("name: gpu-17\n"), [(1, None)]),
        (CUT_OUT.replace('"True"', "False"), []),
    ],
    ids=["cut out", "documents", "one behind the other", "kubectl", "no name", "all is well"],
)  # fmt: skip
def test_conditions_as_yaml_are_those_of_json(
    text: str, lines: list[tuple[int, str | None]]
) -> None:
    assert YAML_DOCUMENT.claims(Head(text.encode()))
    said = (documents.convert_document_to_lines(text, YAML_DOCUMENT) or "").split("\n")
    told = [(number, read_envelope(line)) for number, line in enumerate(said, 1)]

    assert [(number, one.node) for number, one in told if HOT in one.text] == lines
    assert all(HOT in one.text or "tainted" in one.text or not one.text for _, one in told)


@pytest.mark.parametrize(
    "text",
    [
        "model:\n  name: gpt\nconditions:\n- type: x\n",  # a program's settings
        "name: train\nsteps:\n- run: pytest\n",
        "conditions: all GPUs are fine\n",
        "kind: Job\nmetadata:\n  name: x\n",
    ],
)
def test_other_yaml_is_no_object_of_kubernetes(text: str) -> None:
    assert not YAML_DOCUMENT.claims(Head(text.encode()))


@pytest.mark.parametrize(
    "message",
    [
        "NVRM: Xid (PCI:0000:5d:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off.",
        'said "Xid 79": it can\'t be reached \\ over the bus,\tand somebody has to look at it'
        " now, whatever it takes to get there: more than a printer has columns",
        "a plain message",
        "'",
        'ends with a backslash: "\\',
    ],
)
def test_what_a_printer_of_yaml_quotes_is_as_it_was(message: str) -> None:
    event = {"kind": "Event", "reason": "R", "type": "Warning", "message": message}
    event["involvedObject"] = {"kind": "Node", "name": "n7"}
    as_yaml = documents.convert_document_to_lines(yaml.safe_dump(event), YAML_DOCUMENT)
    as_json = documents.convert_document_to_lines(json.dumps({"items": [event]}), JSON_DOCUMENT)
    assert as_yaml
    assert as_yaml.strip() == (as_json or "").strip()


def test_a_pod_as_yaml_says_how_it_ended() -> None:
    text = yaml.safe_dump(POD_JSON)
    got = documents.convert_document_to_lines(text, YAML_DOCUMENT) or ""
    [line] = [json.loads(line) for line in got.split("\n") if "terminated" in line]
    assert (line["node"], line["time"]) == ("gpu-17", "2026-11-20T10:29:40+00:00")


def test_what_people_add_below_an_alert_outlives_it() -> None:
    """A desk writes what it was when the alert has long been closed."""
    alert = {
        "message": "[job 7] aborted", "createdAt": "2026-05-27T15:08:35Z", "status": "closed",
        "description": "no step for 5 min",
        "notes": [{"createdAt": "2026-05-27T17:01:49Z", "owner": "raj",
                   "note": "n7: retimer board broke"}],
    }  # fmt: skip
    lines = lines_of_document(json.dumps(alert, indent=1))
    assert lines is not None
    note, own = (json.loads(one) for one in lines.splitlines() if one)
    assert note["note"] == "n7: retimer board broke"
    assert own["message"] == "[job 7] aborted"
    assert "notes" not in own


def test_a_search_that_was_saved_as_a_table_is_a_log() -> None:
    text = (
        "_time,host,source,sourcetype,_raw\n"
        '2026-08-15T10:27:20.900Z,n7,/var/log/syslog,linux,"Aug 15 10:27:20 n7 kernel: NVRM: ""x"""\n'
    )
    lines = lines_of_document(text)
    assert lines is not None
    assert json.loads(lines.strip()) == {
        "time": "2026-08-15T10:27:20.900Z", "node": "n7",
        "message": 'Aug 15 10:27:20 n7 kernel: NVRM: "x"',
        "source": "/var/log/syslog", "sourcetype": "linux",
    }  # fmt: skip


@pytest.mark.parametrize("head", ["time,step,message", "host,message,level", "time,host,loss"])
def test_other_tables_are_no_search(head: str) -> None:
    assert lines_of_document(f"{head}\n2026-08-15T10:27:20Z,n7,x\n") is None


def test_an_event_that_a_cloud_has_scheduled_is_of_its_machines() -> None:
    event = {"EventId": "A7", "EventStatus": "Started", "EventType": "Redeploy",
             "ResourceType": "VirtualMachine", "Resources": ["n7", "n9"],
             "NotBefore": "Thu, 09 Apr 2026 00:30:05 GMT", "Description": "host maintenance"}  # fmt: skip
    lines = lines_of_document(json.dumps({"DocumentIncarnation": 7, "Events": [event]}, indent=1))
    assert lines is not None
    found = [json.loads(one) for one in lines.splitlines() if one]
    assert [one["node"] for one in found] == ["n7", "n9"]
    assert all('"EventType": "Redeploy"' in one["message"] for one in found)


def test_notes_of_an_incident_that_lies_in_another_object() -> None:
    incident = {"title": "job 7 stopped", "status": "resolved", "created_at": "2026-09-04T01:12:55Z",
                "notes": [{"created_at": "2026-09-04T02:50:03Z", "user": "noc",
                           "content": "two supplies of n7 gave up"}]}  # fmt: skip
    lines = lines_of_document(json.dumps({"incident": incident}, indent=1))
    assert lines is not None
    assert "two supplies of n7 gave up" in lines
