"""Who sends while a service is upgraded: collectors with their spools, and small uploads."""

import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.release_processes import Releases
from benchmarks.service_client import Client

NODES_PER_JOB: Final = 2
_PAUSE_S: Final = 1.0
# A collector gives up then and leaves its bundle in the spool.
_DEADLINE_S: Final = 15
_PROBE_EVERY_S: Final = 0.2


@dataclass(frozen=True, slots=True)
class Sent:
    """One bundle of one node."""

    phase: str
    job_id: str
    node: str
    at_once: bool
    """Whether the service had it when the collector ended; else it lies in the spool."""


@dataclass
class Collectors:
    """Nodes that send bundles of dumps one after the other, each with its spool."""

    made: Releases
    folders: Sequence[Path]
    """The dumps of one node each."""
    num: int = 2
    release: str = "0.1"
    phase: str = ""
    sent: list[Sent] = field(default_factory=list)
    says: list[str] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    next_bundle: int = 0
    threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        """Begin to send."""
        for number in range(self.num):
            thread = threading.Thread(target=self.send_on, args=[number], daemon=True)
            thread.start()
            self.threads.append(thread)

    def finish(self) -> None:
        """Send no more; what is on its way is waited for."""
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def send_on(self, collector: int) -> None:
        """Bundle after bundle."""
        while not self.stopping.is_set():
            with self.lock:
                bundle, self.next_bundle = self.next_bundle, self.next_bundle + 1
                phase = self.phase
            job, node = divmod(bundle, NODES_PER_JOB)
            self.send(collector, phase, f"up-{job:05}", node)
            self.stopping.wait(_PAUSE_S)

    def send(self, collector: int, phase: str, job_id: str, node: int, *more: str) -> None:
        """One bundle of one node."""
        name = f"{job_id}-n{node}"
        status, said = self.collect(
            collector, "--job-id", job_id, "--node", name,
            "--fr", f"{self.folders[node]}/*", "--logs", "/nowhere/*", "--no-kernel-log", *more,
        )  # fmt: skip
        with self.lock:
            self.sent.append(Sent(phase, job_id, name, status == 0))
            if status not in (0, 1):
                self.says.append(f"collector: {status}: {said}")

    def flush(self) -> list[str]:
        """Send what lies in the spools; what is left in them, or was refused."""
        left = []
        for collector in range(self.num):
            said = ""
            for _ in range(20):
                status, said = self.collect(collector, "--flush-spool")
                if status == 0:
                    break
                time.sleep(1.0)
            left += [f"{path.name}: {said}" for path in self.spool(collector).rglob("*.bundle")]
        return left

    def spool(self, collector: int) -> Path:
        """The folder of bundles that wait."""
        return self.made.folder / f"spool-{collector}"

    def collect(self, collector: int, *options: str) -> tuple[int, str]:
        """One run of ``triage collect``: its status, and what it said."""
        done = subprocess.run(
            [
                sys.executable, "-m", "triage.collectors",
                "--url", f"http://127.0.0.1:{self.made.port}",
                "--spool", str(self.spool(collector)), "--strict",
                "--deadline", str(_DEADLINE_S), *options,
            ],
            env=self.made.env_of(self.release), cwd=self.made.trees[self.release],
            capture_output=True, check=False, timeout=120,
        )  # fmt: skip
        return done.returncode, done.stderr.decode()[-2000:]


@dataclass
class Probe:
    """Small uploads, a few each second: how long one waits, and which were acknowledged."""

    port: int
    phase: str = ""
    waits_s: dict[str, list[float]] = field(default_factory=dict)
    refused: dict[str, list[str]] = field(default_factory=dict)
    acknowledged: dict[str, str] = field(default_factory=dict)
    """Artifact -> job."""
    stopping: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to send."""
        self.thread = threading.Thread(target=self.send_on, daemon=True)
        self.thread.start()

    def finish(self) -> None:
        """Send no more."""
        self.stopping.set()
        if self.thread is not None:
            self.thread.join()

    def send_on(self) -> None:
        """One after the other."""
        client, number = Client(self.port), 0
        while not self.stopping.wait(_PROBE_EVERY_S):
            number += 1
            phase = self.phase
            job = f"probe-{phase}".replace(" ", "-")
            path = f"/v1/jobs/{job}/artifacts?node=probe&filename=probe-{number}.log"
            began = time.monotonic()
            try:
                answer = client.send("POST", path, f"line {number}\n".encode(), "text/plain")
            except (OSError, http.client.HTTPException) as error:
                self.refused.setdefault(phase, []).append(type(error).__name__)
                continue
            self.waits_s.setdefault(phase, []).append(time.monotonic() - began)
            if answer.status // 100 == 2:
                self.acknowledged[json.loads(answer.body)["id"]] = job
            else:
                self.refused.setdefault(phase, []).append(str(answer.status))
