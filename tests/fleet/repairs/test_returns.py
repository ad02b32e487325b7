"""Returns: the chain outage, repair, return, and what came after."""

import math

import numpy as np

from tests.fleet.repairs.planted import returns
from triage.fleet.domain.cause import OutageCause, RepairAction
from triage.fleet.repairs.returns import ACTIONS, CAUSES


def test_each_return_knows_why_it_was_out_what_was_done_and_what_came_next():
    found = returns(("a", 10, 12, "cable replaced"), ("b", 11, 13, "NIC"), ("a", 20, 21, "GPU"))

    assert found.day.tolist() == [12, 13, 21]
    assert found.next_day.tolist() == [20, math.inf, math.inf]
    assert CAUSES[found.cause[0]] is OutageCause.CABLE
    assert ACTIONS[found.action[0]] is RepairAction.SWAP_CABLE
    assert found.action[1] == -1
    np.testing.assert_equal(found.before_days, [np.nan, np.nan, 8.0])


def test_a_return_whose_time_is_not_over_is_not_counted_as_good():
    found = returns(("a", 90, 95, "GPU"), ("b", 50, 60, "GPU"))

    assert found.over(7).tolist() == [True, False]
    assert found.over(30).tolist() == [True, False]
    assert found.over(30, day=80).tolist() == [False, False]


def test_a_node_that_never_came_back_is_out_and_no_return():
    found = returns(("a", 10, None, "GPU"), ("b", 10, 11, "GPU"))

    assert len(found) == 1
    assert found.num_out == 1


def test_outages_that_overlap_are_one_return():
    found = returns(("a", 10, 14, "unknown"), ("a", 12, 13, "GPU"), ("a", 14, 15, "GPU"))

    assert found.day.tolist() == [15]


def test_a_planned_outage_is_no_fault_after_a_return():
    found = returns(("a", 10, 11, "GPU"), ("a", 12, 13, "scheduled maintenance"))

    assert found.next_day.tolist() == [math.inf]


def test_without_an_outage_there_is_no_return():
    assert len(returns()) == 0


def test_of_a_very_long_record_the_newest_ten_years_are_used_and_it_says_so():
    found = returns(("a", 10, 11, "GPU"), ("a", 4990, 4991, "GPU"), days=5000)

    assert found.day.tolist() == [4991]
    assert found.before_days.tolist() == [4979]
    assert "not used: 1" in found.notes[0]
