"""A service under attack: a real `triage serve`, watched from outside while it is sent odd things.

What may not change is looked at before and after: the processes, the folder around the
data directory, the memory. What it answers has to be a success or a whole problem document.
"""

import http.client
import json
import socket
import subprocess
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.waiting import eventually
from tests.workers.running import alive, children, serving

# Errors that say "not now" and not "we broke": full queue, full disk.
HONEST_5XX = frozenset({503, 507})
# Where a route or a token is the fault, the whole request is the place.
WITH_PLACE = frozenset({400, 413, 415, 422})


@dataclass(frozen=True)
class Answer:
    """One answer, whole; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Peaks:
    """The most memory (MiB) that each process ever held.

    ``both`` is what the worker and its readers held at one time, looked at ten times a second: a
    reader that takes the place of another begins while that one ends.
    """

    api: int = 0
    worker: int = 0
    readers: int = 0
    both: int = 0
    reader_pids: set[int] = field(default_factory=set)


@dataclass
class Attacked:
    """A running service. ``folder`` holds its data directory and the log of its stderr."""

    process: subprocess.Popen[str]
    address: str
    folder: Path
    worker: int = 0
    peaks: Peaks = field(default_factory=Peaks)
    around: frozenset[str] = frozenset()

    @property
    def where(self) -> tuple[str, int]:
        parts = urllib.parse.urlsplit(self.address)
        return str(parts.hostname), int(parts.port or 0)

    def call(
        self,
        method: str,
        path: str,
        body: bytes | Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 180,
    ) -> Answer:
        """One request on a connection of its own; the path goes out as it is."""
        data = json.dumps(body).encode() if isinstance(body, Mapping) else body
        connection = http.client.HTTPConnection(*self.where, timeout=timeout_s)
        try:
            connection.request(method, path, data, dict(headers or {}))
            answer = connection.getresponse()
            names = {key.lower(): value for key, value in answer.getheaders()}
            return Answer(answer.status, names, answer.read())
        finally:
            connection.close()

    def raw(self, *pieces: bytes, half_close: bool = False, wait_s: float = 90) -> bytes:
        """What comes back until the server closes, for bytes sent as they are.

        Raises :class:`TimeoutError` when it neither answers to the end nor closes.
        """
        with socket.create_connection(self.where, timeout=wait_s) as sock:
            try:
                for piece in pieces:
                    sock.sendall(piece)
                if half_close:
                    sock.shutdown(socket.SHUT_WR)
            except (BrokenPipeError, ConnectionResetError):
                pass  # it closed before it had all of it; its answer may still be there
            return received(sock)

    def items(self, path: str) -> Iterator[dict[str, Any]]:
        """All rows of a list, page after page."""
        cursor = ""
        while True:
            answer = self.call("GET", f"{path}?limit=500{cursor}")
            assert answer.status == 200, answer.body
            page = answer.json()
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            cursor = "&cursor=" + urllib.parse.quote(page["next_cursor"])

    def opened(self, job_id: str, **facts: object) -> str:
        """The id of a new incident of that job."""
        answer = self.call("POST", "/v1/hooks/job-failed", {"job_id": job_id, **facts})
        assert answer.status == 202, answer.body
        return str(answer.json()["incident"]["id"])

    def settled(self, incident_id: str, within_s: float = 300) -> dict[str, Any]:
        """The incident, once it is ready or failed."""

        def look() -> dict[str, Any] | None:
            path = f"/v1/incidents/{incident_id}"
            self.call("GET", f"{path}/suspects?wait_s=5")
            found = dict(self.call("GET", path).json())
            return found if found["state"] in {"ready", "failed"} else None

        return dict(eventually(look, within_s))

    def faults(self) -> list[str]:
        """What is not as it was when it started."""
        found = []
        if self.process.poll() is not None:
            found.append(f"the API ended with {self.process.returncode}")
        if self.worker and not alive(self.worker):
            found.append("the worker died")
        new = names_in(self.folder) - self.around
        if new:
            found.append(f"written outside the data directory: {sorted(new)}")
        log = (self.folder / "serve.err").read_text("utf-8", "replace")
        if "Traceback" in log:
            found.append("traceback in the log: " + log[log.index("Traceback") :][:1500])
        if "worker died" in log:
            found.append("the worker was started again")
        return found


@contextmanager
def attacked(folder: Path, *arguments: str, **settings: object) -> Iterator[Attacked]:
    """`triage serve --open` in a folder of its own, with its worker at work, watched."""
    around = frozenset(names_in(folder)) | {"data", "serve.err"}
    given = {"TRIAGE_QUIET_S": 1, "TRIAGE_MIN_FREE_BYTES": 0, **settings}
    with serving(folder, *arguments, **given) as (process, address):
        found = Attacked(process, address, folder, around=around)
        if "--no-worker" not in arguments:
            found.worker = eventually(lambda: worker_of(process.pid))
        ended = threading.Event()
        watch = threading.Thread(target=look_at_memory, args=(found, ended), daemon=True)
        watch.start()
        try:
            yield found
        finally:
            ended.set()
            watch.join()


def worker_of(pid: int) -> int:
    """The supervised child of a `triage serve`; 0 before it is there."""
    for child in children(pid):
        try:
            if b"workers.embedded" in Path(f"/proc/{child}/cmdline").read_bytes():
                return child
        except OSError:
            continue
    return 0


def look_at_memory(service: Attacked, ended: threading.Event) -> None:
    peaks = service.peaks
    while not ended.wait(0.1):
        peaks.api = max(peaks.api, peak_mib(service.process.pid))
        worker = peak_mib(service.worker) if service.worker else 0
        peaks.worker = max(peaks.worker, worker)
        readers = {pid: peak_mib(pid) for pid in children(service.worker)} if worker else {}
        peaks.reader_pids |= readers.keys()
        peaks.readers = max([peaks.readers, *readers.values()])
        held = (peak_mib(pid, "VmRSS:") for pid in (service.worker, *readers))
        peaks.both = max(peaks.both, sum(held) if worker else 0)


def peak_mib(pid: int, counter: str = "VmHWM:") -> int:
    """The most memory that a process held; by another counter of its status, what it holds now."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    line = next((one for one in status.splitlines() if one.startswith(counter)), f"{counter} 0 kB")
    return int(line.split()[1]) >> 10


