"""The scheduler of acts on a real Slurm."""

import time
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.slurm import SlurmCluster
from triage.actions.schedulers.interface import (
    NoSuchNode,
    PoolView,
    SchedulerAway,
    SchedulerRefused,
)
from triage.actions.schedulers.slurm import SlurmScheduler, open_scheduler
from triage.clock import read_utc_now
from triage.settings import Settings

OURS = "triage:inc_7:gpu_hbm:0.97"
NODE = "gpu002"


@pytest.fixture
def slurm(cluster: SlurmCluster) -> SlurmScheduler:
    return open_scheduler(Settings(act_timeout_s=20.0))


def test_drains_and_gives_back(cluster: SlurmCluster, slurm: SlurmScheduler) -> None:
    before = slurm.node(NODE)
    assert (before.drained, before.reason) == (False, "")
    slurm.drain(NODE, OURS)
    slurm.drain(NODE, OURS)
    seen = slurm.node(NODE)
    assert (seen.drained, seen.reason) == (True, OURS)
    assert seen.by == cluster.user
    slurm.undrain(NODE, OURS, before.reason)
    slurm.undrain(NODE, OURS, before.reason)
    after = slurm.node(NODE)
    assert (after.drained, after.reason, after.by) == (False, "", "")


def test_what_runs_on_a_drained_node_goes_on(cluster: SlurmCluster, slurm: SlurmScheduler) -> None:
    job = cluster.submit("sleep 60", "--nodelist", NODE)
    cluster.wait("it runs", lambda: cluster.job_state(job) == "RUNNING")
    slurm.drain(NODE, OURS)
    assert (slurm.node(NODE).drained, cluster.job_state(job)) == (True, "RUNNING")
    waiting = cluster.submit("true", "--nodelist", NODE)
    time.sleep(1.0)
    assert cluster.job_state(waiting) == "PENDING"
    cluster.run("scancel", job)
    slurm.undrain(NODE, OURS, "")
    cluster.wait("the next one runs", lambda: cluster.job_state(waiting) == "COMPLETED")


def test_leaves_what_an_operator_drained(cluster: SlurmCluster, slurm: SlurmScheduler) -> None:
    cluster.run("scontrol", "update", f"nodename={NODE}", "state=drain", "reason=fan, tray 3")
    with pytest.raises(SchedulerRefused, match="another reason: fan, tray 3"):
        slurm.drain(NODE, OURS)
    with pytest.raises(SchedulerRefused, match="another reason"):
        slurm.undrain(NODE, OURS, "")
    assert slurm.node(NODE).reason == "fan, tray 3"


def test_leaves_what_the_actuator_of_another_service_drained(
    cluster: SlurmCluster, slurm: SlurmScheduler
) -> None:
    theirs = "triage:inc_of_another:nic:0.96"
    open_scheduler(Settings()).drain(NODE, theirs)
    with pytest.raises(SchedulerRefused, match="inc_of_another"):
        slurm.drain(NODE, OURS)
    with pytest.raises(SchedulerRefused, match="inc_of_another"):
        slurm.undrain(NODE, OURS, "")
    assert slurm.node(NODE).reason == theirs


def test_a_node_that_is_down_stays_down(cluster: SlurmCluster, slurm: SlurmScheduler) -> None:
    cluster.run("scontrol", "update", f"nodename={NODE}", "state=down", "reason=no power")
    before = slurm.node(NODE)
    assert (before.drained, before.reason) == (False, "no power")
    slurm.drain(NODE, OURS)
    assert slurm.node(NODE).reason == OURS
    slurm.undrain(NODE, OURS, before.reason)
    after = slurm.node(NODE)
    assert (after.drained, after.reason) == (False, "no power")
    assert str(after.details["state"]).startswith("DOWN")


def test_knows_no_node_that_is_not_there(slurm: SlurmScheduler) -> None:
    for ask in (lambda: slurm.node("gpu999"), lambda: slurm.drain("gpu999", OURS)):
        with pytest.raises(NoSuchNode):
            ask()


def test_counts_the_nodes_and_those_that_any_service_of_ours_took_out(
    cluster: SlurmCluster, slurm: SlurmScheduler
) -> None:
    assert slurm.pool() == PoolView(len(cluster.nodes))
    drained, busy, down, given_back, theirs = cluster.nodes[:5]
    job = cluster.submit("sleep 60", "--nodelist", busy)
    cluster.wait("it runs", lambda: cluster.job_state(job) == "RUNNING")
    for node in (drained, busy, down, given_back):
        open_scheduler(Settings()).drain(node, f"triage:inc_{node}:nic:0.96")
    cluster.run("scontrol", "update", f"nodename={down}", "state=down", f"reason={OURS}")
    cluster.run("scontrol", "update", f"nodename={given_back}", "state=undrain")
    cluster.run("scontrol", "update", f"nodename={theirs}", "state=drain", "reason=by triage: fan")
    pool = slurm.pool()
    assert (pool.size, set(pool.out)) == (len(cluster.nodes), {drained, busy, down})
    assert pool.out_since(read_utc_now() - timedelta(minutes=5)) == set(pool.out)
    assert pool.out_since(read_utc_now() + timedelta(minutes=5)) == set()


def test_says_what_a_user_without_rights_has_to_do(
    cluster: SlurmCluster, slurm: SlurmScheduler, tmp_path: Path
) -> None:
    if cluster.user != "root":
        pytest.skip("another user is not there: only root can become one")
    wrapper = tmp_path / "scontrol"
    wrapper.write_text('#!/bin/sh\nexec runuser -u nobody -- /usr/bin/scontrol "$@"\n')
    wrapper.chmod(0o755)
    with pytest.raises(SchedulerRefused, match=r"Invalid user id .*AdminLevel=Operator"):
        SlurmScheduler(str(tmp_path)).drain(NODE, OURS)
    assert not slurm.node(NODE).drained


def test_is_away_while_the_controller_is_stopped_and_slow(
    cluster: SlurmCluster, slurm: SlurmScheduler
) -> None:
    with cluster.frozen("slurmctld"):
        begun = time.monotonic()
        with pytest.raises(SchedulerAway, match="did not end within 1 s"):
            SlurmScheduler(timeout_s=1.0).drain(NODE, OURS)
        assert time.monotonic() - begun < 4.0
    # It looked before it acted, so nothing was done.
    assert not slurm.node(NODE).drained


def test_is_away_without_a_controller_and_finds_it_again(
    cluster: SlurmCluster, slurm: SlurmScheduler
) -> None:
    slurm.drain(NODE, OURS)
    cluster.stop("slurmctld")
    try:
        with pytest.raises(SchedulerAway):
            SlurmScheduler(timeout_s=3.0).node(NODE)
    finally:
        cluster.start_controller()
    cluster.wait("the controller answers", cluster.answers)
    assert (slurm.node(NODE).drained, slurm.node(NODE).reason) == (True, OURS)

    def given_back() -> bool:
        # Before the node has registered, Slurm takes no change of its state.
        try:
            slurm.undrain(NODE, OURS, "")
        except SchedulerAway:
            return False
        return not slurm.node(NODE).drained

    cluster.wait("the drain is taken back", given_back)
