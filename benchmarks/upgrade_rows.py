"""A year's rows of the first release, and what a later one has to have kept of them."""

import hashlib
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psycopg
import zstandard

from benchmarks.release_processes import Releases
from triage.store.blobs.folder import FolderBlobs

# Run in the tree of the first release: its own benchmarks know its tables.
_FILL: Final = """
import random, sys
from datetime import UTC, datetime
from sqlalchemy import text
from benchmarks.fleet_year_rows import Year, node_sets, nodes, runs
from benchmarks.service_rows import fill, put
from benchmarks.service_tables import Size
from models import Base
from triage.settings import load_settings
from triage.store.database import open_database

database = open_database(load_settings())
now = datetime.now(UTC)
number = fill(database, Size(int(sys.argv[1]), int(sys.argv[2]), 1, now, waiting=0))
year = Year(now, incidents=int(sys.argv[1]) // 4)
for name, rows in (("node", nodes), ("node_set", node_sets), ("run", runs)):
    number += put(database, Base.metadata.tables[name], rows(year, random.Random(name)))
with database.engine.connect() as connection:
    for table in Base.metadata.sorted_tables:
        if "id" in table.c and table.c.id.type.python_type is int:
            connection.execute(text(
                f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), max(id))"
                f" FROM {table.name} HAVING max(id) IS NOT NULL"
            ))
    connection.execute(text(
        "UPDATE incident SET state = 'ready', provisional = false, settled_at = deadline_at"
        " WHERE state <> 'ready'"
    ))
    connection.execute(text("UPDATE upload SET blob_key = NULL"))
    connection.commit()
print(number)
"""
# What is there for good in both releases, as text of a row.
_KEPT: Final = {
    "evidence": "evidence::text",
    "incident": "id || state || revision || facts || coalesce(verdict, '')",
    "revision": "incident_id || revision || provisional || md5(answer)",
    "suspect": "suspect::text",
    "resolution": "resolution::text",
    "artifact": "id || upload_id || identity || sha256 || position || state",
    "digest": "incident_id || artifact_id",
    "node_set": "node_set::text",
    "run": "id || job_id || started_at || node_set_id",
}
_OF: Final = {"node_set": "id", "run": "id"}
_BULK: Final = "inc_0000%"
_SETTLED: Final = {"analysed", "partial"}


def fill(made: Releases, incidents: int, evidence: int) -> str:
    """Fill the empty tables of 0.1; how many rows. Raises :class:`RuntimeError`."""
    status, said, _ = made.python("0.1", "-c", _FILL, str(incidents), str(evidence))
    if status:
        raise RuntimeError(said[-2000:])
    return said.splitlines()[-1]


