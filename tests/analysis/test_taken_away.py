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
