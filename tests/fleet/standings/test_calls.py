"""Calls: who is named, when nobody may be, and what past calls came to."""

import numpy as np
import pytest

from tests.fleet.standings.outages import at_random, in_bursts, record_of
from triage.domain.standing import Grade
from triage.fleet.standings.forecast import CallRule, decide_calls, iterate_forecasts
from triage.fleet.standings.standing import fleet_standings
from triage.fleet.standings.strikes import build_history

ALL = np.ones(100, dtype=bool)
EQUAL = np.ones(100)


def test_outages_alone_give_standings():
    found = fleet_standings(record_of(in_bursts(120)))

    assert found.basis == "outages"
    assert found.num_tested == 100
    assert any("unplanned outages count" in note for note in found.notes)
    assert found.counts["unknown"] == 0


def test_a_node_in_the_middle_of_a_burst_is_called():
    again = [("n007", 180.0 + 4 * one, 180.2 + 4 * one, "memory") for one in range(5)]

    found = fleet_standings(record_of([*in_bursts(60), *again]))

    lemon = next(one for one in found.nodes if one.node == "n007")
    assert lemon.grade is Grade.LEMON
    assert lemon.forecast_low < lemon.forecast < lemon.forecast_high
    assert lemon.times > 3
    assert "times as many as of its peers" in lemon.reasons[0]


def test_faults_of_random_nodes_call_nobody():
    named = 0
    for seed in range(40):
        found = fleet_standings(record_of(at_random(120, seed=seed)))
        named += found.counts["lemon"] > 0

    assert named <= 4


def test_few_are_called_at_a_time():
    called = decide_calls(
        build_history(record_of(in_bursts(300))), ALL, rule=CallRule(bursts=False)
    )

    assert called.decided
    assert called.called.sum() <= 2


def test_steady_lemons_are_no_bursts():
    steady = [
        (f"n{node:03d}", day, day + 0.1, "gpu")
        for node in range(4)
        for day in np.random.default_rng(node).uniform(0, 199, 25).tolist()
    ]
    *_, now = iterate_forecasts(build_history(record_of([*at_random(80), *steady])), ALL, EQUAL)
    *_, in_burst = iterate_forecasts(build_history(record_of(in_bursts(120))), ALL, EQUAL)

    assert now.chance < 1e-6
    assert not CallRule().decides(now)
    assert CallRule(bursts=False).decides(now)
    assert CallRule().decides(in_burst)


def test_calls_of_the_past_are_made_from_what_was_known():
    rows = in_bursts(200, days=200.0)
    whole, half = record_of(rows), record_of([row for row in rows if row[1] < 130], days=130.0)

    now = decide_calls(build_history(half), ALL, rule=CallRule(bursts=False))
    later = decide_calls(build_history(whole), ALL, rule=CallRule(bursts=False))

    assert later.before[130.0] == tuple(np.flatnonzero(now.called)[
        np.argsort(-now.now.times[now.called], kind="stable")
    ])  # fmt: skip


def test_walked_calls_say_their_precision():
    found = fleet_standings(record_of(in_bursts(200)))

    walked = found.walked
    assert walked is not None
    assert 0 <= walked.precision_low <= walked.precision <= walked.precision_high <= 1
    assert walked.failed <= walked.calls
    assert any("nodes called lemons before" in note for note in found.notes)


def test_a_node_that_is_long_out_is_no_call():
    again = [("n007", 100.0 + 4 * one, 100.2 + 4 * one, "memory") for one in range(5)]

    found = fleet_standings(record_of([*in_bursts(60), *again, ("n007", 121.0, 300.0, "memory")]))

    assert next(one for one in found.nodes if one.node == "n007").grade is not Grade.LEMON


@pytest.mark.parametrize("days", [7.0, 3650.0], ids=["a week", "ten years"])
def test_a_record_of_any_length_has_standings(days):
    found = fleet_standings(record_of(at_random(20, days=days), days=days))

    assert len(found.nodes) == 100
    assert found.walked is None


def test_one_node_is_held_against_nobody():
    rows = [("n000", day, day + 0.1, "gpu") for day in range(1, 190, 9)]

    found = fleet_standings(record_of(rows, nodes=1))

    assert [one.grade for one in found.nodes] != [Grade.LEMON]
