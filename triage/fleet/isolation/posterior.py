"""What the tests say: how likely each node is bad, and that nobody is.

Before any test nodes are bad independently of each other, but for the probability that nobody is
bad, which is stated by itself. The tests are independent of each other, given who is bad. Under
these assumptions the posterior is exact (see ``triage.fleet.isolation.failing`` for its limit).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.domain.arrays import F64, I64
from triage.fleet.isolation.failing import Cluster, failures_of, log_weight, weigh
from triage.fleet.isolation.options import IsolationOptions
from triage.fleet.isolation.priors import prior_probabilities

__all__ = ["GroupTest", "Posterior", "posterior_of"]

# No test is perfect: so results that contradict each other leave a probability above 0.
SMALLEST_RATE: Final = 1e-6
SMALLEST_NOBODY: Final = 1e-9


@dataclass(frozen=True, slots=True)
class GroupTest:
    """A test that was run: the indices of the nodes that took part, and whether it failed."""

    members: I64
    failed: bool


@dataclass(frozen=True, slots=True)
class Posterior:
    """Probabilities after the tests, given all results.

    ``bad`` has one value per node. ``nobody`` is the probability that no node is bad. ``exact`` is
    False where more failing tests hang together than can be summed.
    """

    bad: F64
    nobody: float
    exact: bool
    others: "Others"

    def only(self, bad: I64) -> float:
        """The probability that no node but those of ``bad`` is bad."""
        return self.others.clear(bad)


@dataclass(frozen=True, slots=True)
class Others:
    """Weights from which the probability follows that the rest is good."""

    p_bad: F64
    p_good: F64
    free: I64
    clusters: tuple[Cluster, ...]
    recall: float
    false_alarm: float
    log_all: float
    log_empty_factor: float

    def clear(self, bad: I64) -> float:
        """The probability that every node outside ``bad`` is good."""
        kept = np.zeros(len(self.p_bad))
        kept[bad] = self.p_bad[bad]
        log_kept = self.log_of(kept)
        log_none = self.log_of(np.zeros(len(kept)))
        # The set without a bad node has a weight of its own.
        extra = np.expm1(self.log_empty_factor) * np.exp(log_none - self.log_all)
        return float(np.clip(np.exp(log_kept - self.log_all) + extra, 0.0, 1.0))

    def log_of(self, bad: F64) -> float:
        """The log of the sum over the sets that have a weight in ``bad``."""
        total = float(np.log(bad[self.free] + self.p_good[self.free]).sum())
        for one in self.clusters:
            total += log_weight(
                one, bad[one.nodes], self.p_good[one.nodes], self.recall, self.false_alarm
            )
        return total


def posterior_of(weights: F64, tests: Sequence[GroupTest], options: IsolationOptions) -> Posterior:
    """The posterior of nodes with prior ``weights`` (see ``prior_probabilities``) after ``tests``.

    A member that is named twice counts once; a test without members says nothing.
    """
    recall = min(options.recall, 1 - SMALLEST_RATE)
    false_alarm = max(options.false_alarm, SMALLEST_RATE)
    prior = prior_probabilities(weights, options.expected)
    bad, good = prior.copy(), 1 - prior
    for test in tests:
        if not test.failed:
            bad[np.unique(test.members)] *= 1 - recall
    failed = [test.members for test in tests if test.failed and len(test.members)]
    failures = failures_of(failed, bad / good, recall, false_alarm)
    np.multiply.at(bad, failures.alone, 1 - (1 - false_alarm) * (1 - recall))
    np.multiply.at(good, failures.alone, false_alarm)
    clusters = failures.clusters
    found = bad / (bad + good)
    is_free = np.ones(len(prior), dtype=np.bool_)
    for one in clusters:
        is_free[one.nodes] = False
    free = np.flatnonzero(is_free)
    log_all = float(np.log(bad[free] + good[free]).sum())
    for one in clusters:
        log_sum, found[one.nodes] = weigh(one, bad[one.nodes], good[one.nodes], recall, false_alarm)
        log_all += log_sum
    # The prior of the empty set is stated; the sets with bad nodes share what is left of it.
    log_prior_empty = float(np.log1p(-prior).sum())
    nobody = max(options.nobody, SMALLEST_NOBODY)
    log_factor = (
        np.log(nobody) - np.log1p(-nobody) + np.log(-np.expm1(log_prior_empty)) - log_prior_empty
        if log_prior_empty < 0
        else 0.0
    )
    others = Others(bad, good, free, clusters, recall, false_alarm, log_all, log_factor)
    log_none = others.log_of(np.zeros(len(prior)))
    share = np.exp(log_none - log_all)
    total = 1 + np.expm1(log_factor) * share
    return Posterior(
        bad=found / total,
        nobody=float(np.exp(log_factor) * share / total),
        exact=failures.exact,
        others=Others(
            bad, good, free, clusters, recall, false_alarm,
            log_all + float(np.log(total)), log_factor,
        ),
    )  # fmt: skip
