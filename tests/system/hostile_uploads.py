"""The hostile inputs as uploads: one by one, and as members of a bundle beside a good incident.

A run sends them, waits until everything that was taken has been read, and gathers complaints:
what was answered, what became of each file, and whether the good job's verdict moved.
"""

import io
import random
import tarfile
import time
import urllib.parse
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.hostile.inputs import everything
from tests.hostile.log_additions import additions
from tests.hostile.log_incident import good
from tests.support.waiting import eventually
from tests.system.attacked import Answer, Attacked, fault_of

ROOT = Path(__file__).resolve().parents[2]
DUMPS = ROOT / "tests" / "data" / "nccl-healthy-w8"
STUCK = ROOT / "examples" / "stuck-job"
# Together in one incident or bundle; one bad bundle must not hide the others.
TOGETHER = 60
SLOW_S = 60.0


@dataclass(frozen=True)
class Case:
    """One hostile file. ``neutral``: it may not move the verdict of a job that it lies beside."""

    name: str
    make: Callable[[str], bytes]
    heavy: bool
    log: bool
    neutral: bool


def cases() -> list[Case]:
    """Dumps, pickles, archives, JSON, fields; and the files of hostile logs."""
    found = [
        Case(one.name, one.make, one.heavy, log=False, neutral=one.wants == "refused")
        for one in everything()
    ]
    for one in additions():
        neutral = not one.rival and not one.real and one.name not in CONTRADICTS
        for name, content in one.files.items():
            data = content.encode() if isinstance(content, str) else content
            found.append(
                Case(f"log/{one.name}/{name}", lambda _, data=data: data, False, True, neutral)
            )
    return found


# Logs of another job under the same roof; what they claim of the machines is not this job's.
CONTRADICTS = frozenset({"other-job", "contradicting-seats"})


