"""What a name says of a look: its rank, its process, its time."""

import pytest

from triage.domain.evidence import NO_STAMP
from triage.parsers.live.file_names import parse_name_pid, rank_of_name, stamp_of_name


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank_3.txt", 3),
        ("rank3.log", 3),
        ("hang/3.stack", 3),
        ("worker-12.txt", 12),
        ("dump_traceback_rank_0.txt", 0),
        ("rank_gpu07_5.txt", 5),
        ("rank_2_subprocesses.txt", 2),
        ("gpu-n02_rank_5_look2.txt", 5),
        ("rank_12_20261122_083845.txt", 12),
        ("nodes/n4/stacks.txt", None),
        ("gpu-n01.txt", None),
        ("node-3.txt", None),
        ("local_rank_3.txt", None),
        ("r7.txt", 7),
        ("gb-r1n03.pyspy.txt", None),
        ("gb-r3.txt", None),
        ("worker-tp0.pyspy.txt", None),
        ("node_rank_2.txt", None),
        ("pod-7f9c8d-x2k4.txt", None),
        ("pid_4100.txt", None),
        ("4711.txt", None),
        ("2041234.txt", None),
        ("stacks_20261122_083845.txt", None),
        ("round_2.txt", None),
    ],
)
def test_a_rank_in_a_name(name: str, rank: int | None) -> None:
    assert rank_of_name(name, pids=(4711,)) == rank


def test_a_pid_in_a_name() -> None:
    assert parse_name_pid("stacks/pid-4100.txt") == 4100
    assert parse_name_pid("stacks/rank_4100.txt") is None


@pytest.mark.parametrize("name", ["s_20261199_083845.txt", "s_2026.txt", "s_20261122_993845.txt"])
def test_what_is_no_time(name: str) -> None:
    assert stamp_of_name(name) == NO_STAMP
