"""Scales of charts: what is inside lies inside, ticks are few and round, nothing raises."""

import math

import pytest

from triage.fleet.render.scales import make_decade_scale, make_linear_scale, make_time_scale

MANY = 12


@pytest.mark.parametrize("values", [[], [0.0], [5.0], [1, 2, 3], [0.001, 0.002], [1e9, 3], [-4, 4]])
def test_a_linear_scale_holds_its_values_between_its_ends(values):
    scale = make_linear_scale(values, 60, 600)

    assert 2 <= len(scale.ticks) <= MANY
    assert all(scale.low <= one <= scale.high for one in values)
    assert all(60 <= scale.at(one) <= 600 for one in [*values, -1e12, 1e12])


@pytest.mark.parametrize("values", [[], [0.0], [7.0], [8, 1e6], [0.003, 0.004], [1e-9, 1e9]])
@pytest.mark.parametrize("make", [make_decade_scale, make_time_scale])
def test_a_logarithmic_scale_holds_its_values_between_its_ends(make, values):
    scale = make(values, 300, 20)

    assert scale.low > 0
    assert len(scale.ticks) <= MANY
    assert all(20 <= scale.at(one) <= 300 for one in [*values, 1e-30, 1e30])
    places = [scale.at(one) for one in scale.ticks]
    assert places == sorted(places, reverse=True)


def test_equal_ratios_are_equal_ways_on_a_logarithmic_scale():
    scale = make_decade_scale([1, 10_000], 0, 400)

    assert scale.at(100) - scale.at(10) == pytest.approx(scale.at(1000) - scale.at(100))


def test_a_clock_has_the_times_that_people_name():
    assert 24.0 in make_time_scale([0.1, 1000], 300, 20).ticks
    assert make_time_scale([4, 11], 300, 20).ticks == (3.0, 6.0, 12.0)


def test_what_is_no_number_is_no_end_of_a_scale():
    assert math.isfinite(make_linear_scale([1.0, math.inf, math.nan], 0, 1).high)
