"""The groups of a round: disjoint, of the sizes allowed, and of equal suspicion."""

import numpy as np
import pytest

from triage.domain.arrays import F64, I64
from triage.fleet.isolation.grouping import NodesSeen, groups_of_round
from triage.fleet.isolation.options import IsolationOptions


def groups(bad: F64, options: IsolationOptions | None = None, *, tested: bool = False) -> list[I64]:
    count = len(bad)
    seen = NodesSeen(np.ones(count, bool), np.full(count, tested), np.zeros(count, np.int64))
    return groups_of_round(bad, 0.01, seen, options or IsolationOptions())


@pytest.mark.parametrize(
    ("num_nodes", "num_groups"), [(2_048, 46), (512, 23), (64, 8), (16_384, 128), (5, 2), (3, 1)]
)
def test_the_first_round_takes_about_the_root_of_all_nodes(num_nodes: int, num_groups: int) -> None:
    assert len(groups(np.full(num_nodes, 1 / num_nodes))) == num_groups


@pytest.mark.parametrize("seed", range(30))
def test_groups_are_disjoint_and_of_the_sizes_allowed_and_hold_every_untested_node(
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 300))
    smallest = int(rng.integers(1, 5))
    largest = None if rng.random() < 0.5 else smallest + int(rng.integers(smallest, 40))
    options = IsolationOptions(min_size=smallest, max_size=largest)
    bad = rng.random(count) ** 8 / 3

    found = groups(bad, options)

    members = np.concatenate([*found, np.zeros(0, np.int64)])
    assert len(set(members.tolist())) == len(members)
    for group in found:
        assert smallest <= len(group) <= (largest or count)
        assert (np.diff(group) > 0).all()
    if len(found) > 1:
        assert count - len(members) < smallest


def test_likely_nodes_are_tested_alone_beside_clean_partners() -> None:
    bad = np.full(200, 1e-6)
    bad[[3, 77, 150]] = 0.3

    found = groups(bad, tested=True)

    assert [sorted(set(group.tolist()) & {3, 77, 150}) for group in found] == [[3], [77], [150]]
    assert all(len(group) == 2 for group in found)


def test_equal_suspects_without_partners_are_halved_and_not_tested_all_together() -> None:
    assert [len(group) for group in groups(np.array([0.4, 0.4, 0.2]))] == [2]
    assert groups(np.array([0.5, 0.5])) == []


def test_a_test_that_runs_on_one_node_is_run_on_all_at_once() -> None:
    found = groups(np.full(300, 1 / 300), IsolationOptions(min_size=1))
    assert [len(group) for group in found] == [1] * 300


def test_nodes_that_are_clean_enough_rest() -> None:
    bad = np.concatenate([[0.5, 0.4], np.full(50, 1e-5)])
    found = groups(bad, tested=True)
    assert [len(group) for group in found] == [2, 2]


def test_no_group_is_larger_than_allowed() -> None:
    found = groups(np.full(500, 1 / 500), IsolationOptions(max_size=10))
    assert [len(group) for group in found] == [10] * 50


def test_more_suspicion_makes_no_larger_group() -> None:
    bad = np.full(400, 1 / 400)
    before = {node: len(group) for group in groups(bad) for node in group.tolist()}
    bad[7] *= 3
    after = {node: len(group) for group in groups(bad) for node in group.tolist()}
    assert after[7] <= before[7]
