"""Over-dispersion: found in clusters, not in Poisson counts; intervals widen with it."""

import numpy as np
import pytest

from triage.statistics.dispersion import (
    measure_dispersion,
)
from triage.statistics.rates import (
    compute_wider_bounds,
    count_bounds,
    estimate_mtti,
    estimate_rate,
)


def clustered(seed: int, mean: float, factor: float, days: int) -> np.ndarray:
    success = 1 / factor
    return np.random.default_rng(seed).negative_binomial(mean / (factor - 1), success, days)


def test_clusters_are_found_and_their_size_is_told() -> None:
    found = measure_dispersion(clustered(1, 6.0, 4.0, 400))

    assert found.clustered
    assert found.index == pytest.approx(4.0, rel=0.25)
    assert found.factor == found.index


def test_poisson_counts_raise_the_alarm_no_more_often_than_the_test_says() -> None:
    chance = np.random.default_rng(2)
    alarms = [measure_dispersion(chance.poisson(7.76, 54)).clustered for _ in range(1000)]

    assert np.mean(alarms) < 0.07


def test_rare_events_are_judged_in_longer_windows() -> None:
    chance = np.random.default_rng(3)
    found = [measure_dispersion(chance.poisson(0.05, 360)) for _ in range(300)]

    assert all(one.window_days is None or one.window_days >= 8 for one in found)
    assert np.mean([one.clustered for one in found]) < 0.08


def test_too_regular_counts_are_no_clusters() -> None:
    found = measure_dispersion([5] * 30)

    assert (found.index, found.clustered, found.factor) == (0.0, False, 1.0)


def test_a_day_with_half_the_exposure_may_have_half_the_events() -> None:
    days = np.array([10, 5] * 40)

    assert measure_dispersion(days, np.array([2.0, 1.0] * 40)).index == pytest.approx(0.0)
    assert measure_dispersion(days).index > 0


# Windows are merged, and what is left over at the end fills none: there lie the events of the last.
@pytest.mark.parametrize("counts", [[], [0, 0, 0], [1], [3, 9, 1], [*[0] * 10, 6]])
def test_too_little_is_not_tested_and_said(counts: list[int]) -> None:
    found = measure_dispersion(counts)

    assert (found.index, found.p_value, found.factor) == (None, None, 1.0)
    assert "not tested" in found.notes[0]


@pytest.mark.parametrize("events", [0, 1, 7, 419])
def test_bounds_are_garwood_s_at_factor_one_and_widen_from_there(events: int) -> None:
    same, near, far = (compute_wider_bounds(events, factor) for factor in (1.0, 1.001, 3.0))

    assert same == count_bounds(events)
    assert near == pytest.approx(same, rel=0.01, abs=0.01)
    assert far[0] <= same[0] < same[1] < far[1]


def test_the_wider_interval_holds_the_truth_where_the_plain_one_does_not() -> None:
    totals = [int(clustered(seed, 5.0, 4.0, 60).sum()) for seed in range(600)]
    wide = [compute_wider_bounds(k, 4.0) for k in totals]
    plain = [count_bounds(k) for k in totals]

    assert np.mean([low <= 300 <= high for low, high in wide]) > 0.93
    assert np.mean([low <= 300 <= high for low, high in plain]) < 0.8


def test_estimates_keep_their_value_and_say_that_they_were_widened() -> None:
    plain, wide = estimate_mtti(40, 100.0), estimate_mtti(40, 100.0, 3.0)

    assert wide.value == plain.value
    assert wide.low < plain.low < plain.high < wide.high
    assert "clusters" in wide.notes[0]
    assert estimate_rate(40, 100.0, 1.0, unit="x") == estimate_rate(40, 100.0, unit="x")
    assert estimate_mtti(0, 100.0, 3.0).high is None


@pytest.mark.parametrize("factor", [1.001, 3.0, 80.0, 320.0, 3_000.0, 1e6])
@pytest.mark.parametrize("events", [0, 1, 2, 5, 30, 1_000])
def test_the_widest_clusters_have_bounds_that_are_as_wide_as_garwoods_at_least(events, factor):
    low, high = compute_wider_bounds(events, 1.0)
    wide_low, wide_high = compute_wider_bounds(events, factor)

    assert 0 <= wide_low <= low <= events <= high <= wide_high < float("inf")
