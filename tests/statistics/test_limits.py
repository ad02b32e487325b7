"""Limits: the solution solves the equation, and the knobs turn the right way."""

from dataclasses import replace

import pytest

from triage.errors import UsageError
from triage.statistics.projection import Limits, compute_gpu_limit, compute_useful_limit

KNOBS = Limits(50_000, 2.5, 16_384, growth=0.5)


def test_at_the_limit_saving_takes_the_time_between_failures() -> None:
    gpus = compute_gpu_limit(KNOBS)
    save_s = 2.5 * (gpus / 16_384) ** 0.5

    assert 50_000 * 3600 / gpus == pytest.approx(save_s)


def test_at_the_useful_limit_the_best_interval_loses_what_was_granted() -> None:
    gpus = compute_useful_limit(KNOBS)
    save_s = 2.5 * (gpus / 16_384) ** 0.5

    assert (2 * save_s / (50_000 * 3600 / gpus)) ** 0.5 == pytest.approx(0.1)
    assert gpus < compute_gpu_limit(KNOBS)


def test_the_knobs_turn_the_right_way() -> None:
    limit = compute_gpu_limit(KNOBS)

    assert compute_gpu_limit(replace(KNOBS, gpu_hours_between=100_000)) > limit
    assert compute_gpu_limit(replace(KNOBS, transfers=2)) < limit
    assert compute_gpu_limit(replace(KNOBS, storage_growth=0.25)) > limit
    assert compute_useful_limit(replace(KNOBS, wanted=0.95)) < compute_useful_limit(KNOBS)


def test_storage_that_outgrows_everything_sets_no_limit() -> None:
    assert compute_gpu_limit(replace(KNOBS, storage_growth=1.5)) is None


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: compute_gpu_limit(replace(KNOBS, save_s=0)),
        lambda: compute_useful_limit(replace(KNOBS, wanted=1.0)),
    ],
)
def test_nonsense_is_refused(wrong) -> None:
    with pytest.raises(UsageError):
        wrong()
