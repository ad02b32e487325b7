"""What health events cost: 30 million a month beside the share of a core that they take.

``python -m benchmarks.health_events [--events 2000] [--batch 100]``: NVSentinel's events come as
CloudEvents, alone and in batches, on nodes of which no job has failed (they are kept out) and on
nodes of a failed job, where each is a line of the node's log that is kept and read. Prints the CPU
of the API and of all processes for an event, until all lines are read, and the share of a core at
30 million a month.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
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


def all_read(made: Installation) -> bool:
    """Whether nothing waits to be read."""
    text = Client(made.port).send("GET", "/metrics").body.decode()
    waiting = [
        float(line.split()[-1])
        for line in text.splitlines()
        if line.startswith("triage_work{") and 'kind="parse"' in line and 'state="done"' not in line
    ]
    return not sum(waiting)


def cpu_s(made: Installation) -> tuple[float, float]:
    """Seconds of CPU of the API, and of all processes."""
    spent = peaks(family(made))
    return spent["API"][1], sum(one for _, one in spent.values())


@contextmanager
def costs(made: Installation, found: list[tuple[float, float]], num_events: int) -> Iterator[None]:
    """Add to ``found`` the milliseconds that one event costs the API, and all."""
    before = cpu_s(made)
    yield
    eventually(lambda: all_read(made), READ_S)
    after = cpu_s(made)
    found.append(
        (1e3 * (after[0] - before[0]) / num_events, 1e3 * (after[1] - before[1]) / num_events)
    )


def main() -> int:
    """As the command line says."""
    parser = argparse.ArgumentParser(description="What health events cost.")
    parser.add_argument("--events", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=100)
    options = parser.parse_args()
    end_well()
    found: list[tuple[float, float]] = []
    taken, num = [], options.events
    with (
        tempfile.TemporaryDirectory(prefix="triage-events-") as folder,
        installed("embedded", Path(folder), {}) as made,
    ):
        told = {"job_id": "failed", "nodes": [f"failed{one}" for one in range(NODES)]}
        Client(made.port).post("/v1/hooks/job-failed", told | {"collect_within_s": 900})
        # The first ones start the readers.
        send(made, range(WARM_UP), "failed", 1)
        eventually(lambda: all_read(made), READ_S)
        number = WARM_UP
        for nodes in ("other", "failed"):
            for batch in (1, options.batch):
                with costs(made, found, num):
                    taken.append(send(made, range(number, number + num), nodes, batch))
                number += num
    rows = [
        (
            ("kept out", "a line of a log")[place // 2],
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
    return 0


if __name__ == "__main__":
    sys.exit(main())
