"""Rates: exact intervals, bounds after nothing, nonsense refused."""

import numpy as np
import pytest

from triage.statistics.estimate import NO_EXPOSURE, NOTHING_SEEN
from triage.statistics.rates import count_bounds, estimate_mtti, estimate_rate


@pytest.mark.parametrize("mean", [0.7, 3.0, 25.0])
def test_the_interval_holds_the_truth_at_least_as_often_as_it_says(mean: float) -> None:
    drawn = np.random.default_rng(1).poisson(mean, 4000)
    bounds = {int(k): count_bounds(int(k)) for k in np.unique(drawn)}
    held = [bounds[k][0] <= mean <= bounds[k][1] for k in drawn.tolist()]

    assert np.mean(held) >= 0.945


def test_mtti_is_the_inverse_of_the_rate() -> None:
    often, seldom = estimate_rate(7, 50.0, unit="per h"), estimate_mtti(7, 50.0)

    assert often.value == pytest.approx(1 / seldom.value)
    assert often.low == pytest.approx(1 / seldom.high)
    assert often.high == pytest.approx(1 / seldom.low)


def test_after_no_event_a_rate_has_a_bound_and_says_so() -> None:
    found = estimate_rate(0, 50.0, unit="per h")

    assert (found.value, found.low, found.n) == (None, 0.0, 0)
    assert found.high > 3 / 50  # the rule of three, on one side
    assert found.notes == (NOTHING_SEEN,)


@pytest.mark.parametrize("make", [estimate_mtti, lambda k, t: estimate_rate(k, t, unit="per h")])
def test_without_exposure_nothing_is_said(make) -> None:
    found = make(3, 0.0)

    assert (found.value, found.low, found.high) == (None, None, None)
    assert found.notes == (NO_EXPOSURE,)


def test_the_wire_holds_what_json_can() -> None:
    assert estimate_mtti(0, 10.0).to_dict() == {
        "value": None, "low": pytest.approx(2.71085, abs=1e-5), "high": None, "n": 0,
        "unit": "h", "level": 0.95, "notes": [NOTHING_SEEN],
    }  # fmt: skip
