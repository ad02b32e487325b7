"""Spares of a record of outages: in the report, on the wire, and from hostile tables."""

import numpy as np
import pandas as pd
import pytest

from tests.support.planted_outages import planted_outages
from triage.fleet.record.columns import FleetRecord
from triage.fleet.report.away import AwayOf, NodesAway, measure_nodes_away
from triage.fleet.report.report import fleet_report
from triage.fleet.report.what_if import spares_for
from triage.reliability import record_from_frames

Row = tuple[str, float, float | None, str]


def record(*rows: Row, nodes: int = 8, days: float = 100.0, racks: int = 0) -> FleetRecord:
    """A record of outages alone."""
    begin = pd.Timestamp("2000-01-01")
    inventory = pd.DataFrame(
        [(f"n{k}", f"r{k % racks}", f"g{k % racks % 2}") for k in range(nodes if racks else 0)],
        columns=["node", "rack", "generation"],
    )
    return record_from_frames(
        outages=pd.DataFrame(rows, columns=["node", "from_day", "to_day", "cause"]),
        nodes=nodes,
        since=begin,
        until=begin + pd.Timedelta(days=days),
        inventory=inventory,
    )


def planted(kind: str = "all_of_it", nodes: int = 400, racks: int = 0) -> FleetRecord:
    outages = planted_outages(kind, 1, num_nodes=nodes, days=200.0)
    causes = ("GPU", "NIC", "cable")
    rows = [
        (f"n{k % nodes}", start, end, causes[k % 3])
        for k, (start, end) in enumerate(zip(outages.start, outages.end, strict=True))
    ]
    return record(*rows, nodes=nodes, days=200.0, racks=racks)


def found(record: FleetRecord) -> NodesAway:
    away = measure_nodes_away(record)
    assert away is not None
    return away


def test_a_record_of_outages_alone_has_spares_in_sample_and_foretold() -> None:
    report = fleet_report(planted())
    rows = {row.basis: row for row in report.spares}

    assert report.exposure.runs == 0
    assert list(rows) == ["forecast", "record", "outages"]
    assert rows["record"].spares.at_99 > rows["outages"].spares.at_99
    assert rows["forecast"].spares.at_99 >= rows["record"].spares.at_99
    assert rows["record"].spares.num_nodes == 400
    assert found(planted()).in_sample_covers >= 0.99


def test_the_wire_has_all_but_the_law() -> None:
    wire = fleet_report(planted()).to_dict()

    assert "found" not in wire["away"]
    assert wire["away"]["forecast"]["value"] >= wire["away"]["in_sample"]
    assert next(row["method"] for row in wire["away"]["methods"]) == "poisson"
    assert {"spares", "node_days", "node_hours_short"} <= set(wire["away"]["costs"][0])
    assert wire["next_period"]["outages"]["low"] < wire["next_period"]["outages"]["value"]


def test_the_same_record_gives_the_same_report() -> None:
    assert fleet_report(planted()) == fleet_report(planted())


def test_generation_rack_and_cause_have_spares_of_their_own() -> None:
    groups = found(planted(racks=4)).groups

    def of(kind: str) -> list[AwayOf]:
        return [row for row in groups if row.kind == kind]

    assert {row.name for row in of("rack")} == {"r0", "r1", "r2", "r3"}
    assert [row.num_nodes for row in of("generation")] == [200, 200]
    assert {row.name for row in of("cause")} == {"gpu", "nic", "cable"}
    assert sum(row.outages for row in of("rack")) == found(planted()).outages
    assert {row.kind for row in found(planted()).groups} == {"cause"}


def test_a_plan_has_the_forecast_first_and_its_bounds() -> None:
    plan = spares_for(fleet_report(planted()))

    assert [row.basis for row in plan.rows] == ["forecast", "record", "outages"]
    forecast = plan.rows[0].spares
    assert forecast.low is not None
    assert forecast.high is not None
    assert forecast.low <= (forecast.value or 0) <= forecast.high
    assert len(plan.costs) > 3


