"""Autocorrelation, told from the samples."""

import numpy as np
import pytest
from scipy.signal import lfilter

from triage.statistics.daily_cycle import compute_lag_one_correlation


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
