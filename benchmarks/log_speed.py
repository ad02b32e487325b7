"""Speed and memory of reading logs, from raw bytes, on one core.

    python -m benchmarks.log_speed [--lines 1000000] [--gigabytes 2] [--only NAME ...]

Cases: a job log by signatures alone and with templates, at half and full size
(linear?); the merged log of a job where all 16,384 ranks print progress and NCCL
prints its channels ("harsh"); a kernel log of some GB and a tenth of it (memory
flat?); both with 200 own signatures; a flood of one Xid (one row?); a flood of Xids, each
another one; one kernel log for each of 2,048 nodes. Beside them, in the same run: drain3
where it is installed, and ripgrep, else GNU grep, with all literals. CPU seconds tell more
than seconds where other work runs.
"""

import argparse
import importlib.util
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from benchmarks.child import MIB, run
from benchmarks.table import aligned, machine, write_json

MONTHS_START: Final = 1_700_000_000
READ_CODE: Final = """
import sys, time
from pathlib import Path
from triage.parsers.files.inputs import find_inputs
from triage.formats.streams import read_logs
from triage.parsers.logs.read import LogBounds
import tempfile
bounds = LogBounds(counted=1 << 40)
templates = sys.argv[2] == "templates"
catalogue = None
if sys.argv[2] == "own":
    from triage.parsers.logs import catalogue as known
    catalogue_of = getattr(known, "build_catalogue", None) or known.catalogue_of
    from triage.signatures.own.check import own_from_files
    entry = '''[[signature]]
name = "site_{0}"
pattern = "site{0:03}fs: (?:server|target) (?P<node>[a-z0-9-]+) .*lost after [0-9]+ s"
category = "storage"
matches = ["site{0:03}fs: server ost-7 was lost after 12 s"]
near_misses = ["site{0:03}fs: server ost-7 is back after 12 s"]
'''
    text = "".join(entry.format(number) for number in range(200))
    catalogue = catalogue_of(own_from_files({"own.toml": text.encode()}))
with tempfile.TemporaryDirectory() as warm:
    (Path(warm) / "one.log").write_text("NVRM: Xid (PCI:0000:5d:00): 79, lost\\n")
    read_logs(find_inputs([Path(warm)]).files, threads=1, templates=templates, catalogue=catalogue)
files = find_inputs([Path(sys.argv[1])]).files
cpu, began = time.process_time(), time.perf_counter()
logs = read_logs(files, threads=1, templates=templates, bounds=bounds, catalogue=catalogue)
took, cpu = time.perf_counter() - began, time.process_time() - cpu
lines = sum(one.lines for one in logs.files)
print("RESULT", took, cpu, lines, len(logs.evidence), len(logs.templates))
"""
DRAIN_CODE: Final = """
import sys, time
from drain3 import TemplateMiner
from drain3.masking import MaskingInstruction
from drain3.template_miner_config import TemplateMinerConfig
config = TemplateMinerConfig()
config.masking_instructions = [
    MaskingInstruction(pattern, mask)
    for pattern, mask in (
        (r"0x[0-9a-f]+", "HEX"), (r"\\d+\\.\\d+\\.\\d+\\.\\d+", "IP"), (r"/[\\w./-]+", "PATH"),
        (r"\\d+:\\d+:\\d+(?:[.,]\\d+)?", "TIME"), (r"\\d+\\.\\d+", "NUM"), (r"\\d+", "NUM"),
    )
]
miner = TemplateMiner(config=config)
lines = open(sys.argv[1], encoding="utf-8").read().splitlines()[: int(sys.argv[2])]
cpu, began = time.process_time(), time.perf_counter()
for line in lines:
    miner.add_log_message(line)
took, cpu = time.perf_counter() - began, time.process_time() - cpu
print("RESULT", took, cpu, len(lines), 0, len(miner.drain.clusters))
"""


def job_lines(count: int, harsh: bool = False) -> Iterator[str]:
    """What a large training job prints: mostly progress, little that matters."""
    channels = 0.75 if harsh else 0.58
    rng = random.Random(3)
    for number in range(count):
        second = number // 400
        clock = f"2026-11-21 {second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}"
        rank = rng.randrange(16_384)
        kind = rng.random()
        if kind < 0.55:
            if not harsh:
                rank &= 63  # the last rank of a pipeline prints progress
            yield (
                f"[rank{rank}]: {clock},{rng.randrange(1000):03} INFO trainer step {number} |"
                f" loss: {rng.random() * 4:.5f} | grad norm {rng.random():.3f} | tokens"
                f" {rng.randrange(10**9)} | {rng.random() * 900:.1f} ms"
            )
        elif kind < channels:
            yield (
                f"gpu{rank // 8:04}:{rng.randrange(4_000_000)}:{rng.randrange(4_000_000)}"
                f" [{rank % 8}] NCCL INFO Channel {rng.randrange(32):02}/0 : {rank}[{rank % 8}] ->"
                f" {(rank + 1) % 16_384}[{(rank + 1) % 8}] [send] via NET/IB/{rank % 8}/GDRDMA"
            )
        elif kind < 0.85:
            yield (
                f"[default{rank % 8}]:{clock} WARNING data.loader: shard"
                f" /data/set/part-{rng.randrange(90_000):05}.tar read in {rng.random() * 20:.2f} s"
            )
        elif kind < 0.95:
            yield f"{rank}: saving checkpoint shard {rank} to /checkpoints/step_{number}/{rank}.pt"
        elif kind < 0.996:
            yield f"[rank{rank}]: DEBUG memory allocated {rng.randrange(80)}.{number % 10} GiB"
        else:
            yield (
                f"[rank{rank}]:[E1121 {clock[11:]}.{rng.randrange(10**9):09}"
                f" ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective operation"
                f" timeout: WorkNCCL(SeqNum={rng.randrange(9_000)}, OpType=ALLREDUCE,"
                f" NumelIn=1048576, NumelOut=1048576, Timeout(ms)=600000) ran for"
                f" {600_000 + rng.randrange(900)} milliseconds before timing out."
            )