def test_a_plan_at_a_higher_confidence_needs_more() -> None:
    report = fleet_report(planted())
    wanted = [spares_for(report, confidence=one).rows[0].spares.value for one in (0.9, 0.99, 0.999)]

    assert wanted == sorted(wanted, key=lambda value: value or 0)
    assert wanted[0] != wanted[-1]


def test_a_plan_for_twice_the_nodes_is_twice_as_large_and_says_so() -> None:
    report = fleet_report(planted())
    one, two = (spares_for(report, nodes).rows[0].spares for nodes in (None, 800))

    assert two.value == pytest.approx(2 * (one.value or 0))
    assert any("in proportion" in text for text in two.notes)
    assert spares_for(report, 800).costs == ()


def test_days_of_repair_that_somebody_gives_are_for_palm_alone() -> None:
    plan = spares_for(fleet_report(planted()), repair_days=3.0)

    assert [row.basis for row in plan.rows] == ["outages"]


def test_the_rate_of_outages_holds_the_next_period() -> None:
    report = fleet_report(planted())
    rate = spares_for(report).rows[0].per_thousand_node_days

    assert rate.low is not None
    assert rate.high is not None
    assert rate.value is not None
    assert rate.low < 0.7 * rate.value < 1.4 * rate.value < rate.high


# Each: the record, what is foretold, and a part of the reason.
HOSTILE = {
    "all back one by one": (
        record(*((f"n{k}", -10, 3 + k, "GPU") for k in range(12)), nodes=12, days=60),
        None,
        "no outage began in 60 days (12 open at their start)",
    ),
    "nothing": (record(), None, "cannot tell: no outage began in 100 days: nothing"),
    "all out from before to the end": (
        record(*((f"n{k}", -5, None, "GPU") for k in range(8))),
        None,
        "no outage began in 100 days (8 open at their start)",
    ),
    "one outage that never ends": (record(("a", 5, None, "GPU")), None, "1 time ("),
    "all nodes at once": (
        record(*((f"n{k}", 50, 50.1, "power") for k in range(8))),
        None,
        "1 time (8 outages)",
    ),
    "a week": (record(("a", 1, 2, "GPU"), ("b", 3, 4, "NIC"), days=7), None, "2 times"),
    "outages that overlap": (
        record(*(("a", 10 + k, 30, "GPU") for k in range(12))),
        None,
        "1 time (1 outage)",
    ),
    "one node, ten years": (
        record(
            *(("a", 30.0 * k + 1, 30.0 * k + 2, "GPU") for k in range(120)), nodes=1, days=3_650
        ),
        1,
        "",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_too_little_gives_a_bound_or_nothing_with_the_reason(name: str) -> None:
    told, value, reason = HOSTILE[name]
    away = found(told)

    assert away.forecast.value == value
    assert away.in_sample_covers <= 1.0
    assert reason in " ".join(away.forecast.notes)
    report = fleet_report(told)
    assert ("forecast" in {row.basis for row in report.spares}) == (value is not None)
    assert report.to_dict()["away"]["forecast"]["n"] == away.departures


def test_a_record_without_nodes_has_none() -> None:
    assert measure_nodes_away(record(nodes=0)) is None
    assert fleet_report(record(nodes=0)).away is None


def test_an_empty_plan_has_no_row_of_its_own() -> None:
    plan = spares_for(fleet_report(record()))

    assert plan.rows == ()
    assert plan.costs == ()


def test_planned_outages_need_no_spare() -> None:
    rows = [(f"n{k}", 10.0 * k, 10.0 * k + 5, "scheduled maintenance") for k in range(8)]

    assert found(record(*rows)).outages == 0


def test_twenty_thousand_nodes_are_answered() -> None:
    outages = planted_outages("all_of_it", 2, num_nodes=20_000, days=100.0)
    node = np.random.default_rng(1).integers(0, 20_000, len(outages))
    table = pd.DataFrame(
        {
            "node": [f"n{k}" for k in node],
            "from_day": outages.start,
            "to_day": outages.end,
        }
    )
    away = found(record_from_frames(outages=table, nodes=20_000))

    assert away.forecast.value is not None
    assert away.forecast.value > away.mean_away
