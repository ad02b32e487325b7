"""Speed of receiving one node's bundle, and of each step of it, on one core.

    python -m benchmarks.receive_speed [--rounds 20]

The bundle: eight dumps of 2,000 entries and two logs of 0.3 MB, as a plain tar, then
behind gzip and zstd. Beside the whole stand its steps alone over the same bytes: SHA-256,
zstd, the search for secrets. Bytes are those of the files; CPU seconds; the pack is
written to a folder and not synced.
"""

import argparse
import gzip
import hashlib
import io
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import zstandard

from benchmarks.folders import made
from benchmarks.table import aligned, machine, write_json
from triage.parsers.redact.redact import Redactor
from triage.services.uploads.receive import receive_bundle
from triage.services.uploads.received import Target
from triage.services.uploads.take import ReceiveLimits
from triage.store.blobs.interface import open_blobs

LOG_BYTES = 300_000
DUMPS = 8


def log_lines(form: str) -> bytes:
    """An ordinary log: no line like the one before, no secret."""
    lines = []
    size = step = 0
    while size < LOG_BYTES:
        lines.append(form.format(step=step, s=step / 7, a=step * 7919 % 9973, b=step * 31 % 977))
        size += len(lines[-1])
        step += 1
    return "".join(lines).encode()


def files_of_a_node(folder: Path) -> list[tuple[str, bytes]]:
    """Eight dumps of the simulator, a job's log and a kernel's."""
    made("host-stall", folder, "--ranks", "8")
    dumps = sorted(path for path in folder.rglob("*rank_*") if path.is_file())[:DUMPS]
    files = [(f"nodes/n1/{path.name}", path.read_bytes()) for path in dumps]
    job = (
        "2026-11-21 10:00:00.{a:04} [rank{b}]: step {step} loss 2.{a} tokens/s {s:.1f} mem {b}MiB\n"
    )
    kernel = "[{s:12.6f}] mlx5_core 0000:{b:02x}:00.0: temperature {a} cable {b} poll {step}\n"
    return [*files, ("nodes/n1/job.log", log_lines(job)), ("nodes/n1/dmesg", log_lines(kernel))]


def tar_of(files: list[tuple[str, bytes]]) -> bytes:
    """The bundle as the collector sends it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def cpu_s(work: Callable[[], object], rounds: int) -> float:
    """Median CPU seconds of one round, after one to warm up."""
    work()
    times = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return median(times)


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        files = files_of_a_node(Path(scratch) / "simulated")
        blobs = open_blobs(None, Path(scratch), min_free_bytes=0)
        body = tar_of(files)
        whole = b"".join(data for _, data in files)
        logs = b"".join(data for _, data in files[DUMPS:])

        def receive(packed: bytes, encoding: str | None) -> None:
            blob = blobs.begin("one")
            for member in receive_bundle(
                io.BytesIO(packed).read, encoding, Target("1"), ReceiveLimits(), blob
            ):
                if member.reason or not member.stored_bytes:
                    raise SystemExit(f"{member.name} was not kept: {member.reason}")
            blob.abort()

        compressor = zstandard.ZstdCompressor(level=1)

        def redact() -> None:
            redactor = Redactor()
            redactor.feed(logs)
            redactor.finish()

        steps: list[tuple[str, int, Callable[[], object]]] = [
            ("sha256 alone", len(whole), lambda: hashlib.sha256(whole).digest()),
            ("zstd-1 alone", len(whole), lambda: [compressor.compress(one) for _, one in files]),
            ("secrets alone (logs)", len(logs), redact),
            ("receive, plain tar", len(whole), lambda: receive(body, None)),
        ]
        for name, packed in (("gzip", gzip.compress(body)), ("zstd", zstandard.compress(body))):
            steps.append(
                (f"receive, {name}", len(whole), lambda p=packed, n=name: receive(p, n))  # type: ignore[misc]
            )
        rows: list[dict[str, Any]] = []
        for name, size, work in steps:
            taken = cpu_s(work, options.rounds)
            rows.append({"step": name, "cpu_ms": 1e3 * taken, "mb_per_s": size / taken / 1e6})
    print(f"{len(files)} files, {len(whole) / 1e6:.1f} MB; {machine()}\n")
    table = [[str(row["step"]), f"{row['cpu_ms']:.2f}", f"{row['mb_per_s']:.0f}"] for row in rows]
    print(aligned(["step", "CPU ms", "MB/s"], table))
    write_json(options.json, "receive_speed", rows, files=len(files), total_bytes=len(whole))


if __name__ == "__main__":
    main()
