"""Limits: the solution solves the equation, and the knobs turn the right way."""

from functools import partial

import pytest

from triage.statistics.projection import solve_gpu_limit

limit_of = partial(solve_gpu_limit, 50_000, 2.5, 16_384)


def test_at_the_limit_saving_takes_the_time_between_failures() -> None:
    gpus = limit_of(0.5)
    save_s = 2.5 * (gpus / 16_384) ** 0.5

    assert 50_000 * 3600 / gpus == pytest.approx(save_s)


def test_at_the_useful_limit_the_best_interval_loses_what_was_granted() -> None:
    gpus = limit_of(0.5, wanted=0.9)
    save_s = 2.5 * (gpus / 16_384) ** 0.5

    assert (2 * save_s / (50_000 * 3600 / gpus)) ** 0.5 == pytest.approx(0.1)
    assert gpus < limit_of(0.5)


def test_the_knobs_turn_the_right_way() -> None:
    limit = limit_of(0.5)

    assert solve_gpu_limit(100_000, 2.5, 16_384, 0.5) > limit
    assert limit_of(0.5, transfers=2) < limit
    assert limit_of(0.5, 0.25) > limit
    assert limit_of(0.5, wanted=0.95) < limit_of(0.5, wanted=0.9)


def test_storage_that_outgrows_everything_sets_no_limit() -> None:
    assert limit_of(0.5, 1.5) is None
