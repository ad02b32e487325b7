"""Extracts: what it costs to answer an incident from stored pieces, beside ``triage analyze``.

Reading and packing is done once per file, when it comes; the answer is then made from the
packed extracts in the service's own child, as often as the incident changes. Each step is
measured in a process of its own.

    python -m benchmarks.extract_speed --data DIR [--ranks 1024 4096 16384] [--logs 4096]
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.child import MIB, run, triage_command
from benchmarks.folders import made
from benchmarks.table import aligned, machine, write_json

RANKS = (1024, 4096, 16384)
ENTRIES, FRAMES = 2000, 8
DEADLINE_S = 600.0
COLUMNS = (
    "files", "read_us", "pack_us", "unpack_us", "bytes", "answer_s", "answer_cpu_s", "peak_mib",
    "analyze_s", "analyze_cpu_s", "analyze_mib",
)  # fmt: skip
PACK_CODE = """
import sys, time
from pathlib import Path
from triage.formats.extractor import Extractor
from triage.parsers.extract.wire import Interned, pack, unpack
from triage.parsers.files.inputs import find_inputs
extractor, files = Extractor(), []
for folder in sys.argv[2:]:
    name, _, most = folder.partition("=")
    files += find_inputs([Path(name)]).files[: int(most or 1 << 40)]
extractor.extract(files[:2])
read_s = pack_s = size = 0.0
packed = []
with open(sys.argv[1], "wb") as out:
    for begin in range(0, len(files), 64):
        at = time.perf_counter()
        extracts = extractor.extract(files[begin : begin + 64])
        read_s += time.perf_counter() - at
        at = time.perf_counter()
        some = [pack(one) for one in extracts]
        pack_s += time.perf_counter() - at
        for one in some:
            out.write(len(one).to_bytes(4, "little") + one)
            size += len(one)
        packed = packed or some
interned = Interned()
at = time.perf_counter()
for one in packed:
    unpack(one, interned)
unpack_s = time.perf_counter() - at
print("RESULT", len(files), read_s, pack_s, unpack_s / len(packed), size)
"""
ANSWER_CODE = """
import sys
from benchmarks.extract_speed import answered
print("RESULT", *answered(sys.argv[1]))
"""


def main() -> int:
    """Measure, print the table, write the numbers."""
    options = arguments()
    use = dict(one.split("=", 1) for one in options.use)
    rows = []
    for ranks in options.ranks:
        folder = Path(use[str(ranks)]) if str(ranks) in use else simulated(options.data, ranks)
        rows.append(measured(str(ranks), folder, []))
        if options.logs and ranks == max(options.ranks):
            logs = with_logs(options.data, ranks)
            rows.append(
                measured(f"{ranks}, {options.logs} logs", folder, [f"{logs}={options.logs}"])
            )
    print(f"{machine()}; {ENTRIES:,} entries and {FRAMES} frames each, one culprit\n")
    print(aligned(["incident", *COLUMNS], [shown(row) for row in rows]))
    write_json(options.json, "extract_speed", rows)
    return 0


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="where folders are kept")
    parser.add_argument(
        "--use", action="append", default=[], metavar="N=DIR", help="a ready folder"
    )
    parser.add_argument("--ranks", type=int, nargs="+", default=list(RANKS))
    parser.add_argument("--logs", type=int, default=0, help="so many logs beside the most ranks")
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser.parse_args()


def simulated(data: Path, ranks: int) -> Path:
    """A folder with one stalled host."""
    options = ("--ranks", str(ranks), "--entries", str(ENTRIES), "--frames", str(FRAMES))
    return made("host-stall", data / f"host-stall-{ranks}", *options)


def with_logs(data: Path, ranks: int) -> Path:
    """A folder with kernel and job logs of a job of this size, without dumps."""
    from simulator.incidents.whole import Wish, simulate_incident

    folder = data / f"logs-{ranks}"
    if not folder.is_dir():
        wish = Wish(ranks=ranks, dumps=False, kernel_lines=200, job_lines=300, bury=20_000)
        simulate_incident("nic-port", folder, wish)
    return folder / "nodes"


def measured(name: str, folder: Path, more: list[str]) -> dict[str, Any]:
    """One row of the table."""
    with tempfile.TemporaryDirectory() as scratch:
        packed = str(Path(scratch) / "packed")
        files, read_s, pack_s, unpack_s, size = result(PACK_CODE, packed, str(folder), *more)
        answer_s, cpu_s, peak_mib = result(ANSWER_CODE, packed)
        row = {
            "incident": name,
            "files": int(files),
            "read_us": read_s / files * 1e6,
            "pack_us": pack_s / files * 1e6,
            "unpack_us": unpack_s * 1e6,
            "bytes": size / files,
            "answer_s": answer_s,
            "answer_cpu_s": cpu_s,
            "peak_mib": peak_mib,
        }
    if not more:
        cost = run(triage_command("analyze", str(folder), "--format", "json"))
        row |= {"analyze_s": cost.wall_s, "analyze_cpu_s": cost.cpu_s}
        row |= {"analyze_mib": cost.peak_bytes / MIB}
    return row


def result(code: str, *arguments: str) -> list[float]:
    """The numbers that a process of its own prints."""
    done = run([sys.executable, "-c", code, *arguments])
    if done.status:
        raise SystemExit(done.output)
    return [float(one) for one in done.output.rpartition("RESULT")[2].split()]


def answered(packed: str) -> tuple[float, float, float]:
    """Seconds from the first extract sent to the answer, CPU seconds of the child, its peak MiB."""
    from triage.domain.answer_wire import answer_from_bytes
    from triage.sandbox.pool import KnownOfJob, Sandbox

    with Sandbox() as reader:
        reader.analyse([], deadline_s=DEADLINE_S)
        began, cpu_s = time.perf_counter(), cpu_seconds(reader.pid)
        found = reader.analyse(
            frames_in(packed), KnownOfJob(b'{"job_id": "1"}'), deadline_s=DEADLINE_S
        )
        took = time.perf_counter() - began
        cpu_s = cpu_seconds(reader.pid) - cpu_s
    if not answer_from_bytes(found.answer).suspects:
        raise SystemExit("the answer names nobody")
    return took, cpu_s, found.peak_mib


def cpu_seconds(pid: int | None) -> float:
    """What a running process has used of the processor, user and system."""
    numbers = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return sum(int(one) for one in numbers[11:13]) / os.sysconf("SC_CLK_TCK")


def frames_in(packed: str) -> Iterator[bytes]:
    """The packed extracts in a file, each behind its length."""
    with open(packed, "rb") as file:
        while head := file.read(4):
            yield file.read(int.from_bytes(head, "little"))


def shown(row: dict[str, Any]) -> list[str]:
    """A row as text."""
    found = [str(row["incident"])]
    for key in COLUMNS:
        value = row.get(key)
        places = 1 if key.endswith("_s") else 0
        found.append("" if value is None else f"{value:,.{places}f}")
    return found


if __name__ == "__main__":
    raise SystemExit(main())