@dataclass(frozen=True, slots=True)
class Rows:
    """The database by plain SQL, of whichever release."""

    database_url: str

    def all(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with psycopg.connect(self.address) as connection:
            return connection.execute(query).fetchall()

    @property
    def address(self) -> str:
        """For psycopg."""
        return self.database_url.replace("+psycopg", "")

    def run(self, statement: str) -> None:
        """One statement, committed."""
        with psycopg.connect(self.address) as connection:
            connection.execute(statement)

    def spread_answer(self) -> bool:
        """Put one real answer into every revision of the bulk: a migration unpacks each.

        False while there is none.
        """
        real = f"incident_id NOT LIKE '{_BULK}' AND NOT provisional"
        if not self.all(f"SELECT 1 FROM revision WHERE {real} LIMIT 1"):
            return False
        self.run(
            "UPDATE revision r SET answer = s.answer, report = s.report, timeline = s.timeline"
            f" FROM (SELECT answer, report, timeline FROM revision WHERE {real}"
            f" ORDER BY created_at LIMIT 1) s WHERE incident_id LIKE '{_BULK}'"
        )
        return True

    def sums(self, runs: int) -> dict[str, tuple[Any, ...]]:
        """Table -> (rows, sum over hashes) of the bulk."""
        found = {}
        for table, row in _KEPT.items():
            which = f"{_OF[table]} <= {runs}" if table in _OF else None
            key = "id" if table == "incident" else "incident_id"
            which = which or f"{key} LIKE '{_BULK}'"
            found[table] = self.all(
                f"SELECT count(*), sum(hashtextextended({row}, 0)) FROM {table} WHERE {which}"
            )[0]
        return found

    def unfinished(self) -> list[str]:
        """What is still to be done, by kind."""
        counted = self.all(
            "SELECT 'incident ' || state, count(*) FROM incident"
            " WHERE state NOT IN ('ready', 'failed') OR inputs > answered_inputs GROUP BY 1"
            " UNION ALL SELECT 'artifact stored', count(*) FROM artifact WHERE state = 'stored'"
            " UNION ALL SELECT 'work ' || kind || ' ' || state, count(*) FROM work"
            " WHERE state IN ('running', 'waiting') AND kind <> 'retention' GROUP BY 1"
            " UNION ALL SELECT 'delivery', count(*) FROM delivery WHERE state = 'pending'"
        )
        return [f"{what}: {number}" for what, number in counted if number]

    def failed(self) -> list[str]:
        """Incidents that ended otherwise than answered."""
        rows = self.all(
            "SELECT id, state, reason FROM incident"
            f" WHERE id NOT LIKE '{_BULK}' AND state <> 'ready'"
        )
        return [f"incident {key} is {state}: {reason}" for key, state, reason in rows]

    def unlike(self) -> list[str]:
        """Whole jobs of which the answer is another: all sent the same dumps."""
        rows = self.all(
            "SELECT category, count(*), min(i.id) FROM incident i JOIN job j ON j.id = i.job_fk"
            " WHERE j.job_id LIKE 'up-%' AND NOT provisional AND (SELECT count(DISTINCT a.node)"
            " FROM artifact a WHERE a.incident_id = i.id AND a.rank IS NOT NULL) = 2"
            " GROUP BY category ORDER BY 2 DESC"
        )
        return [f"{number} jobs are {category}, as {key}" for category, number, key in rows[1:]]

    def missing(self, nodes: list[tuple[str, str]], per_node: int) -> list[str]:
        """Bundles that were sent, and of which not each file is there once and read."""
        rows = self.all(
            "SELECT j.job_id, a.node, a.rank, a.state, a.reason FROM artifact a"
            " JOIN incident i ON i.id = a.incident_id JOIN job j ON j.id = i.job_fk"
            f" WHERE i.id NOT LIKE '{_BULK}' AND a.rank IS NOT NULL"
        )
        there = Counter((job, node) for job, node, *_ in rows)
        faults = [
            f"{node} of {job}: {there[job, node]} files, not {per_node}"
            for job, node in nodes
            if there[job, node] != per_node
        ]
        return faults + [f"{one} was not read" for one in rows if one[3] not in _SETTLED]

    def probes_missing(self, acknowledged: dict[str, str]) -> list[str]:
        """Small uploads that were acknowledged, and are not there or not read."""
        there = dict(self.all("SELECT id, state FROM artifact WHERE rank IS NULL"))
        return [
            f"{key} of {job} is {there.get(key)}"
            for key, job in acknowledged.items()
            if there.get(key) not in _SETTLED
        ]

    def damaged(self, blobs: Path) -> list[str]:
        """Files whose bytes are not those that the row names."""
        store = FolderBlobs(blobs, min_free_bytes=0)
        unpacker = zstandard.ZstdDecompressor()
        faults = []
        for key, sha256, position, size, blob in self.all(
            "SELECT a.id, a.sha256, a.position, a.stored_bytes, u.blob_key FROM artifact a"
            " JOIN upload u ON u.id = a.upload_id WHERE u.blob_key IS NOT NULL"
        ):
            plain = unpacker.decompress(store.read(blob, position, size), max_output_size=1 << 24)
            if hashlib.sha256(plain).hexdigest() != sha256:
                faults.append(f"the bytes of {key} are others")
        return faults


@dataclass
class Locks:
    """How long tables were locked against writers, and how long anybody waited for one."""

    held_s: dict[str, float] = field(default_factory=dict)
    longest_wait_s: float = 0.0


# Modes that hold up an INSERT, on tables of ours.
_BLOCKING: Final = """
SELECT l.relation::regclass::text, l.granted,
       coalesce(extract(epoch FROM clock_timestamp() - l.waitstart), 0)
FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'public'
WHERE l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND c.relkind = 'r'
  AND ((l.granted AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock',
                                 'AccessExclusiveLock'))
       OR (NOT l.granted AND l.mode NOT LIKE '%Exclusive%' OR l.mode = 'RowExclusiveLock'
           AND NOT l.granted))
"""
_LOOK_EVERY_S: Final = 0.02


@contextmanager
def locks_watched(rows: Rows) -> Iterator[Locks]:
    """Watch the locks of the database while the block runs."""
    found, stopping = Locks(), threading.Event()

    def watch() -> None:
        with psycopg.connect(rows.address, autocommit=True) as connection:
            since: dict[str, float] = {}
            while not stopping.wait(_LOOK_EVERY_S):
                now = connection.execute("SELECT extract(epoch FROM clock_timestamp())")
                at = float((now.fetchone() or (0.0,))[0])
                held = set()
                for table, granted, waited in connection.execute(_BLOCKING).fetchall():
                    if granted:
                        held.add(table)
                        since.setdefault(table, at)
                        found.held_s[table] = max(found.held_s.get(table, 0.0), at - since[table])
                    else:
                        found.longest_wait_s = max(found.longest_wait_s, float(waited))
                since = {table: when for table, when in since.items() if table in held}

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        stopping.set()
        thread.join()
