"""Two groups of one name and one set of ranks: their numbers are counted apart."""

import pickle
from pathlib import Path
from typing import Any

from tests.analysis.test_cut_records import entry
from triage import analyze

WORLD = 4
STEPS = 20


def dump_of(rank: int, stopped: int | None) -> dict[str, Any]:
    """Each step one operation of each group; in the last, ``stopped`` issues none of the second."""
    entries: list[dict[str, Any]] = []
    for seq in range(1, STEPS + 1):
        last = seq == STEPS
        entries.append(entry(len(entries), "0", "default_pg", seq, done=True))
        if not (last and rank == stopped):
            entries.append(entry(len(entries), "0", "mesh_dp", seq, done=not last))
    return {
        "version": "2.10",
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": str([*range(WORLD)])}},
        "pg_status": {},
        "entries": entries,
    }


def test_who_lacks_an_operation_of_one_of_them_is_named(tmp_path: Path) -> None:
    for rank in range(WORLD):
        (tmp_path / f"trace_rank_{rank}").write_bytes(pickle.dumps(dump_of(rank, 2), 2))
    report = analyze(tmp_path).to_dict()
    assert report["verdict"]["category"] != "collective_mismatch"
    assert [one["ranks"] for one in report["suspects"] if one["role"] == "culprit"] == [[2]]
