"""How long a fleet's report takes, of a year of 2,048 nodes; and how fast a trace is taken in.

    python -m benchmarks.fleet_year [--sqlite FILE] [--incidents 3000] [--trace 1000000]
        [--events 1000000]

Fills an empty PostgreSQL database of its own (``TRIAGE_TEST_POSTGRES``, dropped afterwards), or
with ``--sqlite`` a new file: so many incidents, each with its run on all nodes, three suspects and
a hundred rows of evidence; and a year of outages like real ones (bursts, long repairs). Then the
record is made of it, the report and the standings. To hold: the record and the report together
within 2 s; ``busy`` is what our process worked of it, without the database. ``--trace`` takes in a
table of so many runs, ``--events`` an export of so many events of nodes as Slurm keeps them.
"""

import argparse
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

from sqlalchemy import func, select, text

from benchmarks.fleet_year_rows import Year, tables
from benchmarks.service_rows import a_database, put
from benchmarks.table import aligned, machine, write_json
from models import Base, Outage, Run
from triage.fleet.report.report import fleet_report
from triage.fleet.services.exposure.imports import import_exposure
from triage.fleet.services.record.record import read_fleet_record
from triage.fleet.standings.standing import fleet_standings
from triage.queue.wakeups import NoWakeups
from triage.services.context import Context
from triage.services.quotas import Quotas
from triage.settings import load_settings
from triage.store.blobs.interface import open_blobs
from triage.store.database.engine import Database
from triage.store.database.group_commit import GroupCommit

LIMIT_S: Final = 2.0
HEADER: Final = "job_id,started_at,ended_at,ending,num_nodes,num_gpus\n"
STATES: Final = ("COMPLETED", "FAILED", "CANCELLED", "COMPLETED", "NODE_FAIL", "TIMEOUT")


class Trace:
    """An export of these lines, made as it is read."""

    def __init__(self, lines: Iterator[str]) -> None:
        self.lines = lines
        self.rest = b""
        self.num_bytes = 0

    def read(self, size: int, /) -> bytes:
        """Up to ``size`` bytes of it."""
        pieces, length = [self.rest], len(self.rest)
        while length < size and (line := next(self.lines, None)) is not None:
            pieces.append(line.encode())
            length += len(pieces[-1])
        whole = b"".join(pieces)
        self.rest = whole[size:]
        self.num_bytes += min(size, len(whole))
        return whole[:size]


def trace_lines(jobs: int) -> Iterator[str]:
    """The lines of a table of runs."""
    yield HEADER
    start = datetime(2023, 3, 1, tzinfo=UTC)
    for number in range(jobs):
        at = start + timedelta(seconds=15 * number)
        end = at + timedelta(seconds=60 + number % 40_000)
        yield (
            f"{5_000_000 + number},{at},{end},{STATES[number % len(STATES)]},"
            f"{1 + number % 64},{8 + number % 512}\n"
        )


def event_lines(events: int) -> Iterator[str]:
    """The lines of so many events of nodes, as ``sacctmgr -P show event`` prints them."""
    yield "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
    start = datetime(2023, 3, 1, tzinfo=UTC)
    for number in range(events):
        at = start + timedelta(seconds=60 * number)
        end = at + timedelta(seconds=60 + number % 400_000)
        yield (
            f"seren|gpu{number * 7919 % 2048:04}|{at:%Y-%m-%dT%H:%M:%S}|{end:%Y-%m-%dT%H:%M:%S}|"
            f"DRAIN|NHC: check_hw_gpu failed {number % 50}|root(0)\n"
        )


def fill(database: Database, year: Year) -> int:
    """All tables; how many rows."""
    number = sum(put(database, Base.metadata.tables[name], rows) for name, rows in tables(year))
    with database.engine.connect() as connection:
        if database.sqlite:
            connection.execute(text("ANALYZE"))
            connection.commit()
        else:
            # What autovacuum does within its minute.
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
            connection.execute(text("VACUUM ANALYZE"))
            # The rows brought their keys along.
            for name in ("cluster", "node", "node_set", "run", "outage"):
                after = (
                    f"SELECT setval(pg_get_serial_sequence('{name}', 'id'), max(id)) FROM {name}"
                )
                connection.execute(text(after))
    return number


