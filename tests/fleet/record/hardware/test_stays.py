"""Stays of one part: moves, swaps back, claims of two nodes at once, late and repeated tellings."""

import random
from datetime import UTC, datetime, timedelta
from itertools import groupby, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.fleet.record.hardware.stays import MOST_STAYS, Sighting, Stay, stays_with

T0 = datetime(2026, 3, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def seen(node: int, day: float, until: float | None = None, slot: str = "") -> Sighting:
    return Sighting(node, slot, T0 + day * DAY, T0 + (day if until is None else until) * DAY, "x")


def days(stays: list[Stay]) -> list[tuple[int, float, float]]:
    return [(one.node, (one.first_at - T0) / DAY, (one.last_at - T0) / DAY) for one in stays]


def test_sightings_in_one_node_are_one_stay() -> None:
    assert days(stays_with([], [seen(1, 5), seen(1, 0), seen(1, 9)])) == [(1, 0, 9)]


def test_a_move_and_a_swap_back_are_three_stays() -> None:
    told = [seen(1, 0), seen(1, 2), seen(2, 3), seen(2, 5), seen(1, 6), seen(1, 8)]
    assert days(stays_with([], told)) == [(1, 0, 2), (2, 3, 5), (1, 6, 8)]


def test_a_sighting_that_is_told_late_parts_a_stay() -> None:
    first = stays_with([], [seen(1, 0), seen(1, 10)])
    assert days(stays_with(first, [seen(2, 5)])) == [(1, 0, 0), (2, 5, 5), (1, 10, 10)]


def test_two_nodes_at_once_stay_two_stays_that_overlap() -> None:
    told = [seen(node, day) for day in range(5) for node in (1, 2)]
    assert days(stays_with([], told)) == [(1, 0, 4), (2, 0, 4)]


def test_clocks_that_differ_by_less_than_an_hour_part_nothing() -> None:
    told = [seen(1, 0), seen(1, 5), seen(2, 4.98), seen(2, 9)]
    assert days(stays_with([], told)) == [(1, 0, 5), (2, 4.98, 9)]


def test_the_same_again_changes_nothing() -> None:
    told = [seen(1, 0, 3), seen(2, 4), seen(1, 6)]
    once = stays_with([], told)
    assert stays_with(once, told) == once


def test_a_stored_stay_keeps_its_row_and_its_token() -> None:
    stored = Stay(1, "", T0 + DAY, T0 + 2 * DAY, "incident", "key_a", 7)
    [found] = stays_with([stored], [seen(1, 0, slot="0000:5d:00"), seen(1, 1.5, slot="3")])
    assert (found.row, found.key_id, found.slot) == (7, "key_a", "0000:5d:00")
    assert (found.first_at, found.last_at) == (T0, T0 + 2 * DAY)


def test_a_part_that_is_everywhere_is_bounded() -> None:
    told = [seen(day % 7, day) for day in range(1000)]
    assert len(stays_with([], told)) <= MOST_STAYS


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30)), max_size=16), st.randoms())
def test_the_order_of_tellings_changes_no_place(
    by_day: list[tuple[int, int]], chance: random.Random
) -> None:
    """One node a day: who had it when is the same, whichever day is told first."""
    one_a_day = {day: node for node, day in by_day}
    sightings = [seen(node, day) for day, node in sorted(one_a_day.items())]
    expected = [node for node, _ in groupby(node for _, node in sorted(one_a_day.items()))]
    found = stays_with([], sightings)
    assert [one.node for one in found] == expected
    stored: list[Stay] = []
    for sighting in chance.sample(sightings, len(sightings)):
        stored = stays_with(stored, [sighting])
    at_ends = [one.node for one in sorted(stored, key=lambda one: one.first_at)]
    # A middle that was only believed may be lost; nothing is where nobody saw it.
    assert {one.node for one in stored} == set(one_a_day.values())
    assert all(left != right for left, right in pairwise(at_ends))
    for one in stored:
        for at in (one.first_at, one.last_at):
            assert one_a_day[(at - T0).days] == one.node


@pytest.mark.parametrize("slots", [("3", "0000:5d:00"), ("0000:5d:00", "3"), ("", "0000:5d:00")])
def test_an_address_says_more_than_a_number(slots: tuple[str, str]) -> None:
    [found] = stays_with([], [seen(1, day, slot=slot) for day, slot in enumerate(slots)])
    assert found.slot == "0000:5d:00"
