"""Tickets of any tracker: which node, from when to when, why, and what was done."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.fleet.parsers.exports import passed, read, table, unread
from triage.errors import UnknownFormat
from triage.fleet.domain.cause import OutageCause, RepairAction
from triage.fleet.domain.exposure import NodeRepair, Outage
from triage.fleet.parsers.lines import MAX_LINE
from triage.fleet.parsers.rows import Options, Row

AT = datetime(2026, 11, 20, 22, tzinfo=UTC)
FLEET = Options(nodes=lambda: {"gpu003", "gpu004", "gpu005", "login", "7", "GPU-B1"})
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


def test_a_table_of_jira_with_columns_that_come_twice_and_lines_in_a_field() -> None:
    _, rows = read(
        table(
            "Summary,Issue key,Status,Created,Resolved,Description,Labels,Labels,Resolution,"
            "Comment",
            'gpu003 is slow,OPS-1,Done,20/Nov/26 10:00 PM,21/Nov/26 6:00 AM,"Says ""slow"",\n\n'
            'since noon",cable,ops,Fixed,cable swapped',
            "gpu004 is slow,OPS-2,Done,20/Nov/26 10:00 PM,21/Nov/26 6:00 AM,,,,Fixed,",
        ),
        FLEET,
    )
    first, second = [row for row in rows if isinstance(row, Outage)]
    assert (first.from_at, first.to_at) == (AT, AT + timedelta(hours=8))
    assert (first.cause, first.action) == (OutageCause.CABLE, RepairAction.SWAP_CABLE)
    assert (second.cause, second.action) == (OutageCause.UNKNOWN, RepairAction.OTHER)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("gpu003 is down", ["gpu003"]), ("GPU003: down", ["gpu003"]), ("(gpu003), gpu004.",
        ["gpu003", "gpu004"]), ("gpu003.cluster.local", ["gpu003"]), ("gpu-b1 broke", ["GPU-B1"]),
        ("gpu[003-004]", []),
        ("gpu003 gpu003", ["gpu003"]), ("gpu0031 or xgpu003 or gpu03", []), ("login node", []),
        ("7 of them", []), ("gpu[1-", []), ("gpu[1-99999999999]", []), ("GPU 3", []),
        ("/var/log/gpu003/x", ["gpu003"]), ("", []),
    ],
)  # fmt: skip
def test_a_text_names_only_nodes_that_the_fleet_has(text: str, named: list[str]) -> None:
    header = "title,created_at,closed_at"
    rows = read(table(header, f'"{text}",{TIMES}'), FLEET)[1]
    assert nodes(rows) == named
    assert passed(rows) == ([] if named else ["tickets that name no node"])


@pytest.mark.parametrize(
    ("column", "named"),
    [
        ("gpu003.dc1.example", ["gpu003"]), ("GPU003", ["gpu003"]), ("n9.dc1", ["n9.dc1"]),
        ("gpu[003-004].dc1", ["gpu003", "gpu004"]), ("gpu003 GPU003", ["gpu003"]),
        ("login", ["login"]),
    ],
)  # fmt: skip
def test_a_column_names_nodes_as_the_fleet_spells_them(column: str, named: list[str]) -> None:
    rows = read(table("title,node,created,closed", f"down,{column},{TIMES}"), FLEET)[1]
    assert nodes(rows) == named


def test_without_names_no_text_is_believed() -> None:
    assert nodes(read(table("title,created,closed", f"gpu003 is down,{TIMES}"))[1]) == []


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


def test_issues_of_github_as_gh_prints_them() -> None:
    times = "2026-11-20T22:00:00Z,2026-11-21T06:00:00Z"
    text = table("number,title,createdAt,closedAt,body", f"7,Replace GPU 3 on gpu003,{times},")
    row = only(read(text, FLEET)[1])
    assert (row.node, row.from_at, row.to_at) == ("gpu003", AT, AT + timedelta(hours=8))
    assert (row.action, row.reason) == (RepairAction.SWAP_GPU, "7 Replace GPU 3 on gpu003")


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
