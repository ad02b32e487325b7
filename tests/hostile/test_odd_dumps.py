"""A dump that can be read and makes no sense: the analysis answers all the same."""

import json
import shutil
from itertools import groupby
from pathlib import Path

import pytest

from tests.hostile.inputs import everything
from triage.report import analyze

GOOD = Path(__file__).parents[1] / "data" / "nccl-healthy-w8"
ODD = {
    row: list(group)
    for row, group in groupby(
        (one for one in everything() if one.wants != "refused" and not one.heavy),
        lambda one: one.row,
    )
}


@pytest.mark.parametrize("row", ODD)
def test_one_odd_dump_among_eight_leaves_an_answer(row: str, tmp_path: Path) -> None:
    for rank in range(8):
        shutil.copy(GOOD / f"comm_lib_trace_rank_{rank}", tmp_path)

    for one in ODD[row]:
        (tmp_path / "comm_lib_trace_rank_3").write_bytes(one.make(str(tmp_path / "marker")))
        report = analyze([tmp_path])

        assert json.loads(json.dumps(report.to_dict()))["coverage"]["dumps_read"] >= 7, one.name
        assert "<script>" not in report._repr_html_(), one.name
