"""A rank that recorded nothing has issued nothing, where the others count."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from tests.support.small_job import SmallJob
from triage import analyze


def first_operation(folder: Path, *, as_json: bool, op: str, **changes: Any) -> Path:
    """All but rank 3 wait in the first operation of the job; its communicators exist."""
    job = SmallJob(4, (op,), guilty=3, stops_at=0, **changes)
    return job.write(folder, as_json=as_json)


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("timing", [False, True])
@pytest.mark.parametrize("op", ["all_reduce", "_all_gather_base", "broadcast"])
def test_who_issued_nothing_is_named(
    tmp_path: Path, op: str, *, timing: bool, as_json: bool
) -> None:
    report = analyze(first_operation(tmp_path, as_json=as_json, op=op, timing=timing)).to_dict()
    assert [one["ranks"] for one in report["suspects"]] == [[3]]
    assert report["verdict"]["category"] == "host_stall"


def test_json_leaves_the_entries_out_where_there_are_none(tmp_path: Path) -> None:
    first_operation(tmp_path, as_json=True, op="all_reduce")
    file = tmp_path / "comm_lib_trace_rank_3.json"
    dump = json.loads(file.read_text())
    del dump["entries"]
    file.write_text(json.dumps(dump))
    report = analyze(tmp_path).to_dict()
    assert [one["ranks"] for one in report["suspects"]] == [[3]]


def test_a_ring_that_has_wrapped_may_have_forgotten(tmp_path: Path) -> None:
    """Near by: a rank whose ring holds other groups' operations, and no longer the first ones."""
    job = SmallJob(4, ("all_reduce",) * 30, guilty=3, stops_at=29)
    job.write(tmp_path)
    file = tmp_path / "comm_lib_trace_rank_3"
    dump = pickle.loads(file.read_bytes())
    dump["pg_status"] = {}
    dump["pg_config"]["7"] = {"name": "7", "desc": "other", "ranks": "[3]"}
    for number, entry in enumerate(dump["entries"]):
        entry["process_group"] = ("7", "other")
        entry["record_id"] = 4000 + number
    file.write_bytes(pickle.dumps(dump, 2))
    report = analyze(tmp_path).to_dict()
    assert [one["ranks"] for one in report["suspects"] if one["role"] == "culprit"] == []
    assert "all ranks of" not in report["verdict"]["summary"].lower()
