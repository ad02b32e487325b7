"""Figures of a fleet in words: units that people use, digits that count, bounds as bounds."""

import pytest

from triage.domain.counts import count
from triage.fleet.render.words import (
    format_by_unit,
    format_duration,
    format_figure,
    format_hours,
    format_seconds,
    format_share,
    mark,
    with_interval,
)


def estimate(value, low, high, unit="h"):
    return {"value": value, "low": low, "high": high, "n": 3, "unit": unit}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (3.093, "3.1 h"),
        (0.387, "23 min"),
        (0.0506, "3.0 min"),
        (0.0094, "34 s"),
        (49.5, "50 h"),
        (71.9, "72 h"),
        (72.1, "3.0 days"),
        (1296, "54 days"),
        (8_760, "365 days"),
        (20_000, "2.3 years"),
        (0, "0 s"),
        (None, "unknown"),
    ],
)
def test_a_time_is_told_in_the_unit_that_people_use(value, words):
    assert format_hours(value) == words


def test_seconds_are_the_same_times():
    assert format_seconds(11_135) == format_hours(11_135 / 3600)


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.0424, "4.2 %"), (0.0002, "< 0.1 %"), (0.9999, "> 99.9 %"), (1.0, "100 %"), (0.0, "0 %")],
)
def test_a_share_is_never_rounded_to_nothing_or_to_all(value, words):
    assert format_share(value) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.0123, "0.012"), (1_234_567, "1,234,567"), (0, "0"), (9.96, "10"), (3.789, "3.8")],
)
def test_a_figure_has_the_digits_that_count(value, words):
    assert format_figure(value) == words


@pytest.mark.parametrize(
    ("hours_of", "words"),
    [(1, "1 h"), (1 / 60, "1 min"), (24, "1 day"), (720, "30 days"), (8_760, "1 year"),
     (10 / 3600, "10 s"), (2.5 / 3600, "2.5 s"), (300 / 3600, "5 min"), (0.5, "30 min")],
)  # fmt: skip
def test_a_mark_of_a_scale_is_what_it_stands_for(hours_of, words):
    assert mark(hours_of) == words


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (estimate(3.093, 2.811, 3.412), "3.1 h (2.8 to 3.4)"),
        (estimate(None, 27.1, None), "more than 27 h"),
        (estimate(None, None, 3.0), "less than 3.0 h"),
        (estimate(None, None, None), "unknown"),
        (estimate(100, 17.9, None), "4.2 days (0.75 or more)"),
        (estimate(0.0424, 0.04, 0.05, "share"), "4.2 % (4.0 to 5.0)"),
        (estimate(472, 400, 500, "s"), "7.9 min (6.7 to 8.3)"),
        (estimate(0.0001, 0.00005, 0.0002, "probability"), "< 0.1 %"),
        (estimate(0.982, 0.905, 0.9999, "probability"), "98.2 % (90.5 to > 99.9)"),
    ],
)
def test_an_estimate_is_told_with_its_interval_in_one_unit(one, words):
    assert format_by_unit(one) == words


def test_an_interval_shares_the_unit_of_its_figure():
    assert format_duration(estimate(1.1, 0.9, 80)) == "1.1 h (0.90 to 80)"


def test_no_estimate_at_all_is_unknown():
    assert with_interval(None) == format_duration(None) == format_by_unit(None) == "unknown"


def test_one_of_something_is_one():
    assert count(1, "spare") == "1 spare"
    assert count(2_048, "node") == "2,048 nodes"
    assert count(2, "leaf switch", "leaf switches") == "2 leaf switches"
