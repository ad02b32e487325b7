"""Beside PyTorch's own analyzer, on the same folders: cost, and whose answer names the culprit.

`torchfrtrace` runs from an environment of its own (`pip install torch==2.13.0
tabulate`), since triage needs no PyTorch. It prints operations with missing or
"culprit" ranks and gives no ranking, so the ranks that it names anywhere count
as its answer, and those of its first message as its first answer.

    python -m benchmarks.against_torchfrtrace --data DIR --torch-python PATH [--ranks 64 256 1024]
"""

import argparse
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.child import MIB, Cost, costs, run, triage_command
from benchmarks.folders import dump_folder, made, truth_of
from benchmarks.judge import convicted, judge
from benchmarks.table import aligned, machine, write_json

MODULE = "torch.distributed.flight_recorder.fr_trace"
# Name in the table, kind of fault, options. A pipeline makes the waits a cascade.
CASES = (
    ("host-stall", "host-stall", ("--pp", "1")),
    ("host-stall, pipeline", "host-stall", ("--pp", "4")),
    ("mismatch-size", "mismatch-size", ("--pp", "1")),
    ("mismatch-pair", "mismatch-pair", ("--pp", "1")),
    ("no-dump", "no-dump", ("--pp", "1")),
    ("early-stall", "early-stall", ("--pp", "1")),
    ("healthy, pipeline", "healthy", ("--pp", "4")),
)
TIMED = CASES[:1]
# "missing ranks: {32}" and "error msg: Culprit rank 173; Error type: SIZE_OR_SYNTAX_MISMATCH"
NAMED = re.compile(r"^missing ranks: \{(?P<missing>[\d, ]*)\}|^error msg: (?P<culprits>.*)$", re.M)
CULPRIT = re.compile(r"Culprit rank (\d+)")
# Runs longer than this are made once.
LONG_S = 20.0


