"""Speed of the store's questions with 10,000 incidents and 1,000,000 rows of evidence.

    python -m benchmarks.service_rows [--sqlite FILE] [--incidents 10000] [--only WORD ...]

Fills an empty PostgreSQL database of its own (``TRIAGE_TEST_POSTGRES``, dropped afterwards),
or with ``--sqlite`` a new file, and asks each question so many times, every time in a
session of its own, as a request does. To hold in PostgreSQL: the list of incidents and a
node's history under 100 ms at the 99th percentile.
"""

import argparse
import itertools
import os
import secrets
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import sql
from sqlalchemy import Table, func, select, text
from sqlalchemy.orm import Session

from benchmarks.service_tables import FilledTables, Size, tables
from benchmarks.table import aligned, machine, write_json
from models import Base, Evidence, Suspect
from triage.domain.states import WorkKind
from triage.settings import load_settings
from triage.store import node_notices, nodes
from triage.store.database.engine import Database, open_database
from triage.store.database.migrate import migrate
from triage.store.incidents import incidents, past, revisions
from triage.store.uploads import artifacts, evidence
from triage.store.work import table as work
from triage.store.work.backlog import read_activity, summarize_work
from triage.store.work.table import enqueue_upload

POSTGRES: Final = "postgresql://postgres@127.0.0.1:5432/postgres"
# In PostgreSQL, at the 99th percentile.
LIMIT_MS: Final = 100.0
LIMITED: Final = ("incidents.listing", "nodes.history")
Question = Callable[[Session, int], object]


@contextmanager
def a_database(sqlite: Path | None) -> Iterator[Database]:
    """An empty, migrated database; that in PostgreSQL is dropped afterwards."""
    if sqlite is not None:
        if sqlite.exists():
            raise SystemExit(f"{sqlite} is there already")
        database = open_database(load_settings(database_url=f"sqlite:///{sqlite.absolute()}"))
        migrate(database)
        yield database
        database.close()
        return
    server = os.environ.get("TRIAGE_TEST_POSTGRES", POSTGRES)
    name = f"triage_rows_{secrets.token_hex(4)}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            base = server.rpartition("/")[0].replace("postgresql://", "postgresql+psycopg://")
            database = open_database(load_settings(database_url=f"{base}/{name}"))
            migrate(database)
            yield database
            database.close()
        finally:
            drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
            admin.execute(drop.format(sql.Identifier(name)))


def fill(database: Database, size: Size) -> int:
    """All tables, by COPY or executemany; how many rows."""
    number = 0
    for name, rows in tables(size):
        number += put(database, Base.metadata.tables[name], rows)
    with database.engine.connect() as connection:
        if database.sqlite:
            connection.execute(text("ANALYZE"))
            connection.commit()
        else:
            # What autovacuum does within its minute, and what inserts by a sequence do.
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
            connection.execute(text("VACUUM ANALYZE"))
    return number


def put(database: Database, table: Table, rows: Iterator[dict[str, Any]]) -> int:
    """The rows of one table; how many."""
    dialect = database.engine.dialect
    number = 0
    raw = database.engine.raw_connection()
    try:
        while part := list(itertools.islice(rows, 20_000)):
            names = list(part[0])
            kept = [table.c[name].type.bind_processor(dialect) for name in names]
            values = [
                tuple(
                    row[name] if change is None or row[name] is None else change(row[name])
                    for name, change in zip(names, kept, strict=True)
                )
                for row in part
            ]
            cursor: Any = raw.cursor()
            columns = ", ".join(f'"{name}"' for name in names)
            if database.sqlite:
                cursor.execute("BEGIN")
                marks = ", ".join("?" * len(names))
                cursor.executemany(f"INSERT INTO {table.name} ({columns}) VALUES ({marks})", values)
                cursor.execute("COMMIT")
            else:
                with cursor.copy(f"COPY {table.name} ({columns}) FROM STDIN") as copy:
                    for row in values:
                        copy.write_row(row)
                raw.commit()
            number += len(part)
    finally:
        raw.close()
    return number


