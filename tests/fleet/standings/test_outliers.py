"""Who stands out: the published figures, and that lemons do not hide behind their own events."""

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from triage.domain.llama3 import LLAMA3_HOURS, LLAMA3_NODES, LLAMA3_UNEXPECTED
from triage.fleet.standings.strikes import compute_tail_chance, find_outliers
from triage.statistics.rates import adjust_p_values

# Llama 3 (arXiv 2407.21783, section 3.3.4): 28 days of one of its nodes.
MEAN = 28 * LLAMA3_UNEXPECTED / (LLAMA3_NODES * LLAMA3_HOURS / 24)


@pytest.mark.parametrize(
    ("strikes", "chance", "by_chance"),
    [(1, 0.1007, 206.0), (2, 5.24e-3, 10.7), (3, 1.84e-4, 0.38), (4, 4.85e-6, 0.01)],
    ids=["one", "two is noise", "three is a suspect", "four is a lemon"],
)
def test_the_chance_of_strikes_at_the_llama_3_rate(strikes, chance, by_chance):
    p = compute_tail_chance(np.array([float(strikes)]), np.array([MEAN]))[0]

    assert pytest.approx(0.1061, abs=5e-5) == MEAN
    assert p == pytest.approx(chance, rel=5e-3)
    assert LLAMA3_NODES * p == pytest.approx(by_chance, rel=0.03)


def test_nothing_blamed_is_no_surprise():
    assert compute_tail_chance(np.array([0.0]), np.array([0.1]))[0] == 1.0


@pytest.mark.parametrize("share", [0.5, 1 / 3, 0.1])
def test_shares_of_blame_never_look_rarer_than_they_are(share):
    chance = np.random.default_rng(5)
    mean = 0.4
    sums = share * chance.poisson(mean / share, 200_000)

    for blame in (1.0, 2.0):
        true = float(np.mean(sums >= blame - 1e-9))
        assert compute_tail_chance(np.array([blame]), np.array([mean]))[0] >= true


def test_the_adjusted_values_are_those_of_benjamini_and_hochberg():
    p = np.random.default_rng(2).uniform(size=500) ** 2

    assert adjust_p_values(p) == pytest.approx(false_discovery_control(p, method="bh"))


def test_lemons_do_not_raise_the_rate_that_they_are_held_against():
    blame, exposure = np.zeros(200), np.full(200, 56.0)
    blame[:5] = 12.0  # most of all blame
    blame[5:25] = 1.0
    blame[25] = 4.0  # hidden at the rate of all, 0.48; found at that of the others, 0.1

    excess = find_outliers(blame, exposure)

    assert np.flatnonzero(excess.found).tolist() == [0, 1, 2, 3, 4, 25]
    assert excess.rate == pytest.approx(20 / (194 * 56))


def test_without_exposure_nobody_is_tested():
    excess = find_outliers(np.array([9.0, 0.0]), np.array([0.0, 50.0]))

    assert excess.p.tolist() == [1.0, 1.0]
    assert not excess.found.any()


def test_one_event_in_a_fleet_that_never_had_any_is_no_lemon():
    blame, exposure = np.zeros(100), np.full(100, 30.0)
    blame[3] = 1.0

    assert not find_outliers(blame, exposure).found.any()


def test_a_fleet_of_equals_is_found_innocent():
    chance = np.random.default_rng(11)
    exposure = np.full(2048, 56.0)
    wrong = [
        find_outliers(chance.poisson(0.16, 2048).astype(float), exposure).found.any()
        for _ in range(200)
    ]

    assert np.mean(wrong) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)
