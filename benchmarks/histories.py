"""Histories of acknowledged writes: clients at once, kills and cut connections, then a checker.

    python -m benchmarks.histories [--minutes 10] [--clients 6] [--seed 1]

Two APIs, two workers and the scheduler over PostgreSQL and Redis. Clients upload, announce,
resolve, delete and read; processes are killed with -9, connections to the database and to the
APIs are cut or fall silent. Every operation is written down with how it ended, and
:mod:`benchmarks.history_check` looks for what cannot be. Ends with status 1 where it finds any.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from benchmarks.history_check import Ending, StoredFile, violations
from benchmarks.history_clients import Book, Jobs, Recorder, User
from benchmarks.kills import wait_quiet
from benchmarks.service_findings import KILLED, Rows, open_rows
from benchmarks.service_processes import (
    Installation,
    Process,
    children,
    end_well,
    free_port,
    installed,
    kill,
    servers,
)
from benchmarks.table import machine
from tests.support.proxy import Fault, Proxy, proxied

_SETTINGS: Final = {
    "TRIAGE_LEASE_S": "5",
    "TRIAGE_QUIET_S": "2",
    "TRIAGE_COLLECT_WITHIN_S": "20",
    "TRIAGE_PROVISIONAL_EVERY_S": "1",
    "TRIAGE_DATABASE_TIMEOUT_S": "8",
    "TRIAGE_LOG_LEVEL": "warning",
    "TRIAGE_MESSAGES_PER_MINUTE": "100000",
}
_SCOPES: Final = ("--scope", "ingest", "--scope", "read", "--scope", "admin")
# Between two faults.
_GAP_S: Final = (1.0, 6.0)


@dataclass
class Cluster:
    """The processes, and what stands between them and others; ``strike`` has one thing fail."""

    apis: list[Process]
    workers: list[Process]
    database: Proxy
    doors: list[Proxy]
    """One before each API."""
    chance: random.Random

    def strike(self) -> str:
        """Let something fail; says what."""
        acts = (self.api, self.worker, self.cut_database, self.cut_clients, self.silence)
        return self.chance.choices(acts, (4, 4, 2, 3, 1))[0]()

    def api(self) -> str:
        """Kill an API."""
        process = self.chance.choice(self.apis)
        process.kill()
        self.again(process)
        return "api killed"

    def worker(self) -> str:
        """Kill a worker, mostly with all that it started."""
        process = self.chance.choice(self.workers)
        family = children(process.pid)
        process.kill()
        if self.chance.random() < 0.7:
            for pid in family:
                kill(pid)
        self.again(process)
        return "worker killed"

    def again(self, process: Process) -> None:
        """After a moment, start what was killed; nobody waits until it answers."""
        time.sleep(self.chance.uniform(0.0, 1.0))
        process.start()

    def cut_database(self) -> str:
        """Break every connection to the database, and take none for a moment."""
        self.database.set(Fault.REFUSES)
        time.sleep(self.chance.uniform(0.0, 1.5))
        self.database.set(Fault.NONE)
        return "database cut"

    def cut_clients(self) -> str:
        """Break every connection to one API: requests and answers are lost half way."""
        door = self.chance.choice(self.doors)
        door.set(Fault.REFUSES)
        time.sleep(self.chance.uniform(0.0, 0.5))
        door.set(Fault.NONE)
        return "clients cut"

    def silence(self) -> str:
        """The connections to the database that are open say nothing any more."""
        self.database.set(Fault.HANG)
        self.database.set(Fault.NONE)
        return "database silent"


@contextmanager
def _running(
    folder: Path, chance: random.Random, num_clients: int
) -> Iterator[tuple[Cluster, Rows, Book, list[Recorder]]]:
    """The cluster, its tables past the proxy, and a recorder with a token for each client."""
    with ExitStack() as stack:
        settings = _SETTINGS | stack.enter_context(servers("redis"))
        direct = settings["TRIAGE_DATABASE_URL"]
        place = urlsplit(direct)
        database = stack.enter_context(proxied(str(place.hostname), place.port or 5432))
        at = place.netloc.replace(f":{place.port}", f":{database.port}")
        settings["TRIAGE_DATABASE_URL"] = place._replace(netloc=at).geturl()
        first = stack.enter_context(installed("redis", folder, settings, open_access=False))
        port = free_port()
        serve = [str(port) if one == str(first.port) else one for one in first.api.command]
        apis = [first.api, Process("api-2", serve, first.env, folder / "api-2.log")]
        workers = [_worker_of(first), _copy_of(_worker_of(first))]
        for process in (apis[1], workers[1]):
            stack.callback(process.end)
            process.start()
        Installation("redis", folder, first.env, port, apis[1]).wait_up()
        doors = [stack.enter_context(proxied("127.0.0.1", one)) for one in (first.port, port)]
        rows, book = open_rows(direct), Book()
        stack.callback(rows.engine.dispose)
        recorders = []
        for number in range(num_clients):
            token = first.command("token", "create", "--name", f"client-{number}", *_SCOPES)
            (key,) = rows.all(f"SELECT id FROM api_key WHERE name = 'client-{number}'")
            recorders.append(Recorder(book, [one.port for one in doors], key["id"], token))
        yield Cluster(apis, workers, database, doors, chance), rows, book, recorders


def _worker_of(made: Installation) -> Process:
    if made.worker is None:
        raise RuntimeError("an embedded service has no worker of its own")
    return made.worker


def _copy_of(process: Process) -> Process:
    name = f"{process.name}-2"
    return Process(name, process.command, process.env, process.log.with_name(f"{name}.log"))


def ending_of(rows: Rows) -> Ending:
    """What is in the tables."""
    files = rows.all(
        "SELECT a.id, a.incident_id, j.job_id, a.filename, u.key_id FROM artifact a"
        " JOIN upload u ON u.id = a.upload_id JOIN incident i ON i.id = a.incident_id"
        " JOIN job j ON j.id = i.job_fk"
    )
    incidents = rows.all(
        "SELECT i.id, i.revision, r.note, r.said_by FROM incident i"
        " LEFT JOIN resolution r ON r.incident_id = i.id"
    )
    facts = rows.all("SELECT incident_id, key_id FROM incident_facts WHERE source = 'hook'")
    return Ending(
        files={
            row["id"]: StoredFile(
                row["incident_id"], f"{row['job_id']}/{row['filename']}", row["key_id"]
            )
            for row in files
        },
        notes={row["id"]: (row["note"] or "", row["said_by"] or "") for row in incidents},
        facts=frozenset((row["incident_id"], row["key_id"]) for row in facts),
        revisions={row["id"]: row["revision"] for row in incidents},
    )


def _unsettled(rows: Rows) -> list[str]:
    """What is not answered, or not read though no worker was killed over it three times."""
    found = [f"stuck: {one}" for one in rows.unfinished()]
    found += [
        f"incident {row['id']} is {row['state']}: {row['reason']}"
        for row in rows.all("SELECT id, state, reason FROM incident WHERE state <> 'ready'")
    ]
    return found + [
        f"artifact {row['id']} is {row['state']}: {row['reason']}"
        for row in rows.all(
            "SELECT id, state, reason FROM artifact WHERE state NOT IN ('analysed', 'partial')"
        )
        if row["state"] != "quarantined" or not KILLED.search(row["reason"] or "")
    ]


def _history_of(
    folder: Path, seconds: float, num_clients: int, seed: int
) -> tuple[Book, Mapping[str, int], list[str]]:
    """One run: the history, what failed how often, and the violations."""
    chance = random.Random(seed)
    with _running(folder, chance, num_clients) as (cluster, rows, book, recorders):
        jobs = Jobs(time.monotonic())
        users = [User(one, jobs, f"{seed}/{k}") for k, one in enumerate(recorders)]
        for user in users:
            user.start()
        struck: Counter[str] = Counter()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(chance.uniform(*_GAP_S))
            struck[cluster.strike()] += 1
        for user in users:
            user.stopping.set()
        for user in users:
            user.join()
        wait_quiet(rows.unfinished)
        found = violations(book.history, ending_of(rows)) + _unsettled(rows) + book.errors
        return book, struck, found


def _main() -> int:
    """Run, check and tell; 1 where something cannot be."""
    end_well()
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder to keep data and logs in")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="triage-histories-") as made:
        folder = given.keep or Path(made)
        book, struck, found = _history_of(folder, given.minutes * 60, given.clients, given.seed)
    done = Counter((str(one.kind), str(one.outcome)) for one in book.history)
    print(machine())
    print(f"{len(book.history):,} operations of {given.clients} clients in {given.minutes:g} min")
    for kind in sorted({kind for kind, _ in done}):
        ways = ", ".join(f"{n:,} {how}" for (what, how), n in sorted(done.items()) if what == kind)
        print(f"  {kind}: {ways}")
    print("  faults: " + ", ".join(f"{n} x {what}" for what, n in sorted(struck.items())))
    for said in found[:50]:
        print(f"VIOLATION: {said}")
    print(f"{len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(_main())
