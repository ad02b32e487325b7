"""Whose nodes a folder is about, by a scheduler or a list of pods; what was over, or found out."""

import json
from pathlib import Path

import pytest

from tests.support.job_folders import (
    DAY,
    HOSTS,
    at,
    ended_by,
    init_lines,
    kernel,
    said,
    steps,
    watchdogs,
)

XID = "NVRM: Xid (PCI:0000:5d:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
STUCK = [*steps(), *watchdogs(range(16))]
SEATS = [f"{DAY} 09:50:00 {line}" for line in init_lines()]


def control(*lines: tuple[float, str]) -> list[str]:
    return [f"[{DAY}T{at(second)[:8]}.000] {text}" for second, text in lines]


STARTED = (-900.0, f"sched/backfill: _start_job: Started JobId=7711 in gpu on {','.join(HOSTS)}")
OTHER = (-800.0, "sched: Allocate JobId=8822 NodeList=cpu041 #CPUs=96 Partition=cpu")
GONE = (-1.0, "update_node: node cpu041 reason set to: NHC: check_fs_used: /tmp at 95%")


@pytest.mark.parametrize(
    "listed",
    [
        control(STARTED, OTHER, GONE),
        [
            "7711|pretrain|gpu|RUNNING|0:0|2026-09-17T10:00:00|Unknown|4|cn[01-04]",
            *control(OTHER, GONE),
        ],
    ],
)
def test_what_happens_to_a_node_of_another_job_stops_nothing(
    tmp_path: Path, listed: list[str]
) -> None:
    wire = said(tmp_path, {"slurm-7711.out": STUCK, "slurmctld.log": listed}, None)

    assert wire["suspects"] == []
    assert wire["verdict"]["category"] != "host_maintenance"


def test_one_of_the_job_s_own_nodes_may(tmp_path: Path) -> None:
    own = (-1.0, "update_node: node cn02 reason set to: NHC: check_fs_used: /tmp at 95%")
    files = {"slurm-7711.out": STUCK, "slurmctld.log": control(STARTED, OTHER, own)}
    wire = said(tmp_path, files, None)

    assert [one["node"] for one in wire["suspects"]] == ["cn02"]


OOM = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.12 GiB."


def test_the_log_of_another_job_of_the_scheduler_is_left_out(tmp_path: Path) -> None:
    files = {
        "slurm-7711.out": [*SEATS, *STUCK],
        "old/slurm-7702.out": [*steps(-5000, -4000), OOM],
        "slurmctld.log": control(STARTED, OTHER),
    }
    wire = said(tmp_path, files, None)

    assert wire["verdict"]["category"] != "gpu_oom"
    assert any("another job than 7711" in note for note in wire["coverage"]["notes"])


def test_the_only_log_there_is_is_not(tmp_path: Path) -> None:
    files = {"slurm-7702.out": [*steps(), OOM], "slurmctld.log": control(STARTED)}

    assert said(tmp_path, files, None)["verdict"]["category"] == "gpu_oom"


def test_the_nodes_of_the_one_job_that_is_listed_are_not_those_of_another_number(
    tmp_path: Path,
) -> None:
    fault = kernel("cn05", (-1.0, XID))
    listed = control((-900.0, "sched: Allocate JobId=8822 NodeList=cn[01-02] #CPUs=96"))
    files = {
        "slurm-7711.out": [line.replace("cn02", "cn05") for line in (*SEATS, *STUCK)],
        "nodes/cn05/kernel.log": fault,
        "nodes/cn01/kernel.log": kernel("cn01"),
        "slurmctld.log": listed,
    }
    wire = said(tmp_path, files, None)

    assert [node for node, _, _ in ended_by(wire)] == ["cn05"]


def lost_supply(*lines: tuple[float, str, str]) -> list[str]:
    return [
        f"{k} | 09/17/2026 | {at(second)[:8]} UTC | Power Supply PSU4 | {text} | {state}"
        for k, (second, text, state) in enumerate(lines)
    ]


LOST = (-60.0, "Power Supply AC lost", "Asserted")
BACK = (240.0, "Power Supply AC lost", "Deasserted")


BOOT = kernel("cn02", (60.0, "Linux version 6.8.0-60-generic (buildd@x) (gcc 13.2.0) #63-Ubuntu"))


