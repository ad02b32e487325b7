"""The actuator under faults: what the scheduler saw, beside what the audit trail says.

Real processes (``triage serve`` with its worker), killed by SIGKILL, and a stand-in for Slurm's
clients that can hold an act before it is done or behind it, and can be away. Each acts on
incidents that are really analysed. Ends with status 1 where what was done to nodes is not what
the audit trail says, or is not what the fault leaves room for.
"""

import argparse
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from tests.support.databases import migrated_postgres
from tests.support.waiting import eventually

_ROOT: Final = Path(__file__).resolve().parents[1]
_JOB: Final = _ROOT / "tests" / "incidents" / "logs-gpu-lost-with-dumps-w8" / "files"
_NODE: Final = "gpu-0102"
_DIRECT: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_ACTS: Final = ("drain", "undrain")
_CLIENT: Final = """#!{python}
import json, sys, urllib.request
asked = json.dumps(sys.argv).encode()
try:
    with urllib.request.urlopen("{url}", asked, 60) as answer:
        print(answer.read().decode())
except OSError as error:
    sys.exit(f"Unable to contact slurm controller: {{error}}")
"""
"""``scontrol`` and ``sinfo``: what they are asked is answered by :class:`Cluster`."""


@dataclass
class Cluster:
    """A scheduler: ``done`` are the acts that it carried out, as (verb, node)."""

    num_nodes: int = 256
    done: list[tuple[str, str]] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)
    away: bool = False
    hold: tuple[str, bool] | None = None
    """A kind of request that is held once, and whether it is done before."""
    holding: threading.Event = field(default_factory=threading.Event)
    release: threading.Event = field(default_factory=threading.Event)

    def answer(self, asked: list[str]) -> str | None:
        """What a client of Slurm prints; None: the controller does not answer."""
        words = dict(word.split("=", 1) for word in asked if "=" in word)
        kind = words.get("state", "pool" if "sinfo" in asked[0] else "look")
        held, self.hold = (
            (self.hold, None) if self.hold and self.hold[0] == kind else (None, self.hold)
        )
        if held is not None and not held[1]:
            self.holding.set()
            self.release.wait(60)
            return None  # whoever asked is dead
        printed = self.act(kind, words.get("nodename", asked[-1]), words.get("reason", ""))
        if held is not None:
            self.holding.set()
            self.release.wait(60)
        return printed

    def act(self, kind: str, node: str, reason: str) -> str | None:
        """Carry a request out."""
        if self.away:
            return None
        if kind == "pool":
            nodes = [f"gpu-{number:04}" for number in range(200, 200 + self.num_nodes)]
            return "\n".join(f"{one}|Unknown|{self.reasons.get(one, 'none')}" for one in nodes)
        if kind == "look":
            why = self.reasons.get(node)
            state = f"IDLE+DRAIN Reason={why} [x@2026-01-02T03:04:05]" if why else "IDLE"
            return f"NodeName={node} State={state}"
        if kind in _ACTS:
            self.done.append((kind, node))
        if kind == "drain":
            self.reasons[node] = reason
        elif kind == "undrain":
            self.reasons.pop(node, None)
        return ""


