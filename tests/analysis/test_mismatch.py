"""A pair that disagrees is a tie, whatever each of the two issued before."""

import json
from pathlib import Path

import pytest

import triage

Operation = tuple[str, list[int], list[list[int]]]
SECOND = 10**9
SUM: Operation = ("all_reduce", [64], [[64]])


def gather(size: int) -> Operation:
    """What the root of a gather records."""
    return "gather", [size], [[size], [size]]


def scatter_of(size: int) -> Operation:
    """What a member beside the root of a scatter records."""
    return "scatter", [], [[size]]


def write_dump(folder: Path, rank: int, operations: list[Operation]) -> None:
    """The record of one of two ranks; its last operation is unfinished."""
    entries = [
        {
            "record_id": number,
            "pg_id": 0,
            "process_group": ["0", "default_pg"],
            "collective_seq_id": number + 1,
            "p2p_seq_id": 0,
            "op_id": number + 1,
            "profiling_name": f"nccl:{name}",
            "time_created_ns": 1_760_000_000 * SECOND + number * SECOND,
            "input_sizes": [given],
            "input_dtypes": ["Float"],
            "output_sizes": taken,
            "output_dtypes": ["Float"],
            "state": "completed" if number < len(operations) - 1 else "scheduled",
            "retired": number < len(operations) - 1,
            "timeout_ms": 600_000,
            "is_p2p": False,
            "frames": [],
        }
        for number, (name, given, taken) in enumerate(operations)
    ]
    group = {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}
    dump = {"version": "2.10", "entries": entries, "pg_config": {"0": group}}
    (folder / f"nccl_trace_rank_{rank}.json").write_text(json.dumps(dump))


@pytest.mark.parametrize(
    ("past", "of_rank_0"),
    [
        pytest.param([SUM] * 5, gather(64), id="it gathers for the first time"),
        pytest.param([SUM, gather(3), SUM, gather(4)], gather(5), id="it gathered before"),
        pytest.param([SUM, scatter_of(2), SUM], gather(5), id="it may have gathered before"),
        pytest.param([SUM] * 5, ("all_reduce", [65], [[65]]), id="another size, first time"),
        pytest.param(
            [SUM, ("all_reduce", [65], [[65]])] * 2, ("all_reduce", [65], [[65]]),
            id="another size, as before",
        ),
    ],
)  # fmt: skip
def test_of_two_nobody_is_convicted(
    past: list[Operation], of_rank_0: Operation, tmp_path: Path
) -> None:
    write_dump(tmp_path, 0, [*past, of_rank_0])
    write_dump(tmp_path, 1, [*past, SUM])
    answer = triage.analyze(tmp_path).answer
    assert (answer.verdict.kind, answer.verdict.category) == ("desync", "collective_mismatch")
    assert {rank for one in answer.suspects for rank in one.ranks} == {0, 1}
    assert {one.role for one in answer.suspects} == {"possible"}
    assert max(one.score for one in answer.suspects) < 0.5