def kernel_line(rng: random.Random, number: int, node: str) -> str:
    """One line of a kernel's log, seldom a bad one."""
    stamp = f"Nov 21 {number // 36_000 % 24:02}:{number // 600 % 60:02}:{number // 10 % 60:02}"
    head = f"{stamp} {node} kernel: [{4_000 + number / 10:.6f}] "
    kind = rng.random()
    if kind < 0.5:
        return f"{head}audit: type=1400 audit({MONTHS_START + number}.{number % 1000:03}:{number})"
    if kind < 0.8:
        return f"{head}veth{rng.randrange(1 << 28):07x}: entered promiscuous mode"
    if kind < 0.999:
        return f"{head}docker0: port {rng.randrange(9)}(veth{rng.randrange(1 << 28):07x}) blocked"
    return head + xid_line(rng)


def xid_line(rng: random.Random) -> str:
    """An Xid 31 whose process, channel and address differ from the next one's."""
    return (
        f"NVRM: Xid (PCI:0000:5d:00): 31, pid={rng.randrange(1000, 4_000_000)}, name=python3,"
        f" Ch {rng.randrange(64):08x}, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0"
        f" faulted @ 0x7f{rng.randrange(1 << 32):08x}_00000000. Fault is of type FAULT_PDE"
    )


def write_lines(path: Path, lines: Iterator[str]) -> Path:
    """A file of ``lines``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as out:
        for line in lines:
            out.write(line + "\n")
    return path


def write_large(path: Path, gigabytes: float) -> Path:
    """A kernel log of that size: blocks of one made piece, which is quick to write."""
    rng = random.Random(5)
    block = "".join(kernel_line(rng, number, "n3") + "\n" for number in range(200_000)).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as out:
        left = int(gigabytes * (1 << 30))
        while left > 0:
            left -= out.write(block)
    return path


def flood(count: int) -> Iterator[str]:
    """One Xid, again and again, within the hour."""
    rng = random.Random(7)
    for number in range(count):
        yield f"[{90_000 + number / 300:12.6f}] {xid_line(rng)}"


def other_xids(count: int) -> Iterator[str]:
    """Many Xids of many GPUs: hardly two lines say the same."""
    rng = random.Random(11)
    for number in range(count):
        yield (
            f"[{90_000 + number / 300:12.6f}] NVRM: Xid (PCI:0000:{rng.randrange(256):02x}:00):"
            f" {rng.randrange(200)}, pid={rng.randrange(1000, 4_000_000)}, name=python3,"
            f" Ch {rng.randrange(64):08x}, intr {rng.randrange(1 << 32):08x}."
        )


def measure(path: Path, how: str = "signatures", code: str = READ_CODE) -> dict[str, Any]:
    """Seconds, lines, rows and templates of one run in a process of its own."""
    command = [sys.executable, "-c", code, str(path), how]
    if shutil.which("taskset"):
        command = ["taskset", "-c", "0", *command]
    cost = run(command, {"NUMBA_NUM_THREADS": "1"})
    if cost.status:
        raise SystemExit(cost.output)
    took, cpu, lines, rows, templates = cost.output.rpartition("RESULT")[2].split()
    size = sum(one.stat().st_size for one in ([path] if path.is_file() else path.rglob("*")))
    return {
        "seconds": float(took), "cpu": float(cpu), "lines": int(lines), "rows": int(rows),
        "templates": int(templates), "mib": size / MIB, "peak_mib": cost.peak_bytes / MIB,
    }  # fmt: skip


def grep(path: Path, patterns: Path) -> tuple[str, dict[str, Any]] | None:
    """All literals by ripgrep, else by GNU grep."""
    tool = next((name for name in ("rg", "grep") if shutil.which(name)), None)
    if tool is None:
        return None
    from triage.signatures.registry import load_all_signatures

    literals = sorted({text for one in load_all_signatures() for text in one.literals})
    patterns.write_text("\n".join(literals) + "\n", encoding="utf-8")
    command = [tool, "-F", "-i", "-c", "-f", str(patterns), str(path)]
    if tool == "rg":
        command.insert(1, "-j1")
    before, began = os.times().children_user + os.times().children_system, time.perf_counter()
    done = subprocess.run(
        command, capture_output=True, check=False, env={**os.environ, "LC_ALL": "C"}
    )
    took = time.perf_counter() - began
    cpu = os.times().children_user + os.times().children_system - before
    with path.open("rb") as text:
        lines = sum(1 for _ in text)
    row = {
        "seconds": took,
        "cpu": cpu,
        "lines": lines,
        "rows": int(done.stdout or 0),
        "templates": 0,
    }
    return tool, {**row, "mib": path.stat().st_size / MIB, "peak_mib": 0.0}


def cases(folder: Path, options: argparse.Namespace) -> dict[str, Callable[[], dict[str, Any]]]:
    """Name -> what makes the data and measures it."""
    lines, gigabytes = options.lines, options.gigabytes

    def job(count: int, harsh: bool = False) -> Path:
        path = folder / f"job-{count}-{harsh}" / "train.log"
        return path if path.exists() else write_lines(path, job_lines(count, harsh))

    def large(size: float, how: str = "signatures") -> dict[str, Any]:
        path = write_large(folder / "large" / "kernel.log", size)
        found = measure(path, how)
        path.unlink()
        return found

    def fleet() -> dict[str, Any]:
        base = folder / "fleet"
        for node in range(options.nodes):
            rng = random.Random(node)
            name = f"n{node}"
            text = (kernel_line(rng, number, name) for number in range(5_000))
            write_lines(base / "nodes" / name / "kernel.log", text)
        found = measure(base)
        shutil.rmtree(base)
        return found

    def repeated() -> dict[str, Any]:
        return measure(
            write_lines(folder / "flood" / "nodes" / "n3" / "kernel.log", flood(800_000))
        )

    def distinct() -> dict[str, Any]:
        path = folder / "xids" / "nodes" / "n3" / "kernel.log"
        return measure(write_lines(path, other_xids(65_000)))

    return {
        "job log": lambda: measure(job(lines)),
        "job log with 200 own signatures": lambda: measure(job(lines), "own"),
        "job log, half": lambda: measure(job(lines // 2)),
        "job log with templates": lambda: measure(job(lines), "templates"),
        "job log, half, with templates": lambda: measure(job(lines // 2), "templates"),
        "harsh job log": lambda: measure(job(lines, True)),
        "harsh job log with templates": lambda: measure(job(lines, True), "templates"),
        "kernel log, a tenth": lambda: large(gigabytes / 10),
        "kernel log": lambda: large(gigabytes),
        "kernel log with 200 own signatures": lambda: large(gigabytes / 2, "own"),
        "kernel log with templates": lambda: large(gigabytes / 2, "templates"),
        "800,000 times one Xid": repeated,
        "flood of Xids": distinct,
        f"{options.nodes:,} kernel logs": fleet,
    }


def others(folder: Path, options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """What other tools take for the same job log."""
    path = folder / f"job-{options.lines}-False" / "train.log"
    if not path.exists():
        return {}
    found = {}
    if (searched := grep(path, folder / "literals")) is not None:
        found[f"{searched[0]}, all literals"] = searched[1]
    if importlib.util.find_spec("drain3") is not None:
        found["drain3, six masks"] = measure(path, "50000", DRAIN_CODE)
    return found


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--nodes", type=int, default=2048)
    parser.add_argument("--only", nargs="+", help="cases whose name holds one of these")
    parser.add_argument("--data", type=Path, help="where the logs are made; a temporary folder")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=options.data) as scratch:
        folder = Path(scratch)
        for name, case in cases(folder, options).items():
            if options.only and not any(word in name for word in options.only):
                continue
            rows.append({"case": name, **case()})
            print(f"{name}: {rows[-1]['seconds']:.2f} s", file=sys.stderr, flush=True)
        rows += [{"case": name, **row} for name, row in others(folder, options).items()]
    print(f"{machine()}; one core\n\n{shown(rows)}")
    write_json(options.json, "log_speed", rows)
    return 0


def shown(rows: list[dict[str, Any]]) -> str:
    """The table."""
    head = (
        "case",
        "lines",
        "MiB",
        "s",
        "CPU s",
        "lines/s",
        "lines/CPU s",
        "peak MiB",
        "rows",
        "templates",
    )
    return aligned(
        head,
        [
            (
                one["case"],
                f"{one['lines']:,}",
                f"{one['mib']:,.0f}",
                f"{one['seconds']:.2f}",
                f"{one['cpu']:.2f}",
                f"{one['lines'] / one['seconds']:,.0f}",
                f"{one['lines'] / one['cpu']:,.0f}",
                f"{one['peak_mib']:,.0f}",
                f"{one['rows']:,}",
                f"{one['templates']:,}",
            )
            for one in rows
        ],
    )


if __name__ == "__main__":
    raise SystemExit(main())
