"""A burst of uploads of many jobs, each request sent one to five times, until it is taken.

Every 2xx is written down with what it acknowledged, so that it can be looked for afterwards.
What is sent follows from the seed; which client sends it when does not.
"""

import hashlib
import io
import json
import queue
import random
import tarfile
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from benchmarks.service_client import Client, Refused
from simulator import simulate

_GPUS_PER_NODE: Final = 8
_MOST_COPIES: Final = 5
_TAR: Final = "application/x-tar"
_OCTETS: Final = "application/octet-stream"
# Each job failed at a time of its own, so that a hook said again is the same failure.
_FIRST_FAILURE: Final = datetime(2026, 11, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """One file that was answered with 2xx."""

    job_id: str
    node: str
    rank: int
    sha256: str
    artifact_id: str


@dataclass(frozen=True, slots=True)
class Shape:
    """How much is sent: ``every_s`` lies between the beginnings of two jobs."""

    num_ranks: int = 64
    num_clients: int = 6
    every_s: float = 4.0
    most_jobs: int = 1000


@dataclass(frozen=True, slots=True)
class _Request:
    """One thing to send; of a bundle ``files`` are in the order of its members."""

    path: str
    body: bytes
    kind: str
    job_id: str = ""
    node: str = ""
    files: tuple[tuple[int, str], ...] = ()


@dataclass(slots=True)
class Load:
    """The clients, and what they were told."""

    port: int
    dumps: Sequence[bytes]
    shape: Shape
    chance: random.Random
    callback_url: str
    acknowledged: list[Acknowledged] = field(default_factory=list)
    num_answers: int = 0
    tried_again: Counter[int] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)
    jobs: list[str] = field(default_factory=list)
    """Of each job that was begun, its id."""
    announced: dict[str, str] = field(default_factory=dict)
    """Job -> incident, as the hook answered."""
    twice: list[str] = field(default_factory=list)
    """Where a repetition was answered with another incident or artifact."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    line: "queue.Queue[_Request | None]" = field(default_factory=queue.Queue)
    stopping: threading.Event = field(default_factory=threading.Event)
    threads: list[threading.Thread] = field(default_factory=list)
    known: dict[tuple[str, str, int], str] = field(default_factory=dict)

    def start(self) -> None:
        """Begin to send."""
        self.threads = [
            threading.Thread(target=self.send_all, daemon=True)
            for _ in range(self.shape.num_clients)
        ]
        self.threads.append(threading.Thread(target=self.begin_jobs, daemon=True))
        for thread in self.threads:
            thread.start()

    def finish(self) -> None:
        """Begin no more jobs, and wait until all that was begun is taken."""
        self.stopping.set()
        self.threads[-1].join()
        for _ in self.threads[:-1]:
            self.line.put(None)
        for thread in self.threads[:-1]:
            thread.join()

    def begin_jobs(self) -> None:
        """One job after the other."""
        while not self.stopping.is_set() and len(self.jobs) < self.shape.most_jobs:
            for request in self.requests_of(len(self.jobs)):
                self.line.put(request)
            self.stopping.wait(self.shape.every_s)

    def requests_of(self, number: int) -> list[_Request]:
        """All that is sent for one job, copies and all, in the order of sending."""
        chance = self.chance
        job_id = f"kill-{number:04}"
        self.jobs.append(job_id)
        base = f"/v1/jobs/{quote(job_id, safe='')}"
        requests: list[_Request] = []
        for first in range(0, len(self.dumps), _GPUS_PER_NODE):
            ranks = range(first, min(first + _GPUS_PER_NODE, len(self.dumps)))
            node = f"node-{number:04}-{first // _GPUS_PER_NODE:03}"
            if chance.random() < 0.5:
                requests.append(self.bundle(f"{base}/bundle?node={node}", job_id, node, ranks))
            else:
                requests += [self.single(base, job_id, node, rank) for rank in ranks]
        if chance.random() < 0.7:  # the others are opened by what is uploaded
            requests.append(self.hook(number, job_id, chance.random() < 0.5))
        copies = [one for one in requests for _ in range(chance.randint(1, _MOST_COPIES))]
        chance.shuffle(copies)
        return copies

    def hook(self, number: int, job_id: str, expecting: bool) -> _Request:
        """The report of the failure."""
        told: dict[str, Any] = {
            "job_id": job_id,
            "failed_at": (_FIRST_FAILURE + timedelta(minutes=number)).isoformat(),
            "world_size": len(self.dumps),
            "gpus_per_node": _GPUS_PER_NODE,
            "callback_url": self.callback_url,
        }
        if expecting:
            told["expected_artifacts"] = len(self.dumps)
        return _Request(
            "/v1/hooks/job-failed", json.dumps(told).encode(), "application/json", job_id
        )

    def single(self, base: str, job_id: str, node: str, rank: int) -> _Request:
        """One dump as the body."""
        body = self.dumps[rank]
        path = f"{base}/artifacts?node={node}&rank={rank}&filename=comm_lib_trace_rank_{rank}"
        return _Request(path, body, _OCTETS, job_id, node, ((rank, _sha256(body)),))

    def bundle(self, path: str, job_id: str, node: str, ranks: range) -> _Request:
        """The dumps of one node in a tar."""
        target = io.BytesIO()
        with tarfile.open(fileobj=target, mode="w") as tar:
            for rank in ranks:
                info = tarfile.TarInfo(f"nodes/{node}/comm_lib_trace_rank_{rank}")
                info.size = len(self.dumps[rank])
                tar.addfile(info, io.BytesIO(self.dumps[rank]))
        files = tuple((rank, _sha256(self.dumps[rank])) for rank in ranks)
        return _Request(path, target.getvalue(), _TAR, job_id, node, files)

    def send_all(self) -> None:
        """One client: what stands first in line, until it is taken."""
        client = Client(self.port)
        while (request := self.line.get()) is not None:
            try:
                answer = client.insist(
                    request.path, request.body, request.kind, failed=self.note_failure
                )
            except Refused as error:
                with self.lock:
                    self.refused.append(str(error))
                continue
            with self.lock:
                self.note(request, answer.json())

    def note_failure(self, status: int) -> None:
        """Count a request that has to be sent again."""
        with self.lock:
            self.tried_again[status] += 1

    def note(self, request: _Request, told: Any) -> None:  # noqa: ANN401
        """Write down what was acknowledged."""
        self.num_answers += 1
        if not request.files:
            incident = str(told["incident"]["id"])
            if self.announced.setdefault(request.job_id, incident) != incident:
                self.twice.append(f"{request.job_id} has two incidents")
            return
        ids = [told["id"]] if "id" in told else [one["id"] for one in told["artifacts"]]
        for (rank, digest), artifact_id in zip(request.files, ids, strict=True):
            key = (request.job_id, request.node, rank)
            if self.known.setdefault(key, artifact_id) != artifact_id:
                self.twice.append(f"{key} is two artifacts")
            self.acknowledged.append(
                Acknowledged(request.job_id, request.node, rank, digest, artifact_id)
            )


def dumps_of(folder: Path, num_ranks: int, seed: int) -> list[bytes]:
    """Small dumps of one job with a rank that stops issuing, by rank."""
    simulate("host-stall", folder, ranks=num_ranks, seed=seed, entries=40, frames=2, steps=3)
    paths = {int(path.name.rpartition("_")[2]): path for path in folder.rglob("*_rank_*")}
    return [paths[rank].read_bytes() for rank in sorted(paths)]


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
