"""The pages at size: what an incident of 16,384 ranks costs the service, the wire and the browser.

::

    python -m benchmarks.pages [--ranks 16384] [--requests 200] [--clients 8] [--no-browser]

Dumps of a stalled job are simulated and analysed, the answer is stored as the service would,
and the service is asked for its pages: first (pictures are drawn), again (they are kept), with
an ETag, and by several clients at once. Chromium then says when the first words and the rank
grid were there, and how long the grid took to draw.
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
from pathlib import Path

import structlog
import uvicorn

import triage
from triage.clock import utc_now
from triage.domain.answer_wire import answer_to_bytes
from triage.domain.report import Answer
from triage.render.data import wire
from triage.server.application import create_app
from triage.server.context import open_context
from triage.services.context import Context
from triage.services.incidents.announce import Failure, announce
from triage.settings import load_settings
from triage.simulator import simulate
from triage.store.database.migrate import migrate
from triage.store.incidents import revisions, settling
from triage.store.incidents.revisions import NewAnswer

SEED = 7


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=16384)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--no-browser", action="store_true")
    given = parser.parse_args()
    os.environ["TRIAGE_REQUESTS_PER_MINUTE"] = str(10**9)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("critical"))
    with tempfile.TemporaryDirectory(prefix="triage-pages-") as folder:
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
    now = utc_now()
    with ctx.database.writing() as session:
        revisions.add(session, incident.id, 1, new, now)
        settling.answered(session, incident.id, 1, new, now)
        settling.settle(session, incident.id, now)
    return incident.id


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
