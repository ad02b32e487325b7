"""Outages and repairs that are imported: once, in any order, with what contradicts counted."""

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import select

from models import Node, Outage, Repair
from tests.fleet.services.fleets import at, imported, row, service_on, stamp, tally, told
from triage.errors import UsageError
from triage.fleet.record.faults import faults_of
from triage.fleet.services.exposure.imports import parse_day_zero
from triage.fleet.services.record.record import read_fleet_record
from triage.fleet.standings.standing import fleet_standings
from triage.services.context import Context

HEADER = "node,from,to,cause,detail,action,planned,cluster"
TICKETS = "number,opened_at,closed_at,cmdb_ci,short_description,close_notes"


@pytest.fixture(params=["sqlite", "postgresql"])
def ctx(request, tmp_path) -> Iterator[Context]:
    with service_on(request.param, tmp_path) as found:
        yield found


def rows(*lines: str) -> str:
    return "\n".join([HEADER, *lines])


def out(node: str, start: float, end: float | None, cause: str = "", action: str = "") -> str:
    return f"{node},{stamp(start)},{stamp(end)},{cause},,{action},,a"


def kept(ctx: Context) -> list[tuple]:
    """(node, from, to, reason, cause, action, planned) of all outages."""
    columns = (Outage.from_at, Outage.to_at, Outage.reason, Outage.cause, Outage.action)
    with ctx.database.reading() as session:
        query = select(Node.name, *columns, Outage.planned).join(Node, Outage.node_id == Node.id)
        return sorted(tuple(row) for row in session.execute(query))


def repairs(ctx: Context) -> list[tuple]:
    with ctx.database.reading() as session:
        query = select(Node.name, Repair.at, Repair.action, Repair.text)
        return sorted(map(tuple, session.execute(query.join(Node, Repair.node_id == Node.id))))


LOG = "\n".join(
    f"[{stamp(hours)[:-1]}] {text}"
    for hours, text in (
        (1, "update_node: node n1 reason set to: GPU 3 fell off the bus"),
        (1, "update_node: node n1 state set to DRAINED"),
        (2, "error: Nodes n[2-3] not responding, setting DOWN"),
        (3, "node_did_resp: node n2 returned to service"),
        (9, "update_node: node n1 state set to IDLE"),
    )
)
EVENTS = "\n".join(
    [
        "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User",
        f"a|n1|{stamp(1)[:-1]}|{stamp(9)[:-1]}|DRAIN|GPU 3 replaced|root",
        f"a|n3|{stamp(2)[:-1]}|{stamp(5)[:-1]}|DOWN|Not responding|slurm",
    ]
)
NODE_LIST = f"NodeName=n3 Arch=x\n   Gres=gpu:h100:8\n   State=DOWN X=1\n   Reason=PSU [root@{stamp(2)[:-1]}]\n"  # noqa: E501
CSV = rows(out("n1", 1, 9.5, "nic"), out("n1", 1, None, "cable", "cable replaced"), out("n4", 4, 5))
FILES = (LOG, EVENTS, NODE_LIST, CSV)


def test_files_in_any_order_and_twice_give_the_same(tmp_path) -> None:
    seen = set()
    for number, files in enumerate(itertools.permutations(FILES)):
        with service_on("sqlite", tmp_path / str(number)) as ctx:
            for text in files:
                imported(ctx, text, cluster="a")
            before = kept(ctx)
            for text in files[::-1]:
                assert tally(imported(ctx, text, cluster="a"))[:2] == (0, 0)
            assert kept(ctx) == before
            seen.add(repr(before))
    assert len(seen) == 1


def test_two_reports_that_contradict_are_counted_and_the_earlier_end_stands(ctx: Context) -> None:
    found = imported(ctx, rows(out("n1", 1, 9, "gpu"), out("n1", 1, 5, "nic"), out("n2", 1, 9)))
    assert kept(ctx)[0][:5] == ("n1", at(1), at(5), "gpu", "gpu")
    assert found.notes == [
        "outages whose end or cause another report contradicts (the earlier end and the first"
        " cause in the alphabet stand): 1"
    ]
    assert imported(ctx, rows(out("n2", 1, 9, "gpu"), out("n2", 1, None))).notes[1:] == []
    assert "contradicts" in imported(ctx, rows(out("n2", 1, 20))).notes[0]
    assert imported(ctx, rows(out("n2", 1, 9, "failed_test"))).notes == []
    assert [each[4] for each in kept(ctx)] == ["gpu", "gpu"]


