"""Test groups: the posterior, the groups of a round, plans from the first round to the answer."""

import random
from collections.abc import Callable, Collection, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.support.spent import spent_s
from triage.domain.arrays import F64, I64
from triage.domain.hosts import expand
from triage.errors import UsageError
from triage.fleet import isolation
from triage.fleet.isolation import (
    EXPECTED,
    NOBODY,
    Plan,
    Posterior,
    TestRates,
    add_results,
    add_round,
    begin_plan,
    choose_next_groups,
    compute_posterior,
    compute_prior_probabilities,
    plan_from_dict,
    plan_to_dict,
)

NODES = [f"n{place}" for place in range(48)]


def group(*members: int, failed: bool) -> tuple[I64, bool]:
    return np.array(members, dtype=np.int64), failed


def all_sets(
    weights: F64, tests: list[tuple[I64, bool]], rates: TestRates
) -> Iterator[tuple[F64, float]]:
    """Each set of bad nodes with its unnormed probability."""
    recall, false_alarm = min(rates.recall, 1 - 1e-6), max(rates.false_alarm, 1e-6)
    prior = compute_prior_probabilities(weights)
    nobody = float(np.prod(1 - prior))
    for kind in product((0.0, 1.0), repeat=len(weights)):
        bad = np.array(kind)
        chance = float(np.prod(np.where(bad, prior, 1 - prior)))
        chance = NOBODY if not bad.any() else chance * (1 - NOBODY) / (1 - nobody)
        for members, failed in tests:
            fails = 1 - (1 - false_alarm) * (1 - recall) ** bad[members].sum()
            chance *= fails if failed else 1 - fails
        yield bad, chance


@pytest.mark.parametrize("seed", range(40))
def test_the_posterior_is_what_the_sum_over_all_sets_gives(seed: int) -> None:
    rng = np.random.default_rng(seed)
    num_nodes = int(rng.integers(1, 8))
    weights = rng.random(num_nodes) * (rng.random(num_nodes) > 0.15)
    weights[0] += 0.1
    rates = TestRates(float(rng.choice([1.0, 0.9, 0.7])), float(rng.choice([0.0, 0.01, 0.2])))
    drawn = (np.flatnonzero(rng.random(num_nodes) < 0.5) for _ in range(rng.integers(0, 9)))
    tests = [(members, bool(rng.random() < 0.5)) for members in drawn if len(members)]

    found = compute_posterior(weights, tests, rates)

    sets = list(all_sets(weights, tests, rates))
    total = sum(chance for _, chance in sets)
    bad = np.sum([chance * kind for kind, chance in sets], axis=0) / total
    assert found.bad == pytest.approx(bad, abs=1e-6)
    assert found.nobody == pytest.approx(sets[0][1] / total, abs=1e-6)
    assert found.exact


def test_prior_probabilities_sum_to_what_is_expected_and_keep_their_odds() -> None:
    found = compute_prior_probabilities(np.array([1.0, 2.0, 4.0, 0.0]))

    assert found.sum() == pytest.approx(EXPECTED)
    odds = found / (1 - found)
    assert odds[1] / odds[0] == pytest.approx(2)
    assert odds[2] / odds[0] == pytest.approx(4)
    assert found[3] == 0


def test_results_that_contradict_a_perfect_test_leave_a_probability() -> None:
    tests = [group(0, 1, failed=True), group(0, failed=False), group(1, failed=False)]
    found = compute_posterior(np.ones(4), tests, TestRates())
    assert np.isfinite(found.bad).all()
    assert 0 <= found.nobody <= 1


