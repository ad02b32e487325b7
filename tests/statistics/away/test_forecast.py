"""Spares in sample and foretold: they hold on held-out halves, and are no estimate of nothing."""

import numpy as np
import pytest

from tests.support.planted_outages import KINDS, planted_outages
from triage.statistics.away.forecast import SparesForecast, forecast_spares
from triage.statistics.away.steps import Away, cut_outages, cut_period


def halves(kind: str, seed: int) -> tuple[Away, Away]:
    whole = planted_outages(kind, seed, days=360.0)
    return cut_period(whole, 0.0, 180.0), cut_period(whole, 180.0, 360.0)


def even(number: int, days: float, length: float = 0.5) -> Away:
    start = np.linspace(0.1, days - 1.0, number)
    return cut_outages(start, start + length, days)


@pytest.mark.parametrize("kind", KINDS)
def test_in_sample_spares_suffice_in_the_record(kind: str) -> None:
    for seed in range(4):
        outages = planted_outages(kind, seed)
        found = forecast_spares(outages, 400, walk=False)
        assert outages.covered(found.in_sample) >= 0.99


@pytest.mark.parametrize("kind", KINDS)
def test_the_forecast_of_one_half_suffices_in_the_other_where_the_rate_did_not_rise(
    kind: str,
) -> None:
    covered, needed, held = [], [], []
    for seed in range(16):
        before, after = halves(kind, seed)
        found = forecast_spares(before, 400).forecast
        assert found.value is not None
        assert found.low is not None
        assert found.high is not None
        if after.mean <= before.mean:
            covered.append(after.covered(int(found.value)))
        needed.append(found.value / max(after.quantile(0.99), 1))
        held.append(found.low <= after.quantile(0.99) <= found.high)

    assert np.mean(covered) >= 0.98
    assert np.median(needed) < 1.6
    assert np.mean(held) >= 0.85


def test_the_same_record_gives_the_same_answer_in_any_order() -> None:
    outages = planted_outages("all_of_it", 3)
    shuffled = np.random.default_rng(1).permutation(len(outages))
    again = cut_outages(outages.start[shuffled], outages.end[shuffled], outages.days)
    first, second = (forecast_spares(one, 400) for one in (outages, again))

    assert first.forecast == second.forecast
    assert first.methods == second.methods


def test_a_falling_rate_is_said_and_no_spare_is_given_up_for_it() -> None:
    start = np.concatenate([np.linspace(0.1, 100, 900), np.linspace(101, 199, 90)])
    found = forecast_spares(cut_outages(start, start + 1.0, 200.0), 400)

    assert found.drift.way == "fell"
    assert found.forecast.value is not None
    assert found.forecast.value >= found.in_sample
    assert "later half needs" in found.forecast.notes[0]


def test_a_rising_rate_is_said_and_raises_the_forecast() -> None:
    start = np.concatenate([np.linspace(0.1, 100, 90), np.linspace(101, 199, 900)])
    found = forecast_spares(cut_outages(start, start + 1.0, 200.0), 400)

    assert found.drift.way == "rose"
    assert found.forecast.value is not None
    assert found.forecast.value >= found.in_sample
    assert "too low if the rate rises on" in found.forecast.notes[0]


def bound_of(found: SparesForecast) -> tuple[float | None, float | None, str]:
    return found.forecast.value, found.forecast.high, " ".join(found.forecast.notes)


def test_no_outage_gives_no_figure_and_no_bound() -> None:
    value, high, why = bound_of(forecast_spares(even(0, 90.0), 400))

    assert (value, high) == (None, None)
    assert "no outage began in 90 days" in why


def test_one_outage_of_all_nodes_is_one_event() -> None:
    start = np.full(512, 20.0)
    found = forecast_spares(cut_outages(start, start + 0.2, 365.0), 512)

    assert found.departures == 1
    assert found.in_sample == 0
    value, high, why = bound_of(found)
    assert (value, high) == (None, 512)
    assert "1 time (512 outages)" in why


def test_one_outage_of_all_nodes_does_not_move_the_answer_of_a_year() -> None:
    calm = planted_outages("alone", 5, days=365.0)
    start = np.append(calm.start, np.full(400, 100.0))
    end = np.append(calm.end, np.full(400, 100.2))
    one, other = (
        forecast_spares(each, 400).forecast.value for each in (calm, cut_outages(start, end, 365.0))
    )

    assert one is not None
    assert other is not None
    assert other <= one + 2


def test_a_record_shorter_than_its_repairs_cannot_tell() -> None:
    start = np.linspace(0.1, 6.5, 14)
    outages = cut_outages(start, np.full(14, 7.0), 7.0)
    found = forecast_spares(outages, 400)

    value, high, why = bound_of(found)
    assert value is None
    assert high is not None
    assert high >= 14
    assert "0 of 14 outages ended in 7 days" in why


def test_a_number_away_that_only_climbs_cannot_tell() -> None:
    start = np.linspace(0.1, 59.0, 60)
    end = np.where(np.arange(60) < 8, start + 0.1, 60.0)

    value, high, why = bound_of(forecast_spares(cut_outages(start, end, 60.0), 400))
    assert value is None
    assert high is not None
    assert "independent looks" in why


def test_outages_that_are_open_count_for_longer_where_the_start_is_not_known() -> None:
    start = np.linspace(0.1, 59.0, 60)
    outages = cut_outages(start, np.where(np.arange(60) % 6 == 5, 60.0, start + 0.5), 60.0)
    begun = np.arange(60) >= 10

    longer = forecast_spares(outages, 400)
    known = forecast_spares(outages, 400, begun=begun)
    assert longer.law.short(0) > known.law.short(0)


def test_one_node_needs_one_spare_at_most() -> None:
    found = forecast_spares(even(40, 400.0, 4.0), 1)

    assert found.in_sample == 1
    assert found.forecast.value == 1
    assert found.forecast.high == 1


def test_ten_years_of_a_large_fleet_are_answered() -> None:
    found = forecast_spares(planted_outages("alone", 1, num_nodes=500, days=3_650.0), 500)

    assert found.forecast.value is not None
    assert found.looks > 100


def test_a_record_that_could_not_be_foretold_from_its_past_says_so() -> None:
    start = np.concatenate([np.linspace(0.1, 99.0, 100), np.full(60, 71.0)])
    end = np.concatenate([np.linspace(0.1, 99.0, 100) + 0.5, np.full(60, 80.0)])
    surprised = forecast_spares(cut_outages(start, end, 100.0), 400)

    assert "came without a sign" in surprised.forecast.notes[-1]
    assert forecast_spares(even(100, 100.0), 400).forecast.notes == ()
