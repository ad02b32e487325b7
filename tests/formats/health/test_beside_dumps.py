"""Health events beside the dumps of a hang: what they add, and whom they must not convict."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import triage
from simulator import simulate
from tests.formats.health.agents import gpud_event, health_event, health_table, mndiag
from triage.analysis.answer import weigh_incident
from triage.formats.gather import gather

LOST = "XID 79 detected on PCI:0000:6d:00"


class Hang:
    """A folder of dumps with a stall; ``began`` is when the others began to wait."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder = folder
        simulate(kind, ranks=32, out=folder)
        _, dumps, logs, facts, _ = gather(folder, None)
        weighed = weigh_incident(dumps, logs, facts)
        assert weighed.stop.start_ns is not None
        self.began = datetime.fromtimestamp(weighed.stop.start_ns / 1e9, UTC)
        self.nodes = sorted(weighed.nodes)

    def at(self, seconds: float) -> str:
        return (self.began + timedelta(seconds=seconds)).isoformat()

    def beside(self, text: str, node: str | None = None) -> dict:
        """The answer with one more file, in the folder of a node or at the top."""
        path = self.folder / ("events" if node is None else f"nodes/{node}/events")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        try:
            return triage.analyze(self.folder).to_dict()
        finally:
            os.unlink(path)


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    return Hang(tmp_path_factory.mktemp("device") / "job", "device-stall")


@pytest.fixture(scope="module")
def fabric(tmp_path_factory):
    """Every rank entered: the dumps name nobody."""
    return Hang(tmp_path_factory.mktemp("fabric") / "job", "fabric-stall")


def culprits(report):
    return {one["node"] for one in report["suspects"] if one["role"] == "culprit"}


def innocent_of(hang):
    (guilty,) = culprits(triage.analyze(hang.folder).to_dict())
    return guilty, next(node for node in reversed(hang.nodes) if node != guilty)


def event(hang, node, seconds, **differs):
    return json.dumps(health_event(nodeName=node, generatedTimestamp=hang.at(seconds), **differs))


def test_an_event_just_before_the_stop_makes_the_conviction_firm(device):
    guilty, _ = innocent_of(device)
    report = device.beside(event(device, guilty, -30))

    assert culprits(report) == {guilty}
    assert report["verdict"]["cordon"] == [guilty]


def test_an_event_names_the_node_where_the_dumps_name_nobody(fabric):
    node = fabric.nodes[2]

    assert culprits(triage.analyze(fabric.folder).to_dict()) == set()
    assert culprits(fabric.beside(event(fabric, node, -30))) == {node}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(lambda hang, node: event(hang, node, 120), id="later"),
        pytest.param(lambda hang, node: event(hang, node, 3600), id="an hour later"),
        pytest.param(lambda hang, node: event(hang, node, -3 * 3600), id="stale"),
        pytest.param(lambda hang, node: event(hang, node, -3 * 86_400), id="of another day"),
        pytest.param(
            lambda _hang, node: json.dumps(health_event(nodeName=node, generatedTimestamp="")),
            id="undated",
        ),
        pytest.param(lambda hang, node: event(hang, node, -30, isHealthy=True), id="healthy"),
        pytest.param(lambda hang, node: event(hang, node, -30, isFatal=False), id="not fatal"),
        pytest.param(
            lambda hang, node: (
                f"{event(hang, node, -60)}\n{event(hang, node, -20, isHealthy=True)}"
            ),
            id="taken back",
        ),
    ],
)
def test_what_is_of_another_time_or_cleared_convicts_nobody(device, fabric, text):
    guilty, innocent = innocent_of(device)
    report = device.beside(text(device, innocent))
    assert culprits(report) == {guilty}
    assert innocent not in report["verdict"]["cordon"]

    report = fabric.beside(text(fabric, fabric.nodes[2]))
    assert culprits(report) == set()
    assert report["verdict"]["cordon"] == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(health_table("NVLINK system", "Failure", "link 7 is down"), id="dcgmi health"),
        pytest.param(mndiag((1, 5, "Fail", [{"error_id": 132, "warning": "x"}])), id="mndiag"),
        pytest.param(gpud_event(message=LOST), id="gpud of another year"),
    ],
)
def test_reports_without_a_time_of_the_stop_convict_nobody(device, fabric, text):
    guilty, innocent = innocent_of(device)

    assert culprits(device.beside(text, innocent)) == {guilty}
    assert culprits(fabric.beside(text, fabric.nodes[2])) == set()


