"""The next period: its count lies within the interval, and a drift is told from a burst."""

import numpy as np
import pytest

from tests.support.planted_outages import KINDS, planted_outages
from triage.statistics import next_period
from triage.statistics.next_period import compute_ratio_bounds, estimate_next_events, judge_drift


@pytest.mark.parametrize("kind", KINDS)
def test_the_next_quarter_lies_within_what_the_last_one_expects(kind: str) -> None:
    within = []
    for seed in range(20):
        at = planted_outages(kind, seed).start
        for begin in (0.0, 90.0, 180.0):
            quarter = at[(at >= begin) & (at < begin + 90)] - begin
            after = np.count_nonzero((at >= begin + 90) & (at < begin + 180))
            said = estimate_next_events(quarter, 90.0)
            assert said.low is not None
            assert said.high is not None
            within.append(said.low <= after <= said.high)

    assert np.mean(within) >= 0.88


def test_the_interval_is_not_absurdly_wide() -> None:
    said = estimate_next_events(np.linspace(0, 89, 300), 90.0)

    assert said.value == 300
    assert said.low is not None
    assert said.low > 100
    assert said.high is not None
    assert said.high < 800


def test_bursts_widen_it() -> None:
    even = np.linspace(0, 89, 300)
    bursts = np.repeat(np.linspace(0, 89, 10), 30)
    plain, wide = estimate_next_events(even, 90.0), estimate_next_events(bursts, 90.0)

    assert wide.low is not None
    assert plain.low is not None
    assert wide.low < plain.low
    assert "bursts" in wide.notes[0]


def test_after_no_event_there_is_a_bound_alone() -> None:
    said = estimate_next_events(np.empty(0), 30.0)

    assert (said.value, said.low, said.n) == (None, 0.0, 0)
    assert said.high is not None
    assert 3 < said.high < 12


def test_two_counts_of_one_rate_differ_by_chance_alone_without_drift(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(next_period, "DRIFT", 0.0)
    low, high = compute_ratio_bounds(100.0)

    assert (low, high) == pytest.approx((0.757, 1.32), abs=0.01)


def test_a_steady_rate_drifts_no_more_often_than_the_test_says() -> None:
    ways = [judge_drift(planted_outages("alone", seed).start, 360.0).way for seed in range(120)]

    assert ways.count("steady") >= 108


def test_a_rate_that_halves_is_found_and_its_way_told() -> None:
    start = np.concatenate([np.linspace(0, 99, 400), np.linspace(100, 199, 200)])
    found = judge_drift(start, 200.0)

    assert found.way == "fell"
    assert found.ratio.value == pytest.approx(0.5)
    assert found.p_value is not None
    assert found.p_value < 0.05


def test_few_events_tell_no_drift() -> None:
    found = judge_drift(np.array([1.0, 2.0, 70.0]), 90.0)

    assert (found.way, found.p_value, found.ratio.value) == (None, None, None)
    assert "3 events are too few" in found.ratio.notes[0]
