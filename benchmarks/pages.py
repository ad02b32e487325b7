"""The pages at size: what an incident of 16,384 ranks costs the service, the wire and the browser.

::

    python -m benchmarks.pages [--ranks 16384] [--requests 200] [--clients 8] [--no-browser]
    python -m benchmarks.pages --incidents 10000 --rows 1000000 [--database-url postgresql+...]

Dumps of a stalled job are simulated and analysed, the answer is stored as the service would,
and the service is asked for its pages: first (pictures are drawn), again (they are kept), with
an ETag, and by several clients at once. Chromium then says when the first words and the rank
grid were there, and how long the grid took to draw.

With ``--incidents`` a database is filled with so many of them and so many rows of evidence, and
the pages over all of them are timed, with searches that hit early, late and never. Status 1 when
a page (searches that read all evidence aside, which have a time of their own) takes 200 ms or
more.
"""

import argparse
import http.client
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import structlog
import uvicorn
from sqlalchemy import insert

import triage
from models import Artifact, Cluster, Evidence, Incident, Job, Node, Suspect, Upload
from models.base import Base
from simulator import simulate
from triage.clock import read_utc_now
from triage.domain.answer_wire import answer_to_bytes
from triage.domain.failure_match import Failure
from triage.domain.report import Answer
from triage.render.data import wire
from triage.server.application import create_app
from triage.server.context import open_context
from triage.services.context import Context
from triage.services.incidents.announce import announce
from triage.settings import load_settings
from triage.store.database.migrate import migrate
from triage.store.incidents import revisions, settling
from triage.store.incidents.revisions import NewAnswer

SEED = 7
NUM_NODES = 1000
MOST_MS = 200
# Pages over all incidents, and whether they are to be there in MOST_MS.
PAGES = (
    ("/overview", True),
    ("/overview/board", True),
    ("/incidents", True),
    ("/incidents?cluster=a&state=collecting", True),
    ("/nodes/gpu-0001", True),
    ("/search?q=gpu-0001", False),
    ("/search?q=xid+79", True),
    ("/search?q=xid+43", False),
    ("/search?q=a+later+incident", True),
    ("/search?q=row+7+of+the+first", False),
    ("/search?q=stands+nowhere", False),
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=16384)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--no-browser", action="store_true")
    parser.add_argument("--incidents", type=int, default=0)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--database-url", default="", help="an empty database; else SQLite")
    given = parser.parse_args()
    os.environ["TRIAGE_REQUESTS_PER_MINUTE"] = str(10**9)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("critical"))
    with tempfile.TemporaryDirectory(prefix="triage-pages-") as folder:
        if given.incidents:
            at_size(Path(folder), given.incidents, given.rows, given.database_url)
            return
        answer = answered(Path(folder), given.ranks)
        ctx = open_context(load_settings(data_dir=Path(folder) / "data"))
        migrate(ctx.database)
        incident = stored(ctx, answer)
        with serving(ctx) as port:
            on_the_wire(port, incident, given.requests, given.clients)
            if not given.no_browser:
                in_the_browser(port, incident)
        ctx.close()


def answered(folder: Path, num_ranks: int) -> Answer:
    """The answer to a job whose host stopped issuing."""
    began = time.perf_counter()
    simulate("host-stall", folder / "job", ranks=num_ranks, seed=SEED, entries=50, frames=1)
    told = time.perf_counter()
    answer = triage.analyze(folder / "job").answer
    print(f"simulated in {told - began:.0f} s, analysed in {time.perf_counter() - told:.0f} s")
    return answer


def stored(ctx: Context, answer: Answer) -> str:
    """The id of a settled incident with this answer."""
    incident = announce(ctx, Failure("llm-405b-0817", expected_artifacts=0))
    new = NewAnswer(
        answer_to_bytes(answer), wire.report(answer), provisional=False, inputs=1, seconds=1.0
    )
    now = read_utc_now()
    with ctx.database.writing() as session:
        revisions.add(session, incident.id, 1, new, now)
        settling.note_answer(session, incident.id, 1, new, now)
        settling.settle(session, incident.id, now)
    return incident.id


