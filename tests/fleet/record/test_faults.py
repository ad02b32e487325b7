"""Faults out of outages: merged, cut, and honest about what was not seen to begin or to end."""

import numpy as np
import pandas as pd
import pytest

from triage.errors import UsageError
from triage.fleet.domain.cause import OutageCause, RepairAction
from triage.fleet.record.columns import FleetRecord
from triage.fleet.record.faults import faults_of
from triage.reliability import fleet_repairs, record_from_frames


def record(*rows: tuple[str, float, float | None, str], nodes: int = 8) -> FleetRecord:
    """A record of outages alone, of 100 days."""
    table = pd.DataFrame(rows, columns=["node", "from_day", "to_day", "cause"])
    return record_from_frames(
        outages=table, nodes=nodes, since="2000-01-01", until=pd.Timestamp("2000-04-10")
    )


def test_outages_that_overlap_or_touch_are_one_fault() -> None:
    faults = faults_of(
        record(
            ("a", 10, 12, "unknown"),
            ("a", 11, 15, "GPU replaced"),
            ("a", 15, 16, "cable"),
            ("b", 11, 12, "NIC"),
            ("a", 17, 18, "fan"),
        )
    )

    assert faults.start_day.tolist() == [10, 11, 17]
    assert faults.end_day.tolist() == [16, 12, 18]
    assert faults.cause == (OutageCause.GPU, OutageCause.NIC, OutageCause.COOLING)
    assert faults.action == (RepairAction.SWAP_GPU, None, None)
    assert faults.num_nodes == 8
    assert faults.days == 100


def test_what_was_not_seen_to_begin_or_end_says_so() -> None:
    faults = faults_of(record(("a", -3, 5, "GPU"), ("b", 90, None, "GPU"), ("c", 95, 300, "GPU")))

    assert faults.begun.tolist() == [False, True, True]
    assert faults.back.tolist() == [True, False, False]
    assert faults.end_day.tolist() == [5, 100, 100]


def test_planned_outages_are_no_faults() -> None:
    faults = faults_of(record(("a", 5, 6, "scheduled maintenance"), ("b", 7, 8, "GPU")))

    assert faults.start_day.tolist() == [7]


def test_a_node_is_back_once_maintenance_that_went_on_is_over() -> None:
    faults = faults_of(
        record(
            ("a", 10, 12, "GPU"),
            ("a", 12, 20, "scheduled maintenance"),  # begins as the outage ends
            ("b", 10, 12, "GPU"),
            ("b", 12.5, 20, "scheduled maintenance"),  # it was back for half a day
            ("c", 9, 30, "scheduled maintenance"),  # two faults seen while it is out are one
            ("c", 10, 11, "NIC"),
            ("c", 13, 14, "GPU"),
            ("d", 10, 12, "GPU"),
            ("d", 11, None, "scheduled maintenance"),
            ("e", 10, 12, "GPU"),
            ("f", 11, 20, "scheduled maintenance"),  # another node's
        )
    )

    assert faults.start_day.tolist() == [10, 10, 10, 10, 10]
    assert faults.end_day.tolist() == [12, 12, 14, 12, 12]
    assert faults.back_day.tolist() == [20, 12, 30, 100, 12]
    assert faults.back.tolist() == [True, True, True, False, True]


def test_a_node_in_maintenance_after_its_fault_is_not_on_probation() -> None:
    fault = ("a", 90, 98, "GPU")

    back = fleet_repairs(record(fault))
    kept_out = fleet_repairs(record(fault, ("a", 98, None, "scheduled maintenance")))

    assert [one.node for one in back.probation] == ["a"]
    assert kept_out.probation == ()
    assert (kept_out.num_returns, kept_out.num_out) == (0, 1)


def test_an_outage_that_ends_before_it_begins_is_left_out_with_a_note() -> None:
    told = record(("a", 9, 5, "GPU"), ("b", 7, 8, "GPU"))

    assert len(faults_of(told)) == 1
    assert told.notes == ("rows that could not be read left out: 1",)


