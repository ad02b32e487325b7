"""The burst: every node of a large job uploads its bundle at once, on the machine's two cores.

``python -m benchmarks.burst [--ranks 16384] [--backend embedded] [--encoding gzip]``: writes
the bundles of a job of which one rank has stopped (2,000 entries and 8 frames a dump, a
kernel log and a job log for each node), opens one connection for each node at the same
moment, and asks for the suspects all the while. Client, service and analysis share the
machine. Prints how long it took until everything was acknowledged and until the final
suspects were there, the times of single answers, and the peak memory and the CPU of each
process. ``--bundles DIR`` keeps what is sent, for the next run: to compare two versions,
send fewer ranks and look at the CPU, which moves less than the clock while others work.
"""

import argparse
import asyncio
import gzip
import io
import json
import os
import random
import statistics
import tarfile
import tempfile
import threading
import time
import urllib.request
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks.service_processes import (
    BACKENDS,
    Installation,
    children,
    installed,
    is_reader,
    servers,
)
from benchmarks.table import aligned
from simulator import simulate
from simulator.incidents.whole import Wish, simulate_incident

GPUS: Final = 8
LOG_LINES: Final = 400
OPENER: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass
class Seen:
    """What the client and the person who waits saw; seconds since the first upload."""

    acknowledged: list[float] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)
    """Of a bundle, from its first try until it was taken."""
    requests: list[float] = field(default_factory=list)
    """Of one request, until its answer, whichever it was."""
    refused: dict[int, int] = field(default_factory=dict)
    failed: int = 0
    asked: list[float] = field(default_factory=list)
    answers: list[tuple[float, float, bool]] = field(default_factory=list)
    """Of each revision when it was first seen, the part acknowledged then, and whether it names
    a suspect."""
    final_at: float | None = None
    top: str | None = None


def write_bundles(folder: Path, ranks: int, packed: bool) -> tuple[list[Path], int, str]:
    """One file a node, ready to be sent; the bytes of all their members; the culprit's node."""
    source, sample = folder / "source", folder / "sample"
    culprit = ranks // 3
    simulate("host-stall", source, ranks=ranks, culprit=culprit, seed=5, layout="nodes")
    simulate_incident("healthy-job", sample, Wish(ranks=64, kernel_lines=LOG_LINES, dumps=False))
    kernel = [text_of(path) for path in sorted(sample.rglob("kernel.log*"))]
    logs = [
        path for path in sorted(sample.rglob("*")) if ".log" in path.name or ".out" in path.name
    ]
    job = next(text_of(path) for path in logs if "kernel" not in path.name)[: 64 << 10]
    bundles, total = [], 0
    for index, node in enumerate(sorted((source / "nodes").iterdir())):
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w") as tar:
            members = {path.name: path.read_bytes() for path in sorted(node.iterdir())}
            members["kernel.log"] = kernel[index % len(kernel)]
            members["job.log"] = job + f"[node {node.name}] last line\n".encode()
            for name, data in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
                total += len(data)
        body = gzip.compress(made.getvalue(), 1) if packed else made.getvalue()
        path = folder / f"{node.name}.tar"
        path.write_bytes(body)
        bundles.append(path)
        for file in node.iterdir():
            file.unlink()
    return bundles, total, f"n{culprit // GPUS}"


def kept_bundles(folder: Path, ranks: int, packed: bool) -> tuple[list[Path], int, str]:
    """What :func:`write_bundles` makes, made once."""
    told = folder / "made.json"
    if not told.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _, total, culprit = write_bundles(folder, ranks, packed)
        told.write_text(json.dumps([total, culprit]))
    total, culprit = json.loads(told.read_text())
    return sorted(folder.glob("*.tar")), total, culprit


def text_of(path: Path) -> bytes:
    """A log's plain bytes."""
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