def names_in(folder: Path) -> set[str]:
    return {one.name for one in folder.iterdir()}


def received(sock: socket.socket) -> bytes:
    parts = []
    while True:
        try:
            part = sock.recv(1 << 16)
        except ConnectionResetError:
            part = b""
        if not part:
            return b"".join(parts)
        parts.append(part)


def fault_of(answer: Answer, *, place: bool = True) -> str | None:
    """What is wrong with an answer; None for a success and for a whole problem document.

    ``place`` asks that ``errors`` says where in the request it is wrong.
    """
    if answer.headers.get("x-content-type-options") != "nosniff":
        return "no nosniff"
    if answer.status < 400:
        return None
    if answer.status >= 500 and answer.status not in HONEST_5XX:
        return f"status {answer.status}: {answer.body[:300]!r}"
    if answer.headers.get("content-type") != "application/problem+json":
        return f"no problem document: {answer.headers.get('content-type')} {answer.body[:300]!r}"
    found = answer.json()
    texts = [key for key in ("type", "title", "detail", "instance", "hint") if not found.get(key)]
    if texts or found["status"] != answer.status:
        return f"problem document without {texts}: {found}"
    if place and answer.status in WITH_PLACE and not found["errors"]:
        return f"problem document without a place: {found['detail']}"
    return None


def within(check: Callable[[], Any], seconds: float) -> float:
    """How many seconds a call took; raises where it took longer than it may."""
    started = time.monotonic()
    check()
    took = time.monotonic() - started
    assert took < seconds, f"took {took:.1f} s"
    return took
