"""Scale: what the whole command costs at 64 to 16,384 ranks, one culprit.

Every number is of a fresh process, as a user runs it. Machines are noisy, so the
cost of hashing the same bytes in the same minute stands beside it: the ratio of
the two moves less than either.

    python -m benchmarks.scale --data DIR [--ranks 64 256 1024] [--use N=DIR] [--json FILE]
"""

import argparse
import hashlib
import json
import math
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.child import MIB, Cost, costs, run, triage_command
from benchmarks.folders import dump_folder, made, truth_of
from benchmarks.judge import judge
from benchmarks.table import aligned, machine, write_json

RANKS = (64, 256, 1024, 4096, 16384)
ENTRIES, FRAMES = 2000, 8
# One run suffices where it lasts long enough to drown the noise.
ONE_RUN_FROM = 16384
# Below it, starting Python takes longer than the work.
LARGE = 1024
# More than this share read from disk, and the first run measured the disk.
COLD_SHARE = 0.5
READ_CODE = """
import sys, time
from pathlib import Path
from triage.formats.dumps import read_dumps
from triage.parsers.files.inputs import find_inputs
files = find_inputs([Path(sys.argv[1])]).files
read_dumps(files[:1])
began = time.perf_counter()
dumps = read_dumps(files)
print(time.perf_counter() - began)
"""


def main() -> int:
    """Measure, print the table, write the numbers."""
    options = arguments()
    use = dict(one.split("=", 1) for one in options.use)
    rows = []
    for ranks in options.ranks:
        folder = Path(use[str(ranks)]) if str(ranks) in use else simulated(options.data, ranks)
        rows.append(measured(folder.resolve(), ranks, options.runs))
        print(shown(rows[-1:]).splitlines()[-1], flush=True)
    costly = ("wall_s", "cpu_s", "peak_mib")
    slopes = {key: slope(rows, key) for key in costly}
    large = [row for row in rows if row["ranks"] >= LARGE]
    print(f"\n{machine()}; {ENTRIES:,} entries and {FRAMES} frames each, one culprit\n")
    print(shown(rows))
    if len(rows) > 1:
        told = ", ".join(f"{key} {value:.2f}" for key, value in slopes.items())
        print(f"\nslope of log(cost) over log(ranks), least squares: {told} (1.00 is linear)")
    if len(large) > 1:
        slopes |= {f"{key} from {LARGE}": slope(large, key) for key in costly}
        told = ", ".join(f"{key} {slope(large, key):.2f}" for key in costly)
        print(f"the same from {LARGE:,} ranks, where the start no longer counts: {told}")
    for row in rows:
        if row["cold"]:
            print(f"{row['ranks']:,} ranks: the first run (*) read from disk: a cold page cache")
        if row["wrong"]:
            print(f"{row['ranks']:,} ranks: WRONG: {row['wrong']}")
    write_json(options.json, "scale", rows, slopes=slopes)
    return 0 if all(not row["wrong"] for row in rows) else 1


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, help="where simulated folders are kept")
    parser.add_argument(
        "--use", action="append", default=[], metavar="N=DIR", help="a ready folder"
    )
    parser.add_argument("--ranks", type=int, nargs="+", default=list(RANKS))
    parser.add_argument("--runs", type=int, default=3, help="after one warm-up; the median counts")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    missing = set(map(str, options.ranks)) - {one.split("=", 1)[0] for one in options.use}
    if missing and options.data is None:
        parser.error(
            f"give --data DIR, where folders of {', '.join(sorted(missing))} ranks are made"
        )
    return options


def simulated(data: Path, ranks: int) -> Path:
    """A folder with one stalled host."""
    options = ("--ranks", str(ranks), "--entries", str(ENTRIES), "--frames", str(FRAMES))
    return made("host-stall", data / f"host-stall-{ranks}", *options)


