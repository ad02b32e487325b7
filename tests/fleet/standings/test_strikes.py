"""Strikes: which accusations count, and how blame is shared."""

import numpy as np
import pytest

from tests.fleet.fleets import alone, fleet
from triage.domain.category import Category
from triage.fleet.standings.strikes import NS_PER_HOUR, build_strikes, merge_episodes

HOUR = 1 / 24


@pytest.mark.parametrize(
    ("accused", "wanted"),
    [
        ([(1, 0.97)], [1.0]),
        ([(1, 0.45), (2, 0.45)], [0.5, 0.5]),
        ([(1, 0.3), (2, 0.3), (3, 0.3)], [1 / 3, 1 / 3, 1 / 3]),
        ([(1, 0.9), (2, 0.1)], [0.9, 0.1]),
        ([(1, 0.0), (2, 0.0)], [0.5, 0.5]),
        ([(1, float("nan")), (2, 0.5)], [0.0, 1.0]),
    ],
    ids=["alone", "a pair", "a tie of three", "by score", "no score at all", "no number"],
)
def test_blame_is_shared_by_score(accused, wanted):
    strikes = build_strikes(fleet([(3.0, accused)]))

    assert strikes.blame.tolist() == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("more", "counts"),
    [
        ({}, True),
        ({"categories": {0: Category.HOST_STALL}}, True),
        ({"causes": {0: None}}, True),
        ({"categories": {0: Category.SOFTWARE_USER}}, False),
        ({"causes": {0: Category.STORAGE}}, False),
        ({"planned": [0]}, False),
        ({"without_run": [0]}, False),
        ({"outside": [1]}, False),
    ],
    ids=[
        "a GPU", "a stalled host", "nobody said the cause", "software at the node",
        "a cause that no node has", "planned", "no run known", "not in that run",
    ],
)  # fmt: skip
def test_counts_what_a_node_can_have_while_a_run_was_on_it(more, counts):
    assert len(build_strikes(fleet(alone(1, [3.0]), **more)).node) == int(counts)


def test_says_how_many_had_no_run():
    record = fleet(alone(1, [3.0, 4.0, 5.0]), without_run=[0, 2])

    assert build_strikes(record).num_left_out == 2


def test_what_software_suspects_bear_is_nobodys():
    record = fleet(
        [(3.0, [(1, 0.5)]), (3.0, [(2, 0.5)])], categories={1: Category.SOFTWARE_USER},
        causes={1: Category.GPU},
    )  # fmt: skip

    assert build_strikes(record).node.tolist() == [1]


@pytest.mark.parametrize(
    ("days", "left"),
    [([1.0, 2.0, 3.0], 3), ([1.0, 1 + 0.5 * HOUR, 1 + 1.4 * HOUR], 1), ([1.0, 1 + 2 * HOUR], 2)],
    ids=["days apart", "a restart that fails again and again", "two hours apart"],
)
def test_a_job_that_restarts_on_a_broken_node_strikes_once(days, left):
    assert len(merge_episodes(build_strikes(fleet(alone(1, days))), NS_PER_HOUR).node) == left


def test_two_nodes_at_the_same_time_are_two_episodes():
    record = fleet([*alone(1, [1.0]), *alone(2, [1.0])])

    assert merge_episodes(build_strikes(record), NS_PER_HOUR).node.tolist() == [1, 2]


def test_an_episode_bears_the_most_that_it_ever_bore():
    record = fleet([(1.0, [(1, 0.4), (2, 0.4)]), (1.01, [(1, 0.97)])])

    strikes = merge_episodes(build_strikes(record), NS_PER_HOUR)

    assert dict(zip(strikes.node.tolist(), strikes.blame.tolist(), strict=True)) == {1: 1, 2: 0.5}


def test_an_empty_record_has_none():
    strikes = merge_episodes(build_strikes(fleet()), NS_PER_HOUR)

    assert strikes.node.dtype == np.int32
    assert not len(strikes.node)