def main() -> int:
    """Measure, print both tables, write the numbers."""
    options = arguments()
    rows = []
    for ranks in options.ranks:
        cases = CASES if ranks == min(options.ranks) else TIMED
        for name, kind, shape in cases:
            rows.append(compared(name, kind, shape, ranks, options))
            print(f"{ranks:,} ranks, {name}: {rows[-1]['torch_says']}", flush=True)
            for line in rows[-1]["torch_tail"]:
                print(f"    | {line[:140]}")
    version = run([options.torch_python, "-c", "import torch; print(torch.__version__)"]).output
    print(f"\n{machine()}; torchfrtrace of PyTorch {version.strip()}; 2,000 entries, 8 frames\n")
    print(cost_table(rows))
    print(f"\n{answer_table(rows)}")
    write_json(options.json, "against_torchfrtrace", rows, torch=version.strip())
    return 0


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="where folders are kept")
    parser.add_argument("--torch-python", required=True, help="a Python that has torch")
    parser.add_argument("--ranks", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser.parse_args()


def compared(
    name: str, kind: str, shape: Sequence[str], ranks: int, options: argparse.Namespace
) -> dict[str, Any]:
    """Both tools on one folder."""
    folder = made(
        kind, options.data / f"{kind}{''.join(shape)}-{ranks}", "--ranks", str(ranks), *shape
    ).resolve()
    truth = truth_of(folder) or {}
    ours, report = triage_answer(folder, options.runs)
    incomplete = ["--allow-incomplete-ranks"] if truth["missing"] else []
    command = [options.torch_python, "-m", MODULE, *incomplete, str(dump_folder(folder))]
    theirs = repeated(command, options.runs)
    sets = list(named_by_torch(theirs.output))
    guilty = set(truth["culprit_ranks"])
    judgement = judge(report, truth)
    return {
        "case": name,
        "ranks": ranks,
        "guilty": sorted(guilty),
        "triage_wall_s": ours.wall_s,
        "triage_peak_mib": ours.peak_bytes / MIB,
        "torch_wall_s": theirs.wall_s,
        "torch_peak_mib": theirs.peak_bytes / MIB,
        "torch_status": theirs.status,
        "triage_right": judgement.right,
        "triage_convicts": sorted(convicted(report)),
        "torch_first": sorted(sets[0]) if sets else [],
        "torch_named": sorted(set().union(*sets)),
        "torch_says": torch_says(sets, theirs, guilty),
        "torch_tail": theirs.output.strip().splitlines()[-3:],
    }


def triage_answer(folder: Path, runs: int) -> tuple[Cost, dict[str, Any]]:
    """Cost and report of `triage analyze`."""
    with tempfile.TemporaryDirectory() as scratch:
        answer = Path(scratch) / "answer.json"
        cost = repeated(
            triage_command("analyze", str(folder), "--format", "json", "--output", str(answer)),
            runs,
        )
        if cost.status:
            raise SystemExit(f"{folder}: {cost.output.strip()}")
        return cost, json.loads(answer.read_text("utf-8"))


def repeated(command: Sequence[str], runs: int) -> Cost:
    """The median after one warm-up; a long run is made once, and is its own."""
    first = run(command)
    if first.wall_s > LONG_S:
        return first
    return costs([run(command) for _ in range(runs)])


def named_by_torch(output: str) -> Iterator[set[int]]:
    """The ranks of each message, in its order."""
    for match in NAMED.finditer(output):
        if match["missing"]:
            yield {int(rank) for rank in match["missing"].split(",")}
        elif match["culprits"] and (ranks := CULPRIT.findall(match["culprits"])):
            yield set(map(int, ranks))


def torch_says(sets: Sequence[set[int]], cost: Cost, guilty: set[int]) -> str:
    """Its answer in a few words."""
    ended = "" if cost.status == 0 else f"; ends with {last_error(cost.output)}"
    if not sets:
        return f"names nobody{ended}"
    everyone = set().union(*sets)
    if guilty and everyone == guilty:
        return f"the culprit alone{ended}"
    if not guilty:
        return f"names {counted(everyone)}, none is guilty{ended}"
    if sets[0] == guilty:
        how = "the culprit first"
    elif guilty <= everyone:
        how = "the culprit among others"
    else:
        how = "innocent ranks only"
    return f"{how} ({counted(everyone)} named){ended}"


def counted(ranks: set[int]) -> str:
    """How many ranks."""
    return "1 rank" if len(ranks) == 1 else f"{len(ranks)} ranks"


def last_error(output: str) -> str:
    """The last line of a traceback."""
    return (output.strip().splitlines() or ["no output"])[-1][:60]


def cost_table(rows: Sequence[dict[str, Any]]) -> str:
    """What both cost. A run that broke off is no measure of the whole work."""
    head = ("case", "ranks", "triage s", "torch s", "ratio", "triage MiB", "torch MiB", "ratio")
    return aligned(
        head,
        [
            (
                one["case"] + (" (torch broke off)" if one["torch_status"] else ""),
                f"{one['ranks']:,}",
                f"{one['triage_wall_s']:.2f}",
                f"{one['torch_wall_s']:.2f}",
                f"{one['torch_wall_s'] / one['triage_wall_s']:.1f}",
                f"{one['triage_peak_mib']:,.0f}",
                f"{one['torch_peak_mib']:,.0f}",
                f"{one['torch_peak_mib'] / one['triage_peak_mib']:.1f}",
            )
            for one in rows
        ],
    )


def answer_table(rows: Sequence[dict[str, Any]]) -> str:
    """Whose answer names the culprit."""
    return aligned(
        ("case", "ranks", "guilty", "triage", "torchfrtrace"),
        [
            (
                one["case"],
                f"{one['ranks']:,}",
                ", ".join(map(str, one["guilty"])) or "nobody",
                "right" if one["triage_right"] else f"WRONG: convicts {one['triage_convicts'][:6]}",
                one["torch_says"],
            )
            for one in rows
        ],
    )


if __name__ == "__main__":
    raise SystemExit(main())