def at_size(folder: Path, num_incidents: int, num_rows: int, url: str) -> None:
    """Fill a database and time the pages over all of it."""
    settings = load_settings(data_dir=folder / "data", **({"database_url": url} if url else {}))
    ctx = open_context(settings)
    migrate(ctx.database)
    began = time.perf_counter()
    fill(ctx, num_incidents, num_rows)
    print(f"{num_incidents:,} incidents, {num_rows:,} rows: {time.perf_counter() - began:.0f} s")
    slow = []
    with serving(ctx) as port:
        print(f"{'page':40} {'bytes':>9} {'median ms':>10} {'p95 ms':>8}")
        for path, bounded in PAGES:
            found = [get(port, path) for _ in range(20)]
            if any(one.status != 200 for one in found):
                raise SystemExit(f"{path}: {found[0].status}")
            median = statistics.median(ms(found))
            print(f"{path:40} {len(found[0].body):>9,} {median:>10.1f} {p95(ms(found)):>8.1f}")
            if bounded and median >= MOST_MS:
                slow.append(path)
    ctx.close()
    if slow:
        raise SystemExit(f"{MOST_MS} ms or more: {', '.join(slow)}")


def fill(ctx: Context, num_incidents: int, num_rows: int) -> None:
    """Incidents of 1,000 nodes in the last year, each with its share of the rows."""
    with ctx.database.writing() as session:
        session.execute(insert(Cluster), [{"id": 1, "name": "a"}])
    for start in range(0, num_incidents, 500):
        made: dict[type[Base], list[dict[str, Any]]] = {
            kind: [] for kind in (Job, Node, Incident, Upload, Artifact, Suspect, Evidence)
        }
        for n in range(start, min(start + 500, num_incidents)):
            at = read_utc_now() - timedelta(minutes=52 * (num_incidents - n))
            # The newest twenty are open.
            state = "ready" if n < num_incidents - 20 else "collecting"
            for kind, rows in rows_of(n, at, state, num_rows // num_incidents).items():
                made[kind] += rows
        with ctx.database.writing() as session:
            for kind, rows in made.items():
                if rows:
                    session.execute(insert(kind), rows)


def rows_of(
    n: int, at: datetime, state: str, num_rows: int
) -> dict[type[Base], list[dict[str, Any]]]:
    """The rows of one incident, by table."""
    incident, upload, file, node = f"inc_{n:08}", f"upl_{n:08}", f"art_{n:08}", f"gpu-{n % 1000:04}"
    summary = f"GPU 0000:5d:00 of {node} has fallen off the bus"
    verdict = {
        "kind": "crash", "category": "gpu", "confidence": 0.97, "action": "drain_node",
        "summary": summary, "cordon": [node], "at": None, "llama3_category": "Faulty GPU",
    }  # fmt: skip
    times = dict.fromkeys(("created_at", "updated_at", "deadline_at", "settle_at"), at)
    code, which = 79 if n % 3 else 48, "a later" if n else "the first"
    return {
        Job: [{"id": n + 1, "cluster_id": 1, "job_id": f"job-{n}", "created_at": at}],
        Node: [
            {"id": n + 1, "cluster_id": 1, "name": node, "first_seen_at": at, "last_seen_at": at}
        ] * (n < NUM_NODES),
        Incident: [{
            "id": incident, "job_fk": n + 1, "key": incident, "announced": True, "facts": {},
            "state": state, "revision": 1, "provisional": False, "category": "gpu",
            "verdict": verdict, "coverage": {}, "num_artifacts": 1, "answered_inputs": 1,
            "inputs": 1, "settled_at": at if state == "ready" else None, **times,
        }],
        Upload: [{"id": upload, "incident_id": incident, "stored_bytes": 9, "created_at": at}],
        Artifact: [{
            "id": file, "incident_id": incident, "upload_id": upload, "identity": file,
            "kind": "kernel_log", "filename": "kernel.log", "name_hash": "0",
            "sha256": "00" * 32, "size_bytes": 9, "position": 0, "stored_bytes": 9,
            "state": "analysed", "created_at": at,
        }],
        Suspect: [{
            "incident_id": incident, "position": 1, "node": node, "category": "gpu",
            "role": "culprit", "score": 0.97,
            "row": {"position": 1, "node": node, "role": "culprit"},
        }],
        Evidence: [
            {"incident_id": incident, "artifact_id": file, "ordinal": k, "at": at,
             "artifact": f"nodes/{node}/kernel.log", "line": k, "clock": "wall", "node": node,
             "kind": "xid", "code": code, "gpu": "0000:5d:00", "category": "gpu",
             "role": "root", "signature": "nvidia.xid", "count": 1, "extra": {},
             "text": f"NVRM: Xid (PCI:0000:5d:00): {code}, pid={n}, name=python, row {k} of"
             f" {which} incident, Ch 0000000{k % 8}"}
            for k in range(num_rows)
        ],
    }  # fmt: skip


@contextmanager
def serving(ctx: Context) -> Iterator[int]:
    """The service without tokens, on a port of its own."""
    app = create_app(ctx, open_access=True)
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        port: int = server.servers[0].sockets[0].getsockname()[1]
        yield port
    finally:
        server.should_exit = True
        thread.join(20)


@dataclass(frozen=True, slots=True)
class Got:
    """One answer: how long it took, and what came."""

    ms: float
    status: int
    body: bytes
    etag: str


def get(port: int, path: str, etag: str = "") -> Got:
    """One page, or a 304."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    began = time.perf_counter()
    connection.request("GET", path, headers={"If-None-Match": etag} if etag else {})
    answer = connection.getresponse()
    body = answer.read()
    ms = (time.perf_counter() - began) * 1000
    connection.close()
    return Got(ms, answer.status, body, answer.getheader("etag", ""))


def on_the_wire(port: int, incident: str, requests: int, clients: int) -> None:
    """Server time and bytes of each page."""
    root = f"/incidents/{incident}"
    first = get(port, root)
    print(f"\nincident page, pictures drawn now: {first.ms:.0f} ms")
    # The CPU is that of client and server; it also holds where others use the machine.
    print(f"{'page':10} {'bytes':>9} {'median ms':>10} {'p95 ms':>8} {'304 ms':>8} {'CPU ms':>8}")
    grid = f"{root}/grid?revision=1"
    for name, path in (("incident", root), ("grid", grid), ("list", "/incidents")):
        began = time.process_time()
        found = [get(port, path) for _ in range(requests)]
        cpu_ms = (time.process_time() - began) / requests * 1000
        if any(one.status != 200 for one in found):
            raise SystemExit(f"{path}: {found[0].status}")
        again = [get(port, path, found[0].etag) for _ in range(20)]
        not_sent = statistics.median(one.ms for one in again if one.status == 304)
        print(
            f"{name:10} {len(found[0].body):>9,} {statistics.median(ms(found)):>10.1f}"
            f" {p95(ms(found)):>8.1f} {not_sent:>8.1f} {cpu_ms:>8.1f}"
        )
    took: list[float] = []

    def ask() -> None:
        took.extend(get(port, root).ms for _ in range(requests // clients))

    threads = [threading.Thread(target=ask) for _ in range(clients)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rate = len(took) / (time.perf_counter() - began)
    print(f"incident page, {clients} clients at once: p95 {p95(took):.0f} ms, {rate:.0f} pages/s")


def ms(found: list[Got]) -> list[float]:
    """How long each took."""
    return [one.ms for one in found]


def p95(values: list[float]) -> float:
    """What one in twenty is above."""
    return sorted(values)[int(len(values) * 0.95)]


def in_the_browser(port: int, incident: str) -> None:
    """When a person sees something, and how long the grid takes to draw."""
    from tests.web.browser import browsing

    with browsing() as browser:
        page = browser.page()
        for name in ("first visit", "second visit"):
            before = page.bytes_in, len(page.requests)
            page.goto(f"http://127.0.0.1:{port}/incidents/{incident}")
            page.wait("document.querySelector('.rank-grid')?.dataset.drawnAt")
            paint = page.run(
                "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1"
            )
            drawn, took = page.run(
                "(({drawnAt, drawMs}) => [drawnAt, drawMs])"
                "(document.querySelector('.rank-grid').dataset)"
            )
            print(
                f"{name}: words after {paint:.0f} ms, grid after {drawn} ms, drawn in {took} ms,"
                f" {page.bytes_in - before[0]:,} bytes, {len(page.requests) - before[1]} requests"
            )
            page.goto("about:blank")


if __name__ == "__main__":
    main()
