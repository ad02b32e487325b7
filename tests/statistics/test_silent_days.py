"""Silent days: named where silence is no chance, not where it is."""

import numpy as np
import pytest

from triage.statistics.dispersion import compute_silence_probability, find_silent_days


def test_a_day_without_a_stop_at_size_is_named() -> None:
    counts = np.array([8, 7, 9, 0, 6, 8] * 5)
    counts[9:] = 8
    found = find_silent_days(counts, np.ones(len(counts)))

    assert found.days == (3,)
    assert found.likelihood < 1e-3


def test_a_quiet_day_of_a_small_fleet_is_no_news() -> None:
    counts = np.random.default_rng(1).poisson(1.0, 60)

    assert (counts == 0).any()
    assert find_silent_days(counts, np.ones(60)).days == ()


def test_a_day_on_which_nothing_ran_may_be_silent() -> None:
    counts, exposure = np.array([8, 7, 0, 9, 8]), np.array([1.0, 1.0, 0.0, 1.0, 1.0])

    assert find_silent_days(counts, exposure).days == ()


def test_in_clusters_silence_says_less() -> None:
    counts = np.array([20, 0, 18, 1, 25, 0, 12, 9])

    assert find_silent_days(counts, np.ones(8)).days == (1, 5)
    assert find_silent_days(counts, np.ones(8), factor=8.0).days == ()
    assert compute_silence_probability(8.0, 1.0) == pytest.approx(
        compute_silence_probability(8.0, 1.0001), rel=1e-3
    )


def test_no_event_or_no_exposure_says_nothing() -> None:
    assert find_silent_days(np.zeros(5, int), np.ones(5)).days == ()
    assert find_silent_days(np.zeros(0, int), np.zeros(0)).likelihood is None
