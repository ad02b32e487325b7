"""Spares: the fewest that suffice, by simulation too."""

import numpy as np
import pytest

from triage.statistics.spares import estimate_spares_in_repair


def test_a_simulated_repair_shop_needs_as_many() -> None:
    chance = np.random.default_rng(5)
    arrivals = np.sort(chance.uniform(0, 20_000, chance.poisson(20_000 * 0.5)))
    back = np.sort(arrivals + chance.exponential(7, len(arrivals)))
    at = np.linspace(100, 19_900, 20_000)
    down = np.searchsorted(arrivals, at) - np.searchsorted(back, at)
    spares = estimate_spares_in_repair(100, 0.005, 7)

    assert down.mean() == pytest.approx(spares.mean_down, rel=0.05)
    assert np.mean(down <= spares.at_95) > 0.94
    assert np.mean(down <= spares.at_95 - 1) < 0.96


def test_no_failures_need_no_spares() -> None:
    assert estimate_spares_in_repair(100, 0.0, 7).at_999 == 0
