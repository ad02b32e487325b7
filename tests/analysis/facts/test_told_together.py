"""Single lines that say more together: servers, boots, panics, process numbers, bad rows."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.job_folders import (
    BUSES,
    DAY,
    HOSTS,
    KERNELS,
    at,
    ended_by,
    facts,
    init_lines,
    kernel,
    said,
    steps,
    traceback,
    watchdogs,
)
from tests.support.weighing import of
from triage.analysis.facts.stop import SECOND
from triage.analysis.facts.told_together import mark_found_again
from triage.domain.category import Category
from triage.domain.evidence import EvidenceRole, Kind, Stamp

LOST = "nfs: server {} not responding, still trying"


def kernels(**lines: list[tuple[float, str]]) -> dict[str, list[str]]:
    """Kernel logs of all nodes, with lines of some."""
    return {f"nodes/{host}/kernel.log": kernel(host, *lines.get(host, [])) for host in HOSTS}


def named(wire) -> list[str]:
    return [one["node"] for one in wire["suspects"]]


@pytest.mark.parametrize("told_by", [HOSTS, HOSTS[:3], HOSTS[1:3]])
@pytest.mark.parametrize("server", ["nas-7", "10.9.1.4"])
def test_a_server_that_nodes_lose_at_once_for_good(
    tmp_path: Path, told_by: tuple[str, ...], server: str
) -> None:
    lines = {host: [(-2.0 + k, LOST.format(server))] for k, host in enumerate(told_by)}

    wire = said(
        tmp_path, {**kernels(**lines), "job.log": [*steps(), *watchdogs(range(16))]}, facts()
    )

    assert wire["verdict"]["category"] == "storage"
    assert ended_by(wire) == []
    assert not wire["verdict"]["cordon"]


@pytest.mark.parametrize("how", ["one node", "found again", "an hour ago", "other servers"])
def test_a_server_that_is_not_lost_for_good(tmp_path: Path, how: str) -> None:
    lines = {host: [(-2.0 + k, LOST.format("nas-7"))] for k, host in enumerate(HOSTS)}
    if how == "one node":
        lines = {"cn02": lines["cn02"]}
    if how == "found again":
        lines = {host: [*one, (20.0, "nfs: server nas-7 OK")] for host, one in lines.items()}
    if how == "an hour ago":
        lines = {host: [(-4000.0, LOST.format("nas-7"))] for host in HOSTS}
    if how == "other servers":
        lines = {host: [(-2.0, LOST.format(f"nas-{k}"))] for k, host in enumerate(HOSTS[:2])}

    wire = said(
        tmp_path, {**kernels(**lines), "job.log": [*steps(), *watchdogs(range(16))]}, facts()
    )

    assert wire["verdict"]["category"] == "nccl_timeout"
    assert ended_by(wire) == []


NO_NAME = (
    f"{DAY}T{at(0.0)} [rank{{}}]: requests.exceptions.ConnectionError:"
    " http://scorer:8000/score: [Errno -3] Temporary failure in name resolution"
)


@pytest.mark.parametrize(("ranks", "nodes"), [((2, 9), []), ((2, 3, 9), []), ((2, 3), ["cn01"])])
def test_a_service_that_two_nodes_cannot_reach_is_on_neither(
    tmp_path: Path, ranks: tuple[int, ...], nodes: list[str]
) -> None:
    job = [*init_lines(), *steps(), *(NO_NAME.format(rank) for rank in ranks)]
    files = {**KERNELS, "job.log": [*job, *watchdogs(set(range(16)) - {*ranks})]}

    wire = said(tmp_path, files, facts())

    assert wire["verdict"]["category"] == "dependency"
    assert named(wire) == nodes
    assert ended_by(wire) == []


def test_a_service_that_all_nodes_cannot_reach_is_one_cause(tmp_path: Path) -> None:
    """What each node says of it alone rivals what the others say."""
    lost = "socket.gaierror: [Errno -3] Temporary failure in name resolution: 'store.lan'"
    own = {
        f"nodes/{host}/train.log": [
            f"[rank{4 * k + j}]: {DAY}T{at(0.5 * k)} {lost}" for j in range(4)
        ]
        for k, host in enumerate(HOSTS)
    }
    wire = said(tmp_path, {**KERNELS, **own, "job.log": [*init_lines(), *steps()]}, facts())

    assert wire["verdict"]["category"] == "dependency"
    assert wire["verdict"]["confidence"] > 0.5
    assert named(wire) == ended_by(wire) == []


BOOT = "Linux version 6.5.0-1024-x (build@h) (gcc 12.3.0) #24 SMP"


@pytest.mark.parametrize("after", [25.0, 240.0])
def test_a_node_that_boots_while_the_others_wait(tmp_path: Path, after: float) -> None:
    ranks = [rank for rank in range(16) if rank // 4 != 2]

    wire = said(
        tmp_path,
        {**kernels(cn03=[(after, BOOT)]), "job.log": [*steps(), *watchdogs(ranks)]},
        facts(),
    )

    assert named(wire)[0] == "cn03"
    assert not wire["verdict"]["cordon"]


@pytest.mark.parametrize("how", ["its ranks wait too", "two nodes", "afterwards", "the day before"])
def test_a_boot_that_tells_nothing(tmp_path: Path, how: str) -> None:
    ranks = [rank for rank in range(16) if rank // 4 != 2]
    lines = kernels(cn03=[(25.0, BOOT)])
    if how == "its ranks wait too":
        ranks = list(range(16))
    if how == "two nodes":
        lines = kernels(cn03=[(25.0, BOOT)], cn02=[(30.0, BOOT)])
        ranks = [rank for rank in range(16) if rank // 4 not in (1, 2)]
    if how == "afterwards":
        lines = kernels(cn03=[(900.0, BOOT)])
        ranks = list(range(16))
    if how == "the day before":
        lines = kernels(cn03=[(-9000.0, BOOT)])
        ranks = list(range(16))

    wire = said(tmp_path, {**lines, "job.log": [*steps(), *watchdogs(ranks)]}, facts())

    assert "cn03" not in named(wire)


PANICS = (
    "Kernel panic - not syncing: Fatal exception in interrupt",
    "Kernel panic - not syncing: softlockup: hung tasks",
    "Kernel panic - not syncing: VFS: Unable to mount root fs",
    "Kernel panic - not syncing: Fatal machine check",
)


@pytest.mark.parametrize("text", PANICS[:2] + PANICS[3:])
@pytest.mark.parametrize("oops", [True, False])
def test_a_kernel_that_gives_up_takes_its_node(tmp_path: Path, text: str, *, oops: bool) -> None:
    before = "BUG: kernel NULL pointer dereference, address: 0000000000000058"
    lines = [*([(-1.0, before)] if oops else []), (-0.5, text)]
    ranks = [rank for rank in range(16) if rank // 4 != 1]

    wire = said(
        tmp_path, {**kernels(cn02=lines), "job.log": [*steps(), *watchdogs(ranks)]}, facts()
    )

    assert ended_by(wire)[0][0] == "cn02"
    assert wire["suspects"][0]["action"] in ("reboot_node", "drain_node")


HUNG = [
    (121.0, "INFO: task python3:7005 blocked for more than 120 seconds."),
    (242.0, "INFO: task python3:7005 blocked for more than 241 seconds."),
]
GAVE_UP = (242.1, "Kernel panic - not syncing: hung_task: blocked tasks")
ON_ITS_BUS = f"NVRM: Xid (PCI:{BUSES[1]}): 79, pid=7, name=python3, GPU has fallen off the bus."
SERVER = (-1.0, LOST.format("nas-7"))


def asked_of_cn02(tmp_path: Path, logs: dict[str, list[tuple[float, str]]]):
    ranks = [rank for rank in range(16) if rank // 4 != 1]
    lines = [*steps(), *watchdogs(ranks)]
    return said(tmp_path, {**kernels(**logs), "job.log": lines}, facts())


@pytest.mark.parametrize("before", [HUNG, [], [SERVER, *HUNG]])
def test_a_kernel_that_gives_up_waiting_names_its_node(
    tmp_path: Path, before: list[tuple[float, str]]
) -> None:
    wire = asked_of_cn02(tmp_path, {"cn02": [*before, GAVE_UP]})

    assert named(wire) == ["cn02"]
    assert wire["verdict"]["category"] == "host_stall"
    assert not wire["verdict"]["cordon"]


def test_a_kernel_that_gives_up_waiting_at_the_stop_takes_its_node(tmp_path: Path) -> None:
    wire = asked_of_cn02(tmp_path, {"cn02": [(2.0, GAVE_UP[1])]})

    assert ended_by(wire)[0][0] == "cn02"
    assert wire["verdict"]["action"] == "reboot_node"


@pytest.mark.parametrize(
    "logs",
    [
        {"cn02": HUNG},
        {host: [SERVER, *HUNG, *([GAVE_UP] if host == "cn02" else [])] for host in HOSTS},
        {host: [*HUNG, *([GAVE_UP] if host == "cn02" else [])] for host in HOSTS},
        {host: [*HUNG, GAVE_UP] for host in HOSTS},
    ],
    ids=["no panic", "one server", "all wait", "all give up"],
)
def test_tasks_that_wait_on_many_nodes_accuse_none(
    tmp_path: Path, logs: dict[str, list[tuple[float, str]]]
) -> None:
    assert named(asked_of_cn02(tmp_path, logs)) == []


def test_a_kernel_gives_up_waiting_for_the_part_that_failed_before(tmp_path: Path) -> None:
    wire = asked_of_cn02(tmp_path, {"cn02": [(-1.0, ON_ITS_BUS), *HUNG, GAVE_UP]})

    assert [(node, category) for node, _, category in ended_by(wire)] == [("cn02", "gpu")]


def test_a_kernel_that_gave_up_a_day_before_did_not(tmp_path: Path) -> None:
    lines = kernels(cn02=[(-90_000.0 + 50_000, PANICS[0])])

    wire = said(tmp_path, {**lines, "job.log": [*steps(), *watchdogs(range(16))]}, facts())

    assert ended_by(wire) == []


@pytest.mark.parametrize("signal", [11, 7, 4])
@pytest.mark.parametrize("init", [True, False])
def test_a_process_that_a_signal_ended_is_placed_by_its_number(
    tmp_path: Path, signal: int, *, init: bool
) -> None:
    left = (
        "E0917 10:00:02.000000 6999 torch/distributed/elastic/multiprocessing/api.py:874] failed"
        f" (exitcode: -{signal}) local_rank: 1 (pid: 7009) of binary: /usr/bin/python3"
    )
    fault = "python3[7009]: segfault at 10 ip 00007f1a2b3c4d5e sp 00007ffd12345678 error 4 in x.so"
    job = [*(init_lines() if init else []), *steps(), left,
           *watchdogs(rank for rank in range(16) if rank != 9)]  # fmt: skip

    wire = said(tmp_path, {**kernels(cn03=[(0.0, fault)]), "job.log": job}, facts())

    assert ended_by(wire)[0][:2] == ("cn03", [9])
    assert "no line says on which node" not in wire["verdict"]["summary"]


def test_a_number_that_two_nodes_have_places_nobody(tmp_path: Path) -> None:
    left = (
        "E0917 10:00:02.000000 6999 torch/distributed/elastic/multiprocessing/api.py:874] failed"
        " (exitcode: -11) local_rank: 1 (pid: 7009) of binary: /usr/bin/python3"
    )
    fault = "python3[7009]: segfault at 10 ip 00007f1a2b3c4d5e sp 00007ffd12345678 error 4 in x.so"
    files = kernels(cn02=[(0.0, fault)], cn03=[(0.0, fault)])

    wire = said(tmp_path, {**files, "job.log": [*steps(), left]}, facts())

    assert ended_by(wire) == []


XID_94 = f"NVRM: Xid (PCI:{BUSES[1]}): 94, pid=7009, name=python3, Contained: SM (0x1). RST: No"
XID_63 = (
    "NVRM: Xid (PCI:{}): 63, pid=7009, name=python3, Row Remapper: New row (0x00000000abcd1234)"
    " marked for remapping, reset gpu to activate."
)


@pytest.mark.parametrize(
    ("bus", "second", "part"),
    [
        (BUSES[1], -1.9, "gpu_hbm"),
        (BUSES[1], -4.0, "gpu_hbm"),
        (BUSES[2], -1.9, "gpu_sram"),
        (BUSES[1], -3000.0, "gpu_sram"),
        (None, 0.0, "gpu_sram"),
    ],
)
def test_a_bad_row_tells_which_memory(
    tmp_path: Path, bus: str | None, second: float, part: str
) -> None:
    lines = [(-2.0, XID_94), *([(second, XID_63.format(bus))] if bus else [])]
    error = "RuntimeError: CUDA error: uncorrectable ECC error encountered"
    job = [*init_lines(), *steps(), *traceback(9, error)]

    wire = said(tmp_path, {**kernels(cn03=lines), "job.log": job}, facts())

    assert wire["verdict"]["category"] == part
    assert wire["verdict"]["cordon"] == ["cn03"]


KILLED = (
    "python3 invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0,"
    " oom_score_adj=0",
    "Out of memory: Killed process {} (python3) total-vm:1912345678kB, anon-rss:1012345678kB,"
    " file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:2000000kB oom_score_adj:0",
)


@pytest.mark.parametrize("ahead_s", [-700.0, -270.0, 0.0, 45.0, 270.0])
def test_a_process_is_killed_when_its_launcher_says_so(tmp_path: Path, ahead_s: float) -> None:
    lines = [(ahead_s + k / 10, text.format(7009)) for k, text in enumerate(KILLED)]

    wire = said(tmp_path, {**kernels(cn03=lines), "job.log": signalled(7009)}, facts())

    assert ended_by(wire)[0] == ("cn03", [9], "host_oom")


def test_the_kill_of_another_process_is_not_of_the_stop(tmp_path: Path) -> None:
    lines = [(-270.0 + k / 10, text.format(6001)) for k, text in enumerate(KILLED)]

    wire = said(tmp_path, {**kernels(cn03=lines), "job.log": signalled(7009)}, facts())

    assert ("cn03", [9], "host_oom") not in ended_by(wire)


def signalled(pid: int) -> list[str]:
    """A job whose rank 9 is killed, as its launcher says."""
    report = [
        "Root Cause (first observed failure):",
        "[0]:",
        f"  time      : {DAY}_{at(0.0)[:8]}",
        "  host      : cn03",
        "  rank      : 9 (local_rank: 1)",
        f"  exitcode  : -9 (pid: {pid})",
        "  error_file: <N/A>",
        f"  traceback : Signal 9 (SIGKILL) received by PID {pid}",
    ]
    return [*init_lines(), *steps(), *report, *watchdogs(rank for rank in range(16) if rank != 9)]


@pytest.mark.parametrize(
    ("after_s", "peer", "role"),
    [(9, "10.1.1.1@o2ib", "advice"), (90, "10.1.1.1@o2ib", "root"), (9, "10.1.1.2@o2ib", "root")],
    ids=["at once", "later", "another server"],
)
def test_a_server_that_is_found_again_at_once_was_a_hitch(
    after_s: int, peer: str, role: str
) -> None:
    lost = of(Category.STORAGE, Kind.STORAGE, "n1", 0.0)
    lost = replace(lost, peer="10.1.1.1@o2ib", last_stamp=Stamp(uptime_ns=100 * SECOND))
    back = replace(
        lost, peer=peer, role=EvidenceRole.NOISE, fields={"cleared": "yes"},
        last_stamp=Stamp(uptime_ns=(100 + after_s) * SECOND),
    )  # fmt: skip
    first, _ = mark_found_again([lost, back])
    assert first.role == role
