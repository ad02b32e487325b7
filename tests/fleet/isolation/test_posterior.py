"""The posterior of group tests, held against the sum over all sets of bad nodes."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from triage.domain.arrays import F64
from triage.fleet.isolation import posterior
from triage.fleet.isolation.options import IsolationOptions
from triage.fleet.isolation.posterior import GroupTest, posterior_of, prior_probabilities


def group(*members: int, failed: bool) -> GroupTest:
    return GroupTest(np.array(members, dtype=np.int64), failed)


def all_sets(
    weights: F64, tests: list[GroupTest], options: IsolationOptions
) -> Iterator[tuple[F64, float]]:
    """Each set of bad nodes with its unnormed probability."""
    recall, false_alarm = min(options.recall, 1 - 1e-6), max(options.false_alarm, 1e-6)
    prior = prior_probabilities(weights, options.expected)
    nobody = float(np.prod(1 - prior))
    for kind in product((0.0, 1.0), repeat=len(weights)):
        bad = np.array(kind)
        chance = float(np.prod(np.where(bad, prior, 1 - prior)))
        if nobody < 1:
            stated = max(options.nobody, 1e-9)
            chance = stated if not bad.any() else chance * (1 - stated) / (1 - nobody)
        for test in tests:
            fails = 1 - (1 - false_alarm) * (1 - recall) ** bad[test.members].sum()
            chance *= fails if test.failed else 1 - fails
        yield bad, chance


@pytest.mark.parametrize("seed", range(40))
def test_it_is_what_the_sum_over_all_sets_gives(seed: int) -> None:
    rng = np.random.default_rng(seed)
    num_nodes = int(rng.integers(1, 8))
    weights = rng.random(num_nodes) * (rng.random(num_nodes) > 0.15)
    weights[0] += 0.1
    options = IsolationOptions(
        recall=float(rng.choice([1.0, 0.9, 0.7])),
        false_alarm=float(rng.choice([0.0, 0.01, 0.2])),
        expected=float(rng.choice([0.5, 1, 2])),
        nobody=float(rng.choice([0.0, 0.05, 0.5])),
    )
    drawn = (np.flatnonzero(rng.random(num_nodes) < 0.5) for _ in range(rng.integers(0, 9)))
    tests = [GroupTest(members, bool(rng.random() < 0.5)) for members in drawn if len(members)]

    found = posterior_of(weights, tests, options)

    sets = list(all_sets(weights, tests, options))
    total = sum(chance for _, chance in sets)
    bad = np.sum([chance * kind for kind, chance in sets], axis=0) / total
    picked = np.flatnonzero(rng.random(num_nodes) < 0.4)
    only = sum(chance for kind, chance in sets if not np.delete(kind, picked).any()) / total
    assert found.bad == pytest.approx(bad, abs=1e-6)
    assert found.nobody == pytest.approx(sets[0][1] / total, abs=1e-6)
    assert found.others(picked.tolist()) >= 1 - only - 1e-6
    assert found.exact


def test_prior_probabilities_sum_to_what_is_expected_and_keep_their_odds() -> None:
    found = prior_probabilities(np.array([1.0, 2.0, 4.0, 0.0]), 0.5)

    assert found.sum() == pytest.approx(0.5)
    odds = found / (1 - found)
    assert odds[1] / odds[0] == pytest.approx(2)
    assert odds[2] / odds[0] == pytest.approx(4)
    assert found[3] == 0


def test_a_pass_clears_and_a_failure_accuses() -> None:
    options = IsolationOptions(recall=0.7, false_alarm=0.01)
    weights = np.ones(6)
    before = posterior_of(weights, [], options).bad

    passed = posterior_of(weights, [group(0, 1, failed=False)], options).bad
    failed = posterior_of(weights, [group(0, 1, failed=True)], options).bad

    assert passed[0] < before[0] < failed[0]
    assert passed[2] > before[2] > failed[2]


def test_a_second_failure_with_clean_partners_convicts() -> None:
    options = IsolationOptions(recall=0.7, false_alarm=0.01)
    tests = [group(0, 1, 2, 3, failed=True), group(4, 5, 6, 7, failed=False)]

    found = posterior_of(np.ones(8), [*tests, group(0, 4, failed=True)], options)

    assert found.bad[0] > 0.9
    assert found.bad[1:4].max() < 0.1


def test_a_node_twice_in_a_group_counts_once_and_an_empty_group_says_nothing() -> None:
    options = IsolationOptions(recall=0.7)
    found = posterior_of(np.ones(4), [group(0, 0, 1, failed=False), group(failed=True)], options)
    assert found.bad == pytest.approx(
        posterior_of(np.ones(4), [group(0, 1, failed=False)], options).bad
    )


def test_results_that_contradict_a_perfect_test_leave_a_probability() -> None:
    tests = [group(0, 1, failed=True), group(0, failed=False), group(1, failed=False)]
    found = posterior_of(np.ones(4), tests, IsolationOptions())
    assert np.isfinite(found.bad).all()
    assert 0 <= found.nobody <= 1


@pytest.mark.parametrize("together", [3, 5])
def test_what_is_too_much_to_sum_stays_close(
    together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = IsolationOptions(recall=0.7, false_alarm=0.01)
    tests = [group(*range(20), failed=True), group(0, 20, failed=True), group(1, 21, failed=False)]
    tests += [group(0, 22 + at, failed=True) for at in range(4)]
    exact = posterior_of(np.ones(40), tests, options)

    monkeypatch.setattr(posterior, "TOGETHER", together)
    found = posterior_of(np.ones(40), tests, options)

    assert exact.exact
    assert not found.exact
    assert found.bad == pytest.approx(exact.bad, abs=0.02)


def test_many_failures_of_one_node_convict_it_alone() -> None:
    tests = [group(0, failed=True)] * 30
    found = posterior_of(np.ones(3), tests, IsolationOptions(recall=0.7, false_alarm=0.01))
    assert found.bad[0] == pytest.approx(1)
    assert found.bad[1:].max() < 0.2
    assert found.nobody < 1e-9
