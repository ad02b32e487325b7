"""How likely each node is bad, after tests of groups that can miss and can fail without cause.

Before any test nodes are bad independently of each other, except that the probability that none
is bad is stated. Each bad node triggers each of its tests with probability ``recall``; a test
fails when it is triggered or by a false alarm (a noisy OR). A pass counts for each node alone.
Failed tests that share nodes are summed over all sets of bad nodes, node by node over the sets
of triggered tests. The sum is exact for up to ``TOGETHER`` such tests; of more, the first ones
count for each node by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.domain.arrays import F64, I64, Flags
from triage.fleet.isolation.options import IsolationOptions

__all__ = ["TOGETHER", "GroupTest", "Posterior", "posterior_of", "prior_probabilities"]

# Failed tests that are summed together: it takes 2**TOGETHER states for each of their nodes.
TOGETHER: Final = 12
# Results that contradict a perfect test leave a probability above 0.
SMALLEST_RATE: Final = 1e-6


@dataclass(frozen=True, slots=True)
class GroupTest:
    """A test that was run: the indices of the nodes that took part, and whether it failed."""

    members: I64
    failed: bool


@dataclass(frozen=True, slots=True)
class Posterior:
    """Probabilities given all results: of each node to be ``bad``, of ``nobody`` being bad.

    ``exact`` is False where more failed tests share nodes than can be summed.
    """

    bad: F64
    nobody: float
    exact: bool

    def others(self, named: Sequence[int]) -> float:
        """At most so likely is a node beside ``named`` bad."""
        return min(1.0, float(np.delete(self.bad, list(named)).sum()))


def prior_probabilities(weights: F64, expected: float) -> F64:
    """Probabilities, one per node, that are ``expected`` in sum; odds are as ``weights`` are.

    At most half of the nodes that have a weight above 0 are expected to be bad.
    """
    odds = weights / weights.max()
    wanted = min(expected, np.count_nonzero(odds) / 2)
    low, high = -60.0, 60.0  # log of the factor of all odds
    for _ in range(200):
        scaled = np.exp((low + high) / 2) * odds
        too_low = (scaled / (1 + scaled)).sum() < wanted
        low, high = ((low + high) / 2, high) if too_low else (low, (low + high) / 2)
    return np.asarray(scaled / (1 + scaled))


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
    log_none = float((np.log(good) - np.log(bad + good)).sum())
    bad /= bad + good
    parts = connected([test.members for test in tests if test.failed and len(test.members)])
    for failed in parts:
        for start in range(0, len(failed), TOGETHER):
            together = failed[start : start + TOGETHER]
            nodes = np.unique(np.concatenate(together))
            inside = np.stack([np.isin(nodes, members) for members in together], axis=1)
            log_sum, bad[nodes] = sum_failures(bad[nodes], inside, recall, false_alarm)
            log_none += len(together) * float(np.log(false_alarm)) - log_sum
    # "No node is bad" has its stated weight; the sets with bad nodes share what is left.
    none_before = float(np.log1p(-prior).sum())
    nobody = max(options.nobody, 1e-9)
    log_factor = np.log(nobody / (1 - nobody)) + np.log(-np.expm1(none_before)) - none_before
    total = 1 + np.expm1(log_factor) * np.exp(log_none)
    exact = all(len(failed) <= TOGETHER for failed in parts)
    return Posterior(bad / total, float(np.exp(log_factor + log_none) / total), exact)


def connected(tests: Sequence[I64]) -> list[list[I64]]:
    """Tests that share nodes, directly or over others, together; in their order."""
    parts: list[tuple[set[int], list[int]]] = []
    for place, members in enumerate(tests):
        nodes, joined, apart = set(members.tolist()), [place], []
        for part in parts:
            if nodes.isdisjoint(part[0]):
                apart.append(part)
            else:
                nodes, joined = nodes | part[0], [*part[1], *joined]
        parts = [*apart, (nodes, joined)]
    return [[tests[place] for place in sorted(joined)] for _, joined in parts]


def sum_failures(p_bad: F64, inside: Flags, recall: float, false_alarm: float) -> tuple[float, F64]:
    """The log of the probability that all tests fail, and how likely each node is then bad.

    ``inside`` says which node (row) is in which test (column).
    """
    num_tests = inside.shape[1]
    tests = [np.flatnonzero(row).tolist() for row in inside]
    num_triggered = np.bitwise_count(np.arange(1 << num_tests, dtype=np.uint64))
    # From the last node back: how likely the tests that are not triggered are false alarms.
    after = [np.power(false_alarm, num_tests - num_triggered.astype(np.float64))]
    for node in range(len(tests) - 1, 0, -1):
        if_bad = trigger(after[-1], tests[node], recall, ahead=True)
        step = (1 - p_bad[node]) * after[-1] + p_bad[node] * if_bad
        after.append(step / step.max())
    before = np.zeros(1 << num_tests)
    before[0] = 1.0
    log_sum, found = 0.0, np.zeros(len(tests))
    for node, later in enumerate(reversed(after)):
        if_bad = p_bad[node] * trigger(before, tests[node], recall, ahead=False)
        if_good = (1 - p_bad[node]) * before
        found[node] = (if_bad @ later) / (if_bad @ later + if_good @ later)
        total = float((if_bad + if_good).sum())
        before = (if_bad + if_good) / total
        log_sum += float(np.log(total))
    return log_sum + float(np.log(before @ after[0])), found


def trigger(states: F64, tests: Sequence[int], recall: float, *, ahead: bool) -> F64:
    """Weights of the sets of triggered tests after a bad node went through its ``tests``.

    With ``ahead``, the mean of what comes later over the sets that it leads to.
    """
    found = states.copy()
    for test in tests:
        halves = found.reshape(-1, 2, 1 << test)
        if ahead:
            halves[:, 0] = (1 - recall) * halves[:, 0] + recall * halves[:, 1]
        else:
            halves[:, 1] += recall * halves[:, 0]
            halves[:, 0] *= 1 - recall
    return found
