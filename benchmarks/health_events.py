"""What health events cost: 30 million a month beside the share of a core that they take.

``python -m benchmarks.health_events [--events 2000] [--batch 100] [--kept 1000]``: NVSentinel's
events come as CloudEvents, alone and in batches, on nodes of which no job has failed (they are
kept) and on nodes of a failed job, where each is a file that is read. Prints the CPU of the API and
of all processes for an event, until all files are read, and the share of a core at 30 million a
month; then how long the hook of a job takes that has ``--kept`` kept events, and until all of them
are read.
"""

import argparse
import json
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from benchmarks.burst import family, peaks
from benchmarks.service_client import Client
from benchmarks.service_processes import Installation, end_well, installed
from benchmarks.table import aligned
from tests.support.waiting import eventually

A_MONTH: Final = 30e6
MONTH_S: Final = 30 * 86_400.0
NODES: Final = 64
WARM_UP: Final = 50
READ_S: Final = 300.0


def event(number: int, nodes: str) -> dict[str, Any]:
    """An event that is like no other, on one of these nodes."""
    return {
        "specversion": "1.0",
        "id": f"e{number}",
        "source": "nvsentinel",
        "type": "com.nvidia.nvsentinel.health.v1",
        "data": {
            "healthEvent": {
                "nodeName": f"{nodes}{number % NODES}",
                "checkName": "SysLogsXIDError",
                "errorCode": ["94"],
                "isFatal": False,
                "isHealthy": False,
                "message": f"contained ECC error, count {number}",
                "entitiesImpacted": [{"entityType": "PCI", "entityValue": "0000:17:00.0"}],
            }
        },
    }


def send(made: Installation, numbers: range, nodes: str, batch: int) -> int:
    """Send these events; how many were taken."""
    client, taken = Client(made.port), 0
    for first in range(numbers.start, numbers.stop, batch):
        events = [event(number, nodes) for number in numbers[first - numbers.start :][:batch]]
        kind = "cloudevents-batch+json" if batch > 1 else "cloudevents+json"
        body = json.dumps(events if batch > 1 else events[0]).encode()
        answer = client.insist("/v1/hooks/cloudevents", body, f"application/{kind}")
        taken += answer.json()["accepted"]
    return taken


def num_read(data_dir: Path) -> int:
    """How many files have been read, asked past the service."""
    with closing(sqlite3.connect(data_dir / "triage.db")) as database:
        query = "SELECT count(*) FROM artifact WHERE state = 'analysed'"
        return int(database.execute(query).fetchone()[0])


def cpu_s(made: Installation) -> tuple[float, float]:
    """Seconds of CPU of the API, and of all processes."""
    spent = peaks(family(made))
    return spent["API"][1], sum(one for _, one in spent.values())


def until_read(folder: Path, wanted: int) -> None:
    """Wait until so many files have been read."""
    eventually(lambda: num_read(folder) >= wanted, READ_S)


def opened_s(made: Installation, folder: Path, num_kept: int) -> tuple[float, float]:
    """Seconds of the hook of a job whose nodes have that many events; until all are read."""
    before, began = num_read(folder), time.monotonic()
    told = {"job_id": "later", "nodes": [f"later{one}" for one in range(NODES)]}
    Client(made.port).post("/v1/hooks/job-failed", told | {"collect_within_s": 900})
    hook_s = time.monotonic() - began
    until_read(folder, before + num_kept)
    return hook_s, time.monotonic() - began


def main() -> int:
    """As the command line says."""
    parser = argparse.ArgumentParser(description="What health events cost.")
    parser.add_argument("--events", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--kept", type=int, default=1000)
    options = parser.parse_args()
    end_well()
    found: list[tuple[float, ...]] = []
    taken, num = [], options.events
    with (
        tempfile.TemporaryDirectory(prefix="triage-events-") as name,
        installed("embedded", Path(name), {}) as made,
    ):
        folder = made.data_dir
        told = {"job_id": "failed", "nodes": [f"failed{one}" for one in range(NODES)]}
        Client(made.port).post("/v1/hooks/job-failed", told | {"collect_within_s": 900})
        # The first ones start the readers.
        number = total = send(made, range(WARM_UP), "failed", 1)
        until_read(folder, total)
        for nodes in ("other", "failed"):
            for batch in (1, options.batch):
                before = cpu_s(made)
                taken.append(send(made, range(number, number + num), nodes, batch))
                number += num
                total += num if nodes == "failed" else 0
                until_read(folder, total)
                found.append(
                    tuple(
                        1e3 * (now - was) / num
                        for now, was in zip(cpu_s(made), before, strict=True)
                    )
                )
        send(made, range(number, number + options.kept), "later", options.batch)
        hook_s, read_s = opened_s(made, folder, options.kept)
    rows = [
        (
            ("kept", "a file of an incident")[place // 2],
            ("one by one", f"{options.batch} at once")[place % 2],
            f"{taken[place]:,} of {num:,}",
            f"{api:.2f} ms",
            f"{every:.2f} ms",
            f"{A_MONTH / MONTH_S * every / 1e3:.1%}",
        )
        for place, (api, every) in enumerate(found)
    ]
    head = ("events", "sent", "taken", "API, CPU an event", "all processes", "of a core")
    print(aligned(head, rows))
    print(f"the hook of a job with {options.kept:,} kept events: {hook_s:.2f} s")
    print(f"until its incident has read them: {read_s:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
