"""Rayleigh: a busy hour is found, an even day is not, midnight is no edge."""

import numpy as np
import pytest
from scipy.optimize import brentq

from triage.statistics.hours_of_day import measure_hours_of_day


def test_events_that_gather_at_noon_are_found_there() -> None:
    found = measure_hours_of_day(12 + 3 * np.random.default_rng(1).normal(size=80))

    assert found.p_value < 1e-6
    assert found.peak_hour.value == pytest.approx(12, abs=1)
    assert found.peak_hour.low < 12 < found.peak_hour.high


def test_an_even_day_raises_the_alarm_no_more_often_than_the_test_says() -> None:
    chance = np.random.default_rng(2)
    p_values = [measure_hours_of_day(chance.uniform(0, 24, 60)).p_value for _ in range(2000)]

    assert np.mean(np.array(p_values) < 0.05) == pytest.approx(0.05, abs=0.02)


def test_a_peak_at_midnight_is_one_peak() -> None:
    found = measure_hours_of_day([23.0, 23.5, 0.0, 0.5, 1.0] * 10)

    assert found.p_value < 1e-6
    assert min(found.peak_hour.value, 24 - found.peak_hour.value) < 0.01
    assert found.peak_hour.low > found.peak_hour.high  # the interval goes over midnight


def test_a_shifted_clock_shifts_the_peak_and_nothing_else() -> None:
    hours = np.random.default_rng(3).normal(9, 4, 50)
    here, there = measure_hours_of_day(hours), measure_hours_of_day(hours + 5)

    assert there.p_value == pytest.approx(here.p_value)
    assert there.peak_hour.value - here.peak_hour.value == pytest.approx(5)


def test_two_peaks_opposite_each_other_are_not_seen() -> None:
    # What the Rayleigh test cannot see: it looks for one time of the day.
    assert measure_hours_of_day([6.0, 18.0] * 30).p_value > 0.9


def test_few_events_are_counted_and_not_tested() -> None:
    found = measure_hours_of_day([1.0, 1.5, 23.99, 24.0])

    assert (found.p_value, found.strength, found.n) == (None, None, 4)
    assert (found.counts[0], found.counts[1], found.counts[23]) == (1, 2, 1)


def around(width: float) -> np.ndarray:
    """20 events as near to noon as ``width`` hours."""
    return 12 + np.linspace(-width, width, 20)


def test_the_p_value_is_that_of_zar_s_table() -> None:
    # Zar, table B.34: the critical z = n R^2 at n = 20 and 5 % is 2.958.
    apart = brentq(
        lambda width: 20 * measure_hours_of_day(around(width)).strength ** 2 - 2.958, 1, 11
    )

    assert measure_hours_of_day(around(apart)).p_value == pytest.approx(0.05, abs=0.001)
