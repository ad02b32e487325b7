"""Logs of many hosts: whose lines are evidence, which are everyday, and of which day they are."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.job_folders import (
    DAY,
    HOSTS,
    at,
    ended_by,
    facts,
    init_lines,
    kernel,
    said,
    steps,
    traceback,
)
from triage.parsers.files.job_file import parse_job

XID = "NVRM: Xid (PCI:0000:5d:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
LOST = "NVRM: The GPU at 0000:5d:00.0 does not answer"
SEATS = [f"{DAY} 09:50:00 {line}" for line in init_lines()]


def merged(*lines: tuple[str, float, str]) -> list[str]:
    """One syslog of all hosts, in the order of time."""
    usual = [(host, -1200.0 + k, "eth0: link is up") for k, host in enumerate((*HOSTS, "cn09"))]
    return [
        f"{DAY}T{at(second)}000+00:00 {host} kernel: {text}"
        for host, second, text in sorted([*usual, *lines], key=lambda one: one[1])
    ]


def test_a_node_that_nothing_ties_to_the_job_is_not_convicted(tmp_path: Path) -> None:
    log = [*steps(), "[rank3]: RuntimeError: CUDA error: unknown error"]
    wire = said(tmp_path, {"job.log": log, "all/syslog": merged(("cn09", 1.0, XID))}, None)

    assert ended_by(wire) == []
    assert wire["verdict"]["cordon"] == []


@pytest.mark.parametrize("tied", ["by job.json", "by its ranks"])
def test_a_node_of_the_job_is(tmp_path: Path, tied: str) -> None:
    job = facts() if tied == "by job.json" else None
    log = [*([] if job else SEATS), *steps(), "[rank5]: RuntimeError: CUDA error: unknown error"]
    wire = said(tmp_path, {"job.log": log, "all/syslog": merged(("cn02", 1.0, XID))}, job)

    assert [node for node, _, _ in ended_by(wire)] == ["cn02"]


def test_what_a_machine_beside_the_job_tells_is_no_cause(tmp_path: Path) -> None:
    killed = "Out of memory: Killed process 75019 (solver) total-vm:1kB, anon-rss:1kB"
    log = [*SEATS, *steps(), *traceback(5, "ValueError: no such column")]
    wire = said(tmp_path, {"job.log": log, "all/syslog": merged(("cn09", 1.0, killed))}, facts())

    assert wire["verdict"]["category"] == "software_user"


def lost(host: str, second: float, server: str) -> tuple[str, float, str]:
    words = "was lost; in progress operations using this service will wait for recovery"
    return host, second, f"Lustre: work-{server}: Connection to {server} (at 10.9.9.7@o2ib) {words}"


def test_what_one_node_after_the_other_complains_of_is_everyday(tmp_path: Path) -> None:
    hiccups = [lost(HOSTS[k % 4], -3000.0 + 600 * k, f"OST{k}") for k in range(6)]
    wire = said(tmp_path, {"job.log": [*SEATS, *steps()], "all/syslog": merged(*hiccups)}, facts())

    assert wire["verdict"]["category"] != "storage"


def test_what_all_of_them_lose_at_once_is_an_outage(tmp_path: Path) -> None:
    gone = [lost(host, -3.0 + k / 10, "OST1") for k, host in enumerate(HOSTS)]
    log = [*SEATS, *steps(), "OSError: [Errno 5] Input/output error: '/scratch/data/shard-7'"]
    wire = said(tmp_path, {"job.log": log, "all/syslog": merged(*gone)}, facts())

    assert wire["verdict"]["category"] == "storage"


def test_a_daemon_s_errno_is_not_the_job_s(tmp_path: Path) -> None:
    usual = "daemon.warning irqbalance[2011]: Cannot change IRQ 1256 affinity: Input/output error"
    lines = [f"{DAY}T{at(-2.0)}000+00:00 {host} {usual}" for host in HOSTS]
    wire = said(tmp_path, {"job.log": [*SEATS, *steps()], "all/syslog": lines}, facts())

    assert wire["verdict"]["category"] != "storage"


def test_a_fault_of_weeks_ago_is_not_why_a_job_that_moved_since_stopped(tmp_path: Path) -> None:
    old = f"Aug 27 10:00:00 cn02 kernel: [736183.000000] {XID}"
    usual = [
        f"Sep 17 10:{k:02}:00 {HOSTS[k % 4]} kernel: [{2918735 + k}.735294] eth0: link is up"
        for k in range(40)
    ]
    files = {"job.log": [*SEATS, *steps()], "all/messages": [old, *usual]}
    wire = said(tmp_path, files, facts(exit_code=None))

    assert ended_by(wire) == []
    assert wire["verdict"]["cordon"] == []


@pytest.mark.parametrize(("day", "convicted"), [("Aug 27", []), ("Sep 17", ["cn02"])])
def test_nor_is_one_why_a_job_is_slow_whose_progress_has_no_clock(
    tmp_path: Path, day: str, convicted: list[str]
) -> None:
    slow = [f"step: {k} loss: 2.5 iter time (s): {30.0 if k > 60 else 10.0}" for k in range(90)]
    log = [f"{day} 10:00:00 cn02 kernel: [736183.000000] {XID}"]
    log += [f"Sep 17 10:{k + 9}:00 {HOSTS[k]} kernel: eth0: link is up" for k in range(4)]
    wire = said(tmp_path, {"job.log": slow, "all/messages": log}, facts(exit_code=None))

    assert [node for node, _, _ in ended_by(wire)] == convicted


def votes(node: str, others: tuple[str, ...]) -> list[str]:
    return [
        f"[{DAY} {at(0.5)[:8]}] {other}:90{k}:91{k} [{k}] NCCL WARN NET/IB: Got completion from"
        f" peer {node}<4066{k}> with status=12 opcode=0 len=0 vendor err 129 (Recv) hca mlx5_0"
        for k, other in enumerate(others)
    ]


def test_connections_to_who_raised_above_them_follow_from_that(tmp_path: Path) -> None:
    error = "torch.AcceleratorError: CUDA error: an illegal memory access was encountered"
    log = [*SEATS, *steps(), *traceback(4, error, 0.0), *votes("cn02", ("cn01", "cn03", "cn04"))]
    wire = said(tmp_path, {"job.log": log}, facts())

    assert wire["verdict"]["category"].startswith("software")


def test_a_fabric_in_which_all_lose_all_is_no_node_s(tmp_path: Path) -> None:
    status = "with status=12 opcode=0 len=0 vendor err 129 (Recv) hca mlx5_0"
    nodes = [f"cn{k:02}" for k in range(1, 17)]
    seats = [f"{DAY} 09:50:00 {line}" for line in init_lines()]
    pairs = [(nodes[k], nodes[(k + 3) % 16]) for k in range(16)]
    pairs += [("cn05", "cn01"), ("cn05", "cn11")]
    log = [*seats, *steps()] + [
        f"[{DAY} {at(1.0)[:8]}] {a}:70{k}:80{k} [0] NCCL WARN NET/IB: Got completion from peer"
        f" {b}<46001> {status}"
        for k, (a, b) in enumerate(pairs)
    ]
    job = facts(nodes=nodes, world_size=64)
    wire = said(tmp_path, {"job.log": log}, job)

    assert wire["verdict"]["category"] == "network"
    assert ended_by(wire) == []


def test_a_log_in_local_time_is_dated_by_the_zone_in_which_its_end_meets_the_kernels_errors(
    tmp_path: Path,
) -> None:
    local = [
        line.replace("T10:", "T12:").replace("+00:00", "+02:00")
        for line in kernel("cn02", (1.0, XID))
    ]
    error = f"[{DAY} {at(1.0)[:8]}] [rank5]: RuntimeError: CUDA error: unknown error"
    files = {"job.log": [*SEATS, *steps(), error]}
    files = {
        "job.log": [
            line.replace(" 09:", " 11:").replace(" 10:", " 12:") for line in files["job.log"]
        ],
        "syslog/cn02.log": local,
    }
    wire = said(tmp_path, files, facts())

    assert [node for node, _, _ in ended_by(wire)] == ["cn02"]
    assert any("UTC+02:00, as kernel logs print it" in note for note in wire["coverage"]["notes"])


@pytest.mark.parametrize(
    ("others", "own"),
    [
        ({"hosts": ["n1", "n2"]}, ("nodes", ("n1", "n2"))),
        ({"gpus_per_host": 8}, ("gpus_per_node", 8)),
        ({"exit_status": 1, "end": "2026-01-10T11:49:18Z"}, ("failed_at", "2026-01-10T11:49:18Z")),
        ({"state": "FAILED", "ended_at": "2026-01-10"}, ("failed_at", "2026-01-10")),
        ({"exit_code": None, "exit_status": 1, "end": "2026-01-10"}, ("failed_at", "2026-01-10")),
        ({"state": "COMPLETED", "end": "2026-01-10"}, ("failed_at", None)),
        ({"failed_at": "2026-01-10"}, ("failed_at", "2026-01-10")),
        ({"exit_status": 0, "end": "2026-01-10"}, ("failed_at", None)),
        ({"nodes": ["n3"], "hosts": ["n1"]}, ("nodes", ("n3",))),
    ],
)
def test_a_job_file_of_another_launcher(others: dict[str, Any], own: tuple[str, Any]) -> None:
    job, problem = parse_job(json.dumps(others).encode())

    assert problem is None
    assert getattr(job, own[0]) == own[1]


def test_a_node_beside_the_job_that_goes_away_stops_nothing(tmp_path: Path) -> None:
    event = {
        "kind": "Event", "type": "Warning", "reason": "NodeNotReady",
        "message": "Node xq9 status is now: NodeNotReady",
        "involvedObject": {"kind": "Node", "name": "xq9"}, "lastTimestamp": f"{DAY}T09:59:00Z",
    }  # fmt: skip
    files = {
        "job.log": [*SEATS, *steps(), *traceback(5, "ValueError: no such column")],
        "events.json": json.dumps({"kind": "List", "items": [event]}, indent=1).split("\n"),
    }
    wire = said(tmp_path, files, None)

    assert wire["verdict"]["category"] == "software_user"
    assert all(one["node"] != "xq9" for one in wire["suspects"])


@pytest.mark.parametrize("job", ["llm-7b-e9d4", "ft"])
def test_pods_of_a_job_are_labels_whatever_their_part_of_it_is_called(
    tmp_path: Path, job: str
) -> None:
    error = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.32 GiB."
    pods = [f"{job}-master-0", *(f"{job}-worker-{k}" for k in range(5))]
    log = [f"{pods[0]} trainer [rank0]: {line}" for line in steps()]
    log += [f"{pod} trainer Exception ignored in: <function f at 0x7f>" for pod in pods]
    log += [f"{pods[3]} trainer [rank9]: {line}" for line in traceback(None, error)]
    wire = said(tmp_path, {"stern.log": log}, facts())

    assert wire["verdict"]["category"] == "gpu_oom"


def test_a_job_whose_table_of_times_names_a_slow_node_is_not_healthy(tmp_path: Path) -> None:
    table = ["time,node,compute_s,wait_s"]
    for minute in range(50, 60):
        for host in HOSTS:
            took = "13.688,0.383" if host == "cn03" else "5.921,8.244"
            table.append(f"{DAY}T09:{minute}:00Z,{host},{took}")
    brake = "GPU 3 of cn03: HW power brake slowdown is active"
    files = {
        "job.log": [*SEATS, *steps()],
        "steps.csv": table,
        "chat.json": json.dumps([{"user": "ann", "ts": f"{DAY}T11:00:00Z", "text": brake}]).split(
            "\n"
        ),
    }
    wire = said(tmp_path, files, facts(exit_code=None))

    assert [node for node, _, _ in ended_by(wire)] == ["cn03"]
