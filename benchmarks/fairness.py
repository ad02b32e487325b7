"""One hostile token of every kind beside an honest burst: what its neighbours feel of it.

``python -m benchmarks.fairness [--uploads 500] [--only slow]``: an honest token sends the bundles
of one job after the other from four senders and asks for the suspects in between, alone at first
and then beside a second token that does its worst in one way at a time. Prints the times of the
honest requests and how many times those of the quiet run they are; ends with status 1 when a
p99 is more than doubled, or anything honest was refused for good.
"""

import argparse
import io
import json
import random
import socket
import statistics
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.service_client import Client
from benchmarks.service_processes import Installation, end_well, installed
from benchmarks.table import aligned

SENDERS: Final = 4
MOST_RATIO: Final = 2.0
# Below so many seconds a ratio tells of the machine and not of the service.
FLOOR_S: Final = 0.25
LINE: Final = b"2026-11-21T03:14:15Z n%d python[77]: step %d loss 2.31 lr 1e-4 tokens/s 81234\n"


def bundle(number: int, num_lines: int) -> bytes:
    """A tar with a log of its own."""
    made = io.BytesIO()
    log = b"".join(LINE % (number, step) for step in range(num_lines))
    with tarfile.open(fileobj=made, mode="w") as tar:
        entry = tarfile.TarInfo(f"nodes/n{number}/rank_{number}.log")
        entry.size = len(log)
        tar.addfile(entry, io.BytesIO(log))
    return made.getvalue()


@dataclass
class Honest:
    """What the honest token saw, in seconds."""

    uploads: list[float] = field(default_factory=list)
    reads: list[float] = field(default_factory=list)
    lost: int = 0