def sample(seed: int, count: int) -> list[Case]:
    """A part that has some of every row, and no giants."""
    picked = random.Random(seed)
    rows: dict[str, list[Case]] = {}
    for one in cases():
        if not one.heavy:
            rows.setdefault(one.name.partition("/")[0], []).append(one)
    share = max(1, count // len(rows))
    return [
        one for row in rows.values() for one in picked.sample(row, min(share, len(row)))
    ]  # fmt: skip


def good_dumps() -> dict[str, bytes]:
    """A job that hangs, with its job.json: the dumps say who."""
    names = ["job.json", *(f"fr/comm_lib_trace_rank_{rank}" for rank in range(8))]
    return {name: (STUCK / name).read_bytes() for name in names}


def good_logs() -> dict[str, bytes]:
    """A job whose GPU fell off the bus: the logs say which."""
    return {name: one.encode() if isinstance(one, str) else one for name, one in good().items()}


def tar_of(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return out.getvalue()


@dataclass
class Run:
    """One campaign against a service; ``complaints`` is what was not as promised."""

    service: Attacked
    marker: Path
    threads: int = 2
    complaints: list[str] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    members: Counter[int] = field(default_factory=Counter)
    slowest: tuple[float, str] = (0.0, "")
    verdicts: int = 0
    moved: list[str] = field(default_factory=list)

    def send(self, job: str, name: str, data: bytes, query: Mapping[str, object]) -> Answer:
        """One upload; its answer has to be a success or a whole refusal, and quick."""
        quoted = urllib.parse.urlencode({key: str(value) for key, value in query.items()})
        return self.timed(name, f"/v1/jobs/{job}/artifacts?{quoted}", data)

    def timed(self, name: str, path: str, data: bytes) -> Answer:
        started = time.monotonic()
        answer = self.service.call("POST", path, data)
        took = time.monotonic() - started
        self.slowest = max(self.slowest, (took, name))
        self.statuses[answer.status] += 1
        if took > SLOW_S:
            self.complaints.append(f"{name} took {took:.1f} s")
        if fault := fault_of(answer):
            self.complaints.append(f"{name}: {fault}")
        return answer

    def alone(self, chosen: Sequence[Case]) -> None:
        """Each by itself: without a kind, and with a kind and a rank."""
        for k in range(0, len(chosen), TOGETHER):
            part = chosen[k : k + TOGETHER]
            for way in ("plain", "declared"):
                job = f"alone-{way}-{k}"
                incident = self.service.opened(job, world_size=8)
                jobs = [(job, n, one, way, incident) for n, one in enumerate(part)]
                with ThreadPoolExecutor(self.threads) as pool:
                    list(pool.map(self.one_alone, jobs))
                self.all_read(incident, job)

    def one_alone(self, what: tuple[str, int, Case, str, str]) -> None:
        job, number, one, way, incident = what
        query: dict[str, object] = {"incident": incident, "filename": f"{number}-{one.name}"}
        if way == "declared":
            kind = "kernel_log" if one.log else "flight_recorder"
            query |= {"kind": kind, "rank": number % 8, "node": f"n{number % 3}"}
        self.send(job, one.name, one.make(str(self.marker)), query)

    def beside(self, chosen: Sequence[Case], calm: Mapping[str, bytes], job: str) -> None:
        """As members of bundles beside a good incident, whose verdict may not move."""
        wanted = self.verdict_of(f"calm-{job}", calm)
        for k in range(0, len(chosen), TOGETHER):
            part = chosen[k : k + TOGETHER]
            files = dict(calm)
            for number, one in enumerate(part):
                files[named_beside(number, one)] = one.make(str(self.marker))
            got = self.verdict_of(f"{job}-{k}", files)
            self.verdicts += 1
            if got != wanted:
                self.moved.append(f"{job}-{k}: {wanted} became {got}")

    def verdict_of(self, job: str, files: Mapping[str, bytes]) -> Any:
        answer = self.timed(job, f"/v1/jobs/{job}/bundle", tar_of(files))
        if answer.status != 201:
            self.complaints.append(f"{job}: bundle refused: {answer.body[:300]!r}")
            return None
        for member in answer.json()["artifacts"]:
            self.members[member["status"]] += 1
            if member["status"] >= 400 and not member["reason"]:
                self.complaints.append(f"{job}: {member['member']} refused without a reason")
        incident = answer.json()["incident_id"]
        self.all_read(incident, job)
        found = self.service.settled(incident)
        if found["state"] != "ready":
            self.complaints.append(f"{job} is {found['state']}: {found['reason']}")
        report = self.service.call("GET", f"/v1/incidents/{incident}/report").json()
        verdict = report["verdict"]
        named = [
            (one["node"], one["ranks"], one["gpus"], one["category"])
            for one in report["suspects"]
            if one["role"] == "culprit"
        ]
        return verdict["kind"], verdict["category"], verdict["cordon"], named

    def all_read(self, incident: str, job: str) -> None:
        """Everything that was taken ends read, or set apart with a reason."""
        path = f"/v1/incidents/{incident}/artifacts"

        def done() -> list[dict[str, Any]] | None:
            rows = list(self.service.items(path))
            return None if any(row["state"] == "stored" for row in rows) else [{}, *rows]

        try:
            rows = eventually(done, 300)[1:]
        except TimeoutError:
            self.complaints.append(f"{job}: files are still waiting to be read")
            return
        for row in rows:
            self.states[row["state"]] += 1
            if row["state"] in {"partial", "quarantined"} and len(row["reason"] or "") < 10:
                self.complaints.append(f"{job}: {row['filename']} {row['state']}: {row['reason']}")
        found = self.service.settled(incident)
        if found["state"] != "ready":
            self.complaints.append(f"{job} is {found['state']}: {found['reason']}")

    def end(self) -> list[str]:
        """All complaints, and what the service itself looks like."""
        found = [*self.complaints, *self.moved, *self.service.faults()]
        if self.marker.exists():
            found.append("a payload was run: the marker file is there")
        return found


def named_beside(number: int, one: Case) -> str:
    if one.log:
        return f"nodes/n1/{number}-{Path(one.name).name}"
    return f"bad/comm_lib_trace_rank_{2000 + number}"


def neutral(chosen: Iterable[Case], *, log: bool) -> list[Case]:
    """Those of one sort that may not move a verdict."""
    return [one for one in chosen if one.neutral and one.log == log]
