"""Stacks of a job that hangs, one file a rank: the odd one named, and what that costs.

Made-up py-spy dumps are written to a folder, one rank of them in its data loader and the others in
a collective; the whole command's work is timed beside reading the bytes alone. ``judging`` is the
part behind the parsers. Status 1 where the answer is wrong, or 16,384 stacks take more than 5 s to
judge.

    python -m benchmarks.stacks [--ranks 384 16384] [--looks 2]
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

import triage
from benchmarks.table import aligned, machine
from tests.support.stack_texts import LOADER, REDUCE, py_spy_text
from triage.analysis.live.case import LiveCase
from triage.analysis.live.stacks.picture import classes_for_report
from triage.analysis.placement.identity import JobPlacement
from triage.analysis.registry import find_look_claims
from triage.formats.gather import gather

MOST_S = 5.0
PER_NODE = 8
SEED = 20261124
HEAD = ("ranks", "looks", "MB", "read bytes", "whole answer", "judging", "ratio", "odd one")


def write(folder: Path, ranks: int, looks: int, odd: int) -> int:
    """The files of all looks; how many bytes they have."""
    size = 0
    for look in range(looks):
        for rank in range(ranks):
            own = folder / f"look_20260314_02{look:02}00" / "nodes" / f"n{rank // PER_NODE}"
            own.mkdir(parents=True, exist_ok=True)
            text = py_spy_text(4000 + rank % PER_NODE, LOADER if rank == odd else REDUCE)
            size += (own / f"rank_{rank}.txt").write_text(text, encoding="utf-8")
    return size


def measured(ranks: int, looks: int) -> tuple[list[str], bool]:
    """One row of the table, and whether the answer is right and in time."""
    odd = random.Random(SEED + ranks).randrange(ranks)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = write(folder, ranks, looks, odd)
        begin = time.perf_counter()
        read = sum(len(path.read_bytes()) for path in folder.rglob("*.txt"))
        bytes_s = time.perf_counter() - begin
        begin = time.perf_counter()
        answer = triage.analyze(folder).answer
        whole_s = time.perf_counter() - begin
        _, _, logs, _, _ = gather(folder, None, None)
    begin = time.perf_counter()
    case = LiveCase(logs.looks, JobPlacement())
    claims = find_look_claims(case)
    classes_for_report(case.picture)
    judging_s = time.perf_counter() - begin
    named = [rank for suspect in answer.suspects for rank in suspect.ranks]
    right = named == [odd] and bool(claims) and claims[0].ranks == (odd,)
    row = [
        f"{ranks:,}", f"{looks}", f"{size / 1e6:.1f}", f"{bytes_s:.2f} s", f"{whole_s:.2f} s",
        f"{judging_s:.2f} s", f"{whole_s / bytes_s:.1f}", "right" if right else f"WRONG: {named}",
    ]  # fmt: skip
    return row, right and read == size and judging_s <= MOST_S


def main() -> int:
    """Print the table; 1 where a row is not as wanted."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--ranks", type=int, nargs="+", default=[384, 16_384])
    options.add_argument("--looks", type=int, nargs="+", default=[1, 2])
    wanted = options.parse_args()
    rows = [measured(ranks, looks) for ranks in wanted.ranks for looks in wanted.looks]
    print(machine())
    print(aligned(HEAD, [row for row, _ in rows]))
    return 0 if all(fine for _, fine in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
