"""What taking a node out saves, and when it pays."""

from dataclasses import replace

import pytest

from tests.fleet.fleets import alone, background, fleet
from tests.fleet.standings.outages import in_bursts, record_of
from triage.domain.standing import Grade
from triage.fleet.standings.history import build_history
from triage.fleet.standings.saving import (
    Cost,
    describe_saving,
    estimate_cost,
    estimate_saved_gpu_hours,
)
from triage.fleet.standings.standing import fleet_standings

COST = Cost(gpus=16_384, gpus_per_node=8, lost_h=0.5, repair_days=2.0, held=0.5, num_repairs=40)


def test_a_node_that_fails_as_its_peers_saves_nothing():
    assert estimate_saved_gpu_hours(COST, 0.3, 1.0) == 0.0
    assert estimate_saved_gpu_hours(COST, 0.0, 0.0) == 0.0


def test_the_saving_is_faults_avoided_times_their_cost_over_the_days_out():
    # 1.2 faults less the 0.3 of a peer, half of which a repair avoids: 0.45 of 8,192 GPU-hours.
    assert estimate_saved_gpu_hours(COST, 1.2, 4.0) == pytest.approx(0.45 * 8_192 / 2.0)


@pytest.mark.parametrize(("per_day", "words"), [(193.0, "it pays"), (191.0, "it does not pay")])
def test_it_pays_above_what_a_node_day_is_worth(per_day, words):
    assert f"a node-day is 192: {words} (" in describe_saving(COST, per_day)


def test_outages_alone_cannot_tell():
    again = [("n007", 180.0 + 4 * one, 180.2 + 4 * one, "memory") for one in range(5)]

    found = fleet_standings(record_of([*in_bursts(60), *again]))

    lemon = next(one for one in found.nodes if one.grade is Grade.LEMON)
    assert lemon.saved_gpu_hours is None
    assert "cannot be told: no run says how many GPUs" in lemon.reasons[-1]


def test_few_repairs_are_assumed_and_said():
    record = fleet([*alone(1, [5.0, 9.0, 20.0, 30.0, 41.0, 50.0]), *background(10)])

    assert estimate_cost(record, build_history(record), 0.5) is None  # no node's GPUs are known
    text = describe_saving(Cost(800, 8, 0.5, 1.0, 0.5, 2), 10.0)
    assert "assumed, repairs are too few" in text


def test_repairs_that_hold_are_counted():
    rows = [("n001", day, day + 2.0, "gpu") for day in range(10, 150, 10)]
    rows += [(f"n{node:03d}", 20.0, 24.0, "gpu") for node in range(10, 24)]
    record = record_of(rows)
    history = build_history(record)

    runs = fleet(nodes=100, days=200).runs
    cost = estimate_cost(replace(record, runs=runs, gpus_per_node=8), history, 0.5)

    assert cost is not None
    assert cost.gpus == 800
    assert cost.repair_days == pytest.approx(3.0)
    # Fourteen of one node of which the last holds, fourteen of others which all do.
    assert cost.held == pytest.approx(15 / 28)
