"""Node-days bought against node-hours short."""

import numpy as np
import pytest

from triage.statistics.away.methods import Law, compute_spares_costs
from triage.statistics.away.steps import cut_outages

SEEN = cut_outages(np.array([0.0, 5.0]), np.array([10.0, 10.0]), 10.0)


def test_more_spares_cost_more_and_leave_less_short() -> None:
    rows = compute_spares_costs(SEEN, Law(SEEN.share), 2, gpus_per_node=8)

    assert [row.spares for row in rows] == [0, 1, 2, 3]
    assert [row.node_days for row in rows] == [0, 30, 60, 90]
    assert [row.node_hours_short for row in rows] == pytest.approx([1080, 360, 0, 0])
    assert [row.gpu_hours_short for row in rows] == pytest.approx([8640, 2880, 0, 0])
    assert [row.hours_short for row in rows] == pytest.approx([720, 360, 0, 0])
    assert [row.idle_node_days for row in rows] == pytest.approx([0, 0, 15, 45])
    assert [row.in_sample for row in rows] == pytest.approx([0, 0.5, 1, 1])


def test_without_gpus_of_a_node_no_gpu_hours_are_told() -> None:
    assert compute_spares_costs(SEEN, Law(SEEN.share), 0)[0].gpu_hours_short is None


def test_the_table_stays_small() -> None:
    rows = compute_spares_costs(SEEN, Law(SEEN.share), 5_000, 4_321)

    assert len(rows) == 11
    assert {5_000, 4_321} <= {row.spares for row in rows}