@pytest.mark.parametrize(
    ("rows", "kernel_log", "convicted"),
    [
        ([LOST, BACK], kernel("cn02"), []),
        ([LOST], kernel("cn02"), ["cn02"]),
        # it came back with its node
        ([LOST, BACK], BOOT, ["cn02"]),
    ],
)
def test_a_supply_that_its_controller_sees_again_took_no_node_with_it(
    tmp_path: Path,
    rows: list[tuple[float, str, str]],
    kernel_log: list[str],
    convicted: list[str],
) -> None:
    files = {
        "job.log": [*SEATS, *STUCK],
        "nodes/cn02/sel.txt": lost_supply(*rows),
        "nodes/cn02/kernel.log": kernel_log,
    }
    wire = said(tmp_path, files, None)

    assert [node for node, _, _ in ended_by(wire)] == convicted


PODS = [
    "NAME NODE IP INSTANCE",
    *(f"llm-worker-{k} kgx-h200-00{k}7 10.8.3.2{k} bm-4900{k}" for k in range(4)),
]
POD_SEATS = [line.replace("cn0", "llm-worker-") for line in SEATS]


def votes(worker: int, others: tuple[int, ...]) -> list[str]:
    return [
        f"[{DAY} {at(0.5)[:8]}] llm-worker-{other}:90{k}:91{k} [{k}] NCCL WARN NET/IB: Got"
        f" completion from peer 10.8.3.2{worker}<4066{k}> with status=12 opcode=0 len=0"
        " vendor err 129 (Recv) hca mlx5_0"
        for k, other in enumerate(others)
    ]


MAIL = [
    "From: Cloud Support <support@cloud.example>", "To: infra@team.example",
    "Date: Thu, 17 Sep 2026 14:40:09 +0000", "Subject: bm-49002 back in service",
    "MIME-Version: 1.0", "Content-Type: text/plain; charset=utf-8", "", "Hi team,", "",
    "The spontaneous reset of bm-49002 at 10:00 UTC came from an uncorrectable error in system RAM"
    " module P0-DIMMC1. The stick was exchanged and memtest ran clean for 6 hours.", "",
]  # fmt: skip
AWAY = f"{DAY}T{at(20.0)[:8]}Z   Normal   NodeNotReady   node/kgx-h200-0027   Node is not ready"


def test_a_part_that_is_found_out_later_is_why_a_node_that_is_gone_lost_its_connections(
    tmp_path: Path,
) -> None:
    seats = [line.replace(f"llm-worker-{k + 1}", f"llm-worker-{k}") for k in range(4)
             for line in POD_SEATS if f"llm-worker-{k + 1}:" in line]  # fmt: skip
    log = [*seats, *steps(), *votes(2, (0, 1, 3))]
    files = {"job.log": log, "pods.txt": PODS, "events.txt": [AWAY], "mail/1.eml": MAIL}
    wire = said(tmp_path, files, None)

    first = wire["suspects"][0]
    assert (first["node"], first["category"]) == ("kgx-h200-0027", "host_memory")
    without = said(tmp_path, {**files, "mail/1.eml": ["nothing"]}, None)
    assert without["suspects"][0]["category"] != "host_memory"


NODE_FAILED = [
    "srun: error: Node failure on cn02",
    f"slurmstepd: error: *** STEP 4711.0 ON cn01 CANCELLED AT {DAY}T10:00:01 DUE TO NODE FAILURE,"
    " SEE SLURMCTLD LOG FOR DETAILS ***",
]
FANS = (
    "BMC of {node}: FAN_BAY_4 Lower Critical going low, reading 0 RPM; FAN_BAY_8 Lower Critical"
    " going low, reading 0 RPM; FAN_Redundancy Non-redundant:Insufficient Resources;"
    " CHASSIS_FAN_CTRL fan controller board does not answer (I2C NACK); chassis protection: host"
    " powered off. Fan board of the chassis gets replaced, GPUs and PSUs are OK."
)


@pytest.mark.parametrize(("node", "category"), [("cn02", "chassis"), ("cn09", "host_maintenance")])
def test_a_long_line_is_of_the_node_that_it_begins_with(
    tmp_path: Path, node: str, category: str
) -> None:
    files = {"job.log": [*SEATS, *steps(), *NODE_FAILED], "ticket.txt": [FANS.format(node=node)]}
    wire = said(tmp_path, files, None)

    assert wire["verdict"]["category"] == category
    assert [one["node"] for one in wire["suspects"]][:1] == ["cn02"]


