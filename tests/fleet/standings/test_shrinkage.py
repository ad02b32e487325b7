"""The Gamma prior of a fleet, and rates shrunk towards it."""

import numpy as np
import pytest
from scipy.stats import gamma

from triage.fleet.standings.shrinkage import GammaPrior, fit_prior, posterior


@pytest.mark.parametrize("shape", [0.3, 2.0])
def test_finds_the_prior_that_the_rates_were_drawn_from(shape):
    chance = np.random.default_rng(7)
    exposure = chance.uniform(20, 60, 20_000)
    days = shape / 0.02
    counts = chance.poisson(chance.gamma(shape, 1 / days, 20_000) * exposure).astype(float)

    prior = fit_prior(counts, exposure)

    assert prior is not None
    assert prior.shape == pytest.approx(shape, rel=0.15)
    assert prior.shape / prior.days == pytest.approx(0.02, rel=0.05)


def test_a_fleet_of_equals_is_shrunk_nearly_to_one_rate():
    chance = np.random.default_rng(3)
    exposure = np.full(5000, 56.0)
    counts = chance.poisson(0.3, 5000).astype(float)

    prior = fit_prior(counts, exposure)
    assert prior is not None
    mean, _, _ = posterior(prior, np.array([0.0, 3.0]), np.array([56.0, 56.0]))

    assert prior.shape > 5
    assert mean[1] < 2 * mean[0]


def test_the_posterior_is_the_textbook_one():
    prior = GammaPrior(0.5, 100.0)

    mean, low, high = posterior(prior, np.array([4.0]), np.array([28.0]))

    assert mean[0] == pytest.approx(4.5 / 128)
    assert low[0] == pytest.approx(gamma.ppf(0.025, 4.5, scale=1 / 128))
    assert high[0] == pytest.approx(gamma.ppf(0.975, 4.5, scale=1 / 128))


@pytest.mark.parametrize(
    ("blame", "exposure"), [([0.0, 0.0], [5.0, 5.0]), ([1.0], [0.0]), ([], [])],
    ids=["nothing happened", "no exposure", "no nodes"],
)  # fmt: skip
def test_without_events_or_exposure_there_is_no_prior(blame, exposure):
    assert fit_prior(np.array(blame), np.array(exposure)) is None
