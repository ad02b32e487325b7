"""Heat over a fleet: nodes come with their figures."""

from tests.fleet.render import fleets
from triage.fleet.render.page import render
from triage.fleet.render.tables import tabulate_hot_nodes

HOT = [
    {"node": "n1<b>", "telemetry_days": 3.0, "throttled_hours": 12.5, "gpu_temp_max_c": 91.0},
    {"node": "n2", "telemetry_days": 3.0, "throttled_hours": 0.0, "ecc_growth": 0.0},
]


def test_nodes_with_something_to_tell_come_by_name():
    [row] = tabulate_hot_nodes({"nodes": HOT, "num_nodes": 2}).rows

    assert (row[0], row[-1]) == ("n1<b>", "91")


def test_without_telemetry_there_is_nothing():
    assert tabulate_hot_nodes({}) is None


def test_heat_has_its_place_in_the_report():
    report, standings = fleets.one_stop()
    measured = {"nodes": HOT, "num_nodes": 2}

    assert "Heat and counters" in render({**report, "telemetry": measured}, standings)
    assert "Heat and counters" not in render(report, standings)
