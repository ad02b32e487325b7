"""Checkpoint intervals: the best of the loss, near Daly's own optimum, intervals carried over."""

import math

import numpy as np
import pytest

from triage.statistics.ettr import (
    compute_daly_s,
    compute_young_s,
    estimate_loss,
    plan_checkpoints,
)
from triage.statistics.rates import estimate_mtti


def test_no_other_interval_loses_less_than_young_s() -> None:
    best = compute_young_s(20, 11_135)

    assert estimate_loss(20, 11_135) == pytest.approx(math.sqrt(40 / 11_135))
    for other in (best * 0.5, best * 0.9, best * 1.1, best * 2.0):
        assert 20 / other + other / (2 * 11_135) > estimate_loss(20, 11_135)


@pytest.mark.parametrize("cost_s", [5.0, 60.0, 600.0])
def test_daly_s_interval_is_near_the_best_of_the_exact_model(cost_s: float) -> None:
    # Daly's full cost: M e^(R/M) (e^((tau + C)/M) - 1) / tau, here without restart.
    mtti_s = 10_000.0
    tau = np.linspace(1, 5_000, 200_000)
    exact = tau[np.argmin((np.exp((tau + cost_s) / mtti_s) - 1) / tau)]

    assert compute_daly_s(cost_s, mtti_s) == pytest.approx(exact, rel=0.01)


def test_beyond_its_range_daly_s_interval_is_the_mtti() -> None:
    assert compute_daly_s(200, 100) == 100
    assert compute_daly_s(199, 100) < 100


def test_a_restart_adds_its_share_and_a_loss_is_never_more_than_all() -> None:
    assert estimate_loss(10, 10_000, restart_s=300) - estimate_loss(10, 10_000) == pytest.approx(
        0.03
    )
    assert estimate_loss(100, 10) == 1


def test_a_plan_carries_the_interval_of_the_mtti() -> None:
    plan = plan_checkpoints(10, estimate_mtti(100, 300.0), restart_s=300)

    assert plan.young.value == pytest.approx(compute_young_s(10, 3 * 3600))
    assert plan.young.low < plan.young.value < plan.young.high
    assert plan.loss.low < plan.loss.value < plan.loss.high
    assert plan.loss.value > plan.loss_without_restart.value
    assert plan.young.n == 100


def test_after_no_stop_only_bounds_follow() -> None:
    plan = plan_checkpoints(10, estimate_mtti(0, 300.0))

    assert plan.young.value is None
    assert plan.young.low > 0
    assert (plan.loss.low, plan.loss.value) == (None, None)
    assert plan.loss.high < 0.05
