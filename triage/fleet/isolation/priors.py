"""How likely each node is bad before any test: its share of the suspicion."""

from typing import Final

import numpy as np

from triage.domain.arrays import F64

__all__ = ["prior_probabilities"]

STEPS: Final = 200


def prior_probabilities(weights: F64, expected: float) -> F64:
    """Probabilities, one per node, that are ``expected`` in sum; odds are as ``weights`` are.

    ``weights`` are 0 or more; a node of weight 0 is good. At most half of the nodes that have a
    weight are expected to be bad, whatever ``expected`` says.
    """
    odds = np.asarray(weights, dtype=np.float64)
    suspected = int(np.count_nonzero(odds > 0))
    if suspected == 0:
        return np.zeros(len(odds))
    wanted = min(expected, suspected / 2)
    odds = odds / odds.max()
    low, high = -60.0, 60.0  # log of the factor of all odds
    for _ in range(STEPS):
        middle = (low + high) / 2
        total = float((np.exp(middle) * odds / (1 + np.exp(middle) * odds)).sum())
        low, high = (middle, high) if total < wanted else (low, middle)
    scaled = np.exp((low + high) / 2) * odds
    return np.asarray(scaled / (1 + scaled))
