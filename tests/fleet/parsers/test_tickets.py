"""Tickets of any tracker: which node, from when to when, why, and what was done."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.fleet.parsers.exports import passed, read, table, unread
from triage.errors import UnknownFormat
from triage.fleet.domain.cause import OutageCause, RepairAction
from triage.fleet.domain.exposure import NodeRepair, Outage
from triage.fleet.parsers.lines import MAX_LINE
from triage.fleet.parsers.rows import Row

AT = datetime(2026, 11, 20, 22, tzinfo=UTC)
SERVICE_NOW = "number,opened_at,closed_at,short_description,cmdb_ci,close_notes"
TIMES = "2026-11-20 22:00:00,2026-11-21 06:00:00"


def only(rows: list[Row]) -> Outage:
    (row,) = [row for row in rows if isinstance(row, Outage)]
    return row


def nodes(rows: list[Row]) -> list[str]:
    return [row.node for row in rows if isinstance(row, Outage)]


def test_a_ticket_of_servicenow() -> None:
    form, rows = read(table(SERVICE_NOW, f"INC7,{TIMES},GPU 3 Xid 79,gpu003,GPU 3 replaced"))
    row = only(rows)
    assert form == "tickets"
    assert (row.node, row.from_at, row.to_at) == ("gpu003", AT, AT + timedelta(hours=8))
    assert (row.cause, row.action) == (OutageCause.GPU, RepairAction.SWAP_GPU)
    assert row.reason == "INC7 GPU 3 Xid 79 GPU 3 replaced"


def test_of_columns_that_tell_the_same_the_first_that_is_filled_is_taken() -> None:
    header = "title,node,created,closed,Resolution,Comment"
    text = table(header, f"slow,n1,{TIMES},Fixed,cable swapped", f"slow,n2,{TIMES},,cable swapped")
    first, second = [row for row in read(text)[1] if isinstance(row, Outage)]
    assert (first.cause, first.action) == (OutageCause.CABLE, RepairAction.SWAP_CABLE)
    assert (second.cause, second.action) == (OutageCause.CABLE, RepairAction.SWAP_CABLE)


def test_a_column_names_a_node_or_a_host_list_and_no_text_does() -> None:
    header = "title,node,created,closed"
    rows = read(table(header, f"down,gpu[003-004],{TIMES}", f"gpu005 is down,,{TIMES}"))[1]
    assert nodes(rows) == ["gpu003", "gpu004"]
    assert passed(rows) == ["tickets that name no node"]


@pytest.mark.parametrize(
    ("times", "notes", "wanted"),
    [
        (TIMES, "", Outage),
        ("2026-11-20 22:00:00,", "rebooted", NodeRepair),
        (",2026-11-21 06:00:00", "cable swapped", NodeRepair),
        ("2026-11-20 22:00:00,", "looking into it", None),
        (",", "rebooted", None),
    ],
)
def test_begin_and_end_are_an_outage_and_a_deed_alone_is_a_repair(times, notes, wanted) -> None:
    rows = read(table(SERVICE_NOW, f"INC7,{times},down,n1,{notes}"))[1]
    assert [type(row) for row in rows if not passed([row])] == ([wanted] if wanted else [])
    if wanted is None:
        assert passed(rows) == ["tickets without begin and end that tell of no repair"]


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("INC7,2026-11-21 06:00:00,2026-11-20 22:00:00,x,n1,", "before its begin"),
        ("INC7,yesterday,2026-11-20 22:00:00,x,n1,", "no time"),
        (f"INC7,{TIMES},x,rack 7/b,", "no name of a host"),
        (f"INC7,{TIMES},x,n[1-,", "nodes: "),
        (f"INC7,{TIMES},x", "fields, the header"),
        (f"INC7,{TIMES},x,n[1-999999999],", "nodes: "),
    ],
)
def test_a_ticket_that_cannot_be_read_stops_no_other(row: str, why: str) -> None:
    rows = read(table(SERVICE_NOW, row, f"INC8,{TIMES},x,n2,"))[1]
    assert nodes(rows) == ["n2"]
    assert why in unread(rows)[0][1]


@pytest.mark.parametrize(
    "quote", ['"never closed', '"a"b', 'a "quote" inside', '"' + "x\n" * 5 + "y"]
)
def test_a_quote_that_nothing_closes_costs_its_own_line(quote: str) -> None:
    good = [f"INC{k},{TIMES},x,n{k}," for k in range(2, 5)]
    text = table(SERVICE_NOW, f"INC1,{TIMES},{quote},n1,", *good)
    rows = read(text)[1]
    assert nodes(rows)[-3:] == ["n2", "n3", "n4"]


def test_a_quote_that_is_closed_too_late_is_a_line() -> None:
    text = table(SERVICE_NOW, f'I1,{TIMES},"x,n1,', *[f"I2,{TIMES},x,n2,"] * (MAX_LINE // 40), '"')
    rows = read(text)[1]
    assert unread(rows)[0][0] == 2
    assert len(nodes(rows)) == MAX_LINE // 40


def test_a_planned_ticket_is_no_fault() -> None:
    row = only(read(table(SERVICE_NOW, f"CHG1,{TIMES},Scheduled firmware upgrade,n1,"))[1])
    assert (row.planned, row.cause) == (True, OutageCause.MAINTENANCE)


def test_what_was_swapped_says_more_than_the_title() -> None:
    row = only(read(table(SERVICE_NOW, f"I1,{TIMES},network errors,n1,cable replaced"))[1])
    assert (row.cause, row.action) == (OutageCause.CABLE, RepairAction.SWAP_CABLE)


def test_a_closed_ticket_has_seen_done_what_its_title_asks_for() -> None:
    text = table("number,title,host,closed", "7,Replace GPU 3,gpu003,2026-11-21T06:00:00Z")
    [row] = read(text)[1]
    assert (row.action, row.text) == (RepairAction.SWAP_GPU, "7 Replace GPU 3")


def test_a_column_that_says_the_cause_is_believed_before_the_notes() -> None:
    text = table("title,host,created,closed,category,notes", f"slow,n1,{TIMES},Network,rebooted")
    row = only(read(text)[1])
    assert (row.cause, row.action) == (OutageCause.SWITCH, RepairAction.REBOOT)


def test_of_columns_that_tell_the_same_the_first_of_the_map_is_taken() -> None:
    later = "2026-11-21 01:00:00"
    text = table("created,outage_start,closed,title,node", f"{later},{TIMES},x,n1")
    assert only(read(text)[1]).from_at == AT


@pytest.mark.parametrize(
    "text",
    [
        '{"title": "x"}',
        "[]",
        '{"issues": [{"key": "OPS-1", "fields": {"summary": "x", "created": "2026-11-20"}}]}',
        '[{"number": 7, "title": "x", "created_at": "2026-11-20T22:00:00Z"}]',
    ],
)
def test_tickets_as_json_are_asked_for_as_csv(text: str) -> None:
    with pytest.raises(UnknownFormat, match="CSV"):
        read(text)
