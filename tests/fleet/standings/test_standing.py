"""Standings: who is a lemon, who is watched, who is golden, and who is none of it."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from tests.fleet.fleets import DAYS, SINCE_NS, alone, background, fleet, node_name
from triage.domain.category import Category
from triage.domain.health import CheckResult, Outcome
from triage.domain.standing import Grade, PartKind
from triage.fleet.record.columns import NodeSignals
from triage.fleet.standings.standing import fleet_standings

END = datetime.fromtimestamp(SINCE_NS / 1e9, UTC) + timedelta(days=DAYS)
NODE = node_name(1)


def spread(num):
    """``num`` days over the window, a day at least apart."""
    return [float(day) for day in np.linspace(5, 50, num)]


def grade_of(record, node=NODE):
    return next(one.grade for one in fleet_standings(record).nodes if one.node == node)


def check(outcome, name="dcgm.memory", days_ago=1.0):
    return CheckResult(NODE, name, outcome, END - timedelta(days=days_ago))


@pytest.mark.parametrize(
    ("strikes", "grade"),
    [(0, Grade.NORMAL), (1, Grade.NORMAL), (2, Grade.NORMAL), (4, Grade.WATCH), (6, Grade.LEMON)],
    ids=["none", "one", "two strikes is noise", "four of the window", "six"],
)
def test_strikes_at_the_llama_3_rate_in_a_large_fleet(strikes, grade):
    nodes = 2048
    # 8 weeks at 2.93 hardware interruptions per 1,000 node-days, the Llama 3 rate: 336.
    record = fleet([*alone(1, spread(strikes)), *background(330, nodes)], nodes=nodes)

    assert grade_of(record) is grade


def test_a_large_job_makes_nobody_a_lemon():
    # Every node is in every interruption's run, and is the suspect of one.
    assert {one.grade for one in fleet_standings(fleet(background(100))).nodes} == {Grade.NORMAL}


def test_ties_weigh_what_they_are_worth():
    tied = [(day, [(1, 0.45), (2 + number, 0.45)]) for number, day in enumerate(spread(4))]

    assert grade_of(fleet([*alone(1, spread(4)), *background(10)])) is Grade.LEMON
    assert grade_of(fleet([*tied, *background(10)])) is not Grade.LEMON


def test_whoever_is_only_beside_a_lemon_is_none():
    beside = [(day, [(1, 0.9), (2, 0.1)]) for day in spread(8)]

    record = fleet([*beside, *background(10)])

    assert grade_of(record) is Grade.LEMON
    assert grade_of(record, node_name(2)) is Grade.NORMAL


def test_old_interruptions_are_forgotten():
    days = [one / 10 for one in range(30, 80, 8)]
    young = fleet([*alone(1, days), *background(10, days=200)], days=50)
    old = fleet([*alone(1, days), *background(10, days=200)], days=200)

    assert grade_of(young) is Grade.LEMON
    assert grade_of(old) is Grade.NORMAL


def test_a_longer_record_changes_no_standing():
    days = [400 - day for day in (2.0, 9.0, 20.0, 33.0, 41.0)]
    others = [(day, accused) for day, accused in background(60, days=400)]
    long = fleet([*alone(1, [5.0, 90.0]), *alone(1, days), *others], days=400)
    short = fleet(
        [(day - 288, accused) for day, accused in [*alone(1, days), *others] if day >= 288],
        days=112,
    )  # fmt: skip

    (of_long, *_), (of_short, *_) = fleet_standings(long).nodes, fleet_standings(short).nodes
    # How faults fade, and so the rate and what it is to do next, is learned from all of the record.
    learned = dict.fromkeys(
        ("forecast", "forecast_low", "forecast_high", "times", "rate", "rate_low", "rate_high",
         "score", "reasons")
    )  # fmt: skip
    assert replace(of_long, **learned) == replace(of_short, **learned)
    assert of_long.reasons[0] == of_short.reasons[0]
    assert of_long.grade is Grade.LEMON


def test_a_node_that_no_run_names_has_no_standing():
    found = fleet_standings(fleet(alone(1, spread(9)), outside=[1]))

    unknown = [one for one in found.nodes if one.grade is Grade.UNKNOWN]
    assert [one.node for one in unknown] == [NODE]
    assert "without exposure there is no standing" in unknown[0].reasons[0]
    assert any("1 of 100 nodes without a standing" in note for note in found.notes)
    assert any("9 accusations not counted" in note for note in found.notes)


def test_a_lemon_says_its_figures_and_its_part():
    record = fleet([*alone(1, spread(6), "GPU 0000:5d:00"), *background(10)])

    lemon = fleet_standings(record).nodes[0]

    assert (lemon.node, lemon.grade, lemon.part) == (NODE, Grade.LEMON, "GPU 0000:5d:00")
    assert lemon.reasons[0].startswith("a suspect in 6 interruptions of the last 56 days (blame 6)")
    assert any("false-discovery rate of 5%" in reason for reason in lemon.reasons)
    assert any("GPU 0000:5d:00 of n0001 is named in 6 of 6" in one for one in lemon.reasons)
    assert lemon.rate is not None
    assert lemon.rate_low < lemon.rate < lemon.rate_high


GOLD = {NODE: NodeSignals(checks=(check(Outcome.PASS, "stress.burn_in"),))}


@pytest.mark.parametrize(
    ("stops", "signals", "days", "grade"),
    [
        ([], GOLD, DAYS, Grade.GOLDEN),
        ([], {}, DAYS, Grade.NORMAL),
        ([], GOLD, 14, Grade.NORMAL),
        (alone(1, [30.0]), GOLD, DAYS, Grade.NORMAL),
        ([(30.0, [(1, 0.1), (2, 0.9)])], GOLD, DAYS, Grade.NORMAL),
        ([], {NODE: NodeSignals(checks=(check(Outcome.PASS),))}, DAYS, Grade.NORMAL),
        (
            [], {NODE: NodeSignals(checks=(check(Outcome.PASS, "stress.burn_in", 90.0),))}, DAYS,
            Grade.NORMAL,
        ),
        (
            [], {NODE: NodeSignals(checks=(*GOLD[NODE].checks, check(Outcome.WARN)))}, DAYS,
            Grade.NORMAL,
        ),
    ],
    ids=[
        "clean and passed", "no check", "too short", "accused", "beside another",
        "passed what is no stress", "passed long ago", "another check warns",
    ],
)  # fmt: skip
def test_golden_takes_a_long_clean_record_and_a_stress_check(stops, signals, days, grade):
    shift = [(day * days / DAYS, accused) for day, accused in stops]

    assert grade_of(fleet(shift, days=days, signals=signals)) is grade


@pytest.mark.parametrize(
    ("signals", "grade"),
    [
        (NodeSignals(checks=(check(Outcome.FAIL),)), Grade.WATCH),
        (NodeSignals(checks=(check(Outcome.SKIPPED),)), Grade.NORMAL),
        (NodeSignals(distinct_xids=(48, 63, 94, 95)), Grade.NORMAL),
        (NodeSignals(distinct_xids=(48, 63, 94), straggler_hits=5), Grade.WATCH),
        (NodeSignals(distinct_xids=(48, 48, 48), straggler_hits=5), Grade.NORMAL),
        (NodeSignals(straggler_hits=4, telemetry={"throttled_hours": 80.0}), Grade.WATCH),
        (
            NodeSignals(
                (48, 63, 94, 95, 79), 50, (check(Outcome.FAIL),), {"remap_growth": 900.0}
            ),
            Grade.WATCH,
        ),
    ],
    ids=[
        "a check fails", "a check was left out", "one sign", "two signs", "the same Xid thrice",
        "slow and throttled", "everything at once is still no lemon",
    ],
)  # fmt: skip
def test_signs_put_a_node_under_watch_and_never_convict_it(signals, grade):
    # Of the other nodes nothing is known, as a service keeps it.
    assert grade_of(fleet(background(20), signals={NODE: signals})) is grade


def test_what_all_nodes_show_is_no_sign():
    alike = NodeSignals(distinct_xids=(13, 31, 43), straggler_hits=4)
    drains = [(node, day) for node in range(100) for day in (3.0, 9.0, 20.0)]

    record = fleet(signals={node_name(one): alike for one in range(100)}, outages=drains)

    assert {one.grade for one in fleet_standings(record).nodes} == {Grade.NORMAL}


def test_a_node_that_alone_was_drained_again_and_again_has_a_sign():
    outages = [(1, day) for day in (3.0, 9.0, 20.0)]

    record = fleet(outages=outages, signals={NODE: NodeSignals(straggler_hits=5)})

    assert grade_of(record) is Grade.WATCH
    assert "it was taken out of service 3 times" in fleet_standings(record).nodes[0].reasons


def fabric(num, nodes_of=lambda number: (number % 8,)):
    """Interruptions that accuse nodes of the first leaf switch, each time others."""
    return [(day, [(node, 0.9) for node in nodes_of(number)]) for number, day in
            enumerate(spread(num))]  # fmt: skip


def test_a_leaf_switch_is_named_and_its_nodes_are_not():
    stops = [*fabric(16), *background(10)]
    network = dict.fromkeys(range(16), Category.NETWORK)

    found = fleet_standings(fleet(stops, leaf_size=8, categories=network))

    leaf = [one for one in found.parts if one.kind is PartKind.LEAF_SWITCH]
    assert [(one.name, len(one.nodes), one.interruptions) for one in leaf] == [("leaf0", 8, 16)]
    assert {one.grade for one in found.nodes} == {Grade.NORMAL}
    of_leaf = next(one for one in found.nodes if one.node == NODE)
    assert any("not held against it: leaf switch leaf0" in one for one in of_leaf.reasons)


@pytest.mark.parametrize(
    ("stops", "more"),
    [
        (fabric(16, lambda _: (1,)), {"categories": dict.fromkeys(range(16), Category.NETWORK)}),
        (fabric(16, lambda n: (n % 2,)), {"categories": dict.fromkeys(range(16), Category.NIC)}),
        (fabric(16), {}),
    ],
    ids=["one bad node behind it", "two nodes", "causes that no switch has"],
)
def test_a_leaf_switch_is_not_named(stops, more):
    found = fleet_standings(fleet([*stops, *background(10)], leaf_size=8, **more))

    assert [one for one in found.parts if one.kind is PartKind.LEAF_SWITCH] == []


def test_a_lemon_behind_a_bad_switch_is_still_one():
    gpu = alone(2, spread(8))
    stops = [*fabric(16), *gpu, *background(10)]

    record = fleet(stops, leaf_size=8, categories=dict.fromkeys(range(16), Category.NETWORK))

    assert grade_of(record, node_name(2)) is Grade.LEMON
    assert grade_of(record, node_name(3)) is Grade.NORMAL


def test_the_worst_come_first_whatever_the_order_of_accusations():
    stops = [*alone(1, spread(9)), *alone(2, spread(6)), *background(10)]

    forward = fleet_standings(fleet(stops))
    backward = fleet_standings(fleet(stops[::-1]))

    assert [one.node for one in forward.nodes[:2]] == [NODE, node_name(2)]
    assert forward.to_dict() == backward.to_dict()


GENERATION = ["new"] * 25 + ["old"] * 75


def of_generations(*more):
    """Nodes of the new generation fail three times as often: 1.2 times each, others 0.4."""
    new = [(1 + 1.8 * one, [(one % 25, 0.97)]) for one in range(30)]
    old = [(1.5 + 1.8 * one, [(25 + 2 * one, 0.97)]) for one in range(30)]
    return [*new, *old, *more]


def test_a_worse_generation_is_no_list_of_lemons():
    found = fleet_standings(fleet(of_generations(), generation=GENERATION))

    assert {one.grade for one in found.nodes} == {Grade.NORMAL}
    [note] = [one for one in found.notes if one.startswith("generation new fails ")]
    assert "times as often as the rest" in note
    of_new = next(one for one in found.nodes if one.node == NODE)
    assert re.search(r"at the \d\d\.\d per 1,000 of its generation \(new\)$", of_new.reasons[0])


def test_a_lemon_of_a_generation_is_named_against_its_own():
    stops = of_generations(*alone(3, spread(9)), *alone(40, spread(5)))

    found = {one.node: one for one in fleet_standings(fleet(stops, generation=GENERATION)).nodes}

    assert found[node_name(3)].grade is Grade.LEMON
    assert found[node_name(3)].expected > 2 * found[node_name(40)].expected
    assert found[node_name(40)].grade in (Grade.LEMON, Grade.WATCH)


def test_nodes_of_no_known_generation_are_held_against_the_fleet():
    generation = [None if one == "new" else one for one in GENERATION]

    found = fleet_standings(fleet(of_generations(), generation=generation))

    assert "at the fleet's" in found.nodes[0].reasons[0]
    assert found.places == ()


def test_an_empty_record_has_no_standings():
    found = fleet_standings(fleet(nodes=0))

    assert found.nodes == ()
    assert found.to_dict()["fleet_rate_per_1000_node_days"] is None
