"""ETTR: the closed form within its validity, and what records say."""

import numpy as np
import pytest

from triage.statistics.ettr import (
    RunCosts,
    compute_downtime_budget_min,
    compute_expected_ettr,
    compute_young_s,
    measure_ettr,
    solve_longest_restart_s,
)


def form(failures_per_day: float = 8.0, **given: float):
    times = {"restart_s": 300.0, "interval_s": 600.0, "write_s": 10.0, **given}
    return compute_expected_ettr(failures_per_day, **times)


def test_outside_its_validity_the_form_says_so_and_stays_a_share() -> None:
    valid, invalid, hopeless = form(30), form(40), form(400)

    assert valid.valid
    assert not invalid.valid
    assert (hopeless.share, hopeless.valid) == (0.0, False)


def test_without_failures_only_the_writing_is_lost() -> None:
    assert form(0).share == pytest.approx(1 / (1 + 10 / 600))


def test_the_longest_restart_gives_the_wanted_share() -> None:
    longest = solve_longest_restart_s(0.9, 8.0, interval_s=600, write_s=10)

    assert form(restart_s=longest).share == pytest.approx(0.9)
    assert solve_longest_restart_s(0.999, 8.0, interval_s=600, write_s=10) is None


def test_no_interruption_has_no_budget() -> None:
    assert compute_downtime_budget_min(100, 0) is None
    assert compute_downtime_budget_min(100, 6, wanted=0.9) == pytest.approx(100)


def measured(spans, interrupted, **costs):
    start, end = np.array(spans, float).T
    return measure_ettr(start, end, np.array(interrupted), costs=RunCosts(**costs))


def test_an_interrupted_run_loses_its_restart_and_half_an_interval() -> None:
    found = measured([(0, 10), (10, 20)], [True, False], checkpoint_s=3600, restart_s=1800)

    assert found.redone_hours == pytest.approx(0.5)
    assert found.share.value == pytest.approx(18.5 / 20)
    assert found.share.low < found.share.value < found.share.high


def test_a_run_that_ends_before_it_began_to_work_kept_nothing() -> None:
    found = measured([(0, 0.25)], [True], restart_s=1800, checkpoint_s=3600)

    assert found.share.value == 0
    assert "no interval" in found.share.notes[0]


def test_the_order_of_runs_does_not_matter() -> None:
    spans, flags = [(0, 10), (12, 20), (0, 5)], [True, False, True]
    one = measured(spans, flags, restart_s=60, checkpoint_s=60)
    other = measured(spans[::-1], flags[::-1], restart_s=60, checkpoint_s=60)

    assert one.share.value == pytest.approx(other.share.value)


def test_the_closed_form_and_a_record_of_the_same_job_agree() -> None:
    chance = np.random.default_rng(4)
    lengths = chance.exponential(3.1, 5_000)
    end = np.cumsum(lengths)
    interval = compute_young_s(10, 3.1 * 3600)
    costs = RunCosts(checkpoint_s=interval, write_s=10, restart_s=300)
    found = measure_ettr(end - lengths, end, np.ones(5_000, bool), costs=costs)
    expected = compute_expected_ettr(24 / 3.1, restart_s=300, interval_s=interval, write_s=10)

    assert found.share.value == pytest.approx(expected.share, abs=0.005)


def test_no_run_gives_no_share() -> None:
    empty = np.zeros(0)

    assert measure_ettr(empty, empty, np.zeros(0, bool)).share.value is None
