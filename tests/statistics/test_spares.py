"""Spares: the fewest that suffice, by simulation too."""

import numpy as np
import pytest
from scipy.stats import binom

from triage.statistics.spares import (
    estimate_spares_in_repair,
    solve_spares_for_availability,
)


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
    assert solve_spares_for_availability(100, 1.0) == 0


@pytest.mark.parametrize("nodes", [1, 3, 50, 511])
@pytest.mark.parametrize("availability", [0.9, 0.99, 0.9999])
def test_one_spare_fewer_would_not_do(nodes: int, availability: float) -> None:
    spares = solve_spares_for_availability(nodes, availability)

    assert binom.cdf(spares, nodes + spares, 1 - availability) >= 0.99
    if spares:
        assert binom.cdf(spares - 1, nodes + spares - 1, 1 - availability) < 0.99


def test_nodes_that_are_never_up_cannot_be_helped() -> None:
    assert solve_spares_for_availability(10, 0.0) is None