async def upload(
    path: Path, port: int, target: str, packed: bool, began: float, seen: Seen, chance: float
) -> None:
    """One node: sends its bundle until it is taken, as the collector does."""
    size = path.stat().st_size
    coding = "Content-Encoding: gzip\r\n" if packed else ""
    head = (
        f"POST {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-tar\r\n"
        f"{coding}Content-Length: {size}\r\nConnection: close\r\n\r\n"
    ).encode()
    loop = asyncio.get_running_loop()
    first = time.monotonic()
    for _ in range(200):
        asked_at = time.monotonic()
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(head)
                # Refused before the end: the answer is there to be read.
                with path.open("rb") as body, suppress(OSError):
                    await loop.sendfile(writer.transport, body)
                status, wait_s = await answer(reader)
            finally:
                writer.close()
        except OSError:
            seen.failed += 1
            status, wait_s = 0, 1.0
        seen.requests.append(time.monotonic() - asked_at)
        if status in (200, 201):
            now = time.monotonic()
            seen.acknowledged.append(now - began)
            seen.latencies.append(now - first)
            return
        seen.refused[status] = seen.refused.get(status, 0) + 1
        await asyncio.sleep(wait_s * (0.8 + 0.4 * chance))
    raise RuntimeError(f"{path.name} was never taken: {seen.refused}")


async def answer(reader: asyncio.StreamReader) -> tuple[int, float]:
    """(status, seconds to wait) of an answer."""
    raw = await reader.read()
    if not raw:
        raise OSError("closed without an answer")
    lines = raw.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    wait_s = 1.0
    for line in lines[1:]:
        name, _, value = line.partition(":")
        if name.lower() == "retry-after":
            wait_s = float(value)
    return int(lines[0].split()[1]), wait_s


def watch(made: Installation, incident: str, nodes: int, began: float, seen: Seen) -> None:
    """Ask for the suspects twice a second until they are final."""
    url = f"{made.address}/v1/incidents/{incident}/suspects"
    revision = None
    while seen.final_at is None:
        asked_at = time.monotonic()
        with OPENER.open(url, timeout=60) as response:
            body = json.load(response)
        now = time.monotonic()
        seen.asked.append(now - asked_at)
        if body["revision"] and body["revision"] != revision:
            revision = body["revision"]
            share = len(seen.acknowledged) / nodes
            seen.answers.append((now - began, share, bool(body["suspects"])))
        if body["state"] in ("ready", "failed"):
            seen.final_at = now - began
            seen.top = body["suspects"][0]["node"] if body["suspects"] else body["state"]
        time.sleep(0.5)


def peaks(pids: dict[str, int]) -> dict[str, tuple[float, float]]:
    """(peak resident memory in MB, seconds of CPU so far) of processes that still run."""
    found = {}
    for name, pid in pids.items():
        # The fields after the command's name, which may hold anything: user and system ticks.
        ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        cpu_s = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                found[name] = int(line.split()[1]) / 1000, cpu_s
    return found


def family(made: Installation) -> dict[str, int]:
    """The processes of the service by what they are."""
    found = {"API": made.api.pid}
    for process in made.processes():
        for pid in children(process.pid):
            kind = "reader" if is_reader(pid) else "worker"
            found[f"{kind} {pid}"] = pid
    return found


def run(options: argparse.Namespace, folder: Path) -> None:
    """The burst, against a service of its own."""
    packed = options.encoding == "gzip"
    began = time.monotonic()
    if options.bundles is None:
        bundles, total, culprit = write_bundles(folder, options.ranks, packed)
    else:
        kept = options.bundles / f"{options.ranks}-{options.encoding}"
        bundles, total, culprit = kept_bundles(kept, options.ranks, packed)
    sent = sum(path.stat().st_size for path in bundles)
    print(
        f"{len(bundles):,} bundles, {total / 1e6:,.0f} MB, {sent / 1e6:,.0f} MB as sent"
        f" ({time.monotonic() - began:.0f} s to make)",
        flush=True,
    )
    files = options.ranks + 2 * len(bundles)
    with (
        servers(options.backend) as settings,
        installed(options.backend, folder / "service", settings, concurrency=2) as made,
    ):
        hook = json.dumps({"job_id": "burst", "expected_artifacts": files, "collect_within_s": 900})
        request = urllib.request.Request(
            f"{made.address}/v1/hooks/job-failed", hook.encode(),
            {"Content-Type": "application/json"},
        )  # fmt: skip
        with OPENER.open(request) as response:
            incident = json.load(response)["id"]
        seen = Seen()
        began, cpu = time.monotonic(), time.process_time()
        asking = threading.Thread(target=watch, args=(made, incident, len(bundles), began, seen))
        asking.start()
        targets = f"/v1/jobs/burst/bundle?incident={incident}"
        asyncio.run(upload_by_node(bundles, made.port, targets, packed, began, seen))
        asking.join(options.patience)
        processes = peaks(family(made))
        processes["this client"] = (peaks({"me": os.getpid()})["me"][0], time.process_time() - cpu)
        show(seen, culprit, processes, len(bundles))


