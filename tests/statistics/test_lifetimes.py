"""Kaplan-Meier and Weibull: published data, scipy's answers, censoring that counts."""

import numpy as np
import pytest
from scipy.stats import CensoredData, ecdf, weibull_min

from triage.statistics.lifetimes import estimate_survival_curve, fit_weibull_shape

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


def test_the_shape_is_scipy_s_maximum_likelihood() -> None:
    found = fit_weibull_shape(WEEKS, ENDED)
    shape, _, scale = weibull_min.fit(CensoredData.right_censored(WEEKS, ~ENDED), floc=0)

    assert found.shape.value == pytest.approx(shape, rel=1e-3)
    assert found.scale == pytest.approx(scale, rel=1e-3)
    assert found.shape.low < shape < found.shape.high


@pytest.mark.parametrize(
    ("shape", "reading"),
    [(0.6, "infant mortality"), (1.0, "constant rate"), (1.8, "wear-out")],
)
def test_the_shape_says_how_things_age(shape: float, reading: str) -> None:
    chance = np.random.default_rng(3)
    lived, cut = 100 * chance.weibull(shape, 400), chance.uniform(0, 300, 400)
    found = fit_weibull_shape(np.minimum(lived, cut), lived <= cut)

    assert found.reading == reading
    assert found.shape.low < shape < found.shape.high


def test_the_interval_holds_the_shape_as_often_as_it_says() -> None:
    chance = np.random.default_rng(4)
    held = 0
    for _ in range(300):
        found = fit_weibull_shape(chance.weibull(1.3, 40), np.ones(40, bool)).shape
        held += found.low <= 1.3 <= found.high

    assert held / 300 > 0.91


@pytest.mark.parametrize(
    ("times", "failed"),
    [([], []), ([1.0, 2, 3, 4], [1, 1, 1, 1]), ([5.0] * 9, [1] * 9), ([1.0, 2] * 9, [0] * 18)],
    ids=["none", "four", "all alike", "all censored"],
)
def test_too_little_is_not_fitted_and_said(times: list[float], failed: list[int]) -> None:
    found = fit_weibull_shape(np.array(times), np.array(failed, bool))

    assert (found.shape.value, found.scale, found.reading) == (None, None, None)
    assert "not fitted" in found.shape.notes[0]


def test_a_gap_of_zero_is_fitted() -> None:
    times = np.concatenate([[0.0, 0.0], np.random.default_rng(5).exponential(3, 50)])

    assert 0.3 < fit_weibull_shape(times, np.ones(52, bool)).shape.value < 1.2