def timed(do: Callable[[], Any], times: int) -> tuple[list[float], list[float], Any]:
    """Seconds by the clock and of our processor each time, and the last answer."""
    seconds, busy, answer = [], [], None
    for _ in range(times):
        began, worked = time.perf_counter(), time.process_time()
        answer = do()
        seconds.append(time.perf_counter() - began)
        busy.append(time.process_time() - worked)
    return seconds, busy, answer


def report_times(database: Database, year: Year, times: int) -> list[dict[str, Any]]:
    """Seconds of each step of a fleet's report."""
    since = year.until - timedelta(days=year.days)

    def made() -> Any:  # noqa: ANN401 - a record
        with database.reading() as session:
            return read_fleet_record(session, since=since, until=year.until)

    record_s, record_cpu, record = timed(made, times)
    report_s, report_cpu, _ = timed(lambda: fleet_report(record), times)
    standing_s, standing_cpu, _ = timed(lambda: fleet_standings(record), times)
    both_s = [one + two for one, two in zip(record_s, report_s, strict=True)]
    both_cpu = [one + two for one, two in zip(record_cpu, report_cpu, strict=True)]
    size = f"{len(record.interruptions.at_ns):,} stops, {len(record.runs.node):,} memberships"
    print(f"{size}, {len(record.accusations.node):,} accusations, notes: {record.notes}")
    return [
        row_of("record", record_s, record_cpu),
        row_of("report", report_s, report_cpu),
        row_of("standings", standing_s, standing_cpu),
        row_of("record and report", both_s, both_cpu),
    ]


def row_of(step: str, seconds: Sequence[float], busy: Sequence[float]) -> dict[str, Any]:
    """One row of the table."""
    return {
        "step": step, "first_s": seconds[0], "median_s": statistics.median(seconds),
        "worst_s": max(seconds), "busy_s": statistics.median(busy),
    }  # fmt: skip


def import_times(
    database: Database, name: str, lines: Callable[[], Iterator[str]], stored: type[Base]
) -> list[dict[str, Any]]:
    """How fast an export is taken in, and taken in again."""
    settings = load_settings()
    blobs = open_blobs(None, settings.data_dir, environ={}, min_free_bytes=0)
    quotas = Quotas(settings, database)
    ctx = Context(
        settings,
        database,
        blobs,
        NoWakeups(),
        GroupCommit(database),
        quotas,
    )
    found = []
    for step in (f"{name}, new", f"{name}, again"):
        source = Trace(lines())
        (seconds,), (busy,), told = timed(partial(import_exposure, ctx, source, cluster="seren"), 1)
        speed, size = told.rows / seconds, source.num_bytes / 1e6
        print(f"{step}: {speed:,.0f} rows/s, {size:,.0f} MB, {told.tally}")
        found.append(row_of(step, [seconds], [busy]))
    with database.reading() as session:
        assert (session.scalar(select(func.count()).select_from(stored)) or 0) >= told.rows
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; 1 where record and report take longer than they may."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sqlite", type=Path, help="a new file, in place of PostgreSQL")
    parser.add_argument("--incidents", type=int, default=3000)
    parser.add_argument("--nodes", type=int, default=2048)
    parser.add_argument("--evidence", type=int, default=100, help="rows for each incident")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--trace", type=int, default=0, help="jobs of an export to take in")
    parser.add_argument("--events", type=int, default=0, help="events of nodes to take in")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(argv)
    year = Year(
        datetime(2026, 11, 21, tzinfo=UTC), options.nodes, options.incidents, options.evidence
    )
    with a_database(options.sqlite) as database:
        number = fill(database, year)
        kind = "SQLite" if database.sqlite else "PostgreSQL"
        print(f"{machine()}, {kind}, {number:,} rows")
        rows = report_times(database, year, options.times)
        if options.trace:
            rows += import_times(database, "trace", partial(trace_lines, options.trace), Run)
        if options.events:
            rows += import_times(database, "events", partial(event_lines, options.events), Outage)
    head = ["step", "first s", "median s", "worst s", "busy s"]
    keys = ("first_s", "median_s", "worst_s", "busy_s")
    print(aligned(head, [[row["step"], *(f"{row[key]:.3f}" for key in keys)] for row in rows]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:,.0f} MiB")
    write_json(options.json, "fleet_year", rows, num_rows=number, database=kind)
    whole = next(row for row in rows if row["step"] == "record and report")
    return int(whole["median_s"] > LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
