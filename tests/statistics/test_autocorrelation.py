"""Autocorrelation: told from the samples, and two drifting series do not agree by chance."""

import numpy as np
import pytest
from scipy.signal import lfilter

from triage.statistics.daily_cycle import compute_lag_one_correlation, measure_agreement


def walk(seed: int, memory: float, n: int = 300) -> np.ndarray:
    return lfilter([1], [1, -memory], np.random.default_rng(seed).normal(size=n + 500))[500:]


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_the_memory_of_noise_is_told(memory: float) -> None:
    told = [compute_lag_one_correlation(np.arange(300.0), walk(seed, memory)) for seed in range(40)]

    assert np.mean(told) == pytest.approx(memory, abs=0.05)


def test_a_pair_across_a_gap_does_not_count() -> None:
    hours = np.concatenate([np.arange(50.0), 1_000 + np.arange(50.0)])
    values = np.concatenate([walk(1, 0.9, 50), walk(2, 0.9, 50)])
    values[50] += 100  # the jump is between two stretches

    assert compute_lag_one_correlation(hours[:51], values[:51]) < compute_lag_one_correlation(
        hours[:50], values[:50]
    )


def test_values_that_swing_from_one_to_the_next_have_no_memory() -> None:
    assert compute_lag_one_correlation(np.arange(100.0), np.arange(100) % 2.0) == 0
    assert compute_lag_one_correlation(np.arange(100.0), np.ones(100)) == 0
    assert compute_lag_one_correlation(np.arange(5.0), np.arange(5.0)) == 0


def test_series_that_go_together_agree() -> None:
    inlet = walk(3, 0.8)
    found = measure_agreement(
        np.arange(300.0), inlet, 2 * inlet + np.random.default_rng(4).normal(size=300)
    )

    assert found.correlation.value > 0.9
    assert found.correlation.low < found.correlation.value < found.correlation.high
    assert found.p_value < 1e-6


def test_two_slow_series_agree_by_chance_no_more_often_than_the_test_says() -> None:
    hours = np.arange(300.0)
    p_values = np.array(
        [
            measure_agreement(hours, walk(seed, 0.9), walk(seed + 9_000, 0.9)).p_value
            for seed in range(400)
        ]
    )
    naive = np.array(
        [
            abs(np.corrcoef(walk(seed, 0.9), walk(seed + 9_000, 0.9))[0, 1]) > 1.96 / 300**0.5
            for seed in range(400)
        ]
    )

    assert np.mean(p_values < 0.05) < 0.09
    assert np.mean(naive) > 0.3


def test_order_does_not_matter() -> None:
    hours, one, other = np.arange(300.0), walk(5, 0.5), walk(6, 0.5)
    mixed = np.random.default_rng(0).permutation(300)

    assert measure_agreement(hours, one, other) == measure_agreement(
        hours[mixed], one[mixed], other[mixed]
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [(np.arange(9.0), np.arange(9.0)), (np.ones(50), np.arange(50.0))],
    ids=["few", "constant"],
)
def test_too_little_is_not_compared(one: np.ndarray, other: np.ndarray) -> None:
    found = measure_agreement(np.arange(len(one)), one, other)

    assert (found.correlation.value, found.p_value) == (None, None)
