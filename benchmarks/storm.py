"""A storm: thousands of nodes send their digests at once, and nothing is refused for good.

``python -m benchmarks.storm [--nodes 12500] [--backend embedded]``: a hundred jobs of 128 nodes
each fail at once. Every node sends the digests of its eight dumps (``triage collect --digest``)
with a kernel log, and comes back when it is told to. Prints how long it took until all
was acknowledged, how long one request took, and beside it SHA-256 of the same bytes and the commits
a second of the database's disk. Ends with status 1 when it took more than ``--within`` seconds or a
bundle was given up.
"""

import argparse
import asyncio
import gzip
import hashlib
import io
import os
import random
import resource
import sqlite3
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Final

from benchmarks.burst import GPUS, Seen, family, peaks, pick, upload
from benchmarks.service_processes import BACKENDS, end_well, installed
from benchmarks.table import aligned
from simulator import simulate
from simulator.incidents.whole import Wish, simulate_incident
from triage.formats.dumps import DumpReader
from triage.formats.extractor import make_digest_file
from triage.parsers.flight_recorder.limits import DEFAULT_LIMITS
from triage.parsers.flight_recorder.shared import Shared

NODES_OF_A_JOB: Final = 128
COMMITS: Final = 200


def write_bundles(folder: Path) -> list[Path]:
    """The bundle of each node of one job, as the collector sends it."""
    source, sample = folder / "source", folder / "sample"
    ranks = NODES_OF_A_JOB * GPUS
    simulate("host-stall", source, ranks=ranks, culprit=ranks // 3, seed=5, layout="nodes")
    simulate_incident("healthy-job", sample, Wish(ranks=64, kernel_lines=60, dumps=False))
    logs = [path.read_bytes() for path in sorted(sample.rglob("kernel.log*"))]
    made, reader = [], DumpReader(Shared(), DEFAULT_LIMITS)
    for index, node in enumerate(sorted((source / "nodes").iterdir())):
        members = {"kernel.log": logs[index % len(logs)]}
        for dump in sorted(node.iterdir()):
            members[dump.name] = make_digest_file(reader, dump.read_bytes(), dump.name)
        body = io.BytesIO()
        with tarfile.open(fileobj=body, mode="w") as tar:
            for name, data in members.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
        path = folder / f"{node.name}.tar"
        path.write_bytes(gzip.compress(body.getvalue(), 1))
        made.append(path)
    return made


async def send_all(bundles: list[Path], nodes: int, port: int, seen: Seen) -> None:
    """All nodes at the same moment, in no order."""
    chance = random.Random(1)
    began = time.monotonic()
    numbers = list(range(nodes))
    chance.shuffle(numbers)
    await asyncio.gather(
        *[
            upload(
                bundles[number % NODES_OF_A_JOB],
                port,
                f"/v1/jobs/job-{number // NODES_OF_A_JOB}/bundle?node=n{number % NODES_OF_A_JOB}",
                True,
                began,
                seen,
                chance.random(),
            )
            for number in numbers
        ]
    )


def commits_a_second(folder: Path) -> float:
    """Of one row each, on the disk that the service uses."""
    database = sqlite3.connect(folder / "commits.db", isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.execute("CREATE TABLE t (k INTEGER)")
    began = time.monotonic()
    for number in range(COMMITS):
        database.execute("INSERT INTO t VALUES (?)", (number,))
    database.close()
    return COMMITS / (time.monotonic() - began)


def hashed_s(bundles: list[Path], nodes: int) -> float:
    """Seconds for SHA-256 of all that is sent."""
    data = b"".join(path.read_bytes() for path in bundles)
    began = time.process_time()
    hashlib.sha256(data)
    return (time.process_time() - began) * nodes / len(bundles)


def main() -> int:
    """As the command line says; 1 where it took too long."""
    parser = argparse.ArgumentParser(description="Thousands of nodes send at once.")
    parser.add_argument("--nodes", type=int, default=12_500)
    parser.add_argument("--within", type=float, default=300.0)
    parser.add_argument("--backend", choices=BACKENDS, default="embedded")
    options = parser.parse_args()
    end_well()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory(prefix="triage-storm-") as name:
        folder = Path(name)
        bundles = write_bundles(folder)
        size = sum(path.stat().st_size for path in bundles) / len(bundles)
        hashing_s = hashed_s(bundles, options.nodes)
        commits = commits_a_second(folder)
        seen = Seen()
        with installed(options.backend, folder / "service", {}) as made:
            asyncio.run(send_all(bundles, options.nodes, made.port, seen))
            processes = peaks(family(made))
    last = max(seen.acknowledged)
    memory, cpu_s = processes["API"]
    rows = [
        ("bundles of eight ranks, and bytes of one", f"{options.nodes:,}, {size:,.0f}"),
        ("all acknowledged", f"{last:.1f} s"),
        (
            "one request, p50 / p99",
            f"{pick(seen.requests, 50):.2f} / {pick(seen.requests, 99):.2f} s",
        ),
        ("told to come back", str(seen.refused or 0)),
        ("connections that failed", str(seen.failed)),
        ("given up", str(options.nodes - len(seen.acknowledged))),
        (
            "API: peak memory, CPU per bundle",
            f"{memory:.0f} MB, {1e3 * cpu_s / options.nodes:.1f} ms",
        ),
        ("SHA-256 of all bundles", f"{hashing_s:.2f} s"),
        (
            "commits a second of this disk, bundles a second",
            f"{commits:.0f}, {options.nodes / last:.0f}",
        ),
        ("processors", str(len(os.sched_getaffinity(0)))),
    ]
    print(aligned(("what", "seen"), rows))
    return int(last > options.within or len(seen.acknowledged) < options.nodes)


if __name__ == "__main__":
    sys.exit(main())
