"""Test plans: rounds, results that come in parts or contradict each other, and the answer."""

import random
from collections.abc import Callable, Collection
from typing import Any

import pytest

from tests.support.spent import spent_s
from triage.domain.hosts import expand, host_list
from triage.errors import UsageError
from triage.fleet.isolation.options import IsolationOptions
from triage.fleet.isolation.plan import (
    GroupOutcome,
    IsolationPlan,
    new_plan,
    with_next_round,
    with_results,
)
from triage.fleet.isolation.state import plan_from_dict, plan_to_dict

PASS, FAIL, NOT_RUN = GroupOutcome.PASS, GroupOutcome.FAIL, GroupOutcome.NOT_RUN


def nodes(count: int) -> list[str]:
    return expand(f"n[0-{count - 1}]")


def one_round(plan: IsolationPlan, bad: Collection[str]) -> IsolationPlan:
    """The round with the results of perfect tests, and the next one."""
    at = {plan.nodes.index(node) for node in bad}
    results = {group.id: FAIL if at & set(group.nodes) else PASS for group in plan.waiting}
    return with_next_round(with_results(plan, results))


def rounds_until_decided(plan: IsolationPlan, bad: Collection[str]) -> int:
    while plan.waiting:
        plan = one_round(plan, bad)
    answer = plan_to_dict(plan)
    assert answer["state"] == ("bad" if bad else "clean")
    assert {row["node"] for row in answer["bad_nodes"]} == set(bad)
    return len(plan.rounds)


@pytest.mark.parametrize("place", [0, 44, 45, 1_023, 2_047])
def test_one_bad_node_of_2048_is_found_in_two_rounds(place: int) -> None:
    assert (
        rounds_until_decided(new_plan(nodes(2_048), None, IsolationOptions()), [f"n{place}"]) == 2
    )


@pytest.mark.parametrize("places", [(0, 1), (0, 2_047), (44, 45), (700, 1_500)])
def test_two_bad_nodes_of_2048_are_found_in_four_rounds(places: tuple[int, int]) -> None:
    bad = [f"n{place}" for place in places]
    assert rounds_until_decided(new_plan(nodes(2_048), None, IsolationOptions()), bad) <= 4


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 64])
def test_nobody_is_bad_after_one_round_of_perfect_tests(count: int) -> None:
    options = IsolationOptions(recall=1.0, min_size=1 if count < 3 else 2)
    assert rounds_until_decided(new_plan(nodes(count), None, options), []) <= 2


def test_a_clean_round_of_a_test_that_may_miss_is_not_enough() -> None:
    assert 1 < rounds_until_decided(new_plan(nodes(64), None, IsolationOptions()), []) <= 3


@pytest.mark.parametrize("count", range(3, 12))
@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_bad_node_of_a_few_is_found(count: int, place: int) -> None:
    assert (
        rounds_until_decided(new_plan(nodes(count), None, IsolationOptions()), [f"n{place}"]) <= 4
    )


def test_two_suspects_alone_cannot_be_told_apart_and_a_good_partner_helps() -> None:
    alone = new_plan(["a", "b"], None, IsolationOptions())
    assert plan_to_dict(alone)["state"] == "undecided"
    assert "partners" in plan_to_dict(alone)["notes"][-1]

    helped = new_plan(["a", "b", "c", "d"], [1, 1, 0, 0], IsolationOptions())
    assert rounds_until_decided(helped, ["b"]) == 1


def test_a_suspect_by_evidence_is_tested_first() -> None:
    weights = [1.0] * 100
    weights[41] = 300.0
    plan = new_plan(nodes(100), weights, IsolationOptions())
    assert len(next(group for group in plan.groups if 41 in group.nodes).nodes) == 2
    assert rounds_until_decided(plan, ["n41"]) == 1


def test_the_same_input_gives_the_same_plan_whatever_the_nodes_are_called() -> None:
    names = nodes(300)
    random.Random(3).shuffle(names)
    weights = [1.0 + place % 7 for place in range(300)]

    plans = [new_plan(of, weights, IsolationOptions(recall=0.7)) for of in (names, nodes(300))]
    for _ in range(3):
        assert plans[0].rounds == plans[1].rounds
        failing = {"g2": FAIL} if len(plans[0].rounds) == 1 else {}
        plans = [with_next_round(with_results(one, {**failing, "rest": PASS})) for one in plans]


def test_a_plan_goes_through_its_wire_form() -> None:
    plan = new_plan(nodes(96), [1.0] * 95 + [2.0], IsolationOptions(recall=0.7))
    plan = with_results(plan, {"g1": FAIL, "g2": NOT_RUN}, ["n5"])
    plan = with_next_round(with_results(plan, {"rest": PASS}))

    again = plan_from_dict(plan_to_dict(plan))

    assert again == plan
    assert plan_to_dict(again) == plan_to_dict(plan)


