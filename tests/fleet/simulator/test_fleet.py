"""Simulated fleets: the same again, at the rate asked for, and consistent in themselves."""

from dataclasses import replace

import numpy as np
import pytest

from simulator.fleet.fleet import simulate_fleet
from simulator.fleet.wish import LLAMA3_PER_NODE_DAY, FleetWish, lemon_factor
from triage.domain.standing import Grade
from triage.fleet.standings.standing import fleet_standings

SMALL = FleetWish(nodes=256, days=30.0, seed=4)


def test_the_factor_is_what_removing_lemons_changed():
    factor = lemon_factor()
    before = (1 - 0.013 + 0.013 * factor) * -np.log(1 - 0.04)

    assert factor == pytest.approx(208.3, abs=0.1)
    assert 1 - np.exp(-before) == pytest.approx(0.14)


def test_the_same_wish_gives_the_same_record():
    one, two = simulate_fleet(SMALL), simulate_fleet(SMALL)
    other = simulate_fleet(replace(SMALL, seed=5))

    assert one.culprits == two.culprits
    assert np.array_equal(one.record.runs.node, two.record.runs.node)
    assert np.array_equal(one.record.accusations.score, two.record.accusations.score)
    assert one.culprits != other.culprits


def test_the_rate_is_that_of_the_llama_3_run():
    stops = node_days = 0.0
    for seed in range(6):
        record = simulate_fleet(FleetWish(nodes=1024, seed=seed, bad_leaves=0)).record
        days = (record.runs.end_ns - record.runs.start_ns) / 86_400e9
        stops += len(record.interruptions.at_ns)
        node_days += float((days * record.runs.num_nodes).sum())

    # A lemon that is drained is away for a while, so there is a little less.
    assert stops / node_days == pytest.approx(LLAMA3_PER_NODE_DAY, rel=0.12)


def test_a_record_holds_together():
    fleet = simulate_fleet(SMALL)
    record, runs = fleet.record, fleet.record.runs

    assert (np.diff(runs.start_ns) >= 0).all()
    assert (runs.end_ns >= runs.start_ns).all()
    assert runs.end_ns.max() <= record.until_ns
    assert (np.diff(record.interruptions.at_ns) >= 0).all()
    assert record.interruptions.at_ns.tolist() == runs.end_ns[record.interruptions.run].tolist()
    assert len(fleet.culprits) == len(record.interruptions.at_ns)
    busy_until = np.zeros(len(record.nodes))
    for run in range(len(runs.start_ns)):
        nodes = runs.node[runs.node_at[run] : runs.node_at[run + 1]]
        assert (busy_until[nodes] <= runs.start_ns[run]).all()
        busy_until[nodes] = runs.end_ns[run]


def test_lemons_are_found_and_healthy_nodes_are_not():
    fleet = simulate_fleet(FleetWish(nodes=1024, seed=1))

    found = fleet_standings(fleet.record).nodes

    lemons = {one.node for one in found if one.grade is Grade.LEMON}
    assert len(lemons & fleet.lemons) >= 0.8 * len(fleet.lemons)
    assert len(lemons - fleet.lemons) <= 1


def test_generations_fail_as_often_as_was_asked_for():
    wish = FleetWish(
        nodes=512, seed=2, lemon_share=0.0, rate=0.02,
        generations=(("new", 0.25, 3.0), ("old", 0.75, 1.0)),
    )  # fmt: skip

    fleet = simulate_fleet(wish)

    of = dict(zip(fleet.record.nodes, fleet.record.generation, strict=True))
    named = [of[one] for one in fleet.culprits if one is not None]
    assert sum(one == "new" for one in of.values()) == 128
    assert named.count("new") / named.count("old") == pytest.approx(1.0, rel=0.25)
    assert not fleet.lemons


def test_healthy_nodes_may_differ():
    def most(shape):
        wish = FleetWish(nodes=512, seed=2, lemon_share=0.0, rate=0.05, healthy_shape=shape)
        culprits = [one for one in simulate_fleet(wish).culprits if one is not None]
        return len(culprits), max(culprits.count(one) for one in set(culprits))

    (num_alike, alike), (num_differing, differing) = most(None), most(2.0)

    assert num_differing == pytest.approx(num_alike, rel=0.15)
    assert differing > 1.5 * alike
