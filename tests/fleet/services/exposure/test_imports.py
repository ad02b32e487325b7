"""Imports: twice adds nothing, the order does not matter, a bad row stops no other."""

import gzip
import io
import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select

from models import Outage, Run
from tests.fleet.services.fleets import (
    HEADER,
    at,
    imported,
    node_hours,
    record,
    row,
    service_on,
    tally,
    told,
)
from triage.errors import Forbidden, TooLarge, UnknownFormat, Unprocessable, UsageError
from triage.fleet.services.exposure import imports
from triage.fleet.services.exposure.imports import import_upload, parse_zone
from triage.services.context import Context

SACCT = (
    "JobIDRaw|Cluster|State|Start|End|NNodes|AllocTRES|NodeList\n"
    "1|a|NODE_FAIL|2026-11-01T00:00:00|2026-11-01T10:00:30|4|gres/gpu=32|n[0-3]\n"
    "2|a|RUNNING|2026-11-01T05:00:00|Unknown|4|gres/gpu=32|n[4-7]\n"
    "3|a|PENDING|Unknown|Unknown|4||None assigned\n"
    "4|a|FAILED|nonsense|2026-11-01T10:00:00|4||n1\n"
)


@pytest.fixture(params=["sqlite", "postgresql"])
def ctx(request, tmp_path) -> Iterator[Context]:
    with service_on(request.param, tmp_path) as found:
        yield found


def kept(ctx: Context) -> list[tuple]:
    """All that is known of runs and outages, without the numbers of rows."""
    with ctx.database.reading() as session:
        runs = session.execute(
            select(
                Run.job_id, Run.started_at, Run.ended_at, Run.seen_at, Run.ending, Run.cause,
                Run.num_nodes, Run.num_gpus, Run.source,
            )
        )  # fmt: skip
        outages = session.execute(select(Outage.from_at, Outage.to_at, Outage.reason))
        return sorted(map(tuple, [*runs, *outages]), key=repr)


def test_what_became_of_each_row_is_said(ctx: Context) -> None:
    found = imported(ctx, SACCT).to_dict()
    assert found == {
        "format": "sacct", "rows": 2, "added": 2, "changed": 0, "unchanged": 0, "num_skipped": 1,
        "skipped": [{"line": 5, "why": "Start 'nonsense' is no time such as 2026-11-21T03:14:15"}],
        "notes": ["jobs that never started left out: 1"],
    }  # fmt: skip


def test_the_same_again_adds_nothing(ctx: Context) -> None:
    imported(ctx, SACCT)
    before = kept(ctx)
    again = imported(ctx, SACCT)
    assert (again.added, again.changed, again.unchanged) == (0, 0, 2)
    assert kept(ctx) == before


def test_a_row_that_stands_twice_in_one_file_is_one(ctx: Context) -> None:
    found = told(ctx, row("1", 0, 10), row("1", 0, 10), row("1", 0, None, "running"))
    assert (found.added, found.changed, found.unchanged) == (1, 0, 2)


def test_a_later_row_completes_an_earlier_one(ctx: Context) -> None:
    imported(ctx, SACCT)
    end = SACCT.replace(
        "RUNNING|2026-11-01T05:00:00|Unknown", "FAILED|2026-11-01T05:00:00|2026-11-01T09:00:00"
    )
    assert tally(imported(ctx, end)) == (0, 1, 1)
    assert node_hours(record(ctx))["n4"] == 4
    again = imported(ctx, SACCT)
    assert (again.added, again.changed, again.unchanged) == (
        0,
        0,
        2,
    )  # the old file takes nothing away
    assert node_hours(record(ctx))["n4"] == 4


FILES = [
    "\n".join([HEADER, row("1", 0, None, "running"), row("2", 1, None, "running", nodes="n7")]),
    "\n".join([HEADER, row("1", 0, 10, "failed", nodes="", gpus=16), row("3", 2, 9, "completed")]),
    "\n".join([HEADER, row("1", 0, 10.5, "cancelled"), row("2", 1, 3, "failed", cause="gpu")]),
    "\n".join([HEADER, row("1", 0, 11, "failed", nodes="n[0-5]"), row("3", 2, 8, "completed")]),
]  # fmt: skip


def test_the_order_of_files_does_not_matter(tmp_path) -> None:
    seen = set()
    for number, files in enumerate(itertools.permutations(FILES)):
        with service_on("sqlite", tmp_path / str(number)) as ctx:
            for text in files:
                imported(ctx, text)
            seen.add(repr((kept(ctx), node_hours(record(ctx)))))
    assert len(seen) == 1


def test_the_order_of_rows_does_not_matter(ctx: Context) -> None:
    rows = [text for file in FILES for text in file.split("\n")[1:]]
    imported(ctx, "\n".join([HEADER, *rows]))
    before = kept(ctx)
    assert tally(imported(ctx, "\n".join([HEADER, *reversed(rows)])))[:2] == (0, 0)
    assert kept(ctx) == before


