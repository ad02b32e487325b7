"""Hostile bodies sent to the routes of the fleet, while somebody asks how the service is.

A run sends them, and gathers complaints: what was answered, what each cost the API in memory,
and how long a simple question had to wait meanwhile.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.hostile.fleet_body import FleetBody
from tests.system.attacked import Answer, Attacked, fault_of, peak_mib

ASK_EVERY_S = 0.1
ROUTES = ("/v1/fleet/checks?node=n", "/v1/fleet/telemetry?node=n", "/v1/fleet/import",
          "/v1/hooks/job-ended")  # fmt: skip
# What a body may cost beside what the API holds when it has just begun.
MOST_GROWTH_MIB = 300
# Who asks how the service is has its answer within this, whatever is being read.
SLOWEST_PULSE_S = 1.0
# A body of 100 MB over loopback, decompressed, on a machine that has other things to do.
SLOW_S = 120.0


@dataclass
class Pulse:
    """How long ``/healthz`` took, asked every 100 ms: the slowest since it was last looked at."""

    service: Attacked
    slowest_s: float = 0.0
    failed: list[str] = field(default_factory=list)

    def look(self) -> float:
        """The slowest since the last look."""
        found, self.slowest_s = self.slowest_s, 0.0
        return found

    @contextmanager
    def beating(self) -> Iterator["Pulse"]:
        """Ask until the block ends."""
        ended = threading.Event()
        thread = threading.Thread(target=self.beat, args=(ended,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            ended.set()
            thread.join()

    def beat(self, ended: threading.Event) -> None:
        while not ended.wait(ASK_EVERY_S):
            began = time.monotonic()
            try:
                status = self.service.call("GET", "/healthz", timeout_s=60).status
            except OSError as error:
                self.failed.append(repr(error))
                continue
            self.slowest_s = max(self.slowest_s, time.monotonic() - began)
            if status != 200:
                self.failed.append(f"healthz answered {status}")


@dataclass
class FleetRun:
    """One campaign. ``costs`` are those of heavy bodies: MiB, seconds, the slowest ``/healthz``
    meanwhile in seconds, status, name.
    """

    service: Attacked
    threads: int = 2
    base_mib: int = 0
    complaints: list[str] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    costs: list[tuple[int, float, float, int, str]] = field(default_factory=list)

    def send(self, one: FleetBody) -> Answer | None:
        """One request; its answer has to be a success or a whole refusal."""
        began = time.monotonic()
        try:
            answer = self.service.call("POST", one.path, one.make(), one.headers, timeout_s=300)
        except OSError as error:
            self.complaints.append(f"{one.name}: {error!r}")
            return None
        took = time.monotonic() - began
        self.statuses[f"{one.name.partition('/')[0]} {answer.status}"] += 1
        if took > SLOW_S:
            self.complaints.append(f"{one.name} took {took:.1f} s")
        if fault := fault_of(answer):
            self.complaints.append(f"{one.name}: {fault}")
        return answer

    def light(self, bodies: Sequence[FleetBody]) -> None:
        """Those that cost nothing by themselves, some at once."""
        with Pulse(self.service).beating() as pulse:
            with ThreadPoolExecutor(self.threads) as pool:
                list(pool.map(self.send, bodies))
            self.complaints += pulse.failed

    def doubled(self) -> None:
        """Headers that are said twice, or lie; each over a connection of its own."""
        host = b"Host: x\r\n"
        lengths = [
            b"Content-Length: 5\r\nContent-Length: 5\r\n",
            b"Content-Length: 5\r\nContent-Length: 6\r\n",
            b"Content-Length: -5\r\n",
            b"Content-Length: 5e0\r\n",
            b"Content-Length: 99999999999999\r\n",
            b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            b"Transfer-Encoding: gzip\r\n",
            b"Content-Length: 5\r\nContent-Encoding: gzip\r\nContent-Encoding: gzip\r\n",
            b"Content-Length: 5\r\nContent-Type: text/csv\r\nContent-Type: application/json\r\n",
            b"Content-Length: 5\r\nContent-Digest: sha-256=:AAAA:\r\n",
            b"Content-Length: 5\r\nContent-Digest: sha-256=:A:, sha-512=:A:\r\n",
        ]
        for path in ROUTES:
            for said in lengths:
                head = b"POST " + path.encode() + b" HTTP/1.1\r\n" + host + said
                answer = self.service.raw(head + b"Connection: close\r\n\r\n", b"hello")
                status = answer[9:12].decode("latin-1")
                self.statuses[f"doubled {status}"] += 1
                if not status.startswith("4") and not said.startswith(
                    b"Content-Length: 5\r\nContent-T"
                ):
                    self.complaints.append(f"{path} {said!r}: {answer[:300]!r}")

    def heavy(self, bodies: Sequence[FleetBody]) -> None:
        """One after the other: what each costs, and whether others are answered meanwhile."""
        pid = self.service.process.pid
        with Pulse(self.service).beating() as pulse:
            for one in bodies:
                forget_peak(pid)
                pulse.look()
                began = time.monotonic()
                answer = self.send(one)
                took = time.monotonic() - began
                status = 0 if answer is None else answer.status
                grown = peak_mib(pid) - self.base_mib
                waited = pulse.look()
                self.costs.append((grown, round(took, 1), round(waited, 2), status, one.name))
                if waited > SLOWEST_PULSE_S:
                    self.complaints.append(f"{one.name}: /healthz waited {waited:.1f} s")
                if grown > MOST_GROWTH_MIB:
                    self.complaints.append(f"{one.name}: the API grew by {grown} MiB")
            self.complaints += pulse.failed


def forget_peak(pid: int) -> None:
    """Let the kernel's peak of memory begin anew."""
    Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")
