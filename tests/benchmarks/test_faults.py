"""Two cells of the fault matrix: what was acknowledged is analysed, and no file is blamed."""

import pytest

from benchmarks.faults import Cell, suffer


@pytest.mark.parametrize(
    "cell", [Cell("postgresql", "hang"), Cell("blob folder", "away")], ids=lambda one: one.part
)
def test_a_fault_in_a_burst_costs_time_and_no_file(cell: Cell) -> None:
    found = suffer(cell, 2.0)
    assert found.good, found