def test_results_come_in_parts_and_twice() -> None:
    plan = new_plan(nodes(64), None, IsolationOptions())
    half = with_results(plan, {"g1": PASS, "g2": FAIL})
    assert len(half.waiting) == len(plan.waiting) - 2
    assert with_results(half, {"g1": PASS}) == half
    assert with_results(with_results(half, {"g3": PASS}), {"rest": PASS}) == with_results(
        plan, {"g2": FAIL, "rest": PASS}
    )


def test_what_was_not_run_may_be_run_later() -> None:
    plan = new_plan(nodes(64), None, IsolationOptions())
    plan = with_next_round(with_results(plan, {"g1": FAIL, "g2": NOT_RUN, "rest": PASS}))
    assert with_results(plan, {"g2": PASS}).posterior.bad[8] < plan.posterior.bad[8]


def test_a_node_that_took_no_part_stays_as_suspect_as_it_was() -> None:
    plan = new_plan(nodes(64), None, IsolationOptions(recall=0.9))
    found = with_results(plan, {"rest": PASS}, ["n5"]).posterior.bad
    assert found[5] == max(found)
    assert found[5] > 5 * found[6]


def test_a_failure_that_no_node_explains_is_told() -> None:
    plan = new_plan(nodes(64), None, IsolationOptions(recall=0.99, false_alarm=0.01))
    plan = with_next_round(with_results(plan, {"g3": FAIL, "rest": PASS}))
    while plan.waiting:
        plan = with_next_round(with_results(plan, {"rest": PASS}))
    answer = plan_to_dict(plan)
    assert answer["state"] == "clean"
    assert answer["notes"][0].startswith("g3 failed, and likely no node in it is bad")


def test_bad_nodes_are_in_no_further_group_and_the_search_goes_on() -> None:
    plan = new_plan(nodes(512), None, IsolationOptions(recall=0.9))
    plan = one_round(plan, ["n3", "n400"])
    results = {g.id: FAIL if 3 in g.nodes else PASS for g in plan.waiting}
    plan = with_next_round(with_results(plan, results))
    assert [plan.nodes[node] for node in plan.bad_nodes] == ["n3"]
    assert plan.waiting
    assert 3 not in {node for group in plan.rounds[-1] for node in group.nodes}


def broken(key: str, value: object) -> Callable[[dict[str, Any]], None]:
    def change(facts: dict[str, Any]) -> None:
        facts[key] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        broken("schema", "triage.test-plan/9"),
        broken("nodes", "n[0-3"),
        broken("nodes", "m[0-9]"),
        broken("nodes", None),
        broken("rounds", [[{"id": "g1"}]]),
        broken("rounds", 7),
        broken("options", {"recall": "high"}),
        broken("options", {"recall": 2}),
        broken("options", {"power": 1}),
        broken("away", "n3"),
        broken("suspicion", []),
        broken("places", {"kind": "rack"}),
        broken("rounds", [[{"id": "g1", "nodelist": "m7", "outcome": None}]]),
    ],
)
def test_a_broken_state_is_refused(change: Callable[[dict[str, Any]], None]) -> None:
    facts = plan_to_dict(new_plan(nodes(10), None, IsolationOptions()))
    change(facts)
    with pytest.raises(UsageError):
        plan_from_dict(facts)


@pytest.mark.parametrize("facts", [None, [], "plan", {}, {"schema": "triage.test-plan/1"}])
def test_what_is_no_plan_is_refused(facts: object) -> None:
    with pytest.raises(UsageError):
        plan_from_dict(facts)


