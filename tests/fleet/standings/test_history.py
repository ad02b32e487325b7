"""The history of faults: what counts once, what a wave is, and who is away."""

import numpy as np
import pytest

from tests.fleet.fleets import alone, fleet
from tests.fleet.standings.outages import record_of
from triage.fleet.standings.history import (
    as_known_at,
    away_for,
    decayed_faults,
    expected_back,
    history_of,
    wave_weights,
)


def test_a_fault_that_convicted_a_node_and_took_it_out_is_one():
    both = fleet(alone(1, [10.0, 30.0]), outages=[(1, 10.2), (2, 40.0)])

    history = history_of(both)

    assert history.day.round(1).tolist() == [10.0, 30.0, 40.0]
    assert history.back_day.round(1).tolist() == [10.3, 30.0, 40.1]


def test_an_outage_two_days_later_is_another_fault():
    assert len(history_of(fleet(alone(1, [10.0]), outages=[(1, 12.5)]))) == 2


def test_what_came_later_is_not_known():
    rows = [("n001", 10.0, 30.0, "gpu"), ("n002", 40.0, 41.0, "gpu")]

    known = as_known_at(history_of(record_of(rows)), 20.0)

    assert known.back_day.tolist() == [20.0]
    assert away_for(known)[1] == pytest.approx(10.0)
    assert away_for(known)[2] == -1


def test_a_fault_counts_half_a_half_life_after_the_return():
    history = history_of(record_of([("n001", 152.0, 176.0, "gpu"), ("n002", 171.8, 172.0, "gpu")]))

    faded = decayed_faults(history, 28.0, np.ones(2))

    # Of 24 days out a quarter counts.
    assert faded[1] == pytest.approx(0.5 ** (30 / 28))
    assert faded[2] == pytest.approx(0.5, rel=0.01)


def test_a_fault_of_a_wave_tells_less_of_its_node():
    wave = [(f"n{node:03d}", 50.0 + node / 10, 50.1 + node / 10, "cpu") for node in range(40)]
    rows = [*wave, ("n090", 52.0, 52.1, "memory")]

    history = history_of(record_of(rows))
    weights = wave_weights(history)

    [single] = weights[history.node == 90]
    assert single > 5 * weights[history.node != 90].max()
    assert weights.mean() == pytest.approx(1.0)


def test_faults_of_one_node_are_no_wave():
    history = history_of(record_of([("n001", 50.0 + day, 50.1 + day, "cpu") for day in range(9)]))

    assert wave_weights(history) == pytest.approx(np.ones(9))


def test_a_node_that_is_long_away_is_little_in_service():
    short = [(f"n{node:03d}", 10.0 + node, 10.5 + node, "gpu") for node in range(30)]
    rows = [*short, ("n050", 199.8, 300.0, "gpu"), ("n051", 100.0, 300.0, "gpu")]

    share, back = expected_back(history_of(record_of(rows)), 56.0)

    assert share[0] == 1.0
    assert share[50] > 0.9
    assert (share[51], back[51]) == (0.0, 0.0)
    assert (share[0], back[0], back[50]) == (1.0, 1.0, 1.0)


def test_a_record_without_faults_has_no_history():
    history = history_of(fleet())

    assert len(history) == 0
    assert wave_weights(history).shape == (0,)
    assert expected_back(history, 56.0)[0].tolist() == [1.0] * 100
