"""Accuracy: every kind of fault, many sizes and seeds, and the variants that hide them.

Right is the whole answer: ranks, kind of verdict, category. A false conviction, an
innocent rank called culprit, is the only fault that ends with status 1: a person
acts on it. The same over the incident folders of the tests, where there are any.

    python -m benchmarks.accuracy [--ranks 8 16 64] [--seeds 3] [--kinds KIND ...] [--json FILE]
"""

import argparse
import json
import multiprocessing
import os
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.child import ROOT
from benchmarks.judge import judge
from benchmarks.table import aligned, machine, write_json

INCIDENTS = ROOT / "tests" / "incidents"
# What is asked of the simulator beside kind, ranks, seed and entries. A rank in
# "missing" and "cut" is an innocent one: "?" is replaced by it.
VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "timing": {"timing": True},
    "in-step": {"run_ahead": False},
    "timing in-step": {"timing": True, "run_ahead": False},
    "plain p2p": {"batched_p2p": False},
    "skew 250 ms": {"skew_ms": 250.0},
    "no job.json": {"job_json": False},
    "missing": {"missing": "?"},
    "cut": {"cut": "?"},
    "empty": {"empty": "?"},
    "only-active": {"only_active": True},
    "no frames": {"frames": 0},
    "format 2.4": {"version": "2.4"},
    "small ring": {"entries": 200},
    "experts": {"ep": 2},
}


@dataclass(frozen=True, slots=True)
class Trial:
    """One simulated job; ``variant`` is a key of VARIANTS."""

    kind: str
    ranks: int
    seed: int
    variant: str
    entries: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a trial; ``why`` is empty when the answer was right.

    ``skipped``: the simulator has no such job.
    """

    trial: Trial
    right: bool
    innocent: tuple[int, ...]
    why: str
    seconds: float
    skipped: bool = False


def main() -> int:
    """Run all, print the tables, write the numbers."""
    options = arguments()
    trials = [
        Trial(kind, ranks, seed, variant, options.entries)
        for kind in options.kinds
        for ranks in options.ranks
        for variant in options.variants
        for seed in range(options.seeds)
    ]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
        outcomes = [one for one in pool.map(tried, trials, chunksize=4) if not one.skipped]
    print(
        f"{machine()}; {options.entries:,} entries, ranks {options.ranks}, seeds {options.seeds}\n"
    )
    print(table("kind", [(one.trial.kind, one) for one in outcomes]))
    print()
    print(table("variant", [(one.trial.variant, one) for one in outcomes]))
    wrong = [one for one in outcomes if not one.right]
    for one in wrong[: options.show]:
        where = one.trial
        print(f"wrong: {where.kind} {where.ranks} {where.variant} seed {where.seed}: {one.why}")
    told = list(incidents())
    if told:
        print("\n" + aligned(("incident", "answer", "false", "why"), incident_rows(told)))
    write_json(
        options.json,
        "accuracy",
        [asdict(one) for one in outcomes],
        incidents=[dict(r) for r in told],
    )
    false = sum(bool(one.innocent) for one in outcomes) + sum(bool(r["innocent"]) for r in told)
    print(f"\n{len(outcomes)} jobs, {len(wrong)} wrong answers, {false} false convictions")
    return 1 if false else 0


def arguments() -> argparse.Namespace:
    """The command line."""
    from simulator import NAMES

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kinds", nargs="+", default=list(NAMES), choices=list(NAMES))
    parser.add_argument("--ranks", type=int, nargs="+", default=[8, 16, 64])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=list(VARIANTS))
    parser.add_argument("--entries", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--show", type=int, default=60, help="how many wrong answers are listed")
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser.parse_args()


def tried(trial: Trial) -> Outcome:
    """Simulate, analyse, judge."""
    from simulator import simulate
    from triage import analyze
    from triage.errors import TriageError

    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "job"
        try:
            truth = simulate(trial.kind, out, **asked(trial)).to_dict()
        except TriageError as error:
            return Outcome(trial, False, (), str(error), 0.0, skipped=True)
        gone = {*truth["missing"], *truth["cut"], *truth["empty"]}
        if trial.variant in ("missing", "cut", "empty") and gone & set(truth["culprit_ranks"]):
            return Outcome(trial, False, (), "the culprit's own dump", 0.0, skipped=True)
        began = time.perf_counter()
        report = analyze(out).to_dict()
        seconds = time.perf_counter() - began
    found = judge(report, truth)
    return Outcome(trial, found.right, found.innocent, found.why, seconds)


def asked(trial: Trial) -> dict[str, Any]:
    """The simulator's arguments."""
    chance = random.Random(f"{trial.kind}/{trial.seed}/{trial.ranks}")
    culprit = chance.randrange(trial.ranks)
    innocent = (culprit + 1 + chance.randrange(trial.ranks - 1)) % trial.ranks
    wishes = {
        key: (innocent,) if value == "?" else value
        for key, value in VARIANTS[trial.variant].items()
    }
    return {
        "ranks": trial.ranks, "seed": trial.seed, "culprit": culprit, "entries": trial.entries,
    } | wishes  # fmt: skip


