"""Groups that failed: what they say of their members together.

Passes say something of each node by itself. A failure says that at least one member is bad, or
that the test lied, so the members of failing groups depend on each other. Each bad node triggers
each of its tests with probability ``recall`` on its own, and a test fails where a bad node
triggers it or where it lies (a noisy OR). The sum over all sets of bad nodes runs node by node
over the sets of tests that are triggered so far: exact, and all terms are positive. It takes
``2**tests`` steps a node, for those tests alone that share nodes. Where more than ``TOGETHER``
tests hang together, the least suspected members are taken out of those tests: an approximation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.domain.arrays import F64, I64

__all__ = ["TOGETHER", "Cluster", "Failures", "failures_of", "log_weight", "weigh"]

TOGETHER: Final = 12
"""Failing tests that share nodes, up to which the sum is exact."""
FIRST_SHARE: Final = 1e-9
LIE: Final = 0.05


@dataclass(frozen=True, slots=True)
class Cluster:
    """Failing tests that hang together by their members.

    ``nodes`` ascend; ``tests[i]`` are the places of the tests (0 to ``num_tests - 1``) that node
    ``nodes[i]`` was in.
    """

    nodes: I64
    tests: tuple[tuple[int, ...], ...]
    num_tests: int


@dataclass(frozen=True, slots=True)
class Failures:
    """Failing tests apart: ``alone`` has the node of each test of one node, the others hang
    together in ``clusters``; ``exact`` is False where members were taken out.
    """

    alone: I64
    clusters: tuple[Cluster, ...]
    exact: bool


def failures_of(failed: Sequence[I64], bad: F64, recall: float, false_alarm: float) -> Failures:
    """The failing tests, each with its members; ``bad`` are the odds of all nodes by passes."""
    alone: list[int] = []
    clusters: list[Cluster] = []
    exact = True
    pending = [([np.unique(members) for members in failed], FIRST_SHARE)]
    while pending:
        tests, share = pending.pop()
        alone += [int(members[0]) for members in tests if len(members) == 1]
        for part in parted([members for members in tests if len(members) > 1]):
            if len(part) <= TOGETHER:
                clusters.append(cluster_of(part))
                continue
            exact = False
            pending.append((thinned(part, bad, share, recall, false_alarm), share * 10))
    return Failures(np.array(sorted(alone), dtype=np.int64), tuple(clusters), exact)


def parted(tests: Sequence[I64]) -> list[list[I64]]:
    """Tests that share nodes, directly or over others, together; in the order of the first."""
    group_of_node: dict[int, int] = {}
    groups: dict[int, list[int]] = {}
    for place, members in enumerate(tests):
        touched = sorted(
            {group_of_node[node] for node in members.tolist() if node in group_of_node}
        )
        kept = touched[0] if touched else place
        joined = groups.setdefault(kept, [])
        for other in touched[1:]:
            joined += groups.pop(other)
        joined.append(place)
        for of in joined if len(touched) > 1 else [place]:
            group_of_node.update(dict.fromkeys(tests[of].tolist(), kept))
    return [[tests[place] for place in sorted(places)] for places in groups.values()]


def thinned(
    tests: Sequence[I64], bad: F64, share: float, recall: float, false_alarm: float
) -> list[I64]:
    """The tests without the members whose odds are below ``share`` of the likeliest member's.

    From a share of 1 on, each test keeps one member.
    """
    times = recall / max(false_alarm, LIE)
    fails = np.zeros(len(bad))
    for members in tests:
        fails[members] += 1
    odds = bad * times**fails
    if share >= 1:
        return [members[[np.argmax(odds[members])]] for members in tests]
    return [members[odds[members] >= share * odds[members].max()] for members in tests]


def cluster_of(tests: Sequence[I64]) -> Cluster:
    nodes = np.unique(np.concatenate(list(tests)))
    inside: list[list[int]] = [[] for _ in range(len(nodes))]
    for place, members in enumerate(tests):
        for at in np.searchsorted(nodes, members).tolist():
            inside[at].append(place)
    return Cluster(nodes, tuple(map(tuple, inside)), len(tests))


def weigh(
    cluster: Cluster, bad: F64, good: F64, recall: float, false_alarm: float
) -> tuple[float, F64]:
    """The log of the sum over all sets of bad nodes, and how likely each node is bad.

    ``bad`` and ``good`` are the weights of the cluster's nodes by prior and passes, in order.
    """
    end = lies(cluster.num_tests, false_alarm)
    after = [end]
    scales = [0.0]
    for place in range(len(cluster.nodes) - 1, 0, -1):
        later = after[-1]
        step = good[place] * later + bad[place] * expected(later, cluster.tests[place], recall)
        after.append(step / step.max())
        scales.append(scales[-1] + float(np.log(step.max())))
    after.reverse()
    scales.reverse()
    before = np.zeros_like(end)
    before[0] = 1.0
    scale = 0.0
    found = np.zeros(len(cluster.nodes))
    total = 0.0
    for place, tests in enumerate(cluster.tests):
        later = after[place]
        is_bad = bad[place] * float(before @ expected(later, tests, recall))
        is_good = good[place] * float(before @ later)
        found[place] = is_bad / (is_bad + is_good)
        if place == 0:
            total = float(np.log(is_bad + is_good)) + scales[0]
        before = good[place] * before + bad[place] * triggered(before, tests, recall)
        scale += float(np.log(before.max()))
        before = before / before.max()
    return total, found


def log_weight(cluster: Cluster, bad: F64, good: F64, recall: float, false_alarm: float) -> float:
    """The log of the sum over the sets of bad nodes where ``bad`` is 0 for those that are good."""
    total = float(np.log(good[bad == 0]).sum())
    before = np.zeros(1 << cluster.num_tests)
    before[0] = 1.0
    for place in np.flatnonzero(bad > 0).tolist():
        before = good[place] * before + bad[place] * triggered(before, cluster.tests[place], recall)
    return total + float(np.log(before @ lies(cluster.num_tests, false_alarm)))


def lies(num_tests: int, false_alarm: float) -> F64:
    """For each set of triggered tests: how likely all others lied."""
    num_triggered = np.bitwise_count(np.arange(1 << num_tests, dtype=np.uint64)).astype(np.int64)
    return np.asarray(false_alarm ** (num_tests - num_triggered).astype(np.float64))


def expected(later: F64, tests: Sequence[int], recall: float) -> F64:
    """The mean of ``later`` over the tests that a bad node triggers, by those triggered before."""
    found = later.copy()
    for test in tests:
        halves = found.reshape(-1, 2, 1 << test)
        halves[:, 0] = (1 - recall) * halves[:, 0] + recall * halves[:, 1]
    return found


def triggered(before: F64, tests: Sequence[int], recall: float) -> F64:
    """The weights of the sets of triggered tests after a bad node went through its tests."""
    found = before.copy()
    for test in tests:
        halves = found.reshape(-1, 2, 1 << test)
        halves[:, 1] += recall * halves[:, 0]
        halves[:, 0] *= 1 - recall
    return found