def test_an_outage_that_never_ends_is_noted(ctx: Context) -> None:
    found = imported(ctx, rows(out("n1", 1, None), out("n2", 1, 2)))
    assert found.notes == ["outages without an end, which last until one is told: 1"]


def test_an_outage_that_never_ends_ends_by_the_next_run_of_its_node(ctx: Context) -> None:
    imported(ctx, rows(out("n1", 1, None), out("n2", 1, None)))
    told(ctx, row("7", 30, 40, nodes="n1"), row("6", 0, 5, nodes="n[1-2]"))
    with ctx.database.reading() as session:
        record = read_fleet_record(session, since=at(0), until=at(100))
    assert [round(day * 24) for day in faults_of(record).end_day] == [30, 100]
    assert "outages without an end, ended by the next run on their node: 1" in record.notes


def test_outages_that_overlap_are_one_fault(ctx: Context) -> None:
    imported(
        ctx, rows(out("n1", 1, 9), out("n1", 5, 7, "gpu"), out("n1", 8, 12), out("n1", 20, 21))
    )
    with ctx.database.reading() as session:
        found = faults_of(read_fleet_record(session, since=at(0), until=at(100)))
    assert [round(day * 24) for day in found.start_day] == [1, 20]
    assert [round(day * 24) for day in found.end_day] == [12, 21]


def test_a_repair_without_an_outage_is_kept_once(ctx: Context) -> None:
    text = f"{TICKETS}\nI1,{stamp(3)},,n1,down,cable replaced\nI2,{stamp(3)},,,x,rebooted"
    found = imported(ctx, text)
    assert (found.format, tally(found)) == ("tickets", (1, 0, 0))
    assert found.notes == ["tickets that name no node left out: 1"]
    assert tally(imported(ctx, text)) == (0, 0, 1)
    assert repairs(ctx) == [("n1", at(3), "swap_cable", "I1 down cable replaced")]


def test_ten_years_of_a_trace_without_dates(ctx: Context) -> None:
    text = "node,from_day,to_day,cause,detail\n" + "\n".join(
        f"n{day % 7},{day},{day + 0.5},Hardware,CPU" for day in range(0, 3650, 10)
    )
    zero = datetime(2005, 1, 1, tzinfo=UTC)
    assert tally(imported(ctx, text, day_zero=zero)) == (365, 0, 0)
    assert tally(imported(ctx, text, day_zero=zero)) == (0, 0, 365)
    with ctx.database.reading() as session:
        found = faults_of(
            read_fleet_record(session, since=zero, until=datetime(2015, 1, 1, tzinfo=UTC))
        )
    assert (len(found), found.num_nodes) == (365, 7)


@pytest.mark.parametrize("text", ["yesterday", "2024-13-01", "", "30.3.2024", "\0", "9" * 500])
def test_a_day_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no day"):
        parse_day_zero(text)


@pytest.mark.parametrize(("times", "wanted"), [(1, False), (6, True)])
def test_gpus_that_came_later_are_held_against_their_own_time(
    ctx: Context, times: int, wanted: bool
) -> None:
    runs, facts = ["job_id,started_at,ended_at,ending,num_gpus,nodes"], ["node,batch"]
    outages = ["node,from,to,cause"]
    for gpu in range(120):
        old, name = gpu < 60, f"u{gpu}"
        first, years, every = (2012, 8, 2) if old else (2018, 2, 2 * times)
        runs.append(f"{name},{first}-01-01 00:00,2020-01-01 00:00,completed,1,{name}")
        facts.append(f"{name},{'old' if old else 'new'}")
        # Each GPU of a delivery fails once in so many years, at a time of its own.
        days = [
            f"{first + year}-{gpu % 12 + 1:02}-0{gpu % 9 + 1} 00:00"
            for year in range(years)
            if (gpu + year) % every == 0
        ]
        outages += [f"{name},{day},{day},gpu" for day in days]
    for text in (runs, facts, outages):
        imported(ctx, "\n".join(text))
    span = {"since": datetime(2012, 1, 1, tzinfo=UTC), "until": datetime(2020, 1, 1, tzinfo=UTC)}
    with ctx.database.reading() as session:
        places = fleet_standings(read_fleet_record(session, **span)).places
    (old,) = [place for place in places if (place.kind, place.name) == ("batch", "old")]
    assert old.found is wanted
    assert old.nodes == 60
    assert old.ratio == pytest.approx(times, rel=0.25)
