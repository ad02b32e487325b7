"""The history of faults: what counts once, what is known when, and who is away."""

import pytest

from tests.fleet.fleets import alone, fleet
from tests.fleet.standings.outages import record_of
from triage.fleet.standings.strikes import build_history, cut_history, measure_days_out


def test_a_fault_that_convicted_a_node_and_took_it_out_is_one():
    both = fleet(alone(1, [10.0, 30.0]), outages=[(1, 10.2), (2, 40.0)])

    history = build_history(both)

    assert history.day.round(1).tolist() == [10.0, 30.0, 40.0]
    assert history.back_day.round(1).tolist() == [10.3, 30.0, 40.1]


def test_an_outage_two_days_later_is_another_fault():
    assert len(build_history(fleet(alone(1, [10.0]), outages=[(1, 12.5)]))) == 2


def test_what_came_later_is_not_known():
    rows = [("n001", 10.0, 30.0, "gpu"), ("n002", 40.0, 41.0, "gpu")]

    known = cut_history(build_history(record_of(rows)), 20.0)

    assert known.back_day.tolist() == [20.0]
    assert measure_days_out(known)[1] == pytest.approx(10.0)
    assert measure_days_out(known)[2] == -1


def test_a_record_without_faults_has_no_history():
    history = build_history(fleet())

    assert len(history) == 0
    assert measure_days_out(history).tolist() == [-1.0] * 100
