"""May a job start, and without whom: how long a launcher waits for the answer.

::

    python -m benchmarks.launch [--ranks 16384] [--incidents 2000] [--requests 300] [--clients 16]

The job's newest failure has an answer of ``--ranks`` ranks; ``--incidents`` other jobs failed
within the day, each with a convicted node. The launcher asks alone, then several at once, as
the agents of a job's nodes do. To hold: 50 ms at the 95th percentile, asked alone.
"""

import argparse
import os
import tempfile
import threading
import time
from pathlib import Path
from typing import Final

import structlog

import triage
from benchmarks.pages import Got, answered, get, ms, p95, serving, stored
from triage.clock import read_utc_now
from triage.domain.answer_wire import answer_to_bytes
from triage.domain.failure_match import Failure
from triage.render.data import wire
from triage.server.context import open_context
from triage.services.context import Context
from triage.services.incidents.announce import announce
from triage.settings import load_settings
from triage.store.database.migrate import migrate
from triage.store.incidents import revisions, settling
from triage.store.incidents.revisions import NewAnswer

LIMIT_MS: Final = 50.0
LOST: Final = Path(__file__).parents[1] / "tests/incidents/logs-gpu-lost-with-dumps-w8/files"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=16384)
    parser.add_argument("--incidents", type=int, default=2000)
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--clients", type=int, default=16)
    given = parser.parse_args()
    for limit in ("REQUESTS", "INCIDENTS"):
        os.environ[f"TRIAGE_{limit}_PER_MINUTE"] = str(10**9)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("critical"))
    with tempfile.TemporaryDirectory(prefix="triage-launch-") as folder:
        answer = answered(Path(folder), given.ranks)
        ctx = open_context(load_settings(data_dir=Path(folder) / "data"))
        migrate(ctx.database)
        fill(ctx, given.incidents)
        stored(ctx, answer)
        with serving(ctx) as port:
            show(port, given.requests, given.clients)
        ctx.close()


def fill(ctx: Context, num: int) -> None:
    """Failures of other jobs, all convicted."""
    answer = triage.analyze(LOST).answer
    packed, report = answer_to_bytes(answer), wire.report(answer)
    new = NewAnswer(packed, report, provisional=False, inputs=1, seconds=1.0)
    for number in range(num):
        incident = announce(ctx, Failure(f"job-{number}", expected_artifacts=0))
        now = read_utc_now()
        with ctx.database.writing() as session:
            revisions.add(session, incident.id, 1, new, now)
            settling.note_answer(session, incident.id, 1, new, now)
            settling.settle(session, incident.id, now)


def show(port: int, requests: int, clients: int) -> None:
    """Asked alone, and by many at once."""
    path = "/v1/jobs/llm-405b-0817/launch?node=gpu-0001"
    alone = [get(port, path) for _ in range(requests)]
    print(f"{'asked':>12} {'bytes':>7} {'median ms':>10} {'p95 ms':>8} {'a second':>9}")
    line("alone", alone, sum(ms(alone)) / 1000)
    together: list[Got] = []

    def ask() -> None:
        together.extend(get(port, path) for _ in range(requests // clients))

    threads = [threading.Thread(target=ask) for _ in range(clients)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    line(f"{clients} at once", together, time.perf_counter() - began)
    held = "holds" if p95(ms(alone)) <= LIMIT_MS else "does not hold"
    print(f"{LIMIT_MS:.0f} ms at the 95th percentile, asked alone: {held}")


def line(name: str, found: list[Got], seconds: float) -> None:
    """One row of the table. Raises SystemExit where an answer is none."""
    if any(one.status != 200 for one in found):
        raise SystemExit(f"{name}: {found[0].status} {found[0].body[:200]!r}")
    took = sorted(ms(found))
    print(
        f"{name:>12} {len(found[0].body):>7,} {took[len(took) // 2]:>10.1f} {p95(took):>8.1f}"
        f" {len(found) / seconds:>9.0f}"
    )


if __name__ == "__main__":
    main()
