"""Two rates: a difference is found, and not where there is none."""

import numpy as np
import pytest

from triage.statistics.rates import compare_rates


def test_a_doubled_rate_is_found_with_its_ratio() -> None:
    found = compare_rates(80, 1000.0, 40, 1000.0)

    assert found.differs
    assert found.ratio.value == pytest.approx(2)
    assert 1 < found.ratio.low < 2 < found.ratio.high


def test_twice_the_events_in_twice_the_time_are_no_difference() -> None:
    found = compare_rates(80, 2000.0, 40, 1000.0)

    assert not found.differs
    assert found.ratio.value == pytest.approx(1)


@pytest.mark.parametrize("events", [5, 20, 80])
def test_equal_rates_are_called_different_no_more_often_than_allowed(events: int) -> None:
    from scipy.stats import binom  # half a second, in each worker that finds the tests

    # All outcomes of so many events, each with its probability at equal rates.
    differs = [compare_rates(k, 100.0, events - k, 300.0).differs for k in range(events + 1)]
    likely = binom.pmf(np.arange(events + 1), events, 0.25)

    assert 0.001 < likely[differs].sum() <= 0.05


def test_the_two_can_trade_places() -> None:
    one, other = compare_rates(9, 50.0, 30, 70.0), compare_rates(30, 70.0, 9, 50.0)

    assert one.p_value == pytest.approx(other.p_value)
    assert one.ratio.low == pytest.approx(1 / other.ratio.high)


def test_clusters_make_the_same_counts_say_less() -> None:
    plain, clustered = (compare_rates(80, 1.0, 50, 1.0, factor=f) for f in (1.0, 5.0))

    assert plain.differs
    assert not clustered.differs
    assert clustered.ratio.low < plain.ratio.low < plain.ratio.high < clustered.ratio.high


def test_none_in_one_period_leaves_a_bound() -> None:
    stopped, began = compare_rates(0, 100.0, 12, 100.0), compare_rates(12, 100.0, 0, 100.0)

    assert stopped.differs
    assert (stopped.ratio.value, stopped.ratio.low) == (None, 0.0)
    assert stopped.ratio.high < 1
    assert began.ratio.high is None


@pytest.mark.parametrize(("first", "exposure"), [(0, 10.0), (0, 0.0)])
def test_nothing_is_not_compared(first: int, exposure: float) -> None:
    found = compare_rates(first, exposure, 0, exposure)

    assert (found.p_value, found.differs, found.ratio.value) == (None, None, None)
