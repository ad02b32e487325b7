"""A GPU that throttles against its peers is found; what all do, and what follows, is not."""

from dataclasses import replace

import numpy as np
import pytest

from tests.analysis.telemetry.world import END_NS, MINUTES, file_of, gauges, panels, places
from triage.analysis.telemetry.panels import (
    PanelPart,
    Seat,
    Signal,
    find_seat,
    place_in_order,
)
from triage.analysis.telemetry.throttle import find_throttling, judge_throttling
from triage.domain.category import Category
from triage.parsers.telemetry.metrics import Metric
from triage.parsers.telemetry.samples import SeriesKey

CLOCK, REASONS, TEMP = Metric.SM_CLOCK_MHZ, Metric.THROTTLE_REASONS, Metric.GPU_TEMP_C
CAP, HW, HEAT, SW, BRAKE, IDLE = 0x4, 0x8, 0x48, 0x20, 0x88, 0x1
NAN = float("nan")


def since(minutes: int, before: float, after: float, until: int = -99):
    """A value that changes so many minutes before the stop."""
    return lambda ago: after if until < ago <= minutes else before


def signals(*curves: dict, minutes: int = MINUTES) -> list[Signal]:
    found = panels(file_of({k: v for one in curves for k, v in one.items()}, minutes))
    told = find_throttling(found, places())
    return [] if told is None else list(judge_throttling(found, *told))


def one_hot(mask: float = HEAT, clock: float = 1100.0, at: tuple[str, int] = ("n1", 2), **more):
    minutes = more.get("minutes", 20)
    return (
        gauges(CLOCK, 1700.0, {at: since(minutes, 1700.0, clock)}),
        gauges(REASONS, CAP, {at: since(minutes, CAP, mask)}),
        gauges(TEMP, 62.0, {at: since(minutes, 62.0, 91.0)}),
    )


@pytest.mark.parametrize("mask", [HEAT, HW, SW, HEAT | CAP])
def test_names_the_gpu_that_throttles_for_heat_and_since_when(mask: float) -> None:
    (found,) = signals(*one_hot(mask))

    assert (found.name, found.category) == ("telemetry.throttle", Category.GPU_THERMAL)
    assert found.seat == Seat("n1", "0000:02:00", 6)
    assert END_NS - found.since_ns == 20 * 60 * 10**9
    assert found.text == (
        "GPU 0000:02:00 (rank 6) throttles for heat since 12:54 UTC: 1100 MHz against 1700 MHz of"
        " its peers, 91 C against 62 C of its peers"
    )
    assert not found.firm


def test_the_power_brake_is_power_and_not_heat() -> None:
    (found,) = signals(*one_hot(BRAKE))

    assert (found.name, found.category) == ("telemetry.power_brake", Category.POWER)


def test_names_a_gpu_that_is_hot_and_slow_where_nobody_says_why() -> None:
    clock, _, temp = one_hot()

    (found,) = signals(clock, temp)

    assert found.seat == Seat("n1", "0000:02:00", 6)


def test_names_a_gpu_that_says_so_where_nobody_measures_clocks() -> None:
    (found,) = signals(one_hot()[1])

    assert found.seat == Seat("n1", "0000:02:00", 6)


def test_half_of_a_node_is_the_node() -> None:
    odd = {("n1", k): since(20, 1700.0, 1100.0) for k in range(3)}
    why = {("n1", k): since(20, CAP, HEAT) for k in range(3)}
    far = [f"n{k}" for k in range(2, 6)]
    clock = {**gauges(CLOCK, 1700.0, odd), **gauges(CLOCK, 1700.0, nodes=far)}
    reasons = {**gauges(REASONS, CAP, why), **gauges(REASONS, CAP, nodes=far)}
    told = panels(file_of({**clock, **reasons}), nodes=("n0", "n1", *far))

    (found,) = judge_throttling(told, *find_throttling(told, places()))

    assert (found.category, found.seat) == (Category.CHASSIS, Seat("n1"))


