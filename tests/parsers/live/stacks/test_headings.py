"""Headings above stacks in one file: whose stack follows."""

import pytest

from tests.support.stack_texts import LOADER, REDUCE, faulthandler_text, py_spy_text
from triage.domain.live.process import UNKNOWN_PROCESS, Process
from triage.parsers.live.stacks.stack_looks import (
    parse_process,
    read_faulthandler_looks,
    read_py_spy_looks,
)


@pytest.mark.parametrize(
    ("line", "rank", "host", "pid"),
    [
        ("##### rank 5 host gpu-m02 pid 4445 #####", 5, "gpu-m02", 4445),
        ("=== Rank: 5 | node=gpu-n02 | PID 4445 ===", 5, "gpu-n02", 4445),
        ("--- [gpu-n02] global rank 12 (local rank 4) ---", 12, "gpu-n02", None),
        ("[rank5] gpu-n02:4445", 5, "gpu-n02", 4445),
        ("rank=5 hostname=node-7.cluster.local", 5, "node-7.cluster.local", None),
        ("# rank 5 (gpu-n02, pid 4445)", 5, "gpu-n02", 4445),
        ("host gpu-n02 pid 4445", None, "gpu-n02", 4445),
        ("** pid 4445 on gpu-n02 **", None, "gpu-n02", 4445),
        (">>> rank_5 @ gpu-n02 2026-04-24 16:10:55", 5, "gpu-n02", None),
        ("==> nodes/gpu-n02/rank_5.txt <==", 5, "gpu-n02", None),
    ],
)
def test_says_whose_stack_follows(
    line: str, rank: int | None, host: str | None, pid: int | None
) -> None:
    process = parse_process(line, UNKNOWN_PROCESS)
    assert process is not None
    assert (process.rank, process.host, process.pid) == (rank, host, pid)


@pytest.mark.parametrize(
    "line",
    [
        "#0  0x00007f0a2b in poll () from /lib/x86_64-linux-gnu/libc.so.6",
        "[New LWP 4440]",
        "[Inferior 1 (process 4410) detached]",
        "# Thread 139741924293504 (MainThread)",
        "Process 4410: python train.py --rank 5",
        'Thread 4410 (idle): "MainThread"',
        "-" * 80,
        "===== local rank 3 =====",
        "##### stacks of all ranks #####",
        "rank of the tensor is 3",
        "ranks: 8",
    ],
)
def test_passes_over_what_is_no_heading(line: str) -> None:
    assert parse_process(line, UNKNOWN_PROCESS) is None


def one_file(heading: str, *, twice: bool = False) -> str:
    text = "".join(
        heading.format(rank=rank, host=f"gpu-{'ab'[rank // 2]}", pid=70 + rank % 2)
        + "\n"
        + py_spy_text(70 + rank % 2, LOADER if rank == 3 else REDUCE)
        + "\n"
        for rank in range(4)
    )
    return text * (1 + twice)


@pytest.mark.parametrize("twice", [False, True])
def test_one_file_of_all_ranks_whose_pids_are_alike_on_two_nodes(twice: bool) -> None:
    text = one_file("=== rank {rank} host {host} pid {pid} ===", twice=twice)
    looks = read_py_spy_looks(text, "all.txt")
    assert len(looks) == 1 + twice
    for look in looks:
        ranks = [one.process.rank for one in look.stacks if one.is_main]
        assert ranks == [0, 1, 2, 3]
        assert look.stacks[-1].process.host == "gpu-b"


def test_headings_without_a_rank_still_part_nodes() -> None:
    (look,) = read_py_spy_looks(one_file("### node {host} pid {pid} ###"), "all.txt")
    homes = {(one.process.host, one.process.pid) for one in look.stacks}
    assert len(homes) == 4


def test_lines_keep_their_numbers() -> None:
    text = one_file("## rank {rank} host {host}")
    (look,) = read_py_spy_looks(text, "all.txt")
    for one in look.stacks:
        assert text.split("\n")[(one.line or 0) - 1].startswith("Thread ")


def test_dumps_of_faulthandler_below_headings_are_one_look() -> None:
    text = "".join(
        f"##### rank {rank} host gpu-{rank // 2} #####\n{faulthandler_text()}" for rank in range(4)
    )
    (look,) = read_faulthandler_looks(text, "all.txt")
    assert [one.process.rank for one in look.stacks if one.is_main] == [0, 1, 2, 3]
    assert len(read_faulthandler_looks(text * 2, "all.txt")) == 2


def test_a_file_without_headings_is_read_as_before() -> None:
    (look,) = read_py_spy_looks("2026-04-24 16:10:55\n" + py_spy_text(70), "rank_3.txt")
    assert {one.process for one in look.stacks} == {
        Process(rank=3, pid=70, command="python pretrain.py")
    }
