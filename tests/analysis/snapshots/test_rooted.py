"""A root that went on proves nothing about a rank that never came."""

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.small_job import ROOTED, SmallJob
from triage import analyze

STOP = 30


def job(op: str, *, behind: str = "all_reduce", **changes: Any) -> SmallJob:
    """Operation 30 is rooted; rank 3 never comes. Who finishes by right depends on the kind."""
    through = {
        "broadcast": frozenset({0, 1, 2}),  # the chain from the root on
        "reduce": frozenset({4, 5, 6, 7}),  # what lies behind the missing rank has sent
        "scatter": frozenset({1, 2, 4, 5, 6, 7}),
        "gather": frozenset({1, 2, 4, 5, 6, 7}),
    }[op]
    ops = ("all_reduce", op) * (STOP // 2) + (op, behind)
    given: dict[str, Any] = {"guilty": 3, "stops_at": STOP, "through": through}
    return SmallJob(8, ops, **(given | changes))


def only(report: Mapping[str, Any]) -> list[int]:
    assert report["verdict"]["kind"] == "hang", report["verdict"]
    assert report["verdict"]["category"] == "host_stall"
    return [rank for one in report["suspects"] for rank in one["ranks"]]


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("counters", [False, True])
@pytest.mark.parametrize("timing", [False, True])
@pytest.mark.parametrize("op", ROOTED)
def test_the_rank_that_did_not_come_is_named(
    tmp_path: Path, op: str, *, timing: bool, counters: bool, as_json: bool
) -> None:
    made = job(op, timing=timing, counters=counters).write(tmp_path, as_json=as_json)
    assert only(analyze(made).to_dict()) == [3]


@pytest.mark.parametrize("timing", [False, True])
@pytest.mark.parametrize("op", ROOTED)
def test_in_a_group_of_its_own_too(tmp_path: Path, op: str, *, timing: bool) -> None:
    given = job(op, timing=timing, group_size=4)
    made = given.write(tmp_path)
    assert only(analyze(made).to_dict()) == [3]


@pytest.mark.parametrize("op", ROOTED)
def test_dumps_that_leave_out_what_is_finished(tmp_path: Path, op: str) -> None:
    assert only(analyze(job(op, only_active=True).write(tmp_path)).to_dict()) == [3]


@pytest.mark.parametrize("op", ROOTED)
def test_roots_that_went_on_by_two(tmp_path: Path, op: str) -> None:
    """The next operation is rooted too: who got through stands in it."""
    made = job(op, behind=op).write(tmp_path)
    assert only(analyze(made).to_dict()) == [3]


def test_a_stale_dump_is_told_by_what_needs_everybody(tmp_path: Path) -> None:
    """Near by: all peers finished an all_reduce that the rank has not issued."""
    SmallJob(8, ("all_reduce",) * STOP).write(tmp_path)
    file = tmp_path / "comm_lib_trace_rank_3"
    dump = pickle.loads(file.read_bytes())
    del dump["entries"][-3:]
    for name in ("last_enqueued_collective", "last_completed_collective"):
        dump["pg_status"]["0"][name] -= 3
    file.write_bytes(pickle.dumps(dump, 2))
    report = analyze(tmp_path).to_dict()
    assert report["suspects"] == []
    assert "rank 3 is of another moment" in str(report["coverage"]["notes"])
