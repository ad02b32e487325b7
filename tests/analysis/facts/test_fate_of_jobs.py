"""What a scheduler did to another job is no end of this one."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.job_folders import (
    BUSES,
    DAY,
    KERNELS,
    at,
    ended_by,
    facts,
    kernel,
    said,
    steps,
    watchdogs,
)
from tests.support.weighing import row
from triage.analysis.facts.fate_of_jobs import OwnJob, own_job
from triage.domain.job import Job
from triage.parsers.logs.logset import LogFile, LogKind

XID_79 = f"NVRM: Xid (PCI:{BUSES[2]}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off."
STAMP = f"[{DAY}T{at(-1)}]"
AT = f"{DAY}T{at(-1)[:8]}"

# {} is the number of the job that it is about.
FATES = (
    STAMP + " Time limit exhausted for JobId={}",
    STAMP + " preempted JobId={} has been requeued to reclaim resources for JobId=5150",
    STAMP + " Requeuing JobId={}",
    STAMP + " preempted JobId={}_4 had to be killed",
    f"slurmstepd: error: *** JOB {{}} ON cn01 CANCELLED AT {AT} DUE TO TIME LIMIT ***",
    f"slurmstepd: error: *** STEP {{}}.0 ON cn01 CANCELLED AT {AT} DUE TO PREEMPTION ***",
    "slurmstepd: error: Detected 1 oom-kill event(s) in StepId={}.0. Some of your processes may"
    " have been killed by the cgroup out-of-memory handler.",
    "09/17/2026 09:59:59;0008;Server@pbs;Job;{}.pbs;Job preempted by 5150.pbs",
    'qmaster|W|job {}.1 exceeded hard wallclock time - initiate terminate via "KILL"',
    f"{DAY} 09:59:59 Job <{{}}>: TERM_RUNLIMIT: job killed after reaching LSF run time limit.",
)


@pytest.mark.parametrize("fate", FATES)
@pytest.mark.parametrize("own", ["job.json", "head"])
def test_it_beats_no_gpu_that_fell_off(tmp_path: Path, fate: str, own: str) -> None:
    head = ["SLURM_JOB_ID=5150"] if own == "head" else []
    files = {
        **KERNELS,
        "nodes/cn03/kernel.log": kernel("cn03", (-0.5, XID_79)),
        "slurmctld.log": [fate.format("7777")],
        "job.log": [*head, *steps(), *watchdogs(range(16))],
    }

    wire = said(tmp_path, files, facts(job_id="5150" if own == "job.json" else None))

    assert [(node, part) for node, _, part in ended_by(wire)] == [("cn03", "gpu")]
    assert "7777" not in wire["verdict"]["summary"]


@pytest.mark.parametrize(
    "end",
    [
        "srun: Terminating StepId=5150.0",
        "srun: Terminating job step 5150.0",
        f"slurmstepd-cn01: error: *** STEP 5150.0 ON cn01 CANCELLED AT {AT} ***",
    ],
)
def test_the_launcher_says_at_its_end_whose_log_it_is(tmp_path: Path, end: str) -> None:
    files = {
        **KERNELS,
        "slurmctld.log": [FATES[0].format("7777")],
        "job.log": [*steps(), *watchdogs(range(16)), end],
    }

    wire = said(tmp_path, files, facts(job_id=None))

    assert wire["verdict"]["category"] != "host_maintenance"
    assert "7777" not in wire["verdict"]["summary"]


def test_launchers_of_two_jobs_say_nothing_of_it() -> None:
    rows = [row(text=f"srun: Terminating StepId={k}.0", artifact="job.log") for k in (5150, 7777)]
    logs = [LogFile("job.log", LogKind.JOB)]

    assert own_job(Job(), logs, (), rows[:1]).numbers == {"5150"}
    assert own_job(Job(), logs, (), rows).numbers == set()
    assert own_job(Job(job_id="12"), logs, (), rows[:1]).numbers == {"12"}


@pytest.mark.parametrize("fate", FATES)
def test_a_healthy_job_beside_it_stays_one(tmp_path: Path, fate: str) -> None:
    files = {**KERNELS, "slurmctld.log": [fate.format("7777")], "job.log": steps()}

    wire = said(tmp_path, files, facts(exit_code=None))

    assert wire["verdict"]["kind"] == "healthy"


@pytest.mark.parametrize("fate", FATES[:2] + FATES[4:6])
def test_its_own_fate_is_still_this_jobs(tmp_path: Path, fate: str) -> None:
    files = {**KERNELS, "slurmctld.log": [fate.format("5150")], "job.log": steps()}

    wire = said(tmp_path, files, facts())

    assert wire["verdict"]["category"] == "host_maintenance"


def test_a_node_that_failed_under_another_job_is_still_told(tmp_path: Path) -> None:
    """The line is about the node; whose job it took there says nothing against it."""
    lines = [f"{STAMP} Killing JobId=7777 on failed node cn02",
             f"{STAMP} error: Nodes cn02 not responding, setting DOWN"]  # fmt: skip
    files = {**KERNELS, "slurmctld.log": lines, "job.log": [*steps(), *watchdogs(range(16))]}

    wire = said(tmp_path, files, facts())

    assert wire["suspects"][0]["node"] == "cn02"


def test_pods_of_other_jobs(tmp_path: Path) -> None:
    files = {
        **KERNELS,
        "events.txt": [
            "Normal  Scheduled  9m  default-scheduler  Successfully assigned ml/llm-worker-0 to"
            " cn01",
            "Warning  BackOff  1m  pod/llm-worker-0  Back-off restarting failed container",
            "Normal  Preempted  1s  pod/eval-7-abc  Preempted by pod 7be1 on node cn03",
        ],
        "job.log": [*steps(), *watchdogs(range(16))],
    }

    wire = said(tmp_path, files, facts(job_id="llm"))

    assert wire["verdict"]["category"] != "host_maintenance"


@pytest.mark.parametrize(
    ("own", "number", "raw", "same"),
    [
        ("5150", "5150", None, True),
        ("5150", "5151", None, False),
        ("5150", "515", None, False),
        ("5150", "5150_3", None, True),
        ("5150_3", "5150_3", "5160", True),
        ("5150_3", "5150_4", "5161", False),
        ("5160", "5150_3", "5160", True),
        ("5150_3", "5150", None, True),
        ("5150", "5150+1", None, True),
        ("5150_3", "5150[3]", None, True),
    ],
)
def test_whose_number(own: str, number: str, raw: str | None, *, same: bool) -> None:
    assert OwnJob(frozenset({own})).has_number(number, raw) is same


def test_a_name_that_is_no_number_compares_with_none() -> None:
    job: Any = own_job(Job(job_id="pretrain-llm"), [], ())

    assert job.numbers == frozenset()
    assert job.has_pod("pretrain-llm-worker-3")
    assert not job.has_pod("pretrain-other")


UID = "0c2f3ab1-1111-4222-8333-abcdefabcdef"
POD = (
    f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{UID.replace('-', '_')}.slice"
)


def killed(group: str, limit: str | None, constraint: str = "CONSTRAINT_MEMCG") -> list[str]:
    """A kill for want of memory, as kernels print it since 5.0."""
    reached = "global_oom" if limit is None else f"oom_memcg={limit}"
    what = "Out of memory" if limit is None else "Memory cgroup out of memory"
    return [
        "python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
        f"oom-kill:constraint={constraint},nodemask=(null),cpuset=/,mems_allowed=0-1,{reached},"
        f"task_memcg={group},task=python,pid=4321,uid=1000",
        f"{what}: Killed process 4321 (python) total-vm:104857600kB, anon-rss:99614720kB,"
        " file-rss:0kB, shmem-rss:0kB",
    ]


def killed_before_5(group: str) -> list[str]:
    return [
        "python invoked oom-killer: gfp_mask=0x14000c0(GFP_KERNEL), order=0, oom_score_adj=0",
        f"Task in {group}/step_0 killed as a result of limit of {group}",
        "Memory cgroup out of memory: Killed process 4321 (python) total-vm:104857600kB,"
        " anon-rss:99614720kB, file-rss:0kB",
    ]


def of_kills(folder: Path, *kills: list[str], log: str = "job.log", **told: Any) -> Any:
    lines = [(k / 8 - 1, line) for k, line in enumerate(line for kill in kills for line in kill)]
    files = {
        **KERNELS,
        "nodes/cn02/kernel.log": kernel("cn02", *lines),
        log: [*steps(), *watchdogs(range(16))],
    }
    return said(folder, files, facts(**{"job_id": "5150", **told}))


SLURM = "/slurm/uid_1000/job_{}"
SYSTEMD = "/system.slice/slurmstepd.scope/job_{}"


@pytest.mark.parametrize("form", [SLURM, SYSTEMD])
@pytest.mark.parametrize("before_5", [False, True])
@pytest.mark.parametrize(("number", "own"), [("7777", False), ("5150", True)])
def test_a_kill_in_the_group_of_another_job(
    tmp_path: Path, form: str, before_5: bool, number: str, own: bool
) -> None:
    group = form.format(number)
    kill = killed_before_5(group) if before_5 else killed(f"{group}/step_0", group)
    wire = of_kills(tmp_path, kill)
    assert [(node, part) for node, _, part in ended_by(wire)] == ([("cn02", "host_oom")] * own)
    assert wire["verdict"]["cordon"] == []


@pytest.mark.parametrize("first", ["7777", "5150"])
def test_a_kill_of_this_job_beside_one_of_another(tmp_path: Path, first: str) -> None:
    second = {"7777": "5150", "5150": "7777"}[first]
    groups = [SLURM.format(number) for number in (first, second)]
    wire = of_kills(tmp_path, *(killed(f"{group}/step_0", group) for group in groups))
    assert [(node, part) for node, _, part in ended_by(wire)] == [("cn02", "host_oom")]


@pytest.mark.parametrize(
    ("limit", "constraint", "job_id"),
    [
        pytest.param(None, "CONSTRAINT_NONE", "5150", id="the whole node ran out"),
        pytest.param("/slurm", "CONSTRAINT_MEMCG", "5150", id="the limit of all jobs"),
        pytest.param(SLURM.format("7777"), "CONSTRAINT_MEMCG", None, id="own number not known"),
    ],
)
def test_a_kill_that_takes_memory_from_this_job_too(
    tmp_path: Path, limit: str | None, constraint: str, job_id: str | None
) -> None:
    wire = of_kills(
        tmp_path, killed(SLURM.format("7777") + "/step_0", limit, constraint), job_id=job_id
    )
    assert [(node, part) for node, _, part in ended_by(wire)] == [("cn02", "host_oom")]


@pytest.mark.parametrize(
    ("log", "own"),
    [
        (f"var/log/pods/ml_train-0_{UID}/worker/0.log", True),
        (f"var/log/pods/ml_train-0_{UID.replace('0c2f', 'ffff')}/worker/0.log", False),
        ("job.log", True),
    ],
)
def test_a_kill_in_the_group_of_another_pod(tmp_path: Path, log: str, own: bool) -> None:
    wire = of_kills(
        tmp_path, killed(f"{POD}/cri-containerd-9f.scope", POD), log=log, job_id="train"
    )
    assert [(node, part) for node, _, part in ended_by(wire)] == ([("cn02", "host_oom")] * own)


PODS = [f"train-worker-{k}   0/1   {{}}   0   15h   10.8.3.2{k}   cn0{k + 1}" for k in range(2)]
SACCT = ["5150|pretrain|gpu|{}|0:0|2026-09-17T09:00:00|2026-09-17T10:00:00|2|cn[01-02]"]
# What is still on its way goes with the connection, at a good end too.
TORN = "gpu01:1:2 [0] NCCL WARN NET/IB: status: Work Request Flushed Error (5)"
RAISED = ["Traceback (most recent call last):", "KeyError: 'labels'"]


@pytest.mark.parametrize(("table", "state"), [(PODS, "Completed"), (SACCT, "COMPLETED")])
@pytest.mark.parametrize(
    ("lines", "states", "kind"),
    [
        ([], {}, "healthy"),
        ([TORN], {}, "healthy"),
        (RAISED, {}, "crash"),  # the wrapper ended well, and not its program
        (watchdogs(range(16)), {}, "hang"),
        ([TORN], {0: "FAILED"}, "inconclusive"),
    ],
)
def test_what_all_completed_ended_well(
    tmp_path: Path,
    table: list[str],
    state: str,
    lines: list[str],
    states: dict[int, str],
    kind: str,
) -> None:
    told = [line.format(states.get(k, state)) for k, line in enumerate(table)]
    files = {"job.log": ["SLURM_JOB_ID=5150", *steps(), *lines], "scheduler.txt": told}
    known = facts(job_id=None, exit_code=None, nodes=["cn01", "cn02"], failed_at=f"{DAY}T{at(0)}Z")

    wire = said(tmp_path, files, known)

    assert (wire["verdict"]["kind"], wire["suspects"] == []) == (kind, True)
