"""Clients that write down what they ask a service for and what they are told, for a history.

Each acts on jobs that others act on too. What got no answer is sent again, with the same bytes
and the same ``Idempotency-Key``, by this client or another; sometimes it is given up.
"""

import http.client
import json
import math
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

from benchmarks.history_check import Kind, Operation, Outcome

_TIMEOUT_S: Final = 30.0
_FILES_PER_JOB: Final = 24
_JOB_S: Final = 25.0
_JOBS_AT_ONCE: Final = 4
_FIRST_FAILURE: Final = datetime(2026, 11, 1, tzinfo=UTC)
_PAUSE_S: Final = 0.05
# An operation without an answer is tried so often by its client.
_TRIES: Final = 6
_WEIGHTS: Final = {
    Kind.UPLOAD: 40, Kind.ANNOUNCE: 8, Kind.RESOLVE: 8, Kind.READ: 22, Kind.LIST: 18,
    Kind.DELETE: 4,
}  # fmt: skip


@dataclass
class Book:
    """The history, and what clients tell each other: incidents and artifacts that there are."""

    history: list[Operation] = field(default_factory=list)
    incidents: list[str] = field(default_factory=list)
    artifacts: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    """Answers that a service never gives."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, one: Operation) -> None:
        """Write an operation down."""
        with self.lock:
            self.history.append(one)
            if one.outcome is Outcome.OK and one.kind is not Kind.DELETE:
                if one.incident and one.incident not in self.incidents[-40:]:
                    self.incidents.append(one.incident)
                if one.artifact:
                    self.artifacts.append(one.artifact)


@dataclass(frozen=True, slots=True)
class Jobs:
    """A few jobs at a time; each is there for some seconds, and then the next."""

    began_s: float

    def some(self, chance: random.Random) -> int:
        """The number of a job that is on."""
        turn = int((time.monotonic() - self.began_s) / (_JOB_S / _JOBS_AT_ONCE))
        return max(0, turn - chance.randrange(_JOBS_AT_ONCE))


class Recorder:
    """Asks one of several addresses, and writes down how it ended."""

    def __init__(self, book: Book, ports: Sequence[int], key_id: str, token: str) -> None:
        self.book, self.ports, self.key_id, self.token = book, ports, key_id, token

    def ask(
        self,
        one: Operation,
        port: int,
        method: str,
        path: str,
        body: bytes | None,
        read: Callable[[Operation, Any], Operation],
        once: str = "",
    ) -> Operation:
        """Do it, and write it down. ``_read`` takes what was answered into the operation."""
        headers = {"Authorization": f"Bearer {self.token}"}
        if body is not None:
            plain = one.kind is Kind.UPLOAD
            headers["Content-Type"] = "text/plain" if plain else "application/json"
        if once:
            headers["Idempotency-Key"] = once
        one = replace(one, client=self.key_id, invoked_s=time.monotonic())
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_S)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            status, data = answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            status, data = 0, b""
        finally:
            connection.close()
        ended_s = time.monotonic()
        if status // 100 == 2:
            one = replace(one, outcome=Outcome.OK, ended_s=ended_s)
            one = read(one, json.loads(data) if data else None)
        elif status == 410 or (status == 404 and one.kind is not Kind.UPLOAD):
            one = replace(one, outcome=Outcome.GONE, ended_s=ended_s)
        elif status in (409, 422, 429):
            one = replace(one, outcome=Outcome.FAIL, ended_s=ended_s)
        elif status and status not in (502, 503, 504):
            with self.book.lock:
                self.book.errors.append(f"{method} {path}: {status} {data[:300]!r}")
        self.book.add(one)
        return one


class User(threading.Thread):
    """One client with a token of its own, until it is stopped."""

    def __init__(self, recorder: Recorder, jobs: Jobs, seed: str) -> None:
        super().__init__(daemon=True)
        self.recorder, self.jobs = recorder, jobs
        self.chance = random.Random(seed)
        self.stopping = threading.Event()
        self.number = 0

    def run(self) -> None:
        """Operation after operation."""
        kinds, weights = list(_WEIGHTS), list(_WEIGHTS.values())
        while not self.stopping.wait(_PAUSE_S):
            act = self.one(self.chance.choices(kinds, weights)[0])
            if act is None:
                continue
            for _ in range(_TRIES):
                if act().outcome is not Outcome.UNKNOWN or self.chance.random() < 0.1:
                    break
                self.stopping.wait(self.chance.uniform(0.05, 0.5))

    def one(self, kind: Kind) -> Callable[[], Operation] | None:
        """What does such an operation, each time it is called; None: there is nothing to act on."""
        book, self.number = self.recorder.book, self.number + 1
        if kind is Kind.UPLOAD:
            return self.upload()
        if kind is Kind.ANNOUNCE:
            return self.announce()
        with book.lock:
            pool = book.incidents[-12:]
            if kind is Kind.DELETE and self.chance.random() < 0.85:
                pool = book.artifacts[-200:]
            if not pool:
                return None
            subject = self.chance.choice(pool)
        if kind is Kind.DELETE:
            what = "incidents" if subject.startswith("inc_") else "artifacts"
            path = f"/v1/{what}/{subject}?reason=an+exam"
            return self.action(Kind.DELETE, subject, "DELETE", path, None, lambda one, _: one)
        if kind is Kind.RESOLVE:
            return self.resolve(subject)
        if kind is Kind.READ:
            return self.action(kind, subject, "GET", f"/v1/incidents/{subject}", None, _read)
        path = f"/v1/incidents/{subject}/artifacts?limit=500"
        return self.action(kind, subject, "GET", path, None, _listed)

    def upload(self) -> Callable[[], Operation]:
        """A small log, the same for everybody who sends this number of this job."""
        job = f"hist-{self.jobs.some(self.chance):04}"
        name = f"f{self.chance.randrange(_FILES_PER_JOB)}.log"
        path = f"/v1/jobs/{quote(job)}/artifacts?node=n{name[1:-4]}&filename={name}"
        text = f"{job} {name} Watchdog caught collective operation timeout\n".encode()

        def stored(one: Operation, answer: Any) -> Operation:  # noqa: ANN401
            return replace(one, artifact=answer["id"], incident=answer["incident_id"])

        return self.action(Kind.UPLOAD, f"{job}/{name}", "POST", path, text, stored)

    def announce(self) -> Callable[[], Operation]:
        """The failure of a job, at its one time."""
        number = self.jobs.some(self.chance)
        job = f"hist-{number:04}"
        at = (_FIRST_FAILURE + timedelta(minutes=number)).isoformat()
        body = json.dumps({"job_id": job, "failed_at": at, "world_size": 8}).encode()

        def announced(one: Operation, answer: Any) -> Operation:  # noqa: ANN401
            return replace(one, incident=answer["id"])

        path = "/v1/hooks/job-failed"
        return self.action(Kind.ANNOUNCE, job, "POST", path, body, announced)

    def resolve(self, incident: str) -> Callable[[], Operation]:
        """A label with a note that nobody else writes."""
        note = f"{self.recorder.key_id}-{self.number}"
        text = json.dumps({"category": "nic", "note": note}).encode()
        path = f"/v1/incidents/{incident}/resolution"
        return self.action(
            Kind.RESOLVE, incident, "POST", path, text, lambda one, _: one, note=note, once=note
        )

    def action(
        self,
        kind: Kind,
        subject: str,
        method: str,
        path: str,
        body: bytes | None,
        take: Callable[[Operation, Any], Operation],
        note: str = "",
        once: str = "",
    ) -> Callable[[], Operation]:
        """What does one operation each time it is called, through any of the addresses."""
        blank = Operation("", kind, subject, 0.0, math.inf, Outcome.UNKNOWN, note=note)

        def act() -> Operation:
            port = self.chance.choice(self.recorder.ports)
            return self.recorder.ask(blank, port, method, path, body, take, once)

        return act


def _read(one: Operation, answer: Any) -> Operation:  # noqa: ANN401
    label = answer["resolution"] or {}
    note, speaker = label.get("note") or "", label.get("by") or ""
    return replace(one, revision=answer["revision"], note=note, speaker=speaker)


def _listed(one: Operation, answer: Any) -> Operation:  # noqa: ANN401
    return replace(one, files={row["id"]: row["key_id"] for row in answer["items"]})