def honest_burst(port: int, tokens: dict[str, str], job: str, num_uploads: int) -> Honest:
    """So many bundles from a few senders, each until it is taken."""
    seen, turn = Honest(), iter(range(num_uploads))
    lock = threading.Lock()

    def one_sender() -> None:
        client, reader = Client(port, tokens["honest"]), Client(port, tokens["reader"])
        while True:
            with lock:
                number = next(turn, None)
            if number is None:
                return
            body = bundle(number, 500)
            began = time.monotonic()
            seen.lost += not taken(client, f"/v1/jobs/{job}/bundle", body)
            seen.uploads.append(time.monotonic() - began)
            began = time.monotonic()
            seen.lost += reader.send("GET", "/v1/incidents?limit=5").status != 200
            seen.reads.append(time.monotonic() - began)

    threads = [threading.Thread(target=one_sender) for _ in range(SENDERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seen


def taken(client: Client, path: str, body: bytes) -> bool:
    """Whether it was taken in the end; refusals are waited out as the collector does."""
    for _ in range(60):
        with suppress(OSError):
            status = client.send("POST", path, body, "application/x-tar").status
            if status in (200, 201):
                return True
            if status not in (429, 503):
                return False
        time.sleep(0.5)
    return False


class Hostile:
    """Connections and threads of the other token, until they are told to stop."""

    def __init__(self, port: int, token: str) -> None:
        self.port = port
        self.token = token
        self.stopped = threading.Event()
        self.threads: list[threading.Thread] = []
        self.sockets: list[socket.socket] = []

    def head(self, path: str, length: int) -> bytes:
        """The head of a request."""
        return (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Type: application/x-tar\r\nContent-Length: {length}\r\n\r\n"
        ).encode()

    def connect(self, first: bytes) -> None:
        """One more connection that has sent so much."""
        with suppress(OSError):
            sock = socket.create_connection(("127.0.0.1", self.port), timeout=10)
            sock.sendall(first)
            self.sockets.append(sock)

    def repeat(self, act: Callable[[int], None], num_threads: int) -> None:
        """Do this again and again."""

        def loop() -> None:
            while not self.stopped.is_set():
                with suppress(OSError):
                    act(random.getrandbits(60))

        self.threads += [threading.Thread(target=loop, daemon=True) for _ in range(num_threads)]

    def send(self, path: str, body: bytes, kind: str = "application/json") -> None:
        """One request, whatever is answered."""
        Client(self.port, self.token).send("POST", path, body, kind)

    def __enter__(self) -> None:
        for thread in self.threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        for sock in self.sockets:
            sock.close()
        for thread in self.threads:
            thread.join(120)


def slow(hostile: Hostile) -> None:
    """64 bodies that come with 18 kB a second each."""
    for number in range(64):
        hostile.connect(hostile.head(f"/v1/jobs/s{number}/bundle", 200 << 20) + bytes(20_000))

    def drip(_: int) -> None:
        for sock in hostile.sockets:
            with suppress(OSError):
                sock.sendall(bytes(1800))
        time.sleep(0.1)

    hostile.repeat(drip, 1)


def silent(hostile: Hostile) -> None:
    """500 connections that send a head and no body, and new ones all the while."""
    for number in range(500):
        hostile.connect(hostile.head(f"/v1/jobs/q{number}/bundle", 1000))

    def knock(number: int) -> None:
        hostile.connect(hostile.head(f"/v1/jobs/q{number}/bundle", 1000))
        time.sleep(0.1)

    hostile.repeat(knock, 1)


def many_jobs(hostile: Hostile) -> None:
    """Small bundles, each of another job."""
    body = bundle(1, 20)
    hostile.repeat(
        lambda number: hostile.send(f"/v1/jobs/m{number}/bundle", body, "application/x-tar"), 4
    )


def many_alerts(hostile: Hostile) -> None:
    """Bodies of a thousand alerts, each of another job."""

    def alerts(number: int) -> None:
        labels = [{"alertname": "JobFailed", "job_id": f"a{number}-{k}"} for k in range(1000)]
        body = {"version": "4", "alerts": [{"status": "firing", "labels": one} for one in labels]}
        hostile.send("/v1/hooks/alertmanager", json.dumps(body).encode())
        time.sleep(0.2)

    hostile.repeat(alerts, 1)


def heavy_logs(hostile: Hostile) -> None:
    """Logs of 20 MB, four at a time."""
    body = bundle(1, 250_000)
    hostile.repeat(
        lambda number: hostile.send(f"/v1/jobs/h{number}/bundle", body, "application/x-tar"), 4
    )


def questions(hostile: Hostile) -> None:
    """Wrong tokens and refused questions as fast as they go."""

    def ask(number: int) -> None:
        Client(hostile.port, f"triage_{'0' * 20}_{number:043d}").send("GET", "/v1/incidents")

    hostile.repeat(ask, 4)


KINDS: Final = (slow, silent, many_jobs, many_alerts, heavy_logs, questions)


def tokens_of(made: Installation) -> dict[str, str]:
    """Three tokens: who sends, who reads, and who does its worst."""
    scopes = {"honest": "ingest", "reader": "read", "hostile": "ingest"}
    return {
        name: made.command("token", "create", "--scope", scope, "--name", name)
        for name, scope in scopes.items()
    }


def measured(kind: Callable[[Hostile], None], num_uploads: int) -> tuple[Honest, Honest]:
    """The honest token alone, then beside the other, at one service."""
    with (
        tempfile.TemporaryDirectory(prefix="triage-fairness-") as folder,
        installed("embedded", Path(folder), {}, open_access=False) as made,
    ):
        tokens = tokens_of(made)
        honest_burst(made.port, tokens, "warm", 20)
        quiet = honest_burst(made.port, tokens, "quiet", num_uploads)
        hostile = Hostile(made.port, tokens["hostile"])
        kind(hostile)
        with hostile:
            return quiet, honest_burst(made.port, tokens, "beside", num_uploads)


def p99(values: list[float]) -> float:
    """The time that one of a hundred exceeds."""
    return statistics.quantiles(values, n=100)[98]


def main() -> int:
    """As the command line says; 1 where a neighbour felt too much."""
    parser = argparse.ArgumentParser(description="One hostile token beside an honest burst.")
    parser.add_argument("--uploads", type=int, default=500)
    parser.add_argument("--only", choices=[kind.__name__ for kind in KINDS])
    options = parser.parse_args()
    end_well()
    rows, bad = [], False
    for kind in KINDS:
        if options.only not in (None, kind.__name__):
            continue
        quiet, beside = measured(kind, options.uploads)
        for what, alone, together in (
            ("upload", p99(quiet.uploads), p99(beside.uploads)),
            ("read", p99(quiet.reads), p99(beside.reads)),
        ):
            ratio = together / alone
            over = ratio > MOST_RATIO and together > FLOOR_S
            bad = bad or over or beside.lost > 0
            numbers = f"{alone:.3f} s", f"{together:.3f} s", f"{ratio:.1f}", str(beside.lost)
            rows.append((kind.__name__, what, *numbers, "too much" if over else ""))
        print(rows[-2], rows[-1], file=sys.stderr, flush=True)
    print(aligned(("hostile", "honest", "p99 alone", "beside", "ratio", "lost", ""), rows))
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
