"""Kaplan-Meier: published data, scipy's answers, censoring that counts."""

import numpy as np
import pytest
from scipy.stats import CensoredData, ecdf

from triage.statistics.lifetimes import estimate_survival_curve

# Remission under 6-MP, in weeks (Freireich et al., Blood 21, 1963); 12 of 21 censored.
WEEKS = np.array([6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35.0])
ENDED = np.array([1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0], bool)


def test_the_curve_of_freireich_s_data() -> None:
    found = estimate_survival_curve(WEEKS, ENDED)

    assert found.times == (6, 7, 10, 13, 16, 22, 23)
    printed = [0.8571, 0.8067, 0.7529, 0.6902, 0.6275, 0.5378, 0.4482]
    assert found.alive == pytest.approx(printed, abs=5e-5)
    assert (found.median.value, found.median.high) == (23, None)
    assert (found.num_failed, found.num_censored) == (9, 12)


def test_the_band_is_scipy_s() -> None:
    found = estimate_survival_curve(WEEKS, ENDED)
    curve = ecdf(CensoredData.right_censored(WEEKS, ~ENDED)).sf
    band = curve.confidence_interval(method="log-log")

    assert found.low == pytest.approx(band.low.evaluate(found.times), abs=1e-12)
    assert found.high == pytest.approx(band.high.evaluate(found.times), abs=1e-12)


def test_censored_times_left_out_would_shorten_life() -> None:
    with_them = estimate_survival_curve(WEEKS, ENDED)
    without = estimate_survival_curve(WEEKS[ENDED], ENDED[ENDED])

    assert without.median.value < with_them.median.value
    assert without.alive[-1] == 0
    assert (without.low[-1], without.high[-1]) == (None, None)


def test_order_does_not_matter_and_thinning_keeps_the_ends() -> None:
    chance = np.random.default_rng(1)
    times, failed = chance.exponential(5, 500), chance.random(500) < 0.8
    order = chance.permutation(500)
    full, thin = (
        estimate_survival_curve(times, failed),
        estimate_survival_curve(times[order], failed[order], points=50),
    )

    assert thin.median == full.median
    assert len(thin.times) == 50
    assert (thin.times[0], thin.times[-1]) == (full.times[0], full.times[-1])
    assert set(zip(thin.times, thin.alive, strict=True)) <= set(
        zip(full.times, full.alive, strict=True)
    )


def test_nothing_failed_gives_no_curve() -> None:
    found = estimate_survival_curve(np.array([4.0, 5.0]), np.array([False, False]))

    assert (found.times, found.median.value, found.num_censored) == ((), None, 2)
