"""Who says which node or task is gone: an autoscaler, and the service that tasks answer to."""

import json
from pathlib import Path

import pytest

import triage


def answer(folder: Path, text: str, **facts: object) -> triage.Report:
    folder.mkdir(exist_ok=True)
    (folder / "worker-0.log").write_text(text)
    if facts:
        (folder / "job.json").write_text(json.dumps({"job_id": "5", **facts}))
    return triage.analyze(folder)


FOLLOWS = (
    "Traceback (most recent call last):\n"
    "RuntimeError: Failed to create placement group with 1 bundles in 180 seconds.\n"
)


@pytest.mark.parametrize(
    "line",
    [
        "(autoscaler +1h2m) Instance i-0abc (node IP: 10.1.2.9) will be terminated soon (reason:"
        " spot-interruption).",
        "(autoscaler +12m) Node b2 (IP: 10.1.2.9) is going to be terminated, reason: DRAIN_NODE",
    ],
)
def test_an_instance_that_is_taken(line: str, tmp_path: Path) -> None:
    report = answer(tmp_path, f"{line}\n{FOLLOWS}")
    assert (report.verdict.kind, report.verdict.category) == ("crash", "host_maintenance")
    assert not report.verdict.cordon


def test_what_stood_idle_took_nothing_from_the_job(tmp_path: Path) -> None:
    line = "(autoscaler +9m) Instance i-0abc (node IP: 10.1.2.9) will be terminated soon (reason:"
    report = answer(tmp_path, f"{line} idle for 300 s).\n{FOLLOWS}")
    assert report.verdict.category == "software_user"


STAMP = "2025-06-02 16:03:15.140058: E xla/tsl/distributed_runtime/coordination_service.cc:954] "


def lost(task: int, job: str = "jax_worker") -> str:
    name = f"/job:{job}/replica:0/task:{task}"
    return (
        f"{STAMP}{name} has been set to ERROR in coordination service: UNAVAILABLE: Task {name}"
        " heartbeat timeout. This indicates that the remote task has failed, got preempted, or"
        " crashed unexpectedly.\n"
    )


@pytest.mark.parametrize("task", [5, 37])
def test_the_task_without_heartbeats_is_possible(task: int, tmp_path: Path) -> None:
    report = answer(tmp_path, lost(task), world_size=64)
    (suspect,) = report.answer.suspects
    assert (suspect.ranks, suspect.role) == ((task,), "possible")
    assert not report.verdict.cordon


def test_two_tasks_are_nobody(tmp_path: Path) -> None:
    report = answer(tmp_path, lost(5) + lost(9), world_size=64)
    assert not any(suspect.role == "culprit" for suspect in report.answer.suspects)


def test_what_the_task_says_itself_is_the_cause(tmp_path: Path) -> None:
    (tmp_path / "worker-5.log").write_text("[rank5]: KeyError: 'tokens'\n")
    report = answer(tmp_path, lost(5), world_size=64)
    assert report.verdict.category == "software_user"


STEPS = "2026-11-20T09:58:31Z step 813 loss 2.110\n2026-11-20T09:59:01Z step 814 loss 2.109\n"
SRUN = "srun: error: Node failure on m2\n"
CANCELLED = (
    "slurmstepd: error: *** STEP 4711.0 ON m1 CANCELLED AT 2026-11-20T09:59:40 DUE TO NODE"
    " FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***\n"
)
RAY = (
    "2026-11-20 09:59:40,213 WARNING worker.py:1866 -- The node with node id: 8f2c and address:"
    " 10.0.4.7 and node name: 10.0.4.7 has been marked dead because the detector has missed too"
    " many heartbeats from it.\n"
    "2026-11-20 09:59:40,513 ERROR run.py:88 -- ray.exceptions.ActorDiedError: The actor died\n"
)
SLURM_NODES = ["m1", "m2", "m3"]
RAY_NODES = ["10.0.4.6", "10.0.4.7", "10.0.4.8"]


@pytest.mark.parametrize(
    ("said", "nodes"),
    [
        pytest.param(SRUN, SLURM_NODES, id="srun"),
        pytest.param(SRUN + CANCELLED, SLURM_NODES, id="srun-and-the-cancelled-step"),
        pytest.param(CANCELLED + SRUN, SLURM_NODES, id="the-other-way-round"),
        pytest.param(RAY, RAY_NODES, id="ray"),
    ],
)
def test_the_node_that_a_manager_lost_is_possible(
    said: str, nodes: list[str], tmp_path: Path
) -> None:
    facts = {"job_id": "4711", "nodes": nodes, "world_size": 12, "gpus_per_node": 4}
    report = answer(tmp_path, STEPS + said, **facts)
    (suspect,) = report.answer.suspects
    assert (suspect.node, suspect.role) == (nodes[1], "possible")
    assert report.verdict.category == "host_maintenance"
    assert not report.verdict.cordon


def test_a_cancelled_step_alone_names_no_node(tmp_path: Path) -> None:
    report = answer(tmp_path, STEPS + CANCELLED, job_id="4711", nodes=SLURM_NODES)
    assert report.verdict.category == "host_maintenance"
    assert not report.answer.suspects


def test_a_step_of_another_job_is_its_own_fate(tmp_path: Path) -> None:
    report = answer(tmp_path, STEPS + CANCELLED, job_id="5", nodes=SLURM_NODES)
    assert report.verdict.category == "none"


def test_ray_names_the_node_whose_memory_ran_out(tmp_path: Path) -> None:
    text = (
        "2026-11-20 09:59:40,213 ERROR worker.py:409 -- ray.exceptions.OutOfMemoryError: Task was"
        " killed due to the node running low on memory.\n"
        "Memory on the node (IP: 10.0.4.7, ID: 4be1) where the task (actor ID: 77, pid=4107, memory"
        " used=311.20GB) was running was 1002.11GB / 1007.50GB (0.9947), which exceeds the memory"
        " usage threshold of 0.95.\n"
    )
    facts = {"nodes": RAY_NODES, "world_size": 12, "gpus_per_node": 4}
    report = answer(tmp_path, STEPS + text, **facts)
    assert [one.node for one in report.answer.suspects] == ["10.0.4.7"]
    elsewhere = answer(tmp_path, STEPS + text.replace("10.0.4.7", "10.9.9.9"), **facts)
    assert not elsewhere.answer.suspects
    assert elsewhere.verdict.category == report.verdict.category == "host_oom"
