"""The rate of a generation: its own where enough is known of it, else the fleet's."""

import numpy as np
import pytest

from triage.fleet.standings.own_rates import groups_of

MONTH = np.full(100, 30.0)
EQUAL = np.ones(100)


def blamed(first, others, num_first=50):
    """Blame of 100 nodes, ``first`` each for the first ``num_first``."""
    return np.where(np.arange(100) < num_first, first, others).astype(float)


def split(num_first, one="new", other="old"):
    return groups_of([one] * num_first + [other] * (100 - num_first))


@pytest.mark.parametrize("generation", [None, "h100"])
def test_one_generation_has_the_fleets_rate(generation):
    fleet, rate = groups_of([generation] * 100).rates(blamed(1, 2), MONTH, EQUAL)

    assert fleet == pytest.approx(150 / 3000)
    assert set(rate) == {fleet}


def test_a_generation_with_enough_exposure_has_its_own():
    fleet, rate = split(50).rates(blamed(3, 1), MONTH, EQUAL)

    assert fleet == pytest.approx(200 / 3000)
    assert rate[0] == pytest.approx(3 / 30, rel=0.04)
    assert rate[99] == pytest.approx(1 / 30, rel=0.12)


def test_one_of_which_little_is_known_is_held_near_the_fleets():
    fleet, rate = split(1).rates(blamed(6, 1, 1), MONTH, EQUAL)

    assert rate[0] < 2 * fleet
    assert rate[99] == pytest.approx(fleet, rel=0.05)


def test_whoever_is_no_healthy_node_does_not_count():
    weight = np.where(np.arange(100) == 0, 0.0, 1.0)

    with_it = split(1).rates(blamed(60, 1, 1), MONTH, EQUAL)[1]
    without = split(1).rates(blamed(60, 1, 1), MONTH, weight)[1]

    assert without[0] == pytest.approx(1 / 30)
    assert with_it[0] > 5 * without[0]


def test_nodes_that_no_inventory_knows_are_a_group_too():
    _, rate = groups_of([None] * 50 + ["old"] * 50).rates(blamed(3, 1), MONTH, EQUAL)

    assert rate[0] > 2 * rate[99]


def test_a_fleet_without_exposure_has_no_rate():
    fleet, rate = split(50).rates(blamed(0, 0), np.zeros(100), EQUAL)

    assert (fleet, rate.tolist()) == (0.0, [0.0] * 100)


@pytest.mark.parametrize(("times", "told"), [(1.5, False), (4.0, True)])
def test_a_generation_that_fails_much_more_is_noted(times, told):
    groups = split(50)
    _, rate = groups.rates(blamed(10 * times, 10), MONTH, EQUAL)

    notes = list(groups.notes(rate, MONTH, 1000.0))

    assert [note.startswith("generation new fails 4.0 times") for note in notes] == [True] * told


def test_the_order_of_nodes_does_not_matter():
    generation = ["b", None, "a", "b", None]

    assert groups_of(generation).names == groups_of(generation[::-1]).names == ("a", "b", None)
