"""Exposure: only what lies in the record, and what counts."""

import numpy as np
import pytest

from tests.fleet.records import record, runs, stops
from triage.fleet.record.exposed import clip_exposure
from triage.statistics.away.steps import sum_time_since


def test_runs_are_clipped_to_the_record() -> None:
    seen = clip_exposure(
        record(hours=100, ran=runs([(-50, 10), (90, 500), (200, 300)], num_gpus=8))
    )

    assert seen.hours.tolist() == [10, 10, 0]
    assert (seen.job_hours, seen.gpu_hours) == (20, 160)
    assert seen.node_days == pytest.approx(20 / 24)


def test_an_end_before_its_start_is_no_exposure() -> None:
    seen = clip_exposure(record(ran=runs([(50, 10), (0, 5)])))

    assert seen.hours.tolist() == [0, 5]


def test_planned_stops_and_those_outside_the_record_do_not_count() -> None:
    seen = clip_exposure(
        record(
            hours=100,
            ran=runs([(0, 100)]),
            stopped=stops([-1, 10, 20, 101], run=[0, 0, 0, 0], planned=[2]),
        )
    )

    assert (seen.events, seen.num_planned, seen.at_h.tolist()) == (1, 1, [10])


def test_a_stop_without_a_run_is_kept_out_of_rates() -> None:
    seen = clip_exposure(record(ran=runs([(0, 100)]), stopped=stops([10, 20], run=[0, -1])))

    assert (len(seen.index), seen.events) == (2, 1)


def test_without_any_run_the_calendar_is_the_exposure() -> None:
    seen = clip_exposure(record(hours=100, stopped=stops([10, 20])))

    assert (seen.by_calendar, seen.events, seen.job_hours, seen.gpu_hours) == (True, 2, 100, 0)


def test_gpus_and_nodes_are_taken_from_each_other_where_one_is_missing() -> None:
    ran = runs([(0, 10), (0, 10)], num_gpus=[0, 64], nodes=[[0, 1], []])
    seen = clip_exposure(record(ran=ran, gpus_per_node=8))

    assert seen.gpus.tolist() == [16, 64]
    assert seen.num_nodes.tolist() == [2, 8]


def test_hours_up_to_an_edge_are_summed_whatever_overlaps() -> None:
    chance = np.random.default_rng(1)
    start = chance.uniform(0, 100, 200)
    end = start + chance.exponential(20, 200)
    weight = chance.integers(1, 9, 200).astype(float)
    edges = np.array([0.0, 13.0, 50.0, 99.0, 400.0])
    slow = [float((weight * (np.minimum(end, e) - np.minimum(start, e))).sum()) for e in edges]

    begun = sum_time_since(start, edges, weight)
    assert begun - sum_time_since(end, edges, weight) == pytest.approx(slow)


def test_events_fall_into_their_windows() -> None:
    seen = clip_exposure(
        record(hours=100, ran=runs([(0, 100)]), stopped=stops([0, 49, 50, 100], run=[0] * 4))
    )

    assert seen.events_between(np.array([0.0, 50.0, 100.0])).tolist() == [2, 2]
