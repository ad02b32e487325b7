"""Rates of nodes, shrunk towards the fleet: a Gamma prior that the fleet itself says.

Few events make a raw rate wild. Assumes that the nodes' true rates are Gamma distributed and
that events come as a Poisson process; counts over all nodes are then negative binomial, and
that is what the prior is fitted to. After k events in an exposure T the mean is
(shape + k) / (days + T).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.fleet.record.columns import Floats

__all__ = ["GammaPrior", "fit_prior", "posterior"]

# From a fleet of a few bad nodes among perfect ones to one in which all are alike.
LEAST_SHAPE: Final = 0.02
MOST_SHAPE: Final = 200.0
STEPS: Final = 48


@dataclass(frozen=True, slots=True)
class GammaPrior:
    """Gamma(``shape``, ``days`` of exposure); its mean is ``shape / days`` per day."""

    shape: float
    days: float


def fit_prior(blame: Floats, exposure: Floats) -> GammaPrior | None:
    """The likeliest prior with the fleet's own mean; None where nothing was ever blamed."""
    seen = exposure > 0
    blame, exposure = blame[seen], exposure[seen]
    total, time = float(blame.sum()), float(exposure.sum())
    if total <= 0 or time <= 0:
        return None
    mean = total / time
    low, high = np.log(LEAST_SHAPE), np.log(MOST_SHAPE)
    for _ in range(2):
        grid = np.linspace(low, high, STEPS)
        best = int(
            np.argmax([likelihood(float(np.exp(one)), mean, blame, exposure) for one in grid])
        )
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, STEPS - 1)]
    shape = float(np.exp(grid[best]))
    return GammaPrior(shape, shape / mean)


def likelihood(shape: float, mean: float, blame: Floats, exposure: Floats) -> float:
    """Logarithm of the negative binomial likelihood, up to what the shape does not change."""
    from scipy.special import gammaln

    days = shape / mean
    some = blame[blame > 0]
    waits = shape * np.log(days) - (shape + blame) * np.log(days + exposure)
    return float(np.sum(gammaln(shape + some) - gammaln(shape)) + np.sum(waits))


def posterior(
    prior: GammaPrior, blame: Floats, exposure: Floats, *, level: float = 0.95
) -> tuple[Floats, Floats, Floats]:
    """(mean, low, high) of each node's rate per unit of exposure."""
    from scipy.special import gammaincinv

    shape, days = prior.shape + blame, prior.days + exposure
    outside = (1.0 - level) / 2.0
    low, high = gammaincinv(shape, outside), gammaincinv(shape, 1.0 - outside)
    return shape / days, low / days, high / days