@pytest.mark.parametrize("together", [3, 5])
def test_what_is_too_much_to_sum_stays_close(
    together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = TestRates(0.7, 0.01)
    tests = [group(*range(20), failed=True), group(0, 20, failed=True), group(1, 21, failed=False)]
    tests += [group(0, 22 + at, failed=True) for at in range(4)]
    exact = compute_posterior(np.ones(40), tests, rates)

    monkeypatch.setattr(isolation, "TOGETHER", together)
    found = compute_posterior(np.ones(40), tests, rates)

    assert exact.exact
    assert not found.exact
    assert found.bad == pytest.approx(exact.bad, abs=0.02)


@pytest.mark.parametrize("false_alarm", [0.0, 0.02])
def test_what_is_called_sure_is_right_as_often_as_it_says(false_alarm: float) -> None:
    rates = TestRates(0.7, false_alarm)
    rng = np.random.default_rng(5)
    prior = compute_prior_probabilities(np.ones(len(NODES)))
    named = right = decided = whole = 0
    for _ in range(120):
        bad: set[int] = set()
        is_any = rng.random() >= NOBODY
        while is_any and not bad:
            bad = set(np.flatnonzero(rng.random(len(NODES)) < prior).tolist())
        plan = begin_plan(NODES, None, rates)
        while plan.waiting and len(plan.rounds) < 40:
            missed = {one.id: 0.3 ** len(bad.intersection(one.nodes)) for one in plan.waiting}
            results = {
                name: "fail" if rng.random() < 1 - (1 - false_alarm) * rate else "pass"
                for name, rate in missed.items()
            }
            plan = add_round(add_results(plan, results))
        named += len(plan.bad_nodes)
        right += len(bad.intersection(plan.bad_nodes))
        decided += plan.is_decided
        whole += plan.is_decided and set(plan.bad_nodes) == bad

    # 95 % of the claims, less three standard deviations of so many.
    assert decided > 0.95 * 120
    assert right / named > 0.95 - 3 * (0.05 * 0.95 / named) ** 0.5
    assert whole / decided > 0.95 - 3 * (0.05 * 0.95 / decided) ** 0.5


def groups(bad: F64, rates: TestRates | None = None, *, tested: bool = False) -> list[Any]:
    count = len(bad)
    seen = Posterior(bad, 0.01, exact=True)
    return choose_next_groups(
        seen, (), np.full(count, tested), np.zeros(count, np.int64), rates or TestRates()
    )


@pytest.mark.parametrize(
    ("num_nodes", "num_groups"), [(2_048, 46), (512, 23), (64, 8), (16_384, 128), (5, 2), (3, 1)]
)
def test_the_first_round_takes_about_the_root_of_all_nodes(num_nodes: int, num_groups: int) -> None:
    assert len(groups(np.full(num_nodes, 1 / num_nodes))) == num_groups


@pytest.mark.parametrize("seed", range(30))
def test_groups_are_disjoint_and_large_enough_and_hold_every_untested_node(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, size = int(rng.integers(2, 300)), int(rng.integers(1, 5))

    found = groups(rng.random(count) ** 8 / 3, TestRates(group_size=size))

    members = [node for one in found for node in one]
    assert len(set(members)) == len(members)
    assert all(size <= len(one) and list(one) == sorted(one) for one in found)
    if len(found) > 1:
        assert count - len(members) < size


def test_likely_nodes_are_tested_alone_beside_clean_partners() -> None:
    bad = np.full(200, 1e-6)
    bad[[3, 77, 150]] = 0.3

    found = groups(bad, tested=True)

    assert [sorted({*one} & {3, 77, 150}) for one in found] == [[3], [77], [150]]
    assert all(len(one) == 2 for one in found)


def test_equal_suspects_without_partners_are_halved_and_not_tested_all_together() -> None:
    assert [len(one) for one in groups(np.array([0.4, 0.4, 0.2]))] == [2]
    assert groups(np.array([0.5, 0.5])) == []


def test_a_test_that_runs_on_one_node_is_run_on_all_at_once() -> None:
    found = groups(np.full(300, 1 / 300), TestRates(group_size=1))
    assert [len(one) for one in found] == [1] * 300


def test_nodes_that_are_clean_enough_rest() -> None:
    bad = np.concatenate([[0.5, 0.4], np.full(50, 1e-5)])
    assert [len(one) for one in groups(bad, tested=True)] == [2, 2]


def nodes(count: int) -> list[str]:
    return expand(f"n[0-{count - 1}]")


def one_round(plan: Plan, bad: Collection[str]) -> Plan:
    """The round with the results of perfect tests, and the next one."""
    at = {plan.nodes.index(node) for node in bad}
    results = {one.id: "fail" if at & set(one.nodes) else "pass" for one in plan.waiting}
    return add_round(add_results(plan, results))


def rounds_until_decided(plan: Plan, bad: Collection[str]) -> int:
    while plan.waiting:
        plan = one_round(plan, bad)
    answer = plan_to_dict(plan)
    assert answer["state"] == ("bad" if bad else "clean")
    assert {row["node"] for row in answer["bad_nodes"]} == set(bad)
    return len(plan.rounds)


@pytest.mark.parametrize("place", [0, 44, 45, 1_023, 2_047])
def test_one_bad_node_of_2048_is_found_in_two_rounds(place: int) -> None:
    assert rounds_until_decided(begin_plan(nodes(2_048)), [f"n{place}"]) == 2


@pytest.mark.parametrize("places", [(0, 1), (0, 2_047), (44, 45), (700, 1_500)])
def test_two_bad_nodes_of_2048_are_found_in_four_rounds(places: tuple[int, int]) -> None:
    assert rounds_until_decided(begin_plan(nodes(2_048)), [f"n{place}" for place in places]) <= 4


def test_a_test_that_misses_takes_at_most_six_rounds_on_average() -> None:
    rng, taken = np.random.default_rng(1), []
    for search in range(20):
        bad = set(rng.choice(2_048, 1 + search % 2, replace=False).tolist())
        plan = begin_plan(nodes(2_048), None, TestRates(0.7))
        while plan.waiting and len(plan.rounds) < 30:
            caught = {one.id: 1 - 0.3 ** len(bad.intersection(one.nodes)) for one in plan.waiting}
            plan = add_round(
                add_results(
                    plan,
                    {
                        one: "fail" if rng.random() < rate else "pass"
                        for one, rate in caught.items()
                    },
                )
            )
        taken.append(len(plan.rounds))
    assert np.mean(taken) <= 6


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 64])
def test_nobody_is_bad_after_perfect_tests_of_two_rounds(count: int) -> None:
    rates = TestRates(1.0, group_size=1 if count < 3 else 2)
    assert rounds_until_decided(begin_plan(nodes(count), None, rates), []) <= 2