def preempted(second: str, reason: str) -> list[str]:
    return [
        f"slurmstepd: error: *** STEP 4711.0 ON cn01 CANCELLED AT {DAY}T{second} ***",
        *(
            f"slurmstepd: error: *** JOB 4711 ON cn01 CANCELLED AT {DAY}T10:10:30{why} ***"
            for why in ((f" DUE TO {reason}",) if reason else ())
        ),
        "submitit ERROR - Submitted job triggered an exception",
    ]


@pytest.mark.parametrize(("reason", "is_certain"), [("PREEMPTION", True), ("", False)])
def test_the_last_step_of_a_scheduler_says_why_it_took_the_job_down(
    tmp_path: Path, reason: str, is_certain: bool
) -> None:
    log = [*SEATS, *steps(), *preempted("10:00:01", reason)]
    verdict = said(tmp_path, {"job.log": log}, None)["verdict"]

    assert (verdict["category"] == "host_maintenance" and verdict["confidence"] > 0.9) == is_certain


def barrier(missing: str) -> list[str]:
    late = [f"[{DAY} 10:30:0{k % 10}] " for k in range(16)]
    return [
        f"{late[0]}[Rank 0]: {missing} failed to pass monitoredBarrier in 1800000 ms",
        *(
            f"{late[rank]}RuntimeError: Rank {rank} successfully reached monitoredBarrier, but"
            " received errors while waiting for send/recv from rank 0. Please check rank 0 logs"
            for rank in range(1, 16)
            if rank not in (9, 11)
        ),
    ]


@pytest.mark.parametrize(
    ("missing", "ranks"), [("Ranks 9", [[9]]), ("Rank 9", [[9]]), ("Ranks 9, 11", [])]
)
def test_who_does_not_reach_a_barrier_is_told_by_the_rank_that_counts(
    tmp_path: Path, missing: str, ranks: list[list[int]]
) -> None:
    log = [*SEATS, *steps(), *barrier(missing)]
    wire = said(tmp_path, {"job.log": log}, None)

    assert [one["ranks"] for one in wire["suspects"]] == ranks


def test_a_node_that_is_not_ready_stops_no_job_whose_pods_are_elsewhere(tmp_path: Path) -> None:
    events = [
        f"{DAY}T09:00:00Z   Normal   NodeNotReady   node/cn09   Node cn09 status is now:"
        " NodeNotReady",
        *(
            f"{DAY}T09:10:00Z   Normal   Scheduled   pod/llm-worker-{k}   Successfully assigned"
            f" ml/llm-worker-{k} to cn0{k}"
            for k in (1, 2)
        ),
    ]
    without_clock = [line.partition("] ")[2] for line in steps()]
    wire = said(tmp_path, {"job.log": without_clock, "events.txt": events}, None)

    assert wire["suspects"] == []


def votes_on(node: str, others: tuple[str, ...]) -> list[str]:
    return [
        f"[{DAY} {at(0.5)[:8]}] {other}:90{k}:91{k} [{k}] NCCL WARN NET/IB: Got completion from"
        f" peer {node}<4066{k}> with status=12 opcode=0 len=0 vendor err 129 (Recv) hca mlx5_0"
        for k, other in enumerate(others)
    ]


@pytest.mark.parametrize(
    ("title", "category"),
    [
        ("GPU fault: NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.", "gpu"),
        ("Job slow: as when we had 'NVRM: Xid (PCI:0000:5d:00): 79' in May", "network"),
    ],
)
def test_an_alert_a_minute_later_tells_the_part_of_connections_that_were_lost(
    tmp_path: Path, title: str, category: str
) -> None:
    details = {"host": "cn02", "description": "gpu=4"} if category == "gpu" else {"text": "cn02"}
    incident = {
        "title": title, "created_at": f"{DAY}T{at(50.0)[:8]}Z", "status": "triggered",
        "service": {"summary": "gpu-fleet"}, "body": {"details": details},
    }  # fmt: skip
    log = [*SEATS, *steps(), *votes_on("cn02", ("cn01", "cn03", "cn04"))]
    files = {"job.log": log, "pagerduty.json": [json.dumps({"incidents": [incident]}, indent=1)]}
    wire = said(tmp_path, files, None)

    first = wire["suspects"][0]
    assert (first["node"], first["category"]) == ("cn02", category)
