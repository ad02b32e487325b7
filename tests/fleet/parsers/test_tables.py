"""Tables of runs, nodes and outages: known by their header, read row by row."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tests.fleet.parsers.exports import (
    CSV_HEADER,
    SACCT_HEADER,
    Pieces,
    passed,
    read,
    runs,
    table,
    unread,
)
from triage.domain.category import Category
from triage.errors import UnknownFormat
from triage.fleet.domain.cause import OutageCause
from triage.fleet.domain.exposure import Ending, NodeFacts, Outage
from triage.fleet.parsers.lines import MAX_LINE
from triage.fleet.parsers.read import read_exposure
from triage.fleet.parsers.rows import DAY_ZERO, Options

START = datetime(2026, 11, 21, 1, tzinfo=UTC)
END = datetime(2026, 11, 21, 3, 14, 15, tzinfo=UTC)
FAILED = (
    "4711|a|NODE_FAIL|2026-11-21T01:00:00|2026-11-21T03:14:15|16|"
    "billing=1,gres/gpu=128,gres/gpu:h100=128,node=16|gpu[001-002,007]"
)
PLAIN = "4711,2026-11-21T01:00:00Z,2026-11-21T03:14:15Z"


@pytest.mark.parametrize(
    ("header", "known"),
    [
        (SACCT_HEADER, "sacct"),
        ("End|Start|NodeList|JobID|State", "sacct"),
        ("JobID|JobName|Partition|State|Start|End|Elapsed", "sacct"),
        (CSV_HEADER, "csv"),
        ("started_at;job_id", "csv"),
        ("JOB_ID\tStart\tEnd", "csv"),
        ('"job_id","started_at"', "csv"),
        ("node,rack", "inventory"),
        ("leaf_switch,node", "inventory"),
        ("node,from,to,reason", "outages"),
        ("Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User", "outages"),
        ("REASON|USER|TIMESTAMP|NODELIST", "outages"),
        ("node,from_day,to_day,cause", "outages"),
        ("number,cmdb_ci,opened_at,short_description", "tickets"),
        ("Summary;Created;Host;Issue key", "tickets"),
        ("REASON               USER         TIMESTAMP           NODELIST", "outages"),
    ],
)
def test_a_table_is_known_by_its_header(header: str, known: str) -> None:
    assert read(header + "\n") == (known, [])
    assert read("\ufeff" + header) == (known, [])
    assert read("\n\n" + header + "\r\n")[0] == known


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "node\n",
        "job_id\n",
        "job_id,ended_at\n",
        "JobID|State|End\n",
        "node,comment\n",
        "from,to,reason\n",
        "time,gpu,temperature\n",
        "summary,description\n",
        "created|summary\n",
        "[1, 2]",
        "location,insert,remove\n",
        "[2026-11-20 22:00:00] INFO started\n",
        "Node Name is what it Starts with\n",
        "[  12.000] NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.\n",
        "job_id started_at ended_at\n",
        "PK\x03\x04 job_id,started_at\n\x00",
        "x" * (MAX_LINE + 2),
    ],
    ids=lambda text: text[:20],
)
def test_what_only_looks_alike_is_refused(text: str) -> None:
    with pytest.raises(UnknownFormat):
        read(text)


def test_sacct_says_nodes_gpus_and_how_it_ended() -> None:
    _, rows = read(table(SACCT_HEADER, FAILED))
    (run,) = runs(rows)
    assert (run.job_id, run.cluster, run.source) == ("4711", "a", "sacct")
    assert (run.started_at, run.ended_at) == (START, END)
    assert run.ending == Ending.UNEXPECTED
    assert run.nodes == ("gpu001", "gpu002", "gpu007")
    assert (run.num_nodes, run.num_gpus) == (3, 128)


@pytest.mark.parametrize(
    ("state", "ending", "cause"),
    [
        ("COMPLETED", Ending.COMPLETED, None),
        ("FAILED", Ending.UNEXPECTED, None),
        ("NODE_FAIL", Ending.UNEXPECTED, None),
        ("OUT_OF_MEMORY", Ending.UNEXPECTED, Category.HOST_OOM),
        ("CANCELLED", Ending.PLANNED, None),
        ("CANCELLED by 1000", Ending.PLANNED, None),
        ("CANCELLED+", Ending.PLANNED, None),
        ("PREEMPTED", Ending.PLANNED, None),
        ("TIMEOUT", Ending.PLANNED, None),
        ("DEADLINE", Ending.PLANNED, None),
        ("REQUEUED", Ending.UNKNOWN, None),
        ("RUNNING", Ending.UNKNOWN, None),
        ("cd", Ending.COMPLETED, None),
    ],
)
def test_a_state_says_whether_the_end_was_meant(
    state: str, ending: Ending, cause: Category | None
) -> None:
    _, rows = read(table(SACCT_HEADER, FAILED.replace("NODE_FAIL", state)))
    (run,) = runs(rows)
    assert (run.ending, run.cause) == (ending, cause)


def test_steps_and_jobs_that_never_ran_are_no_runs() -> None:
    _, rows = read(
        table(
            SACCT_HEADER,
            "1.batch|a|FAILED|2026-11-21T01:00:00|2026-11-21T02:00:00|1||n1",
            "1.0|a|FAILED|2026-11-21T01:00:00|2026-11-21T02:00:00|1||n1",
            "2|a|PENDING|Unknown|Unknown|1||None assigned",
            "3|a|CANCELLED by 7|None|2026-11-21T02:00:00|1||None assigned",
            "4|a|CANCELLED|2026-11-21T02:00:00|2026-11-21T02:00:00|1||None assigned",
        )
    )
    assert passed(rows) == ["steps of jobs"] * 2 + ["jobs that never started"] * 3
    assert len(rows) == 5


def test_a_job_that_runs_has_no_end() -> None:
    _, rows = read(table(SACCT_HEADER, "5|a|RUNNING|2026-11-21T01:00:00|Unknown|2|gres/gpu=16|n1"))
    (run,) = runs(rows)
    assert (run.ended_at, run.ending) == (None, Ending.RUNNING)


def test_arrays_and_gpus_that_are_counted_by_type_alone() -> None:
    _, rows = read(
        table(
            "JobID|State|Start|End|AllocTRES",
            "77_3|FAILED|2026-11-21T01:00:00|2026-11-21T02:00:00|gres/gpu:a100=4,gres/gpu:h100=8",
        )
    )
    (run,) = runs(rows)
    assert (run.job_id, run.num_gpus, run.nodes) == ("77_3", 12, ())


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (FAILED.replace("NODE_FAIL", "EXPLODED"), "the state 'EXPLODED' is not known"),
        (FAILED.replace("|2026-11-21T03:14:15|", "|Unknown|"), "no field says when"),
        (FAILED.replace("T03:14:15", "T00:14:15"), "is before Start"),
        (FAILED.replace("2026-11-21T01:00:00", "21/11/26"), "Start '21/11/26' is no time"),
        (FAILED.replace("2026-11-21T01:00:00", "1970-01-01T00:00:00"), "is before 2000"),
        (FAILED.replace("[001-002,007]", "[002-001]"), "nodes: the range 002-001 runs backw"),
        (FAILED.replace("[001-002,007]", "[1-999999999]"), "more than 20,000 hosts"),
        (FAILED.replace("4711", ""), "the job is empty"),
        (FAILED.replace("4711", "4" * 300), "the job has more than 256 characters"),
        (FAILED + "|x", "it has 9 fields, the header 8"),
        ("4711", "it has 1 fields, the header 8"),
    ],
)
def test_a_bad_row_is_named_and_the_next_one_is_read(row: str, why: str) -> None:
    _, rows = read(table(SACCT_HEADER, row, FAILED))
    assert len(runs(rows)) == 1
    ((line, said),) = unread(rows)
    assert line == 2
    assert why in said


def test_a_time_without_its_zone_is_of_the_zone_that_is_stated() -> None:
    berlin = Options(zone=ZoneInfo("Europe/Berlin"))
    _, rows = read(table(SACCT_HEADER, FAILED), berlin)
    assert runs(rows)[0].started_at == datetime(2026, 11, 21, tzinfo=UTC)
    _, rows = read(table(CSV_HEADER.partition(",ending")[0], PLAIN), berlin)
    assert runs(rows)[0].started_at == START


def test_a_run_over_the_end_of_summer_time_does_not_end_before_it_starts() -> None:
    berlin = Options(zone=ZoneInfo("Europe/Berlin"))
    row = "1|a|FAILED|2026-10-25T02:50:00|2026-10-25T02:10:00|1||n1"
    _, rows = read(table(SACCT_HEADER, row), berlin)
    (run,) = runs(rows)
    assert run.ended_at is not None
    assert (run.ended_at - run.started_at).total_seconds() == 20 * 60
    assert unread(read(table(SACCT_HEADER, row))[1])


def test_a_time_in_the_future_is_refused() -> None:
    options = Options(last=datetime(2026, 11, 21, 2, tzinfo=UTC))
    _, rows = read(table(SACCT_HEADER, FAILED), options)
    assert unread(rows) == [(2, "End '2026-11-21T03:14:15' is in the future")]


def test_a_table_of_runs_says_what_it_can() -> None:
    _, rows = read(
        table(
            CSV_HEADER,
            f'{PLAIN},failed,,16,"gpu[1-2], gpu7",b,gpu_hbm',
            "4712,1795222800,,,4,32,,,",
            "4713,2026-11-21 01:00:00+0100,2026-11-21 02:00:00 UTC,unexpected,4,32,a b,,",
        ),
        Options(cluster="a"),
    )
    first, second, third = runs(rows)
    assert first.nodes == ("gpu1", "gpu2", "gpu7")
    assert (first.cluster, first.cause) == ("b", Category.GPU_HBM)
    assert (second.num_nodes, second.cluster, second.ending) == (4, "a", Ending.RUNNING)
    assert third.started_at == datetime(2026, 11, 21, tzinfo=UTC)
    assert third.nodes == ("a", "b")


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (f"{PLAIN},failed,,16,,,gremlins", "cause 'gremlins' is no category"),
        (f"{PLAIN},failed,,-1,,,", "num_gpus '-1' is no whole number"),
        (f"{PLAIN},failed,,1e9,,,", "num_gpus '1e9' is no whole number"),
        (f"{PLAIN},failed,,99999999999,,,", "is more than 10,000,000"),
        (f'{PLAIN},failed,,16,"gpu[1-2,b,', "its quotes do not fit"),
        (f"{PLAIN},gone,,16,,,", "ending 'gone' is not known"),
        (f"{PLAIN},failed,,16,,\x07,", "the cluster holds a control character"),
        (f"{PLAIN},failed,,16,gpu[1-2,b,", "nodes: "),
    ],
)
def test_a_field_that_is_none_is_named(row: str, why: str) -> None:
    _, rows = read(table(CSV_HEADER, row, f"{PLAIN},failed,,16,,,"))
    assert len(runs(rows)) == 1
    assert why in unread(rows)[0][1] or "fields, the header" in unread(rows)[0][1]


def test_an_inventory_says_where_nodes_are() -> None:
    _, rows = read(table("node,generation,rack", "n[1-2],H100,r12", "n3,,r13", ",H100,r1"))
    assert rows[:3] == [
        NodeFacts("n1", "H100", "r12"),
        NodeFacts("n2", "H100", "r12"),
        NodeFacts("n3", None, "r13"),
    ]
    assert unread(rows) == [(4, "node is empty")]


def test_outages_of_a_table_of_events_and_of_drains() -> None:
    from_at = datetime(2026, 11, 20, 22, tzinfo=UTC)
    to_at = datetime(2026, 11, 21, 6, tzinfo=UTC)
    both = [
        Outage("n3", from_at, to_at, "HBM", cause=OutageCause.GPU),
        Outage("n7", from_at, None, "HBM", cause=OutageCause.GPU),
    ]
    _, rows = read(
        table(
            "node,from,to,reason", "n3,2026-11-20T22:00Z,2026-11-21T06:00Z,HBM",
            "n7,2026-11-20T22:00Z,,HBM",
        )
    )  # fmt: skip
    assert rows == both
    _, rows = read(
        table(
            "NodeName|TimeStart|TimeEnd|State|Reason",
            "n3|2026-11-20T22:00:00|2026-11-21T06:00:00|DRAIN|HBM",
            "|2026-11-20T22:00:00|Unknown||Cluster registered TRES",
            "n7|2026-11-20T22:00:00|Unknown|DRAIN|HBM",
        )
    )
    assert [row for row in rows if isinstance(row, Outage)] == both
    assert passed(rows) == ["events of the cluster as a whole"]
    _, rows = read(
        "REASON               USER         TIMESTAMP           NODELIST\n"
        "Not responding       root         2026-11-20T22:00:00 n[3,7]\n"
        "nonsense\n"
    )
    assert rows[:2] == [
        Outage("n3", from_at, None, "Not responding"),
        Outage("n7", from_at, None, "Not responding"),
    ]
    assert unread(rows) == [(3, "it is no row of sinfo -R")]


DAYS = "node,from_day,to_day,cause,detail"


def test_days_of_a_table() -> None:
    form, rows = read(
        table(
            DAYS, "n1,0.0000,6.2188,Hardware,CPU", "n2,1,,x,y", "n3,5,4,x,y", "n4,inf,,x,y",
            "n5,-1,,x,y", "n6,1e3,,x,y", "n7,99999,,x,y", ",1,2,x,y", "n8,,2,x,y",
        )
    )  # fmt: skip
    assert form == "outages"
    first, second = (row for row in rows if isinstance(row, Outage))
    assert (first.from_at, second.from_at) == (DAY_ZERO, DAY_ZERO + timedelta(days=1))
    assert first.to_at == DAY_ZERO + timedelta(days=6.2188)
    assert (first.cause, second.to_at) == (OutageCause.CPU, None)
    assert [line for line, _ in unread(rows)] == [4, 5, 6, 7, 8, 9, 10]


def test_day_zero_dates_a_table_of_days() -> None:
    zero = datetime(2024, 3, 30, tzinfo=UTC)
    _, rows = read(table(DAYS, "n1,0.5,1,x,y"), Options(day_zero=zero))
    assert [row.from_at for row in rows if isinstance(row, Outage)] == [zero + timedelta(hours=12)]
    late = Options(last=datetime(2000, 1, 2, tzinfo=UTC))
    assert "day zero" in unread(read(table(DAYS, "n1,5,6,x,y"), late)[1])[0][1]


@pytest.mark.parametrize("size", [1, 2, 7, 4096])
def test_where_pieces_are_cut_changes_nothing(size: int) -> None:
    text = table(CSV_HEADER, f"{PLAIN},failed,,16,gpü[1-2],b,gpu_hbm", "bad", f"{PLAIN},,,,,,")
    whole = read(text)[1]
    assert list(read_exposure(Pieces(text.encode(), size)).rows) == whole
    assert list(read_exposure(Pieces(text.encode("utf-16"), size)).rows) == whole


def test_a_line_that_never_ends_is_left_out_and_costs_no_memory() -> None:
    text = table(CSV_HEADER, "x" * (3 * MAX_LINE), f"{PLAIN},failed,,16,,,") + "y" * (2 * MAX_LINE)
    _, rows = read(text)
    assert unread(rows) == [(2, "the line is too long"), (4, "the line is too long")]
    assert len(runs(rows)) == 1


def test_bytes_that_are_no_text_are_refused_where_they_come() -> None:
    good = table(CSV_HEADER, *[PLAIN] * 900).encode()
    rows = read_exposure(Pieces(good + b"\0" * 9000, 4096)).rows
    with pytest.raises(UnknownFormat, match="zero bytes"):
        list(rows)


def test_letters_that_are_none_become_a_mark() -> None:
    _, rows = read(table(CSV_HEADER, f"{PLAIN},failed,,16,n,,").encode().replace(b",n,", b",\xff,"))
    assert runs(rows)[0].nodes == ("\ufffd",)
