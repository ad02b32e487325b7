"""A record that was cut: its counters say what is open, and others in which order."""

import pickle
from pathlib import Path
from typing import Any

import pytest

from triage import analyze

STEPS = 20
START_NS = 1_700_000_000_000_000_000
EVEN, ODD = [0, 2, 4, 6], [1, 3, 5, 7]


def entry(number: int, group: str, desc: str, seq: int, *, done: bool) -> dict[str, Any]:
    created = START_NS + number * 50_000_000
    return {
        "frames": [], "record_id": number, "pg_id": int(group), "process_group": (group, desc),
        "collective_seq_id": seq, "p2p_seq_id": 0, "op_id": number,
        "profiling_name": "nccl:all_reduce", "time_created_ns": created,
        "input_sizes": [[64]], "input_dtypes": ["Float"], "output_sizes": [[64]],
        "output_dtypes": ["Float"], "state": "completed" if done else "scheduled",
        "time_discovered_started_ns": None,
        "time_discovered_completed_ns": created + 40_000_000 if done else None,
        "retired": done, "timeout_ms": 600_000, "is_p2p": False,
    }  # fmt: skip


def dump_of(rank: int) -> dict[str, Any]:
    """Each step one operation of the half, then one of all. The even half hangs in its last."""
    half = "1" if rank in EVEN else "2"
    last_done = rank in ODD
    entries = []
    for seq in range(1, STEPS + 2):
        done = seq <= STEPS
        entries.append(entry(len(entries), half, "mesh_dp", seq, done=done or last_done))
        entries.append(entry(len(entries), "0", "default_pg", seq, done=done))
    counted = {"last_enqueued_collective": STEPS + 1, "last_started_collective": -1}
    members = {"0": sorted(EVEN + ODD), half: EVEN if rank in EVEN else ODD}
    return {
        "version": "2.10",
        "pg_config": {
            name: {
                "name": name,
                "desc": "default_pg" if name == "0" else "mesh_dp",
                "ranks": str(ranks),
            }
            for name, ranks in members.items()
        },
        "pg_status": {
            "0": counted | {"last_completed_collective": STEPS},
            half: counted | {"last_completed_collective": STEPS + last_done},
        },
        "entries": entries,
    }


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.9])
def test_a_cut_record_is_no_sign_of_another_order(tmp_path: Path, kept: float) -> None:
    """Rank 6 is in both operations, as its peers are: nothing says that it skipped one."""
    for rank in sorted(EVEN + ODD):
        data = pickle.dumps(dump_of(rank), 2)
        if rank == 6:
            data = data[: int(len(data) * kept)]
        if rank != 5:
            (tmp_path / f"trace_rank_{rank}").write_bytes(data)
    report = analyze(tmp_path).to_dict()
    assert len(report["coverage"]["partial"]) == 1
    assert 6 not in {rank for one in report["suspects"] for rank in one["ranks"]}
    assert report["verdict"]["category"] != "collective_mismatch"


@pytest.mark.parametrize("open_by_counters", [True, False])
def test_a_cut_record_with_something_unfinished_is_no_idle_host(
    tmp_path: Path, *, open_by_counters: bool
) -> None:
    """Rank 3 lacks the last operation of all. Its counters say whether it waits elsewhere."""
    for rank in range(4):
        entries = [entry(k, "0", "default_pg", k + 1, done=k < STEPS) for k in range(STEPS + 1)]
        issued = STEPS + (rank != 3)
        other = {
            "last_enqueued_collective": 9, "last_started_collective": 9,
            "last_completed_collective": 9 - (open_by_counters and rank == 3),
        }  # fmt: skip
        dump = dump_of(rank) | {
            "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}},
            "pg_status": {
                "0": {
                    "last_enqueued_collective": issued,
                    "last_started_collective": -1,
                    "last_completed_collective": STEPS,
                },
                "17": other,
            },
            "entries": entries[:issued],
        }
        data = pickle.dumps(dump, 2)
        (tmp_path / f"trace_rank_{rank}").write_bytes(data if rank != 3 else data[: len(data) // 2])
    report = analyze(tmp_path).to_dict()
    accused = {rank for one in report["suspects"] for rank in one["ranks"]}
    assert (3 in accused) is not open_by_counters, report["verdict"]["summary"]


def test_where_a_cut_record_ends_its_rank_went_on(tmp_path: Path) -> None:
    """Without counters nothing tells how far rank 2 came: it contradicts nobody."""
    for rank in range(4):
        last = STEPS if rank == 1 else STEPS + 1
        entries = [entry(k, "0", "default_pg", k + 1, done=k < STEPS) for k in range(last)]
        dump = dump_of(0) | {
            "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}},
            "pg_status": {}, "entries": entries,
        }  # fmt: skip
        data = pickle.dumps(dump, 2)
        (tmp_path / f"trace_rank_{rank}").write_bytes(data[: len(data) // 2] if rank == 2 else data)
    report = analyze(tmp_path).to_dict()
    assert [one["ranks"] for one in report["suspects"]] == [[1]]
    assert not any("contradict" in note for note in report["coverage"]["notes"])


def test_counters_that_tell_of_more_than_the_record_prove_no_health(tmp_path: Path) -> None:
    for rank in EVEN + ODD:
        dump = dump_of(rank)
        dump["entries"] = [one for one in dump["entries"] if one["retired"]]
        (tmp_path / f"trace_rank_{rank}").write_bytes(pickle.dumps(dump, 2))
    verdict = analyze(tmp_path).to_dict()["verdict"]
    assert verdict["kind"] != "healthy", verdict["summary"]
