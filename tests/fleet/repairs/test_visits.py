"""Notes of repairs: joined to the outage that they are about, else visits."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from tests.fleet.repairs.planted import record
from triage.fleet.domain.cause import RepairAction
from triage.fleet.record.columns import FleetRecord, RepairNotes
from triage.fleet.record.faults import faults_of
from triage.fleet.repairs.answer import fleet_repairs, with_notes
from triage.reliability import record_from_exports

DAY_NS = 86_400 * 10**9
OUT = (("a", 10.0, 12.0, "GPU"), ("b", 20.0, 21.0, "cable replaced"))


def noted(*notes: tuple[str, float, RepairAction]) -> FleetRecord:
    told = record(*OUT)
    repairs = RepairNotes(
        node=np.array([told.nodes.index(node) for node, _, _ in notes], np.int32),
        at_ns=np.array([told.since_ns + int(day * DAY_NS) for _, day, _ in notes], np.int64),
        action=tuple(action for *_, action in notes),
        text=("a note",) * len(notes),
    )
    return replace(told, repairs=repairs)


@pytest.mark.parametrize(
    ("node", "day", "joined"),
    [
        ("a", 11.0, True),
        ("a", 12.5, True),
        ("a", 9.98, True),
        ("a", 9.0, False),
        ("a", 14.0, False),
        ("b", 11.0, False),
    ],
    ids=["within", "written after", "before it was drained", "too early", "too late", "another"],
)
def test_a_note_belongs_to_the_outage_around_it(node, day, joined):
    told = noted((node, day, RepairAction.SWAP_GPU))

    faults, visits = with_notes(faults_of(told), told.repairs, told.since_ns)

    assert (RepairAction.SWAP_GPU in faults.action) is joined
    assert bool(visits) is not joined


def test_what_the_outage_says_itself_stands():
    told = noted(("b", 20.5, RepairAction.REBOOT))

    faults, _ = with_notes(faults_of(told), told.repairs, told.since_ns)

    assert faults.action == (None, RepairAction.SWAP_CABLE)


def test_of_several_notes_the_one_that_changes_most_counts():
    notes = (RepairAction.REBOOT, RepairAction.SWAP_GPU, RepairAction.OTHER)
    told = noted(*(("a", 11.0, action) for action in notes))

    faults, _ = with_notes(faults_of(told), told.repairs, told.since_ns)

    assert faults.action[0] is RepairAction.SWAP_GPU


def test_notes_come_as_tickets_too():
    outages = b"node,from_day,to_day,cause\na,10,12,GPU\n"
    notes = (
        b"title,host,created,action\n"
        b"ECC,a,2000-01-12 00:00,GPU 3 replaced\n"
        b"slow,b,2000-01-20 00:00,cable reseated\n"
        b"odd,,2000-01-21 00:00,cable reseated\n"
    )
    since, until = datetime(2000, 1, 1, tzinfo=UTC), datetime(2000, 3, 1, tzinfo=UTC)
    got = fleet_repairs(record_from_exports(outages, notes, nodes=8, since=since, until=until))

    assert [(row.node, row.action) for row in got.returns] == [("a", "swap_gpu")]
    assert "tickets that name no node left out: 1" in got.notes


def test_visits_are_listed_and_counted():
    got = fleet_repairs(noted(("a", 50.0, RepairAction.RESEAT)))

    assert got.num_visits == 1
    assert "counted as visits alone: 1" in got.notes[0]