def table(head: str, keyed: Sequence[tuple[str, Outcome]]) -> str:
    """Outcomes summed by key."""
    groups: dict[str, list[Outcome]] = {}
    for key, outcome in keyed:
        groups.setdefault(key, []).append(outcome)
    rows = [
        (
            key,
            str(len(those)),
            str(sum(one.right for one in those)),
            str(sum(not one.right for one in those)),
            str(sum(bool(one.innocent) for one in those)),
            f"{sum(one.seconds for one in those) / len(those):.3f}",
        )
        for key, those in groups.items()
    ]
    return aligned((head, "jobs", "right", "wrong", "false convictions", "mean s"), rows)


def incidents() -> Iterator[dict[str, Any]]:
    """The incident folders of the tests, judged by their ``expected.json``."""
    from triage import analyze

    for path in sorted(INCIDENTS.glob("*/expected.json")):
        expected = json.loads(path.read_text("utf-8"))
        inputs = [one for one in path.parent.iterdir() if one.name != path.name]
        if isinstance(expected.get("dumps"), str):
            inputs.append(path.parent / expected["dumps"])
        try:
            report = analyze(sorted(inputs)).to_dict()
        except Exception as error:  # noqa: BLE001 - one broken folder does not end the others
            yield {
                "name": path.parent.name,
                "why": f"{type(error).__name__}: {error}",
                "innocent": [],
            }
            continue
        yield judged(path.parent.name, report, expected)


def judged(name: str, report: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    """What ``expected.json`` asks for, each key where it is there."""
    guilty = set(expected.get("culprit_ranks") or ())
    if "suspects" in expected and "culprit_ranks" not in expected:
        # Whole incidents name nodes: the ranks of those are not innocent.
        named = [one for one in report["suspects"] if one["node"] in expected["suspects"]]
        guilty = {rank for one in named for rank in one["ranks"]}
    verdict = report["verdict"]
    found = judge(
        report,
        {
            "culprit_ranks": sorted(guilty),
            "expect": "culprit",
            "verdicts": any_of(expected.get("kind"), verdict["kind"]),
            "category": any_of(expected.get("category"), verdict["category"])[0],
            "also": any_of(expected.get("category"), verdict["category"]),
        },
    )
    why = [found.why] if found.why else []
    most = expected.get("max_suspects")
    if isinstance(most, int) and len(report["suspects"]) > most:
        why.append(f"{len(report['suspects'])} suspects, at most {most} wanted")
    return {"name": name, "why": "; ".join(why), "innocent": list(found.innocent)}


def any_of(wanted: object, said: str) -> list[str]:
    """``wanted`` as a list; what was said where nothing is wanted."""
    if wanted is None:
        return [said]
    return [wanted] if isinstance(wanted, str) else [str(one) for one in wanted]  # type: ignore[attr-defined]


def incident_rows(told: Sequence[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Rows of the table of incidents."""
    return [
        (
            row["name"],
            "wrong" if row["why"] else "right",
            str(len(row["innocent"])),
            row["why"][:90],
        )
        for row in told
    ]


if __name__ == "__main__":
    raise SystemExit(main())