def bug_report(node, at):
    made = f"{at + timedelta(hours=1):%a %b %d %H:%M:%S UTC %Y}"
    line = "_" * 44
    xid = "NVRM: Xid (PCI:0000:6d:00): 79, pid=4711, name=python, GPU has fallen off the bus."
    return (
        f"{line}\n\nStart of NVIDIA bug report log file.\n\nDate: {made}\n"
        f"uname: Linux {node} 6.8.0 #63 SMP\n\n{line}\n\nScanning kernel log files:\n\n"
        f"  journalctl -b -0:\n{at:%b %d %H:%M:%S} {node} kernel: {xid}\n"
    )


def redfish(_node, at):
    said = "[1032][0] XID 79 GPU has fallen off the bus."
    entry = {
        "Created": at.isoformat(timespec="seconds"), "EntryType": "Event", "Id": "411",
        "Severity": "Critical", "MessageArgs": ["GPU_SXM_6 Driver Event Message", said],
        "MessageId": "ResourceEvent.1.0.ResourceErrorsDetected",
        "Message": f"GPU_SXM_6 Driver Event Message has detected errors of type '{said}'.",
    }  # fmt: skip
    return json.dumps({"Members": [entry]}, indent=1)


def sel(_node, at):
    when = f"{at:%m/%d/%Y} | {at:%H:%M:%S} UTC"
    return f"   4 | {when} | Critical Interrupt PCIE_ERR | Bus Fatal Error | Asserted\n"


def node_object(node, at):
    condition = {
        "type": "SysLogsXIDError", "status": "True", "reason": "SysLogsXIDErrorIsNotHealthy",
        "lastTransitionTime": f"{at:%Y-%m-%dT%H:%M:%SZ}",
        "message": "ErrorCode:79 PCI:0000:6d:00 GPU has fallen off the bus",
    }  # fmt: skip
    status = {"conditions": [condition]}
    return json.dumps({"kind": "Node", "metadata": {"name": node}, "status": status}, indent=1)


SOURCES = pytest.mark.parametrize("source", [bug_report, redfish, sel, node_object])


@SOURCES
def test_what_is_of_the_stop_strengthens_the_node_that_the_dumps_name(device, fabric, source):
    guilty, _ = innocent_of(device)
    report = device.beside(source(guilty, device.began - timedelta(seconds=30)), guilty)
    assert culprits(report) == {guilty}

    node = fabric.nodes[2]
    report = fabric.beside(source(node, fabric.began - timedelta(seconds=30)), node)
    assert culprits(report) == {node}


@SOURCES
@pytest.mark.parametrize("hours", [-48, -3, -1, 2])
def test_what_is_of_another_hour_convicts_nobody(device, fabric, source, hours):
    """Also where it lies whole hours off: times that print their zone are not moved."""
    guilty, innocent = innocent_of(device)
    report = device.beside(source(innocent, device.began + timedelta(hours=hours)), innocent)
    assert culprits(report) == {guilty}

    node = fabric.nodes[2]
    report = fabric.beside(source(node, fabric.began + timedelta(hours=hours)), node)
    assert culprits(report) == set()


def test_a_quoted_xid_on_no_node_makes_no_cause(fabric):
    report = fabric.beside(gpud_event(message=LOST))

    assert report["verdict"]["cordon"] == []
    assert culprits(report) == set()


@pytest.mark.parametrize(("days", "trouble"), [(-30, False), (-2, False), (0, True)])
def test_a_schedulers_log_of_another_day_makes_no_stop_of_a_healthy_job(tmp_path, days, trouble):
    hang = Healthy(tmp_path / "job")
    node, at = hang.nodes[1], hang.last + timedelta(days=days, seconds=5)
    stamp = f"[{at:%Y-%m-%dT%H:%M:%S}.203]"
    job_id = json.loads((hang.folder / "job.json").read_text())["job_id"]
    lost = f"{stamp} Killing JobId={job_id} on failed node {node}\n"
    (hang.folder / "slurmctld.log").write_text(lost)
    before = (at - timedelta(seconds=20)).isoformat()
    text = json.dumps(health_event(nodeName=node, generatedTimestamp=before))
    (hang.folder / "events").write_text(text)
    report = triage.analyze(hang.folder).to_dict()

    assert (report["verdict"]["kind"] != "healthy") is trouble
    assert (culprits(report) == {node}) is trouble


class Healthy:
    """Dumps of a job that does well; ``last`` is its last operation."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        simulate("healthy", ranks=16, out=folder)
        _, dumps, logs, facts, _ = gather(folder, None)
        weighed = weigh_incident(dumps, logs, facts)
        assert weighed.view is not None
        last_ns = max(digest.last_created_ns or 0 for digest in dumps.digests)
        self.last = datetime.fromtimestamp(last_ns / 1e9, UTC)
        self.nodes = sorted(weighed.nodes)