def test_a_clean_round_of_a_test_that_may_miss_is_not_enough() -> None:
    assert 1 < rounds_until_decided(begin_plan(nodes(64)), []) <= 3


@pytest.mark.parametrize("count", range(3, 12))
@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_bad_node_of_a_few_is_found(count: int, place: int) -> None:
    assert rounds_until_decided(begin_plan(nodes(count)), [f"n{place}"]) <= 4


def test_two_suspects_alone_cannot_be_told_apart_and_a_good_partner_helps() -> None:
    alone = plan_to_dict(begin_plan(["a", "b"]))
    assert alone["state"] == "undecided"
    assert "partners" in alone["notes"][-1]

    assert rounds_until_decided(begin_plan(["a", "b", "c", "d"], [1, 1, 0, 0]), ["b"]) == 1


def test_a_suspect_by_evidence_is_tested_first() -> None:
    weights = [1.0] * 100
    weights[41] = 300.0
    plan = begin_plan(nodes(100), weights)
    assert len(next(one for one in plan.groups if 41 in one.nodes).nodes) == 2
    assert rounds_until_decided(plan, ["n41"]) == 1


def test_the_same_input_gives_the_same_plan_whatever_the_nodes_are_called() -> None:
    names = nodes(300)
    random.Random(3).shuffle(names)
    weights = [1.0 + place % 7 for place in range(300)]

    plans = [begin_plan(of, weights, TestRates(0.7)) for of in (names, nodes(300))]
    for _ in range(3):
        assert plans[0].rounds == plans[1].rounds
        failing = {"g2": "fail"} if len(plans[0].rounds) == 1 else {}
        plans = [add_round(add_results(one, {**failing, "rest": "pass"})) for one in plans]


def test_a_plan_goes_through_its_wire_form() -> None:
    plan = begin_plan(nodes(96), [1.0] * 95 + [2.0], TestRates(0.7))
    plan = add_results(plan, {"g1": "fail", "g2": "not_run"})
    plan = add_round(add_results(plan, {"rest": "pass"}))

    again = plan_from_dict(plan_to_dict(plan))

    assert again == plan
    assert plan_to_dict(again) == plan_to_dict(plan)


def test_results_come_in_parts_and_a_later_one_replaces_the_first() -> None:
    plan = begin_plan(nodes(64))
    half = add_results(plan, {"g1": "pass", "g2": "fail"})
    assert len(half.waiting) == len(plan.waiting) - 2
    assert add_results(half, {"g1": "pass"}) == half
    assert add_results(half, {"g1": "fail"}).groups[0].outcome == "fail"
    assert add_results(add_results(half, {"g3": "pass"}), {"rest": "pass"}) == add_results(
        plan, {"g2": "fail", "rest": "pass"}
    )


def test_what_was_not_run_may_be_run_later() -> None:
    plan = begin_plan(nodes(64))
    plan = add_round(add_results(plan, {"g1": "fail", "g2": "not_run", "rest": "pass"}))
    assert add_results(plan, {"g2": "pass"}).posterior.bad[8] < plan.posterior.bad[8]