@contextmanager
def _listening(cluster: Cluster, folder: Path) -> Iterator[Path]:
    """The folder of the clients that ask this cluster."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            printed = cluster.answer(asked)
            try:
                self.send_response(503 if printed is None else 200)
                self.end_headers()
                self.wfile.write((printed or "").encode())
            except OSError:
                return

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    folder.mkdir()
    for name in ("scontrol", "sinfo"):
        url = f"http://127.0.0.1:{server.server_port}/"
        (folder / name).write_text(_CLIENT.format(python=sys.executable, url=url))
        (folder / name).chmod(0o755)
    try:
        yield folder
    finally:
        cluster.release.set()
        server.shutdown()


class _Service:
    """One ``triage serve --open`` with its worker."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process = process
        self.address = address
        self.jobs = 0

    def call(self, path: str, body: object = None) -> Any:  # noqa: ANN401
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        kind = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.address + path, data, kind)
        with _DIRECT.open(request, timeout=120) as answer:
            return json.loads(answer.read())

    def incident(self, node: str) -> str:
        """A failure for which this node is convicted, settled."""
        self.jobs += 1
        job = f"{node}-{self.jobs}"
        files = {
            str(path.relative_to(_JOB)).replace(_NODE, node): path.read_bytes().replace(
                _NODE.encode(), node.encode()
            )
            for path in sorted(_JOB.rglob("*"))
            if path.is_file() and path.name != "job.json"
        }
        facts = json.loads((_JOB / "job.json").read_text().replace(_NODE, node))
        told = {**facts, "job_id": job, "cluster": "a", "expected_artifacts": len(files)}
        incident = str(self.call("/v1/hooks/job-failed", told)["incident"]["id"])
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for name, data in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        self.call(f"/v1/jobs/{job}/bundle?incident={incident}", packed.getvalue())
        eventually(lambda: self.call(f"/v1/incidents/{incident}")["settled_at"])
        return incident

    def resolve(self, incident: str, category: str) -> None:
        self.call(f"/v1/incidents/{incident}/resolution", {"category": category})

    def acts(self) -> list[tuple[str, str, str]]:
        items = self.call("/v1/actions?limit=500")["items"]
        return sorted((one["verb"], one["node"], one["state"]) for one in items)

    def settled(self, number: int) -> None:
        """Until so many acts are there and none is on its way."""
        eventually(
            lambda: (
                len(found := self.acts()) >= number
                and not {state for *_, state in found} & {"approved", "acting"}
            )
        )

    def said(self) -> list[tuple[str, str]]:
        """What the audit trail says was done."""
        rows = self.call("/v1/audit?action=act%20done&limit=500")["items"]
        return [(row["detail"]["verb"], row["detail"]["node"]) for row in rows[::-1]]

    def kill_worker(self) -> None:
        """SIGKILL to all that the service has started; it starts another worker."""
        for pid in _children(self.process.pid):
            os.kill(pid, signal.SIGKILL)


def _children(pid: int) -> Sequence[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid:
            child = int(stat.parent.name)
            found += [*_children(child), child]
    return found


@contextmanager
def _serving(folder: Path, clients: Path, database: str, **more: str) -> Iterator[_Service]:
    folder.mkdir(parents=True, exist_ok=True)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("TRIAGE_")}
    settings = {
        "TRIAGE_DATA_DIR": str(folder / "data"), "TRIAGE_ACT_MODE": "auto",
        "TRIAGE_ACT_CLUSTER": "a",
        "TRIAGE_ACT_SYSTEM": "slurm", "TRIAGE_ACT_SLURM_BIN": str(clients), "TRIAGE_LEASE_S": "4",
        "TRIAGE_ACT_MAX_AGE": "36500d", "TRIAGE_ACT_TIMEOUT_S": "20", "TRIAGE_LOG_LEVEL": "warning",
        "TRIAGE_ACT_NODES_PER_HOUR": "100", "TRIAGE_ACT_POOL_SHARE": "1",
        **({"TRIAGE_DATABASE_URL": database} if database else {}), **more,
    }  # fmt: skip
    with (folder / "serve.err").open("a") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "triage.cli.main", "serve", "--open", "--port", "0",
             "--workers", "1"],
            env={**kept, "PYTHONPATH": str(_ROOT), **settings}, cwd=_ROOT, stdout=subprocess.PIPE,
            stderr=log, text=True,
        )  # fmt: skip
        try:
            address = process.stdout.readline().strip() if process.stdout else ""
            if not address:
                raise TimeoutError((folder / "serve.err").read_text()[-500:])
            yield _Service(process, address)
        finally:
            family = [*_children(process.pid), process.pid]
            for pid in family:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            process.wait()


@dataclass
class _Site:
    """What a fault is tried on."""

    stack: ExitStack
    folder: Path
    cluster: Cluster
    clients: Path
    database: str

    def service(self, name: str = "one", database: str | None = None, **more: str) -> _Service:
        url = self.database if database is None else database
        return self.stack.enter_context(_serving(self.folder / name, self.clients, url, **more))