def test_of_an_outage_the_end_comes_later(ctx: Context) -> None:
    header = "node,from,to,reason,cluster\n"
    still, over = f"n0,{at(1):%FT%TZ},,HBM,a\n", f"n0,{at(1):%FT%TZ},{at(5):%FT%TZ},,a\n"
    assert tally(imported(ctx, header + still)) == (1, 0, 0)
    assert tally(imported(ctx, header + over)) == (0, 1, 0)
    assert tally(imported(ctx, header + still)) == (0, 0, 1)
    assert [(one[1], one[2]) for one in kept(ctx)] == [(at(5), "HBM")]


def test_the_last_inventory_stands_and_takes_nothing_away(ctx: Context) -> None:
    told(ctx, row("1", 0, 1, nodes="n0"))
    header = "node,generation,rack,cluster\n"
    assert tally(imported(ctx, header + "n0,H100,r1,a\n")) == (0, 1, 0)
    assert tally(imported(ctx, header + "n0,,r2,a\n")) == (0, 1, 0)
    assert tally(imported(ctx, header + "n0,H100,r2,a\n")) == (0, 0, 1)
    found = record(ctx)
    assert (found.generation, found.rack) == (("H100",), ("r2",))


def test_what_lies_in_the_future_is_refused_and_the_rest_is_kept(ctx: Context) -> None:
    text = "\n".join([HEADER, row("1", 10**6, None, "running"), row("2", 0, 10)])
    found = imported(ctx, text)
    assert (found.added, found.num_skipped) == (1, 1)
    assert found.skipped[0].why.endswith("is in the future")


def test_of_many_bad_rows_the_first_are_listed(ctx: Context) -> None:
    found = told(ctx, *["bad"] * 250, row("1", 0, 10))
    assert (found.num_skipped, len(found.skipped), found.added) == (250, 100, 1)
    assert found.notes == ["of 250 rows that were not read the first 100 are listed"]


def test_what_is_no_export_is_refused_and_keeps_nothing(ctx: Context) -> None:
    with pytest.raises(UnknownFormat):
        imported(ctx, "a,b,c\n1,2,3\n")
    assert kept(ctx) == []


def test_a_body_may_be_packed_and_may_not_grow_beyond_bounds(ctx: Context) -> None:
    packed = gzip.compress(SACCT.encode())
    for encoding in ("gzip", None):
        found = import_upload(
            ctx, io.BytesIO(packed).read, encoding, zone=parse_zone("UTC"), cluster=""
        )
        assert found.rows == 2
    bomb = gzip.compress(HEADER.encode() + b"\n" + b" " * (64 << 20))
    with pytest.raises(TooLarge):
        import_upload(ctx, io.BytesIO(bomb).read, "gzip", zone=parse_zone("UTC"), cluster="")
    with pytest.raises(Unprocessable):
        import_upload(ctx, io.BytesIO(packed[:-9]).read, "gzip", zone=parse_zone("UTC"), cluster="")


def test_a_zone_that_is_none_is_refused() -> None:
    for name in ("Mars/Olympus", "../../etc/passwd", "", "\0"):
        with pytest.raises(UsageError, match="no zone"):
            parse_zone(name)


def test_many_who_import_the_same_at_once_keep_it_once(ctx: Context) -> None:
    rows = [row(str(job), job, None, "running", nodes=f"n[{job}-{job + 9}]") for job in range(60)]
    ends = [row(str(job), job, job + 5, "failed", nodes=f"n[{job}-{job + 9}]") for job in range(60)]
    files = [rows, ends[::-1], rows[::-1], ends]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda file: told(ctx, *file), files * 2))
    assert sum(one.added for one in found) == 60
    assert len(kept(ctx)) == 60
    assert node_hours(record(ctx))["n30"] == 10 * 5


def test_a_request_has_so_many_rows_and_those_before_are_kept(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "MOST_ROWS", 5)

    def send(number: int) -> int:
        text = "\n".join([HEADER, *[row(str(k), 0, 1) for k in range(number)]])
        packed = gzip.compress(text.encode())
        return import_upload(
            ctx, io.BytesIO(packed).read, "gzip", zone=parse_zone("UTC"), cluster=""
        ).rows

    assert send(5) == 5
    with pytest.raises(TooLarge, match="more than 5 rows") as refused:
        send(6)
    assert "in parts" in refused.value.hint
    assert len(kept(ctx)) == 5


def test_a_cluster_a_row_is_no_export(ctx: Context) -> None:
    rows = [row(str(k), 0, 1, cluster=f"c{k % 100}") for k in range(150)]
    assert told(ctx, *rows).rows == 150
    with pytest.raises(Forbidden, match="more than 100 clusters"):
        told(ctx, *rows, row("x", 0, 1, cluster="c100"))