@pytest.mark.parametrize(
    ("names", "weights", "why"),
    [
        ([], None, "0 nodes to test"),
        (["a", "a"], None, "twice"),
        (["a; rm -rf /"], None, "no plain host name"),
        (["a", "b"], [1.0], "one weight"),
        (["a", "b"], [1.0, float("nan")], "number of 0 or more"),
        (["a", "b"], [1.0, -1.0], "number of 0 or more"),
        (["a", "b"], [0.0, 0.0], "no node is suspect"),
    ],
)
def test_nodes_that_cannot_be_tested_are_refused(
    names: list[str], weights: list[float] | None, why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        new_plan(names, weights, IsolationOptions())


@pytest.mark.parametrize(
    ("results", "missing", "why"),
    [
        ({"g99": PASS}, [], "group 'g99' is not in question"),
        ({"g1": PASS}, ["m7"], "node 'm7' is not in question"),
        ({"g1": PASS}, ["n63"], "node 'n63' is not in question"),
    ],
)
def test_results_of_nothing_in_the_plan_are_refused(
    results: dict[str, GroupOutcome], missing: list[str], why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        with_results(new_plan(nodes(64), None, IsolationOptions()), results, missing)


@pytest.mark.parametrize(
    "facts",
    [
        {"recall": 0.0}, {"recall": 1.5}, {"recall": float("nan")}, {"false_alarm": 1.0},
        {"recall": 0.2, "false_alarm": 0.3}, {"expected": 0}, {"nobody": 1}, {"certainty": 0.5},
        {"min_size": 0}, {"min_size": 5, "max_size": 4},
        {"min_size": 2.5}, {"recall": True}, {"recall": None},
    ],
)  # fmt: skip
def test_options_that_cannot_be_are_refused(facts: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        IsolationOptions(**facts)


def test_a_round_of_2048_nodes_is_planned_within_a_second() -> None:
    def plan_a_round() -> None:
        plan = new_plan(nodes(2_048), None, IsolationOptions(recall=0.7, false_alarm=0.01))
        with_next_round(with_results(plan, {"g9": FAIL, "rest": PASS}))

    assert spent_s(plan_a_round, 1.0) < 1


def test_a_round_of_20000_nodes_is_planned_in_a_few_seconds() -> None:
    def plan_a_round() -> None:
        plan = new_plan(nodes(20_000), None, IsolationOptions(recall=0.7, false_alarm=0.01))
        plan = with_next_round(with_results(plan, {"g9": FAIL, "g20": FAIL, "rest": PASS}))
        plan_from_dict(plan_to_dict(plan))

    assert spent_s(plan_a_round, 4.0) < 4


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["n1", "n2", "n3", "n7"], "n[1-3,7]"),
        (["n09", "n10", "n11"], "n[09-11]"),
        (["n9", "n10"], "n[9-10]"),
        (["n1", "n02"], "n[1,02]"),
        (["a", "b1", "b2", "a3"], "a,b[1-2],a3"),
        (["n3", "n1"], "n[3,1]"),
        (["n1.x", "n2.x"], "n1.x,n2.x"),
        ([], ""),
    ],
)
def test_names_as_a_host_list_read_back(names: list[str], text: str) -> None:
    assert host_list(names) == text
    assert expand(text) == names


def test_a_group_of_one_node_may_be_called_by_the_node() -> None:
    plan = new_plan(nodes(300), None, IsolationOptions(min_size=1))
    done = with_next_round(with_results(plan, {"n17": FAIL, "rest": PASS}))
    assert [done.nodes[node] for node in done.bad_nodes] == ["n17"]


@pytest.mark.parametrize("name", ["n1;reboot", "$(x)", "n 1"])
def test_a_state_with_a_name_that_is_no_host_name_is_refused(name: str) -> None:
    facts = plan_to_dict(new_plan(["n1", "n2", "n3"], None, IsolationOptions()))
    facts["nodes"] = f"{name},n2,n3"
    facts["suspicion"] = [{"nodes": f"{name},n2,n3", "weight": 1.0}]
    facts["rounds"] = []
    with pytest.raises(UsageError):
        plan_from_dict(facts)


def test_a_later_result_of_a_group_replaces_the_first() -> None:
    plan = with_results(new_plan(nodes(64)), {"g1": PASS})
    assert with_results(plan, {"g1": FAIL}).groups[0].outcome is FAIL


def test_nodes_that_no_test_had_are_told() -> None:
    plan = new_plan(nodes(64), None, IsolationOptions(recall=1.0))
    plan = with_next_round(with_results(plan, {"rest": PASS}, ["n7"]))
    while plan.waiting:
        plan = with_next_round(with_results(plan, {"rest": NOT_RUN}))
        if len(plan.rounds) > 3:
            break
    facts = plan_to_dict(with_results(plan, {"rest": NOT_RUN}))
    assert facts["suspects"][0]["node"] == "n7"
    assert "n7: in no test, so as likely bad as was expected before" in facts["notes"]


def test_a_plan_of_the_last_release_is_read() -> None:
    plan = with_results(new_plan(nodes(64)), {"g1": FAIL}, ["n2"])
    facts = plan_to_dict(plan) | {"places": None, "away": ""}
    group = facts["rounds"][0][0]
    facts["rounds"][0][0] = group | {"nodelist": "n[0-7]", "missing": "n2"}
    facts["options"] |= {"max_tests": None, "max_rounds": 12}
    assert plan_from_dict(facts) == plan
