"""NCCL's way back through its own files names no cause; the warning above it does."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import triage


def answer(folder: Path, lines: Sequence[str]) -> triage.Report:
    folder.mkdir(exist_ok=True)
    (folder / "nccl.log").write_text("\n".join(lines) + "\n")
    facts = {"job_id": "5", "world_size": 4, "gpus_per_node": 4, "nodes": ["gpu-7"]}
    (folder / "job.json").write_text(json.dumps(facts))
    return triage.analyze(folder)


def of_pid(pid: int, *texts: str) -> list[str]:
    return [f"gpu-7:{pid}:{pid + 60} [{pid % 4}] {text}" for text in texts]


WAY_BACK = ("NCCL INFO transport/net_ib.cc:1301 -> 2", "NCCL INFO proxy.cc:1531 -> 3")


@pytest.mark.parametrize(
    "way",
    [
        WAY_BACK,
        ("NCCL INFO bootstrap.cc:77 -> 2", "NCCL INFO init.cc:1402 -> 2"),
        ("NCCL INFO misc/socket.cc:552 -> 2",),
    ],
)
def test_alone_it_is_no_cause(way: Sequence[str], tmp_path: Path) -> None:
    report = answer(tmp_path, [line for pid in range(3) for line in of_pid(4400 + pid, *way)])
    assert report.verdict.category in ("nccl_timeout", "none")
    assert not any(suspect.role == "culprit" for suspect in report.answer.suspects)


@pytest.mark.parametrize(
    "call",
    [
        "ibv_reg_mr failed with error Cannot allocate memory",
        "ibv_reg_mr_iova2 failed with error Cannot allocate memory errno 12",
        "ibv_create_cq failed with error Cannot allocate memory",
        "ibv_create_qp failed with error Cannot allocate memory",
    ],
)
def test_memory_that_cannot_be_locked(call: str, tmp_path: Path) -> None:
    warning = f"misc/ibvwrap.cc:278 NCCL WARN Call to {call}"
    lines = [line for pid in range(4) for line in of_pid(4400 + pid, warning, *WAY_BACK)]
    report = answer(tmp_path, lines)
    assert report.verdict.category == "dependency"
    assert {suspect.category for suspect in report.answer.suspects} <= {"dependency"}
    assert not report.verdict.cordon


def test_an_adapter_that_is_gone_stays_an_adapter(tmp_path: Path) -> None:
    warning = "misc/ibvwrap.cc:262 NCCL WARN Call to ibv_modify_qp failed with error No such device"
    report = answer(tmp_path, of_pid(4401, warning, *WAY_BACK))
    assert report.verdict.category == "nic"


@pytest.mark.parametrize(
    "line",
    [
        "misc/shmutils.cc:72 NCCL WARN Error: failed to extend /dev/shm/nccl-aX9 to 33030532 bytes,"
        " error: No space left on device (28)",
        "include/shm.h:48 NCCL WARN Call to posix_fallocate failed : No space left on device",
    ],
)
def test_shared_memory_of_the_container_is_too_small(line: str, tmp_path: Path) -> None:
    report = answer(tmp_path, [one for pid in range(4) for one in of_pid(4400 + pid, line)])
    assert report.verdict.category == "dependency"
    assert "host memory" not in report.verdict.summary


@pytest.mark.parametrize(
    ("line", "category"),
    [
        ("RuntimeError: unable to write to file </torch_812_1874593817_0>", "dependency"),
        (
            "RuntimeError: unable to open shared memory object </torch_812_5678> in read-write"
            " mode: No space left on device (28)",
            "dependency",
        ),
        (
            "ERROR: Unexpected bus error encountered in worker. This might be caused by"
            " insufficient shared memory (shm).",
            "dependency",
        ),
        (
            "RuntimeError: DataLoader worker (pid 812) is killed by signal: Bus error. It is"
            " possible that dataloader's workers are out of shared memory. Please try to raise"
            " your shared memory limit.",
            "dependency",
        ),
        ("RuntimeError: DataLoader worker (pid 812) is killed by signal: Killed.", "host_oom"),
        (
            "RuntimeError: unable to mmap 2147483648 bytes from file </torch_812_12>: Cannot"
            " allocate memory (12)",
            "host_oom",
        ),
    ],
)
def test_shared_memory_is_a_setting_and_the_memory_of_the_host_is_not(
    line: str, category: str, tmp_path: Path
) -> None:
    report = answer(tmp_path, [f"[rank1]: {line}"])
    assert report.verdict.category == category
    assert report.verdict.cordon == ()


@pytest.mark.parametrize(
    ("path", "category"),
    [
        ("/dev/shm/torch_812", "dependency"),
        ("/lustre/ckpt/step_100", "storage"),
        ("/tmp/ray/session_2026/plasma0", "host_oom"),
    ],
)
def test_no_space_is_of_what_was_full(path: str, category: str, tmp_path: Path) -> None:
    line = f"[rank1]: OSError: [Errno 28] No space left on device: '{path}'"
    assert answer(tmp_path, [line]).verdict.category == category
