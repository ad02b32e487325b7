"""A rack whose air gets warm, against the others."""

import pytest

from tests.analysis.telemetry.world import END_NS, file_of, places
from triage.analysis.telemetry.panels import Signal, build_panels
from triage.analysis.telemetry.throttle import find_inlet_rise
from triage.parsers.telemetry.metrics import Metric
from triage.parsers.telemetry.samples import SeriesKey

RACKS = {f"n{k}": f"r{k // 3}" for k in range(9)}


def flat(_: int) -> float:
    return 23.0


def warm(ago: int) -> float:
    return 33.0 if ago <= 20 else 23.0


def signals(curves: dict[str, object], racks=RACKS, leaf=None, minutes: int = 60) -> list[Signal]:
    keys = {
        SeriesKey(Metric.INLET_TEMP_C, node, None, None, (racks or {}).get(node)): curve
        for node, curve in curves.items()
    }
    found = build_panels([file_of(keys, minutes)], END_NS, places(), frozenset(RACKS))
    return list(find_inlet_rise(found, leaf or {}))


def rack(number: int, curve=warm, usual=flat) -> dict[str, object]:
    return {node: curve if RACKS[node] == f"r{number}" else usual for node in RACKS}


def test_names_the_rack_and_no_node() -> None:
    (found,) = signals(rack(1))

    assert found.seat is None
    assert found.nodes == ("n3", "n4", "n5")
    assert found.text == (
        "the air that rack r1 takes in has warmed by 10 C to 33 C since 12:54 UTC, on 3 nodes and"
        " no other rack: its cooling"
    )


def test_takes_neighbours_from_the_leaf_switch_where_no_label_says_the_rack() -> None:
    (found,) = signals(rack(2), racks=None, leaf=RACKS)

    assert found.nodes == ("n6", "n7", "n8")


@pytest.mark.parametrize(
    "curves",
    [
        pytest.param(rack(1, flat), id="nothing-rises"),
        pytest.param(rack(1, warm, warm), id="all-racks-rise-alike"),
        pytest.param(rack(1, lambda ago: 26.0 if ago <= 20 else 23.0), id="three-degrees"),
        pytest.param(rack(1, lambda ago: 25.0 if ago <= 20 else 15.0), id="still-cool"),
        pytest.param({**rack(1, flat), "n3": warm}, id="one-sensor-of-the-rack"),
        pytest.param(rack(1, lambda ago: 33.0 if 20 < ago < 40 else 23.0), id="over-again"),
        pytest.param(rack(1, lambda ago: 33.0 if ago <= 0 else 23.0), id="after-the-stop"),
        pytest.param(dict.fromkeys(("n3", "n4", "n5"), warm), id="no-other-rack"),
    ],
)
def test_is_silent(curves: dict[str, object]) -> None:
    assert signals(curves) == []


def test_without_racks_nothing_is_said() -> None:
    assert signals(rack(1), racks=None) == []


def test_twenty_minutes_are_too_little() -> None:
    assert signals(rack(1, lambda ago: 33.0 if ago <= 8 else 23.0), minutes=20) == []
