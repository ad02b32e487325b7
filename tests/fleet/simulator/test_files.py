"""The files of a simulated fleet: read back as they were, the same again, the truth beside them."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator.fleet.files import FILES, truth_path, write_fleet
from simulator.fleet.fleet import simulate_fleet
from simulator.fleet.wish import FaultModel, FleetWish
from triage.errors import UsageError
from triage.fleet.domain.exposure import Ending, NodeFacts, Outage, PartSeen, Run
from triage.fleet.parsers.read import read_exposure
from triage.fleet.record.faults import faults_of
from triage.fleet.record.from_rows import record_from_exports

WISH = FleetWish.like_real(nodes=64, days=90, seed=7)
FIRST = datetime(2025, 3, 1, tzinfo=UTC)


def written(wish: FleetWish, folder: Path) -> Any:
    fleet = simulate_fleet(wish)
    write_fleet(fleet, wish, folder, FIRST)
    return fleet


def rows_in(path: Path) -> Sequence[Any]:
    with path.open("rb") as file:
        return [*read_exposure(file).rows]


def days(time: datetime) -> float:
    return (time - FIRST) / timedelta(days=1)


def test_outages_come_back_as_they_were(tmp_path):
    fleet = written(WISH, tmp_path / "fleet")
    outages = fleet.record.outages

    rows = rows_in(tmp_path / "fleet" / "outages.csv")

    assert all(isinstance(row, Outage) for row in rows)
    assert [row.node for row in rows] == [fleet.record.nodes[node] for node in outages.node]
    assert [row.cause for row in rows] == [*outages.cause]
    assert [row.planned for row in rows] == outages.planned.tolist()
    told = [(row.action, action) for row, action in zip(rows, outages.action, strict=True)]
    assert all(read is action for read, action in told)
    began = (outages.start_ns - fleet.record.since_ns) / 86_400e9
    assert [days(row.from_at) for row in rows] == pytest.approx(began.tolist(), abs=2e-5)
    lasting = outages.end_ns >= fleet.record.until_ns
    assert [row.to_at is None for row in rows] == lasting.tolist()


def test_runs_come_back_as_they_were(tmp_path):
    fleet = written(WISH, tmp_path / "fleet")
    runs = fleet.record.runs

    rows = rows_in(tmp_path / "fleet" / "runs.csv")

    assert all(isinstance(row, Run) for row in rows)
    assert [row.num_nodes for row in rows] == runs.num_nodes.tolist()
    assert [row.ending is Ending.UNEXPECTED for row in rows] == runs.interrupted.tolist()
    assert [row.ending is Ending.PLANNED for row in rows] == runs.planned.tolist()
    first = [fleet.record.nodes[node] for node in runs.node[: runs.node_at[1]]]
    assert [*rows[0].nodes] == first


def test_places_and_parts_come_back(tmp_path):
    fleet = written(WISH, tmp_path / "fleet")

    facts = rows_in(tmp_path / "fleet" / "inventory.csv")
    parts = rows_in(tmp_path / "fleet" / "parts.csv")

    assert all(isinstance(row, NodeFacts) for row in facts)
    assert tuple(row.batch for row in facts) == fleet.record.batch
    assert tuple(row.role for row in facts) == fleet.record.role
    assert all(isinstance(row, PartSeen) for row in parts)
    assert len(parts) == len(fleet.stays) >= 8 * 64


def test_tickets_are_read_as_the_repairs_that_somebody_wrote_down(tmp_path):
    fleet = written(WISH, tmp_path / "fleet")
    actions = [action for action in fleet.record.outages.action if action is not None]

    rows = rows_in(tmp_path / "fleet" / "tickets.csv")

    assert [row.action for row in rows] == actions


def test_all_files_together_are_the_record_that_was_written(tmp_path):
    fleet = written(WISH, tmp_path / "fleet")

    files = sorted((tmp_path / "fleet").iterdir())
    record = record_from_exports(*files, since=FIRST, until=FIRST + timedelta(days=90))

    # A ticket beside its outage is no fault of its own.
    wrote, read = faults_of(fleet.record), faults_of(record)
    assert read.node.tolist() == wrote.node.tolist()
    assert read.cause == wrote.cause
    assert read.action == wrote.action
    assert read.end_day.tolist() == pytest.approx(wrote.end_day.tolist(), abs=1e-4)
    assert len(record.runs.start_ns) == len(fleet.record.runs.start_ns)


def test_a_gpu_is_in_one_place_at_a_time():
    fleet = simulate_fleet(FleetWish.like_real(seed=5, faults=FaultModel(moved_share=0.8)))
    spans: dict[str, list[tuple[float, float]]] = {}
    slots: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for stay in fleet.stays:
        span = (
            -np.inf if stay.from_day is None else stay.from_day,
            np.inf if stay.to_day is None else stay.to_day,
        )
        spans.setdefault(stay.part, []).append(span)
        slots.setdefault((stay.node, stay.slot), []).append(span)

    assert len(slots) == 8 * 400
    assert len(fleet.renamed) > 2
    for places in spans.values():
        places.sort()
        assert all(end <= start for (_, end), (start, _) in pairwise(places))
    ends = {(stay.part, stay.node, stay.slot) for stay in fleet.stays}
    within = [move for move in fleet.moves if 0 <= move.in_day < 349]
    assert len(within) > 2
    assert {(move.part, move.to_node, move.to_slot) for move in within} <= ends


@pytest.mark.parametrize(
    "wish",
    [WISH, FleetWish(nodes=32, days=20, seed=1), FleetWish.like_real(nodes=1, days=7, seed=1)],
    ids=["like real", "poisson", "one node"],
)
def test_the_same_fleet_gives_the_same_bytes(tmp_path, wish):
    written(wish, tmp_path / "one")
    written(wish, tmp_path / "two")

    for name in FILES:
        one, two = ((tmp_path / folder / name).read_bytes() for folder in ("one", "two"))
        assert one == two
    assert truth_path(tmp_path / "one").read_bytes() == truth_path(tmp_path / "two").read_bytes()


def test_the_truth_lies_beside_the_folder_and_not_in_it(tmp_path):
    fleet = written(WISH, tmp_path / "fleet")

    truth = json.loads((tmp_path / "fleet.truth.json").read_text())

    assert sorted(path.name for path in (tmp_path / "fleet").iterdir()) == sorted(FILES)
    assert truth["lemons"] == sorted(fleet.lemons)
    assert truth["wish"]["faults"]["again_times"] == 1.0
    assert [fault["took"] for fault in truth["faults"]] == [fault.took for fault in fleet.faults]


def test_a_folder_that_holds_something_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")

    with pytest.raises(UsageError, match="not empty"):
        write_fleet(simulate_fleet(WISH), WISH, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_another_seed_gives_another_fleet(tmp_path):
    written(WISH, tmp_path / "one")
    written(replace(WISH, seed=8), tmp_path / "two")

    one, two = ((tmp_path / folder / "outages.csv").read_bytes() for folder in ("one", "two"))
    assert one != two