def measured(folder: Path, ranks: int, runs: int) -> dict[str, Any]:
    """One row of the table."""
    sizes = [path.stat().st_size for path in dump_folder(folder).rglob("*") if path.is_file()]
    with tempfile.TemporaryDirectory() as scratch:
        answer = Path(scratch) / "answer.json"
        command = triage_command(
            "analyze", str(folder), "--format", "json", "--output", str(answer)
        )
        first = run(command)
        kept = [run(command) for _ in range(1 if ranks >= ONE_RUN_FROM else runs)]
        cost = costs(kept)
        if cost.status:
            raise SystemExit(f"{folder}: {cost.output.strip()}")
        report = json.loads(answer.read_text("utf-8"))
    hashing = min(sha256_seconds(folder) for _ in range(1 if ranks >= ONE_RUN_FROM else 2))
    return row(ranks, sizes, first, cost, hashing, read_seconds(folder), wrong_in(report, folder))


def row(
    ranks: int,
    sizes: Sequence[int],
    first: Cost,
    cost: Cost,
    hashing_s: float,
    reading_s: float,
    wrong: str,
) -> dict[str, Any]:
    """The numbers of one folder."""
    total = sum(sizes)
    return {
        "ranks": ranks,
        "mib": total / MIB,
        "first_wall_s": first.wall_s,
        "cold": first.disk_bytes > COLD_SHARE * total,
        "wall_s": cost.wall_s,
        "cpu_s": cost.cpu_s,
        "peak_mib": cost.peak_bytes / MIB,
        "entries_per_s": len(sizes) * ENTRIES / cost.wall_s,
        "mib_per_s": total / MIB / cost.wall_s,
        "read_s": reading_s,
        "read_mib_per_s": total / MIB / reading_s,
        "sha256_s": hashing_s,
        "ratio_to_sha256": cost.wall_s / hashing_s,
        "wrong": wrong,
    }


def read_seconds(folder: Path) -> float:
    """Seconds of reading and decoding alone, without start, analysis and output."""
    done = run([triage_command()[0], "-c", READ_CODE, str(dump_folder(folder))])
    if done.status:
        raise SystemExit(done.output)
    return float(done.output.split()[-1])


def sha256_seconds(folder: Path) -> float:
    """Seconds that SHA-256 over the same files takes with two threads."""
    files = sorted(path for path in dump_folder(folder).rglob("*") if path.is_file())

    def share(paths: Sequence[Path]) -> None:
        for path in paths:
            with path.open("rb", buffering=0) as file:
                hashlib.file_digest(file, "sha256")

    began = time.perf_counter()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(share, (files[0::2], files[1::2])))
    return time.perf_counter() - began


def wrong_in(report: dict[str, Any], folder: Path) -> str:
    """What is wrong with the answer; empty when it is right."""
    truth = truth_of(folder)
    return judge(report, truth).why if truth else "no truth beside the folder"


def slope(rows: Sequence[dict[str, Any]], key: str) -> float:
    """Least squares of log(cost) over log(ranks)."""
    if len(rows) < 2:
        return math.nan
    xs = [math.log(row["ranks"]) for row in rows]
    ys = [math.log(row[key]) for row in rows]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    above = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    return above / sum((x - mean_x) ** 2 for x in xs)


def shown(rows: Sequence[dict[str, Any]]) -> str:
    """The table."""
    head = (
        "ranks", "MiB", "first s", "wall s", "CPU s", "peak MiB", "entries/s", "MiB/s",
        "read s", "read MiB/s", "sha256 s", "x sha256", "verdict",
    )  # fmt: skip
    return aligned(
        head,
        [
            (
                f"{one['ranks']:,}",
                f"{one['mib']:,.0f}",
                f"{one['first_wall_s']:.2f}{'*' if one['cold'] else ''}",
                f"{one['wall_s']:.2f}",
                f"{one['cpu_s']:.2f}",
                f"{one['peak_mib']:,.0f}",
                f"{one['entries_per_s']:,.0f}",
                f"{one['mib_per_s']:,.0f}",
                f"{one['read_s']:.2f}",
                f"{one['read_mib_per_s']:,.0f}",
                f"{one['sha256_s']:.2f}",
                f"{one['ratio_to_sha256']:.1f}",
                "WRONG" if one["wrong"] else "right",
            )
            for one in rows
        ],
    )


if __name__ == "__main__":
    raise SystemExit(main())