def questions(database: Database, told: FilledTables) -> dict[str, tuple[bool, Question]]:
    """Name -> (does it write, the question)."""
    with database.reading() as session:
        largest, worst = told.largest, told.worst
        deep = incidents.list_incidents(session, limit=500)
        for _ in range(told.size.incidents // 500 - 2):
            last = deep[-1]
            deep = incidents.list_incidents(session, limit=500, before=(last.created_at, last.id))
        cursor = (deep[-1].created_at, deep[-1].id)
        first_row = evidence.list_by_incident(session, largest, limit=1)[0][0]
        late_row = first_row + int(told.rows_of_largest * 0.9)
        files = artifacts.list_by_incident(session, largest, limit=500)[-1]
    now, since = told.now, told.now - timedelta(days=7)
    node, one = told.node, told.incident
    return {
        "incidents.listing": (False, lambda s, _: incidents.list_incidents(s)),
        "incidents.listing, 500": (False, lambda s, _: incidents.list_incidents(s, limit=500)),
        "incidents.listing, node": (False, lambda s, k: incidents.list_incidents(s, node=node(k))),
        "incidents.listing, worst node": (
            False,
            lambda s, _: incidents.list_incidents(s, node=worst),
        ),
        "incidents.listing, no such node": (
            False,
            lambda s, _: incidents.list_incidents(s, node="x"),
        ),
        "incidents.listing, category": (
            False,
            lambda s, _: incidents.list_incidents(s, category="nic"),
        ),
        "incidents.listing, rare category": (
            False,
            lambda s, _: incidents.list_incidents(s, category="sdc"),
        ),
        "incidents.listing, state": (
            False,
            lambda s, _: incidents.list_incidents(s, state="collecting"),
        ),
        "incidents.listing, job": (
            False,
            lambda s, k: incidents.list_incidents(s, job_id=f"job-{k}"),
        ),
        "incidents.listing, since": (False, lambda s, _: incidents.list_incidents(s, since=since)),
        "incidents.listing, deep cursor": (
            False,
            lambda s, _: incidents.list_incidents(s, before=cursor),
        ),
        "incidents.listing, deep, state": (
            False,
            lambda s, _: incidents.list_incidents(s, state="ready", before=cursor),
        ),
        "incidents.find": (False, lambda s, k: incidents.find(s, one(k))),
        "node_notices.incidents_of_nodes": (
            False,
            lambda s, k: node_notices.list_incidents_of_nodes(s, [node(k)], since, None),
        ),
        "revisions.of_incident": (False, lambda s, k: revisions.list_suspects(s, one(k))),
        "evidence.of_incident": (False, lambda s, k: evidence.list_by_incident(s, one(k))),
        "evidence.of_incident, 500 of largest": (
            False,
            lambda s, _: evidence.list_by_incident(s, largest, limit=500),
        ),
        "evidence.of_incident, deep page": (
            False,
            lambda s, _: evidence.list_by_incident(s, largest, after=late_row),
        ),
        "evidence.of_incident, role and node": (
            False,
            lambda s, _: evidence.list_by_incident(s, largest, role="root", node=worst),
        ),
        "artifacts.of_incident": (False, lambda s, k: artifacts.list_by_incident(s, one(k))),
        "artifacts.of_incident, deep page": (
            False,
            lambda s, _: artifacts.list_by_incident(s, largest, after=(files.created_at, files.id)),
        ),
        "nodes.history": (False, lambda s, k: nodes.read_history(s, node(k), now)),
        "nodes.history, worst node": (False, lambda s, _: nodes.read_history(s, worst, now)),
        "counts.counts": (False, lambda s, _: summarize_work(s, now)),
        "heard.heard": (False, lambda s, _: read_activity(s, now)),
        "work.due": (False, lambda s, _: work.list_due(s, now, list(WorkKind), 1000)),
        "work.any_lost": (False, lambda s, _: work.has_lost(s, now)),
        "work.claim (commit included)": (
            True,
            lambda s, _: work.claim(s, WorkKind.PARSE, "bench", now, 60.0),
        ),
        "work.claim analyse (commit included)": (
            True,
            lambda s, _: work.claim(s, WorkKind.ANALYSE, "bench", now, 60.0),
        ),
        "fair_queue.enqueue_upload (commit included)": (
            True,
            lambda s, k: enqueue_upload(s, f"upl_new_{k}", told.job(k), now),
        ),
    }


def ask(database: Database, writes: bool, question: Question, times: int) -> list[float]:
    """Milliseconds of each call, in order of length; three before them do not count."""
    took = []
    for number in range(-3, times):
        began = time.perf_counter()
        with database.writing() if writes else database.reading() as session:
            question(session, number)
        if number >= 0:
            took.append((time.perf_counter() - began) * 1000.0)
    return sorted(took)


def removal(database: Database, told: FilledTables) -> list[tuple[str, float]]:
    """Milliseconds of removing 50 incidents in one transaction, and how many rows went."""
    with database.reading() as session:
        old = [
            one
            for one in past.list_old_incidents(session, told.now - timedelta(days=30))
            if one != told.largest
        ][:50]
        before = session.scalar(select(func.count()).select_from(Evidence)) or 0
    began = time.perf_counter()
    with database.writing() as session:
        past.remove(session, old)
    took = (time.perf_counter() - began) * 1000.0
    with database.reading() as session:
        gone = before - (session.scalar(select(func.count()).select_from(Evidence)) or 0)
    return [(f"past.remove, {len(old)} incidents, {gone:,} rows of evidence", took)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Fill, ask, print; 1 when a limit does not hold."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--sqlite", type=Path, metavar="FILE")
    parser.add_argument("--incidents", type=int, default=10_000)
    parser.add_argument("--evidence", type=int, default=1_000_000)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[], metavar="WORD")
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args(arguments)
    size = Size(given.incidents, given.evidence, seed=given.seed, now=datetime.now(UTC))
    with a_database(given.sqlite) as database:
        began = time.perf_counter()
        number = fill(database, size)
        filled_s = time.perf_counter() - began
        told = FilledTables(size)
        found = []
        for name, (writes, question) in questions(database, told).items():
            if given.only and not any(word in name for word in given.only):
                continue
            took = ask(database, writes, question, given.calls)
            p99 = took[min(len(took) - 1, int(len(took) * 0.99))]
            found.append((name, statistics.median(took), p99))
        removed = [] if given.only else removal(database, told)
        with database.reading() as session:
            of_worst = session.scalar(
                select(func.count()).select_from(Evidence).where(Evidence.node == told.worst)
            )
            named = session.scalar(
                select(func.count()).select_from(Suspect).where(Suspect.node == told.worst)
            )
    kind = "PostgreSQL" if given.sqlite is None else "SQLite"
    print(f"{kind}, {machine()}; {number:,} rows, filled in {filled_s:.0f} s")
    print(f"worst node: suspect {named:,} times, {of_worst:,} rows of evidence\n")
    rows = [[name, f"{median:.1f}", f"{p99:.1f}"] for name, median, p99 in found]
    rows += [[name, f"{took:.0f}", ""] for name, took in removed]
    print(aligned(["question", "median ms", "p99 ms"], rows))
    write_json(
        given.json, "service_rows",
        [{"question": name, "median_ms": median, "p99_ms": p99} for name, median, p99 in found],
        database=kind, num_rows=number,
    )  # fmt: skip
    slow = [name for name, _, p99 in found if name.startswith(LIMITED) and p99 > LIMIT_MS]
    if slow and kind == "PostgreSQL":
        print(f"\nnot under {LIMIT_MS:.0f} ms: {', '.join(slow)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
