"""The daily swing: recovered with its hour, and not found in noise of any colour."""

import numpy as np
import pytest
from scipy.signal import lfilter

from triage.statistics.daily_cycle import fit_daily_cycle


def series(
    seed: int,
    *,
    swing: float = 0.0,
    noise: float = 0.02,
    days: float = 14.0,
    per_day: int = 96,
    memory: float = 0.0,
    uneven: bool = False,
    peak_hour: float = 14.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Step times around 1 s; ``swing`` is A, ``memory`` the AR(1) coefficient of the noise."""
    chance = np.random.default_rng(seed)
    n = int(days * per_day)
    hours = np.arange(n) / per_day * 24
    if uneven:
        hours = np.sort(chance.uniform(0, days * 24, n))
    rest = lfilter([1], [1, -memory], chance.normal(size=n + 500))[500:]
    rest *= noise * np.sqrt(1 - memory**2)
    return hours, 1 + swing * np.cos(2 * np.pi * (hours - peak_hour) / 24) + rest


@pytest.mark.parametrize("uneven", [False, True], ids=["even", "uneven"])
@pytest.mark.parametrize("swing", [0.005, 0.0075, 0.01])
def test_a_swing_of_half_a_percent_and_more_is_recovered(swing: float, uneven: bool) -> None:
    found = fit_daily_cycle(*series(1, swing=swing, days=28, per_day=288, uneven=uneven))

    assert found.found
    assert found.amplitude.value == pytest.approx(swing, rel=0.2)
    assert found.amplitude.low < swing < found.amplitude.high
    assert found.peak_hour.value == pytest.approx(14, abs=1.0)
    assert found.mean == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(
    ("memory", "uneven"), [(0.0, False), (0.0, True), (0.5, False), (0.9, False), (0.98, False)]
)
def test_noise_raises_no_alarm(memory: float, uneven: bool) -> None:
    given = {"memory": memory, "uneven": uneven, "days": 10, "per_day": 24}
    alarms = [fit_daily_cycle(*series(seed, **given)).found for seed in range(300)]

    # One in a hundred is allowed; nine of 300 are more than chance makes of that (p < 0.2 %).
    assert sum(alarms) < 9


def test_the_swing_is_found_under_noise_with_a_memory() -> None:
    found = fit_daily_cycle(*series(2, swing=0.01, memory=0.7, days=28))

    assert found.found
    assert found.autocorrelation == pytest.approx(0.7, abs=0.05)
    assert found.amplitude.value == pytest.approx(0.01, rel=0.2)


def test_a_memory_makes_the_interval_wider() -> None:
    plain, slow = (fit_daily_cycle(*series(3, memory=memory)).amplitude for memory in (0.0, 0.9))

    assert slow.high - slow.low > 2 * (plain.high - plain.low)


def test_a_swing_of_another_period_is_no_daily_one() -> None:
    hours, values = series(4, days=28)
    for period_h in (20.0, 12.0, 30.0, 7 * 24.0):
        assert not fit_daily_cycle(
            hours, values + 0.02 * np.cos(2 * np.pi * hours / period_h)
        ).found


def test_a_drift_is_no_swing() -> None:
    hours, values = series(5, days=10)

    assert not fit_daily_cycle(hours, values + 0.001 * hours).found


def test_a_few_restarts_do_not_hide_the_swing() -> None:
    hours, values = series(6, swing=0.01, days=28)
    values[::400] *= 30

    assert fit_daily_cycle(hours, values).amplitude.value == pytest.approx(0.01, rel=0.25)


def test_order_does_not_matter_and_what_is_no_number_is_left_out() -> None:
    hours, values = series(7, swing=0.01)
    order = np.random.default_rng(0).permutation(len(hours))
    with_gaps = np.append(values[order], np.nan), np.append(hours[order], 3.0)

    assert fit_daily_cycle(with_gaps[1], with_gaps[0]) == fit_daily_cycle(hours, values)


def test_a_shifted_clock_shifts_the_peak_alone() -> None:
    hours, values = series(8, swing=0.01, peak_hour=20)
    here, there = fit_daily_cycle(hours, values), fit_daily_cycle(hours + 6, values)

    assert there.amplitude.value == pytest.approx(here.amplitude.value)
    assert (there.peak_hour.value - here.peak_hour.value) % 24 == pytest.approx(6)


@pytest.mark.parametrize(
    ("hours", "values", "why"),
    [
        ([], [], "0 samples"),
        (np.arange(23) * 24.0, np.arange(23.0), "23 samples"),
        (np.arange(60.0), np.arange(60.0) % 7, "2.5 days"),
        (np.arange(240.0), np.ones(240), "does not change"),
    ],
    ids=["nothing", "few", "short", "constant"],
)
def test_too_little_is_not_fitted_and_said(hours, values, why: str) -> None:
    found = fit_daily_cycle(hours, values)

    assert (found.found, found.amplitude.value, found.p_value) == (None, None, None)
    assert why in found.notes[0]