def _killed(site: _Site, kind: str, *, after: bool) -> tuple[list[_Service], int]:
    site.cluster.hold = (kind, after)
    service = site.service()
    service.incident("gpu-0201")
    if not site.cluster.holding.wait(120):
        raise TimeoutError(f"nobody asked for {kind}")
    service.kill_worker()
    site.cluster.release.set()
    service.settled(1)
    return [service], 1


def _away(site: _Site) -> tuple[list[_Service], int]:
    site.cluster.away = True
    service = site.service()
    service.incident("gpu-0201")
    eventually(lambda: service.call("/v1/actions")["items"][0]["waits_since"])
    time.sleep(5)
    site.cluster.away = False
    service.settled(1)
    return [service], 1


def _budget(site: _Site) -> tuple[list[_Service], int]:
    service = site.service(TRIAGE_ACT_NODES_PER_HOUR="2")
    for number in range(201, 205):
        service.incident(f"gpu-0{number}")
    service.settled(4)
    return [service], 2


def _wrong_twice(site: _Site) -> tuple[list[_Service], int]:
    service = site.service()
    incidents = [service.incident(f"gpu-0{number}") for number in (201, 202)]
    service.settled(2)
    for incident in incidents:
        service.resolve(incident, "software_user")
        time.sleep(2)
    return [service], 4  # two drains, and both undone


def _two_on_one_database(site: _Site) -> tuple[list[_Service], int]:
    both = [site.service(name, TRIAGE_ACT_NODES_PER_HOUR="2") for name in ("one", "two")]
    threads = [
        threading.Thread(target=both[number % 2].incident, args=(f"gpu-02{number:02}",))
        for number in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    both[0].settled(6)
    return both[:1], 2


def _two_databases(site: _Site) -> tuple[list[_Service], int]:
    first = site.service("one")
    second = site.service("two", "", TRIAGE_ACT_POOL_SHARE="0")  # one node may be out, of any's
    first.incident("gpu-0201")
    first.settled(1)
    second.incident("gpu-0201")
    second.incident("gpu-0202")
    second.settled(2)
    assert sorted(second.acts()) == [
        ("drain", "gpu-0201", "left_alone"),
        ("drain", "gpu-0202", "proposed"),
    ]
    return [first, second], 1


FAULTS: Final[dict[str, Callable[[_Site], tuple[list[_Service], int]]]] = {
    "killed at the look, nothing done": lambda site: _killed(site, "look", after=False),
    "killed before the act": lambda site: _killed(site, "drain", after=False),
    "killed behind the act": lambda site: _killed(site, "drain", after=True),
    "scheduler away, then back": _away,
    "budget of 2, 4 convicted": _budget,
    "wrong twice": _wrong_twice,
    "two services, one database": _two_on_one_database,
    "two services, two databases": _two_databases,
}
"""Each fault gives the services whose audit is read, and how many acts may be done."""


def _tried(fault: str, kind: str) -> bool:
    """One fault on one database; whether the audit trail says what was done."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="actuator")))
        database = stack.enter_context(migrated_postgres()) if kind == "postgresql" else ""
        cluster = Cluster()
        clients = stack.enter_context(_listening(cluster, folder / "bin"))
        services, number = FAULTS[fault](_Site(stack, folder, cluster, clients, database))
        said = sorted(one for service in services for one in service.said())
        seen = sorted(cluster.done)
        good = said == seen and len(seen) == number
    words = " ".join(f"{verb}:{node[-3:]}" for verb, node in seen)
    told = " ".join(f"{verb}:{node[-3:]}" for verb, node in said)
    print(
        f"| {fault} | {kind} | {words} | {told} | {'equal' if good else 'NOT EQUAL'} |", flush=True
    )
    return good


def main() -> int:
    """Try the faults; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fault", action="append", choices=list(FAULTS))
    parser.add_argument("--database", action="append", choices=["sqlite", "postgresql"])
    asked = parser.parse_args()
    print("| fault | database | the scheduler saw | the audit says | |\n|---|---|---|---|---|")
    found = [
        _tried(fault, kind)
        for fault in asked.fault or FAULTS
        for kind in asked.database or ("sqlite", "postgresql")
        if (fault, kind) != ("two services, one database", "sqlite")
    ]
    return 0 if all(found) else 1


if __name__ == "__main__":
    sys.exit(main())
