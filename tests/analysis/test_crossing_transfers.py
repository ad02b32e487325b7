"""Two ranks that send to each other at once: an order that never worked, or a place that fails."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from triage import analyze
from triage.analysis.snapshots.p2p import STEADY_SEQ

START_NS = 1_795_000_000_000_000_000
WORLD = 2


def transfer(
    number: int, rank: int, peer: int, seq: int, *, send: bool, done: bool
) -> dict[str, Any]:
    ends = f"{rank}->{peer}" if send else f"{rank}<-{peer}"
    created = START_NS + number * 50_000_000
    return {
        "frames": [], "record_id": number, "pg_id": 0, "process_group": ("0", "default_pg"),
        "collective_seq_id": 0, "p2p_seq_id": seq, "op_id": number,
        "profiling_name": f"nccl:{'send' if send else 'recv'} {ends}", "time_created_ns": created,
        "input_sizes": [[64]], "input_dtypes": ["Float"], "output_sizes": [[64]],
        "output_dtypes": ["Float"], "state": "completed" if done else "scheduled",
        "time_discovered_started_ns": None,
        "time_discovered_completed_ns": created + 40_000_000 if done else None,
        "retired": done, "timeout_ms": 600_000, "is_p2p": True,
    }  # fmt: skip


def dump_of(rank: int, steps: int, order: tuple[bool, bool]) -> dict[str, Any]:
    """Each step a transfer to the other of the pair and one from it; the last step hangs."""
    entries: list[dict[str, Any]] = []
    for step in range(steps + 1):
        for send in order:
            number, done = len(entries), step < steps
            entries.append(transfer(number, rank, 1 - rank, number + 1, send=send, done=done))
    return {
        "version": "2.10",
        "pg_config": {
            "0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(WORLD)))},
        },
        "pg_status": {},
        "entries": entries,
    }


def category(folder: Path, steps: int, order: tuple[bool, bool]) -> str:
    folder.mkdir()
    facts = {"world_size": WORLD, "exit_code": 1, "failed_at": "2026-11-18T11:30:00Z"}
    (folder / "job.json").write_text(json.dumps(facts))
    for rank in range(WORLD):
        (folder / f"trace_rank_{rank}").write_bytes(pickle.dumps(dump_of(rank, steps, order), 2))
    return str(analyze(folder).to_dict()["verdict"]["category"])


@pytest.mark.parametrize(
    ("steps", "order", "said"),
    [
        pytest.param(1, (True, False), "collective_mismatch", id="an order that never worked"),
        pytest.param(STEADY_SEQ, (True, False), "nccl_timeout", id="one that long did"),
        pytest.param(STEADY_SEQ, (False, True), "collective_mismatch", id="both receive first"),
    ],
)
def test_transfers_that_cross(
    tmp_path: Path, steps: int, order: tuple[bool, bool], said: str
) -> None:
    assert category(tmp_path / "fr", steps, order) == said