@pytest.mark.parametrize(
    "curves",
    [
        pytest.param((gauges(CLOCK, 1700.0), gauges(REASONS, CAP)), id="healthy"),
        pytest.param(one_hot(CAP), id="a-power-cap-alone"),
        pytest.param(one_hot(clock=1680.0), id="says-so-and-is-not-slowed"),
        pytest.param(one_hot(IDLE | HEAT), id="idle"),
        pytest.param(one_hot()[:1], id="slow-and-nobody-says-why-nor-how-hot"),
        pytest.param(
            (gauges(CLOCK, since(20, 1700.0, 1100.0)), gauges(REASONS, since(20, CAP, HEAT))),
            id="all-throttle-alike",
        ),
        pytest.param(
            (gauges(CLOCK, 1700.0, {("n1", 2): since(40, 1700.0, 1100.0, until=15)}),
             gauges(REASONS, CAP, {("n1", 2): since(40, CAP, HEAT, until=15)})),
            id="ended-a-quarter-of-an-hour-before",
        ),
        pytest.param(
            (gauges(CLOCK, 1700.0, {("n1", 2): lambda ago: 1100.0 if ago == 7 else 1700.0}),
             gauges(REASONS, CAP, {("n1", 2): lambda ago: HEAT if ago == 7 else CAP})),
            id="a-blip",
        ),
        pytest.param(
            (gauges(CLOCK, 1700.0, idle=345.0), gauges(REASONS, CAP, idle=IDLE)),
            id="idle-after-the-stop",
        ),
    ],
)  # fmt: skip
def test_is_silent(curves: tuple[dict, ...]) -> None:
    assert signals(*curves) == []


def test_what_comes_after_the_stop_is_not_seen() -> None:
    odd = {("n1", 2): lambda ago: 1700.0 if ago > 0 else 300.0}
    why = {("n1", 2): lambda ago: CAP if ago > 0 else HEAT}

    assert signals(gauges(CLOCK, 1700.0, odd), gauges(REASONS, CAP, why)) == []


@pytest.mark.parametrize("nodes", [("n1",)])
def test_four_gpus_are_no_peers(nodes: tuple[str, ...]) -> None:
    clock = gauges(CLOCK, 1700.0, {("n1", 2): since(20, 1700.0, 1100.0)}, nodes=nodes)
    reasons = gauges(REASONS, CAP, {("n1", 2): since(20, CAP, HEAT)}, nodes=nodes)

    assert signals(clock, reasons) == []


def test_telemetry_that_ends_long_before_the_stop_says_nothing_of_it() -> None:
    def gone(curve):
        return lambda ago: curve(ago) if ago > 25 else NAN

    clock, reasons, _ = one_hot(minutes=50)

    cut = [{key: gone(curve) for key, curve in one.items()} for one in (clock, reasons)]
    assert signals(*cut) == []


def test_a_gap_between_scrapes_is_no_end() -> None:
    def seldom(curve):
        return lambda ago: curve(ago) if ago % 2 == 0 else NAN

    curves = [{key: seldom(curve) for key, curve in one.items()} for one in one_hot()]

    assert len(signals(*curves)) == 1


def test_gpus_of_other_jobs_are_neither_peers_nor_suspects() -> None:
    other = gauges(CLOCK, 200.0, nodes=("m0", "m1", "m2"))
    hot = gauges(REASONS, HEAT, nodes=("m0", "m1", "m2"))

    (found,) = signals(*one_hot(), other, hot)

    assert found.seat is not None
    assert found.seat.node == "n1"


def test_names_with_a_domain_and_gpus_by_index_find_their_rank() -> None:
    curves = {
        SeriesKey(key.metric, f"{key.node}.cluster.local", str(int(key.gpu[5:7], 16))): curve
        for one in one_hot()
        for key, curve in one.items()
        if key.gpu is not None
    }

    (found,) = signals(curves)

    assert found.seat == Seat("n1", "0000:02:00", 6)


def test_how_metrics_lie_in_files_changes_nothing() -> None:
    files = [file_of(one, artifact=f"{k}.csv") for k, one in enumerate(one_hot())]
    whole = signals(*one_hot())

    for order in (files, files[::-1]):
        found = panels(*order)
        (one,) = judge_throttling(found, *find_throttling(found, places()))
        assert (one.text, one.since_ns) == (whole[0].text, whole[0].since_ns)


def test_white_noise_is_silence() -> None:
    chance = np.random.default_rng(7)
    found = 0
    for _ in range(50):
        clock = gauges(CLOCK, lambda _: float(chance.normal(1700, 25)))
        found += len(signals(clock, gauges(REASONS, CAP), gauges(TEMP, 80.0)))

    assert found == 0


def test_where_nothing_says_whose_gpu_it_is_the_order_of_bus_ids_does() -> None:
    told = panels(file_of({key: curve for one in one_hot() for key, curve in one.items()}))
    blank = replace(places(), rank_by_gpu={})

    assert find_seat(blank, PanelPart("n1", "0000:02:00")).rank is None
    assert find_seat(place_in_order(blank, told), PanelPart("n1", "0000:02:00")).rank == 6


def test_where_a_node_tells_of_some_gpus_alone_their_order_says_nothing() -> None:
    curves = {key: curve for one in one_hot() for key, curve in one.items()}
    some = {key: curve for key, curve in curves.items() if key.gpu != "0000:00:00"}
    blank = replace(places(), rank_by_gpu={})

    placed = place_in_order(blank, panels(file_of(some)))
    seat = find_seat(placed, PanelPart("n1", "0000:02:00"))

    assert seat.rank is None
