"""From 0.1.0 to this release and back, with a million rows, while nodes go on sending.

    python -m benchmarks.upgrade [--incidents 10000] [--evidence 1000000] [--reader-s 20]

The first release runs from its own commit. A year's rows are put into its tables; collectors
send bundles and a probe sends small files all the time, also while nothing answers. Then come
the steps of docs/upgrades.md, there and back. All that was acknowledged has to be there and
read at each end, all spools empty, all rows and reports as they were. ``--reader-s`` holds
every table as ``pg_dump`` does while the database is migrated.
"""

import argparse
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import psycopg

from benchmarks.release_processes import FIRST_RELEASE, Releases, released, tree_of
from benchmarks.service_client import Client, Refused
from benchmarks.service_load import dumps_of
from benchmarks.service_processes import end_well
from benchmarks.service_receiver import Receiver
from benchmarks.table import aligned, machine
from benchmarks.upgrade_rows import Rows, fill, locks_watched
from benchmarks.upgrade_traffic import NODES_PER_JOB, Collectors, Probe
from tests.support.waiting import eventually

_RANKS_PER_NODE: Final = 4
_QUIET_WITHIN_S: Final = 400.0
# Reports of so many incidents are compared, byte for byte.
_REPORTS: Final = 40


class Exam:
    """The whole way; ``faults`` is everything that is not as it should be."""

    def __init__(self, made: Releases, size: tuple[int, int], phase_s: float, reader_s: float):
        self.made, self.size = made, size
        self.phase_s, self.reader_s = phase_s, reader_s
        self.rows = Rows(made.database_url)
        self.faults: list[str] = []
        self.table: list[list[str]] = []
        dumps = dumps_of(made.folder / "dumps", _RANKS_PER_NODE * NODES_PER_JOB, 1)
        self.collectors = Collectors(made, _folders_of(made.folder, dumps))
        self.probe = Probe(made.port)
        self.receiver = Receiver(lose=0)

    def run(self) -> None:
        """All steps."""
        made = self.made
        self.do("0.1 migrate", lambda: self.succeed("0.1", "migrate"))
        self.do(f"fill {self.size[1]:,} rows of evidence", lambda: fill(made, *self.size))
        made.start("0.1", "api", "worker", "scheduler")
        with self.receiver:
            wanted = {"kind": "generic", "url": f"{self.receiver.url}/all"}
            Client(made.port).post("/v1/subscriptions", wanted)
            self.collectors.start()
            self.probe.start()
            self.phase("0.1 before")
            self.there()
            self.phase("now")
            self.back()
            self.collectors.finish()
            self.probe.finish()
            self.settle("at the end")
            self.untold()

    def there(self) -> None:
        """The way there, as docs/upgrades.md says it."""
        made = self.made
        eventually(self.rows.spread_answer, _QUIET_WITHIN_S, every_s=1.0)
        self.sums, self.reports = self.rows.sums(self.size[0] // 4), self.all_reports()
        self.probe.phase = self.collectors.phase = "upgrade"
        self.do("stop workers of 0.1", lambda: made.stop("scheduler", "worker"))
        made.env["TRIAGE_SECRET_KEY"] = "c2VjcmV0LWtleS1vZi10aGUtdXBncmFkZS1leGFtLXg="
        with self.backup():
            self.do("migrate to 0008", lambda: self.succeed("now", "migrate", "--to", "0008"))
            self.do("migrate to the newest", lambda: self.succeed("now", "migrate"))
        self.compare("after migrate, through 0.1's rows")
        made.start("now", "worker", "scheduler")
        self.do("replace the API", self.replace_api)
        self.collectors.release = "now"
        self.settle_while("now", "after the upgrade")

    def replace_api(self) -> None:
        """The API of this release in the place of that before."""
        self.made.stop("api")
        self.made.start("now", "api")

    def back(self) -> None:
        """The way back, as docs/upgrades.md says it."""
        made = self.made
        self.probe.phase = self.collectors.phase = "back"
        self.do("stop all of now", lambda: made.stop("api", "scheduler", "worker"))
        status, said, _ = made.command("now", "migrate", "--to", "0007")
        if status == 0 or "--yes-delete" not in said:
            self.faults.append(f"going back did not ask: {status} {said[-300:]}")
        print(f"  asked: {said.splitlines()[-1]}", flush=True)
        for to in ("0008", "0007"):
            self.do(f"migrate --to {to}", partial(self.go_back, to))
        made.start("0.1", "api", "worker", "scheduler")
        self.settle_while("0.1", "after the way back")

    def go_back(self, to: str) -> str:
        """One step of the way back."""
        return self.succeed("now", "migrate", "--to", to, "--yes-delete")

    def phase(self, name: str) -> None:
        """Let them send for a while."""
        self.probe.phase = self.collectors.phase = name
        time.sleep(self.phase_s)

    def settle_while(self, release: str, where: str) -> None:
        """What was sent before is read and answered, while more is sent; then it is compared."""
        self.probe.phase = self.collectors.phase = f"on {release} ({where})"
        time.sleep(self.phase_s)
        self.late_files(release)
        self.collectors.finish()
        self.probe.finish()
        self.settle(where)
        self.compare(where)
        for sender in (self.collectors, self.probe):
            sender.stopping.clear()
        self.collectors.threads.clear()
        self.collectors.start()
        self.probe.start()

    def late_files(self, release: str) -> None:
        """A file for incidents that the other release has answered: all is read together."""
        found = self.rows.all(
            "SELECT DISTINCT ON (j.job_id) j.job_id, i.id FROM incident i"
            " JOIN job j ON j.id = i.job_fk WHERE j.job_id LIKE 'up-%' AND i.state = 'ready'"
            " ORDER BY j.job_id LIMIT 400"
        )
        client = Client(self.made.port)
        for job, incident in random.Random(release).sample(found, min(10, len(found))):
            path = f"/v1/jobs/{job}/artifacts?incident={incident}&node=late"
            path += f"&filename=late-{release}.log"
            text = f"late file of {release} for {job}\n".encode()
            answer = client.insist(path, text, "text/plain")
            self.probe.acknowledged[answer.json()["id"]] = job

    def settle(self, where: str) -> None:
        """Flush the spools, wait until all is done, and look for what was acknowledged."""
        left = self.collectors.flush()
        self.faults += [f"{where}: left in a spool: {one}" for one in left]
        end = time.monotonic() + _QUIET_WITHIN_S
        while (undone := self.rows.unfinished()) and time.monotonic() < end:
            time.sleep(0.5)
        sent = sorted({(one.job_id, one.node) for one in self.collectors.sent})
        faults = [
            *undone,
            *self.rows.failed(),
            *self.rows.unlike(),
            *self.rows.missing(sent, _RANKS_PER_NODE),
        ]
        faults += self.rows.probes_missing(self.probe.acknowledged)
        faults += self.rows.damaged(self.made.blobs)
        self.faults += [f"{where}: {one}" for one in (*faults, *self.collectors.says)]
        at_once = sum(one.at_once for one in self.collectors.sent)
        print(
            f"  {where}: {len(sent)} bundles ({len(self.collectors.sent) - at_once} spooled first),"
            f" {len(self.probe.acknowledged)} small files, {len(faults)} faults", flush=True,
        )  # fmt: skip

    def compare(self, where: str) -> None:
        """The year's rows, and the reports, as they were."""
        now = self.rows.sums(self.size[0] // 4)
        self.faults += [
            f"{where}: {name} was {self.sums[name]}, is {now[name]}"
            for name in now
            if now[name] != self.sums[name]
        ]
        if "api" not in self.made.running or "through" in where:
            return
        for incident, before in self.reports.items():
            revision, report = self.report(incident)
            if revision == before[0] and report != before[1]:
                self.faults.append(f"{where}: the report of {incident} is another one")
            elif report[:1] != b"{":
                self.faults.append(f"{where}: no report of {incident}: {report[:200]!r}")

    def all_reports(self) -> dict[str, tuple[int, bytes]]:
        """Incident -> its revision and the report of it, of some of each kind."""
        half = f"ORDER BY id DESC LIMIT {_REPORTS // 2}"
        found = self.rows.all(f"SELECT id FROM incident WHERE state = 'ready' {half}")
        found += self.rows.all(f"SELECT id FROM incident WHERE id LIKE 'inc_0000%' {half}")
        return {str(key): self.report(str(key)) for (key,) in found}

    def report(self, incident: str) -> tuple[int, bytes]:
        """Its newest revision, and the bytes of the report."""
        client = Client(self.made.port)
        try:
            revision = int(client.get(f"/v1/incidents/{incident}")["revision"])
        except Refused as error:
            return 0, str(error).encode()
        return revision, client.send("GET", f"/v1/incidents/{incident}/report").body

    def untold(self) -> None:
        """Every incident was told to the receiver, by itself or in a message about a storm."""
        said = b"".join(one.body for one in self.receiver.kept())
        answered = self.rows.all("SELECT id FROM incident WHERE id NOT LIKE 'inc_0000%'")
        self.faults += [
            f"the receiver heard nothing of {key}"
            for (key,) in answered
            if key.encode() not in said
        ]

    @contextmanager
    def backup(self) -> Any:  # noqa: ANN401
        """Meanwhile somebody reads all tables in one transaction, as ``pg_dump`` does."""
        if not self.reader_s:
            yield
            return
        ready = threading.Event()

        def hold() -> None:
            with psycopg.connect(self.rows.address) as connection:
                for (name,) in connection.execute(
                    "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
                ).fetchall():
                    connection.execute(f'LOCK TABLE "{name}" IN ACCESS SHARE MODE')
                ready.set()
                time.sleep(self.reader_s)

        thread = threading.Thread(target=hold, daemon=True)
        thread.start()
        ready.wait(60)
        yield
        thread.join()

    def succeed(self, release: str, *arguments: str) -> str:
        """A command that has to succeed."""
        status, said, cpu_s = self.made.command(release, *arguments)
        if status:
            self.faults.append(f"triage {' '.join(arguments)}: {status} {said[-1000:]}")
        return f"CPU {cpu_s:.1f} s"

    def do(self, name: str, act: Callable[[], Any]) -> None:
        """One step, timed, with the locks that it held and waited for."""
        began = time.monotonic()
        with locks_watched(self.rows) as locks:
            said = act()
        took_s = time.monotonic() - began
        table, held_s = max(locks.held_s.items(), key=lambda one: one[1], default=("", 0.0))
        row = [name, f"{took_s:.1f}", f"{held_s:.2f} {table}", f"{locks.longest_wait_s:.2f}",
               said if isinstance(said, str) else ""]  # fmt: skip
        self.table.append(row)
        print("  " + "  ".join(row), flush=True)

    def waits(self) -> str:
        """How long small uploads waited, by phase."""
        rows = []
        for phase, waits in self.probe.waits_s.items():
            gone = self.probe.refused.get(phase, [])
            why = ", ".join(sorted(set(gone)))
            rows.append([
                phase, str(len(waits)), f"{statistics.median(waits):.2f}", f"{max(waits):.2f}",
                f"{len(gone)} {why}".strip(),
            ])  # fmt: skip
        return aligned(["while", "uploads", "median s", "longest s", "not taken"], rows)


def _folders_of(folder: Path, dumps: Sequence[bytes]) -> list[Path]:
    """The dumps of each node in a folder of its own."""
    made = []
    for node in range(len(dumps) // _RANKS_PER_NODE):
        target = folder / f"node-{node}"
        target.mkdir()
        for rank in range(node * _RANKS_PER_NODE, (node + 1) * _RANKS_PER_NODE):
            (target / f"comm_lib_trace_rank_{rank}").write_bytes(dumps[rank])
        made.append(target)
    return made


def _main() -> int:
    """There and back; 1 where anything was lost or is another."""
    end_well()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--incidents", type=int, default=10_000)
    parser.add_argument("--evidence", type=int, default=1_000_000)
    parser.add_argument("--phase-s", type=float, default=30.0, help="of sending in each phase")
    parser.add_argument("--reader-s", type=float, default=0.0, help="of a backup meanwhile")
    parser.add_argument("--first", default=FIRST_RELEASE, help="commit of the release before")
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="triage-upgrade-")))
        first = tree_of(given.first, folder / "first")
        made = stack.enter_context(released(folder, first))
        exam = Exam(made, (given.incidents, given.evidence), given.phase_s, given.reader_s)
        exam.run()
    print(machine())
    print(aligned(["step", "s", "longest lock s", "longest wait s", ""], exam.table))
    print(exam.waits())
    for fault in exam.faults[:50]:
        print(f"FAULT: {fault}")
    print(f"{len(exam.faults)} faults")
    return 1 if exam.faults else 0


if __name__ == "__main__":
    sys.exit(_main())
