"""A dump that can be read and makes no sense: the analysis answers all the same."""

import json
import shutil
from pathlib import Path

import pytest

from tests.hostile.inputs import ROWS, light
from triage.report import analyze

GOOD = Path(__file__).parents[1] / "data" / "nccl-healthy-w8"
# What is in the other rows is all refused.
ODD = [row for row in ROWS if row not in ("code", "memo", "stack")]


@pytest.mark.parametrize("row", ODD)
def test_one_odd_dump_among_eight_leaves_an_answer(row: str, tmp_path: Path) -> None:
    for rank in range(8):
        shutil.copy(GOOD / f"comm_lib_trace_rank_{rank}", tmp_path)

    odd = [one for one in light()[row] if one.wants != "refused"]
    assert odd
    for one in odd:
        (tmp_path / "comm_lib_trace_rank_3").write_bytes(one.make(str(tmp_path / "marker")))
        report = analyze([tmp_path])

        assert json.loads(json.dumps(report.to_dict()))["coverage"]["dumps_read"] >= 7, one.name
        assert "<script>" not in report._repr_html_(), one.name
