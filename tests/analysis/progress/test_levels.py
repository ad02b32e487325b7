"""Levels of a series, whatever its scale, its noise and its outliers."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.analysis.progress.levels import find_levels

SEEDS = st.integers(0, 10_000)


def series(
    seed: int, sizes: tuple[int, ...], levels: tuple[float, ...], noise: float
) -> np.ndarray:
    rng = np.random.default_rng(seed)
    parts = [level * rng.normal(1, noise, size) for size, level in zip(sizes, levels, strict=True)]
    return np.concatenate(parts)


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.floats(1e-6, 1e9))
def test_scale_moves_no_cut(seed: int, scale: float) -> None:
    values = series(seed, (40, 40), (1.0, 1.08), 0.01)
    cuts = [(one.start, one.stop) for one in find_levels(values)]
    assert [(one.start, one.stop) for one in find_levels(values * scale)] == cuts


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(12, 150), st.integers(12, 150))
def test_five_per_cent_are_found(seed: int, left: int, right: int) -> None:
    found = find_levels(series(seed, (left, right), (1.0, 1.055), 0.005))
    assert len(found) == 2
    assert abs(found[0].stop - left) <= 2


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(5, 400), st.floats(0.0, 0.02))
def test_noise_of_one_per_cent_is_none(seed: int, size: int, noise: float) -> None:
    assert len(find_levels(series(seed, (size,), (1.0,), noise))) == 1


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.floats(0.0, 0.3), st.floats(2.0, 100.0))
def test_outliers_are_no_level(seed: int, share: float, factor: float) -> None:
    values = series(seed, (200,), (1.0,), 0.01)
    values[np.random.default_rng(seed + 1).random(200) < share] *= factor
    assert len(find_levels(values)) == 1


def test_a_phase_has_two_edges() -> None:
    found = find_levels(series(3, (60, 60, 60), (1.0, 1.4, 1.0), 0.01))
    assert [one.start for one in found] == [0, 60, 120]
