"""What the tools of a real Slurm print after drains, downs and lost jobs is read as it is."""

import time
from collections.abc import Iterator
from datetime import UTC
from io import BytesIO

import pytest

from tests.support.slurm import SlurmCluster
from triage.fleet.domain.exposure import NodeFacts, Outage, Run
from triage.fleet.parsers.read import read_exposure
from triage.fleet.parsers.rows import Options, Row, Unread

OURS = "triage:inc_7:gpu_hbm:0.97"
COLUMNS = "JobIDRaw,Cluster,State,Start,End,NNodes,AllocTRES,NodeList"
PRINTED = {
    "events": ("sacctmgr", "-P", "show", "event", "start=now-1days"),
    "padded events": ("sacctmgr", "show", "event", "start=now-1days"),
    "reasons": ("sinfo", "-R", "-o", "%E|%U|%H|%N"),
    "padded reasons": ("sinfo", "-R"),
    "nodes": ("scontrol", "show", "node"),
    "nodes on a line": ("scontrol", "-o", "show", "node"),
    "jobs": ("sacct", "-aXPD", "-S", "now-1days", "-o", COLUMNS),
}


def ended(cluster: SlurmCluster, state: str, script: str, *options: str) -> str:
    job = cluster.submit(script, "--gpus-per-node=8", *options)
    cluster.wait(f"{job} is {state}", lambda: cluster.job_state(job) == state)
    return job


@pytest.fixture(scope="module")
def printed(running_cluster: SlurmCluster) -> Iterator[dict[str, str]]:
    """What each tool prints, and the controller's log."""
    cluster = running_cluster
    if not cluster.accounting:
        pytest.skip("slurmdbd or MariaDB is not there: no accounting")
    ended(cluster, "COMPLETED", "exit 0", "--nodes=2")
    ended(cluster, "FAILED", "exit 3", "--nodes=1")
    lost = ended(cluster, "RUNNING", "sleep 60", "--nodelist=gpu005", "--no-requeue")
    update = ("scontrol", "update")
    cluster.run(*update, "nodename=gpu005", "state=down", "reason=no power")
    cluster.wait("the job is lost", lambda: cluster.job_state(lost) == "NODE_FAIL")
    cluster.run(*update, "nodename=gpu003", "state=drain", f"reason={OURS}")
    time.sleep(1.1)  # Accounting counts in seconds.
    cluster.run(*update, "nodename=gpu003", "state=undrain")
    cluster.run(*update, "nodename=gpu004", "state=drain", "reason=fan, tray 3")
    events = PRINTED["events"]
    cluster.wait("the events are kept", lambda: "tray 3" in cluster.run(*events))
    cluster.wait("the jobs are kept", lambda: "NODE_FAIL" in cluster.run(*PRINTED["jobs"]))
    yield {
        "cluster": cluster.name,
        "log": (cluster.folder / "slurmctld.log").read_text(),
        **{name: cluster.run(*argv) for name, argv in PRINTED.items()},
    }
    cluster.make_idle()


def rows_of(printed: dict[str, str], what: str) -> list[Row]:
    options = Options(zone=UTC, cluster=printed["cluster"])
    rows = list(read_exposure(BytesIO(printed[what].encode()), options).rows)
    assert [row for row in rows if isinstance(row, Unread)] == []
    return rows


@pytest.mark.parametrize("what", ["events", "padded events", "log"])
def test_reads_outages_with_their_ends(printed: dict[str, str], what: str) -> None:
    outages = [row for row in rows_of(printed, what) if isinstance(row, Outage)]
    found = {(one.node, one.reason): one.to_at is not None for one in outages}
    assert found[("gpu003", OURS)]
    assert not found[("gpu004", "fan, tray 3")]
    assert not found[("gpu005", "no power")]
    assert {one.cluster for one in outages} == {printed["cluster"]}


@pytest.mark.parametrize("what", ["reasons", "padded reasons", "nodes", "nodes on a line"])
def test_reads_what_is_out_now(printed: dict[str, str], what: str) -> None:
    outages = [row for row in rows_of(printed, what) if isinstance(row, Outage)]
    found = {(one.node, one.reason, one.to_at) for one in outages}
    assert found == {("gpu004", "fan, tray 3", None), ("gpu005", "no power", None)}


def test_reads_the_type_of_gpu(printed: dict[str, str]) -> None:
    facts = [row for row in rows_of(printed, "nodes") if isinstance(row, NodeFacts)]
    assert len(facts) == 6
    assert {one.generation for one in facts} == {"h100"}


def test_reads_runs_with_their_gpus(printed: dict[str, str]) -> None:
    runs = [row for row in rows_of(printed, "jobs") if isinstance(row, Run)]
    found = {(str(one.ending), one.num_gpus, len(one.nodes)) for one in runs}
    assert {("completed", 16, 2), ("unexpected", 8, 1)} <= found
    assert "gpu005" in {node for one in runs for node in one.nodes if one.ending == "unexpected"}


def test_a_cluster_that_is_cut_is_not_guessed(printed: dict[str, str]) -> None:
    options = Options(zone=UTC, cluster="another")
    rows = list(read_exposure(BytesIO(printed["padded events"].encode()), options).rows)
    assert [row for row in rows if isinstance(row, Outage)] == []
    assert any(isinstance(row, Unread) and "is cut" in row.why for row in rows)
