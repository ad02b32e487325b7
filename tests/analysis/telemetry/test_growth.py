"""Counters that begin to grow before a stop; what always grew, or grew for all, is silence."""

import pytest

from tests.analysis.telemetry.world import END_NS, file_of, gauges, panels, places
from triage.analysis.telemetry.growth import WATCHED, find_growth
from triage.analysis.telemetry.panels import Seat, Signal
from triage.domain.category import Category
from triage.parsers.telemetry.metrics import COUNTERS, Metric
from triage.parsers.telemetry.samples import SeriesKey

DBE = Metric.ECC_DBE_TOTAL
AT = ("n1", 2)


def grows(minutes: int, low: float = 3, high: float = 5):
    return lambda ago: high if ago <= minutes else low


def signals(curves: dict, minutes: int = 60) -> list[Signal]:
    return list(find_growth(panels(file_of(curves, minutes)), places()))


@pytest.mark.parametrize("watched", WATCHED, ids=lambda one: str(one.metric))
def test_names_the_part_whose_counter_begins_to_grow(watched) -> None:
    curve = grows(8, 3, 3 + watched.least)

    (found,) = signals(gauges(watched.metric, 3.0, {AT: curve}))

    assert found.name == f"telemetry.{watched.metric}"
    assert found.category is watched.category
    assert found.seat == Seat("n1", "0000:02:00", 6)
    assert END_NS - found.since_ns == 8 * 60 * 10**9
    assert f"from 3 to {3 + watched.least:.0f} since 13:06 UTC" in found.text


@pytest.mark.parametrize("watched", WATCHED, ids=lambda one: str(one.metric))
def test_less_than_is_more_than_noise_is_silence(watched) -> None:
    curve = grows(8, 3, 3 + 0.9 * watched.least)

    assert signals(gauges(watched.metric, 3.0, {AT: curve})) == []


def test_every_watched_metric_is_a_counter() -> None:
    assert {one.metric for one in WATCHED} <= COUNTERS


@pytest.mark.parametrize(
    "curve",
    [
        pytest.param(lambda _: 3.0, id="stands-still"),
        pytest.param(lambda ago: 1000.0 - ago, id="grows-all-the-time"),
        pytest.param(grows(200), id="grew-before-it-was-watched"),
        pytest.param(lambda ago: 0.0 if ago <= 8 else 3.0, id="was-reset"),
        pytest.param(grows(-3), id="grows-after-the-stop"),
    ],
)
def test_is_silent(curve) -> None:
    assert signals(gauges(DBE, 3.0, {AT: curve})) == []


def test_growth_long_before_is_of_another_trouble() -> None:
    assert signals(gauges(DBE, 3.0, {AT: grows(90)}), minutes=180) == []
    assert len(signals(gauges(DBE, 3.0, {AT: grows(50)}), minutes=180)) == 1


def test_what_all_parts_show_at_once_is_in_none_of_them() -> None:
    odd = {("n0", 0): grows(8), ("n0", 3): grows(8), ("n1", 1): grows(8)}

    assert signals(gauges(DBE, 3.0, odd)) == []
    assert len(signals(gauges(DBE, 3.0, dict([*odd.items()][:2])))) == 2


def test_too_short_a_watch_is_silence() -> None:
    assert signals(gauges(DBE, 3.0, {AT: grows(4)}), minutes=8) == []


def test_an_uncorrectable_error_shows_in_the_scrape_behind_the_stop() -> None:
    (found,) = signals(gauges(DBE, 3.0, {AT: grows(-1)}))

    assert found.firm
    assert signals(gauges(Metric.NVLINK_ERRORS_RECOVERY, 3.0, {AT: grows(-1)})) == []


def test_a_reset_before_the_job_is_not_held_against_it() -> None:
    def curve(ago: int) -> float:
        return 9.0 if ago > 40 else 0.0 if ago > 8 else 1.0

    (found,) = signals(gauges(DBE, 3.0, {AT: curve}))

    assert "from 0 to 1" in found.text


def test_ports_of_one_node_are_told_apart() -> None:
    curves = {
        SeriesKey(Metric.IB_LINK_DOWNED, "n0", None, f"mlx5_{k}/1"): grows(8, 0, 2 * (k == 3))
        for k in range(8)
    }

    (found,) = signals(curves)

    assert (found.seat, found.category) == (Seat("n0"), Category.NETWORK)
    assert "mlx5_3/1" in found.text