@pytest.mark.parametrize("name", ["", "  ", None])
def test_an_outage_that_names_no_node_is_left_out_with_a_note(name: str | None) -> None:
    told = record((name, 9, 10, "GPU"), ("b", 7, 8, "GPU"), nodes=1)  # type: ignore[arg-type]

    assert told.nodes == ("b",)
    assert told.notes == ("rows that could not be read left out: 1",)


def test_reports_of_one_outage_that_contradict_are_counted_and_the_earlier_end_stands() -> None:
    rows = [
        ("a", 1, 40, "NIC"),
        ("a", 1, 2, "GPU"),
        ("a", 1, None, "unknown"),
        ("a", 1, 40, "NIC"),
        ("b", 1, 2, "GPU"),
        ("b", 1, 2.0003, "stress test failed"),  # 26 s apart, and vaguer: no contradiction
        ("c", 1, 40, "GPU"),
        ("c", 5, 9, "NIC"),  # another outage
    ]
    for told in (record(*rows), record(*reversed(rows))):
        faults = faults_of(told)

        assert faults.end_day.tolist() == [2, 2, 40]
        assert faults.cause == (OutageCause.GPU,) * 3
        assert told.notes == (
            "outages whose end or cause another report contradicts (the earlier end and the first"
            " cause in the alphabet stand): 1",
        )


def test_the_order_of_rows_does_not_matter() -> None:
    rows = [("a", 1, 4, "GPU"), ("b", 1, 2, "NIC"), ("a", 2, 6, "fan"), ("c", 3, 5, "power")]

    first, again = faults_of(record(*rows)), faults_of(record(*reversed(rows)))

    assert first.cause == again.cause
    assert np.array_equal(first.start_day, again.start_day)


def test_a_record_without_an_outage_has_no_fault() -> None:
    assert len(faults_of(record())) == 0


@pytest.mark.parametrize("day", ["yesterday", float("inf"), 1e9])
def test_a_day_that_cannot_be_is_left_out_and_told(day: object) -> None:
    table = pd.DataFrame({"node": ["a", "b"], "from_day": [1, day], "to_day": [2, 3]})

    assert record_from_frames(outages=table).notes == ("rows that could not be read left out: 1",)
    with pytest.raises(UsageError, match="line 2: "):
        record_from_frames(outages=table[1:])


def test_more_named_nodes_than_there_are_is_refused() -> None:
    with pytest.raises(UsageError, match="the tables name 2 nodes, and 1 were said"):
        record(("a", 1, 2, "GPU"), ("b", 1, 2, "GPU"), nodes=1)


def test_an_inventory_says_where_nodes_are_and_what_they_do() -> None:
    inventory = pd.DataFrame(
        {"node": ["a", "b"], "batch": ["old", None], "cage": [2, 0], "role": [None, "login"]}
    )

    told = record_from_frames(outages=None, inventory=inventory, nodes=["c"])

    assert told.nodes == ("a", "b", "c")
    assert told.batch == ("old", None, None)
    assert told.cage == ("2", "0", None)
    assert told.role == (None, "login", None)


def test_times_are_told_by_any_of_the_names_that_exports_have() -> None:
    days = record_from_frames(
        outages=pd.DataFrame({"node": ["a"], "from_day": [5], "to_day": [7.5]}), nodes=2
    )

    for begin, end in (("from", "to"), ("from_at", "to_at")):
        table = pd.DataFrame(
            {"node": ["a"], begin: ["2000-01-06T00:00"], end: ["2000-01-08T12:00Z"]}
        )
        told = record_from_frames(outages=table, nodes=2, since="2000-01-01")
        assert told.outages.start_ns.tolist() == days.outages.start_ns.tolist()
        assert told.outages.end_ns.tolist() == days.outages.end_ns.tolist()
