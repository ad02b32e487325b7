"""Jobs of Kubernetes: what was submitted is one run, with its pods' nodes and GPUs."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.fleet.parsers.exports import passed, read, runs, unread
from triage.domain.category import Category
from triage.errors import Corrupt, Forbidden, UnknownFormat
from triage.fleet.domain.exposure import Ending
from triage.fleet.parsers import kubernetes
from triage.fleet.parsers.rows import Options

T0, T1, T2 = "2026-11-21T01:00:00Z", "2026-11-21T03:14:15Z", "2026-11-21T03:15:00Z"
START, END = (datetime.fromisoformat(text).astimezone(UTC) for text in (T0, T1))
POD_SPEC = {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "8"}}}]}


def job(name: str = "pretrain", **more: Any) -> dict[str, Any]:
    status = {"startTime": T0, "conditions": [condition("Failed", T1)], **more.pop("status", {})}
    return {
        "kind": "Job", "metadata": {"namespace": "research", "name": name, **more},
        "spec": {"parallelism": 2, "template": {"spec": POD_SPEC}}, "status": status,
    }  # fmt: skip


def condition(kind: str, at: str, reason: str = "") -> dict[str, str]:
    return {"type": kind, "status": "True", "lastTransitionTime": at, "reason": reason}


def pod(node: str, labels: dict[str, str], phase: str = "Failed", **status: Any) -> dict[str, Any]:
    ended = {"state": {"terminated": {"finishedAt": T1, "reason": "Error"}}}
    return {
        "kind": "Pod",
        "metadata": {"namespace": "research", "name": f"p-{node}", "labels": labels},
        "spec": {"nodeName": node, **POD_SPEC},
        "status": {"phase": phase, "startTime": T0, "containerStatuses": [ended], **status},
    }


def listed(*items: Any) -> tuple[str, list[Any]]:
    return read(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)}))


OF_JOB = {"batch.kubernetes.io/job-name": "pretrain"}


def test_a_job_with_its_pods_is_one_run() -> None:
    known, rows = listed(pod("n1", OF_JOB), job(), pod("n0", OF_JOB))
    assert known == "kubernetes"
    (run,) = runs(rows)
    assert (run.job_id, run.source) == ("research/pretrain", "kubernetes")
    assert (run.started_at, run.ended_at, run.ending) == (START, END, Ending.UNEXPECTED)
    assert (run.nodes, run.num_nodes, run.num_gpus) == (("n0", "n1"), 2, 16)


def test_the_order_of_a_list_does_not_matter() -> None:
    items = [job(), pod("n0", OF_JOB), pod("n1", OF_JOB), job("other")]
    assert {*listed(*items)[1]} == {*listed(*reversed(items))[1]}


def test_a_job_without_pods_counts_what_it_asked_for() -> None:
    (run,) = runs(listed(job())[1])
    assert (run.nodes, run.num_nodes, run.num_gpus) == ((), 0, 16)


@pytest.mark.parametrize(
    ("conditions", "pods", "ending", "cause"),
    [
        ([condition("Complete", T1)], {}, Ending.COMPLETED, None),
        ([condition("Failed", T1, "BackoffLimitExceeded")], {}, Ending.UNEXPECTED, None),
        ([condition("Failed", T1, "DeadlineExceeded")], {}, Ending.PLANNED, None),
        (
            [condition("Failed", T1)],
            {"conditions": [condition("DisruptionTarget", T1, "PreemptionByScheduler")]},
            Ending.PLANNED, None,
        ),
        (
            [condition("Failed", T1)],
            {"containerStatuses": [{"state": {"terminated": {"reason": "OOMKilled"}}}]},
            Ending.UNEXPECTED, Category.HOST_OOM,
        ),
        ([{**condition("Failed", T1), "status": "False"}], {}, Ending.RUNNING, None),
        ([condition("Suspended", T1)], {}, Ending.RUNNING, None),
        ([], {}, Ending.RUNNING, None),
    ],
)  # fmt: skip
def test_how_it_ended(
    conditions: list[Any], pods: dict[str, Any], ending: Ending, cause: Category | None
) -> None:
    rows = listed(job(status={"conditions": conditions}), pod("n0", OF_JOB, **pods))[1]
    (run,) = runs(rows)
    assert (run.ending, run.cause) == (ending, cause)
    assert (run.ended_at is None) == (ending == Ending.RUNNING)


def test_what_was_submitted_counts_and_its_parts_do_not() -> None:
    of_set = {"jobset.sigs.k8s.io/jobset-name": "llm", "batch.kubernetes.io/job-name": "llm-w-0"}
    jobset = {
        "kind": "JobSet", "metadata": {"namespace": "research", "name": "llm"},
        "status": {"conditions": [condition("Completed", T1)]},
    }  # fmt: skip
    rows = listed(jobset, job("llm-w-0", labels=of_set), pod("n0", of_set, "Succeeded"))[1]
    (run,) = runs(rows)
    assert (run.job_id, run.ending, run.num_gpus) == ("research/llm", Ending.COMPLETED, 8)
    assert run.started_at == START
    assert passed(rows) == ["jobs that are part of another"]


def test_a_pytorchjob_asks_for_gpus_by_replica() -> None:
    template = {"spec": POD_SPEC}
    made = {
        "kind": "PyTorchJob", "metadata": {"namespace": "research", "name": "llm"},
        "spec": {"pytorchReplicaSpecs": {
            "Master": {"replicas": 1, "template": template},
            "Worker": {"replicas": 3, "template": template},
        }},
        "status": {"startTime": T0, "completionTime": T1, "conditions": [condition("Failed", T2)]},
    }  # fmt: skip
    (run,) = runs(listed(made)[1])
    assert (run.num_gpus, run.ended_at, run.ending) == (32, END, Ending.UNEXPECTED)


def test_pods_alone_are_a_run_once_all_are_over() -> None:
    two = [pod("n0", OF_JOB, "Succeeded"), pod("n1", OF_JOB)]
    (run,) = runs(listed(*two)[1])
    assert (run.ended_at, run.ending, run.num_nodes) == (END, Ending.UNEXPECTED, 2)
    (run,) = runs(listed(*two, pod("n2", OF_JOB, "Running"))[1])
    assert (run.ended_at, run.ending) == (None, Ending.RUNNING)


def test_what_is_no_job_is_left_out_and_what_is_broken_is_named() -> None:
    _, rows = listed(
        {"kind": "Service", "metadata": {"name": "x"}}, 7, pod("n9", {}),
        job("future", status={"startTime": "tomorrow"}),
        job("back", status={"startTime": T2}), job(),
        job("odd", status={"startTime": T0, "conditions": 7}),
    )  # fmt: skip
    assert passed(rows) == ["objects that are no job and no pod of one"] * 2
    assert {why for _, why in unread(rows)} == {
        "it is no object",
        "'back': it ended before it started",
        "'future': startTime 'tomorrow' is no time such as 2026-11-21T03:14:15",
    }
    assert {run.job_id for run in runs(rows)} == {"research/pretrain", "research/odd"}


@pytest.mark.parametrize(
    "hostile",
    [
        {"kind": "Job", "metadata": 3, "status": []},
        {"kind": "Job", "metadata": {"name": "j", "labels": [1]}, "spec": "x", "status": {}},
        {"kind": "Pod", "metadata": {"name": "p", "labels": OF_JOB}, "spec": {"containers": 1}},
        {
            "kind": "Job", "metadata": {"name": "j" * 400}, "status": {"startTime": T0},
            "spec": {"parallelism": 10**30},
        },
        {
            "kind": "JobSet", "metadata": {"name": "s"}, "status": {"conditions": [[], None]},
            "spec": {"replicatedJobs": [{"replicas": True, "template": []}, "x"]},
        },
    ],
)  # fmt: skip
def test_hostile_objects_stop_nothing(hostile: dict[str, Any]) -> None:
    assert len(runs(listed(hostile, job("good"))[1])) >= 1


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{", Corrupt),
        ('{"kind": "List", "items": 3}', UnknownFormat),
        ('{"job_id": 1, "started_at": 2}', UnknownFormat),
        ('{"a":' * 2000, Corrupt),
    ],
)
def test_json_that_is_no_list_is_refused(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        read(text)


def test_a_process_with_other_things_to_do_takes_less(monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps({"kind": "List", "items": [job()] * 3})
    objects = text.count("{") + text.count("[")
    for name, most, words in (
        ("SPARING_BYTES", len(text), "bytes"), ("SPARING_OBJECTS", objects, "objects"),
    ):  # fmt: skip
        with monkeypatch.context() as patched:
            patched.setattr(kubernetes, name, most)
            read(text, Options(sparing=True))
            patched.setattr(kubernetes, name, most - 1)
            read(text)
            with pytest.raises(Forbidden, match=words):
                read(text, Options(sparing=True))