async def upload_by_node(
    bundles: list[Path], port: int, target: str, packed: bool, began: float, seen: Seen
) -> None:
    """All nodes at the same moment, in no order."""
    chance = random.Random(1)
    await asyncio.gather(
        *[
            upload(path, port, f"{target}&node={path.stem}", packed, began, seen, chance.random())
            for path in chance.sample(bundles, len(bundles))
        ]
    )


def show(
    seen: Seen, culprit: str, processes: dict[str, tuple[float, float]], num_bundles: int
) -> None:
    """The table."""
    per_bundle: dict[str, float] = {}
    for name, (_, cpu_s) in processes.items():
        kind = name.partition(" ")[0] if name[-1].isdigit() else name
        per_bundle[kind] = per_bundle.get(kind, 0.0) + 1e3 * cpu_s / num_bundles
    last = max(seen.acknowledged)
    half = sorted(seen.acknowledged)[len(seen.acknowledged) // 2]
    final = "not in time" if seen.final_at is None else f"{seen.final_at - last:.1f} s"
    answered = next(((at, share) for at, share, _ in seen.answers), None)
    named = next(((at, share) for at, share, suspects in seen.answers if suspects), None)
    rows = [
        ("all acknowledged", f"{last:.1f} s"),
        ("half acknowledged", f"{half:.1f} s"),
        (
            "one upload, p50 / p99",
            f"{pick(seen.latencies, 50):.1f} / {pick(seen.latencies, 99):.1f} s",
        ),
        (
            "one request, p50 / p99",
            f"{pick(seen.requests, 50):.1f} / {pick(seen.requests, 99):.1f} s",
        ),
        ("refused and sent again", str(seen.refused or 0)),
        ("connections that failed", str(seen.failed)),
        ("first answer", came(answered)),
        ("first suspects", came(named)),
        ("answers in all", str(len(seen.answers))),
        ("final suspects after the last upload", final),
        ("top suspect, and the truth", f"{seen.top}, {culprit}"),
        (
            "GET suspects, p50 / p99",
            f"{1e3 * pick(seen.asked, 50):.0f} / {1e3 * pick(seen.asked, 99):.0f} ms",
        ),
        *[
            (f"peak memory, CPU of {name}", f"{peak:.0f} MB, {cpu_s:.1f} s")
            for name, (peak, cpu_s) in processes.items()
        ],
    ]
    shares = [(f"CPU per bundle, {kind}", f"{ms:.1f} ms") for kind, ms in per_bundle.items()]
    print(aligned(("what", "seen"), [*rows, *shares]))


def came(answer: tuple[float, float] | None) -> str:
    """When an answer was there, and how much was acknowledged then."""
    return "none" if answer is None else f"{answer[0]:.1f} s, {answer[1]:.0%} acknowledged"


def pick(values: list[float], percent: int) -> float:
    """A percentile."""
    return statistics.quantiles(values, n=100)[percent - 1] if len(values) > 1 else values[0]


def main() -> None:
    """As the command line says."""
    parser = argparse.ArgumentParser(description="Every node uploads at once.")
    parser.add_argument("--ranks", type=int, default=16_384)
    parser.add_argument("--backend", choices=BACKENDS, default="embedded")
    parser.add_argument("--encoding", choices=("identity", "gzip"), default="gzip")
    parser.add_argument("--patience", type=float, default=300.0, help="seconds for the final ones")
    parser.add_argument("--bundles", type=Path, default=None, help="where they are kept")
    parser.add_argument("--folder", type=Path, default=None, help="where 6 GB have room")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="triage-burst-", dir=options.folder) as name:
        run(options, Path(name))


if __name__ == "__main__":
    main()
