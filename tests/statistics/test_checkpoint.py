"""Checkpoint intervals: the best of the loss, near Daly's own optimum, intervals carried over."""

import math

import numpy as np
import pytest

from triage.errors import UsageError
from triage.statistics.checkpoint import checkpoint_plan, daly_s, loss, young_s
from triage.statistics.rates import mtti


def test_no_other_interval_loses_less_than_young_s() -> None:
    best = young_s(20, 11_135)

    assert loss(20, 11_135) == pytest.approx(math.sqrt(40 / 11_135))
    for other in (0.5, 0.9, 1.1, 2.0):
        assert loss(20, 11_135, interval_s=best * other) > loss(20, 11_135)


@pytest.mark.parametrize("cost_s", [5.0, 60.0, 600.0])
def test_daly_s_interval_is_near_the_best_of_the_exact_model(cost_s: float) -> None:
    # Daly's full cost: M e^(R/M) (e^((tau + C)/M) - 1) / tau, here without restart.
    mtti_s = 10_000.0
    tau = np.linspace(1, 5_000, 200_000)
    exact = tau[np.argmin((np.exp((tau + cost_s) / mtti_s) - 1) / tau)]

    assert daly_s(cost_s, mtti_s) == pytest.approx(exact, rel=0.01)


def test_beyond_its_range_daly_s_interval_is_the_mtti() -> None:
    assert daly_s(200, 100) == 100
    assert daly_s(199, 100) < 100


def test_a_restart_adds_its_share_and_a_loss_is_never_more_than_all() -> None:
    assert loss(10, 10_000, restart_s=300) - loss(10, 10_000) == pytest.approx(0.03)
    assert loss(100, 10) == 1
    assert loss(0, 100, interval_s=0) == 0


def test_a_plan_carries_the_interval_of_the_mtti() -> None:
    plan = checkpoint_plan(10, mtti(100, 300.0), restart_s=300)

    assert plan.young.value == pytest.approx(young_s(10, 3 * 3600))
    assert plan.young.low < plan.young.value < plan.young.high
    assert plan.loss.low < plan.loss.value < plan.loss.high
    assert plan.loss.value > plan.loss_without_restart.value
    assert plan.young.n == 100


def test_after_no_stop_only_bounds_follow() -> None:
    plan = checkpoint_plan(10, mtti(0, 300.0))

    assert plan.young.value is None
    assert plan.young.low > 0
    assert (plan.loss.low, plan.loss.value) == (None, None)
    assert plan.loss.high < 0.05


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: young_s(-1, 100),
        lambda: daly_s(1, 0),
        lambda: loss(1, 100, restart_s=-1),
        lambda: checkpoint_plan(0, mtti(1, 5.0)),
    ],
)
def test_nonsense_is_refused(wrong) -> None:
    with pytest.raises(UsageError):
        wrong()