def test_a_failure_that_no_node_explains_is_told() -> None:
    plan = begin_plan(nodes(64), None, TestRates(0.99, 0.01))
    plan = add_round(add_results(plan, {"g3": "fail", "rest": "pass"}))
    while plan.waiting:
        plan = add_round(add_results(plan, {"rest": "pass"}))
    answer = plan_to_dict(plan)
    assert answer["state"] == "clean"
    assert answer["notes"][0].startswith("g3 failed, and likely no node in it is bad")


def test_bad_nodes_are_in_no_further_group_and_the_search_goes_on() -> None:
    plan = one_round(begin_plan(nodes(512), None, TestRates(0.9)), ["n3", "n400"])
    plan = add_round(
        add_results(plan, {one.id: "fail" if 3 in one.nodes else "pass" for one in plan.waiting})
    )
    assert [plan.nodes[node] for node in plan.bad_nodes] == ["n3"]
    assert plan.waiting
    assert 3 not in {node for one in plan.rounds[-1] for node in one.nodes}


def test_a_group_of_one_node_may_be_called_by_the_node() -> None:
    plan = begin_plan(nodes(300), None, TestRates(group_size=1))
    done = add_round(add_results(plan, {"n17": "fail", "rest": "pass"}))
    assert [done.nodes[node] for node in done.bad_nodes] == ["n17"]


def broken(**values: object) -> Callable[[dict[str, Any]], None]:
    return lambda facts: facts.update(values)


@pytest.mark.parametrize(
    "change",
    [
        broken(schema="triage.test-plan/1"),
        broken(nodes="n[0-3"),
        broken(nodes="m[0-9]"),
        broken(nodes=None),
        broken(nodes="$(x),n2", suspicion=[{"nodes": "$(x),n2", "weight": 1.0}], rounds=[]),
        broken(rounds=[[{"id": "g1"}]]),
        broken(rounds=7),
        broken(rates={"recall": "high"}),
        broken(rates={"recall": 2}),
        broken(rates={"power": 1}),
        broken(suspicion=[]),
        broken(rounds=[[{"id": "g1", "nodelist": "m7", "outcome": None}]]),
        broken(rounds=[[{"id": "g1", "nodelist": "n7", "outcome": "lost"}]]),
    ],
)
def test_a_broken_state_is_refused(change: Callable[[dict[str, Any]], None]) -> None:
    facts = plan_to_dict(begin_plan(nodes(10)))
    assert plan_from_dict(facts)
    change(facts)
    with pytest.raises(UsageError):
        plan_from_dict(facts)


@pytest.mark.parametrize("facts", [None, [], "plan", {}, {"schema": "triage.test-plan/2"}])
def test_what_is_no_plan_is_refused(facts: object) -> None:
    with pytest.raises(UsageError):
        plan_from_dict(facts)


@pytest.mark.parametrize(
    ("names", "weights", "why"),
    [
        ([], None, "0 nodes to test"),
        (["a", "a"], None, "twice"),
        (["a; rm -rf /"], None, "no plain host name"),
        (["a", "b"], [1.0, float("nan")], "number of 0 or more"),
        (["a", "b"], [1.0, -1.0], "number of 0 or more"),
        (["a", "b"], [0.0, 0.0], "no node is suspect"),
    ],
)
def test_nodes_that_cannot_be_tested_are_refused(
    names: list[str], weights: list[float] | None, why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        begin_plan(names, weights)


def test_a_result_of_nothing_in_the_plan_is_refused() -> None:
    with pytest.raises(UsageError, match="group 'g99' is not in question"):
        add_results(begin_plan(nodes(64)), {"g99": "pass"})


@pytest.mark.parametrize(
    "facts",
    [
        {"recall": 0.0}, {"recall": 1.5}, {"recall": float("nan")}, {"false_alarm": 1.0},
        {"recall": 0.2, "false_alarm": 0.3}, {"group_size": 0}, {"group_size": 2.5},
    ],
)  # fmt: skip
def test_rates_that_cannot_be_are_refused(facts: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        TestRates(**facts)


@pytest.mark.parametrize(("count", "limit_s"), [(2_048, 1.0), (20_000, 20.0)])
def test_a_round_is_planned_in_time(count: int, limit_s: float) -> None:
    def plan_a_round() -> None:
        plan = begin_plan(nodes(count), None, TestRates(0.7, 0.01))
        add_round(add_results(plan, {"g9": "fail", "rest": "pass"}))

    assert spent_s(plan_a_round, limit_s) < limit_s
