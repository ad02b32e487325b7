"""Nodes away at once: a step function of time, weighted by time."""

import numpy as np
import pytest

from tests.support.planted_outages import planted_outages
from triage.statistics.away.steps import cut_outages, cut_period


def test_the_share_of_time_with_so_many_away_is_that_of_the_steps() -> None:
    seen = cut_outages(np.array([1.0, 2.0]), np.array([4.0, 3.0]), 10.0)

    assert seen.share == pytest.approx([0.7, 0.2, 0.1])
    assert (seen.mean, seen.variance) == pytest.approx((0.4, 0.44))
    assert [seen.quantile(one) for one in (0.5, 0.7, 0.89, 0.9, 0.91, 1.0)] == [0, 0, 1, 1, 2, 2]
    assert seen.covered(1) == pytest.approx(0.9)


def test_thirty_nodes_for_ten_minutes_are_ten_minutes() -> None:
    seen = cut_outages(np.full(30, 5.0), np.full(30, 5.0 + 10 / 1440), 100.0)

    assert seen.quantile(0.999) == 0
    assert seen.share[30] == pytest.approx(10 / 1440 / 100)


def test_without_an_outage_nothing_is_away() -> None:
    seen = cut_outages(np.empty(0), np.empty(0), 7.0)

    assert (len(seen), seen.mean, seen.quantile(0.999)) == (0, 0.0, 0)


def test_outages_are_cut_to_the_record_and_those_outside_are_left_out() -> None:
    seen = cut_outages(np.array([-5.0, 8.0, 11.0, -3.0]), np.array([1.0, 99.0, 12.0, -1.0]), 10.0)

    assert seen.start.tolist() == [0.0, 8.0]
    assert seen.end.tolist() == [1.0, 10.0]


def test_an_outage_that_never_ends_lasts_to_the_end_of_the_record() -> None:
    assert cut_outages(np.array([4.0]), np.array([np.inf]), 8.0).mean == 0.5


def test_the_parts_of_a_record_make_up_its_mean() -> None:
    whole = planted_outages("all_of_it", 1)
    parts = [cut_period(whole, 90.0 * k, 90.0 * (k + 1)) for k in range(4)]

    assert np.mean([one.mean for one in parts]) == pytest.approx(whole.mean)


def test_a_record_that_moves_slowly_is_worth_few_looks() -> None:
    slow, fast = (
        cut_outages(start, start + length, 400.0)
        for start, length in ((np.arange(0.0, 400.0, 100.0), 50.0), (np.arange(0.0, 400.0), 0.5))
    )

    assert slow.worth < 20 < 200 < fast.worth


def test_the_variance_of_means_is_what_the_long_run_says() -> None:
    records = [planted_outages("alone", seed, days=900.0) for seed in range(60)]
    said = np.mean([one.long_run / one.days for one in records])

    assert np.var([one.mean for one in records]) == pytest.approx(said, rel=0.5)
