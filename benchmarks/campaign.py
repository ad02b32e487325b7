"""A campaign of whole incidents through the analysis, held against the truth.

Node and rank first and in the first three, category, false cordons, calibration,
healthy jobs that stay silent, seconds. An incident in which no node is guilty is
right at the node when nobody is convicted. Status 1 when a node was cordoned wrongly.

    python -m benchmarks.campaign [--count 419] [--healthy 40] [--missing 0.2] [--wrong 20]
"""

import argparse
import multiprocessing
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.reliability_picture import bins, expected_error, picture
from benchmarks.table import aligned, machine, write_json

__all__ = ["Outcome", "judged", "main"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One incident; ``node1`` is None where the question does not arise (a healthy job)."""

    id: str
    scenario: str
    category: str
    said: str
    row: str | None
    said_row: str | None
    node1: bool
    node3: bool
    rank1: bool | None
    category_right: bool
    false_cordon: bool
    convicts_innocent: bool
    confidence: float
    healthy: bool
    seconds: float
    culprits: tuple[str, ...]
    named: str


def main() -> int:
    """Draw, analyse, judge, print."""
    options = arguments()
    began = time.perf_counter()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
        shares = [(options, turn) for turn in range(options.jobs)]
        outcomes = [one for share in pool.map(worked, shares) for one in share]
    outcomes.sort(key=lambda one: one.id)
    print(f"{machine()}; {len(outcomes)} incidents, seed {options.seed}, ranks {options.ranks}, "
          f"{options.missing:.0%} of files left out, clocks off by up to "
          f"{options.skew_minutes} min\n")  # fmt: skip
    facts = summary(outcomes)
    print(aligned(("measure", "value"), [(key, shown(value)) for key, value in facts.items()]))
    for name, of in (("leaf", leaf_pair), ("row", row_pair)):
        rows, macro = by_class([of(one) for one in outcomes])
        print(f"\nmacro-F1 over {name}s: {macro:.3f}")
        facts[f"macro_f1_{name}"] = macro
        print(aligned((name, "true", "said", "right", "F1"), rows))
    held = [(one.confidence, one.category_right and one.node1) for one in outcomes]
    print("\n" + aligned(("confidence", "incidents", "mean said", "right"), [
        (f"{low:.1f}-{low + 0.1:.1f}", str(n), f"{said:.3f}", f"{right:.3f}")
        for low, n, said, right in bins(held)
    ]))  # fmt: skip
    for one in [one for one in outcomes if not (one.node1 and one.category_right)][: options.wrong]:
        print(f"wrong: {one.id} {one.scenario}: {one.category} on {', '.join(one.culprits) or '-'}"
              f"; said {one.said} on {one.named or '-'} ({one.confidence:.2f})")  # fmt: skip
    if options.picture:
        options.picture.write_text(picture(held), encoding="utf-8")
    write_json(options.out, "campaign", [asdict(one) for one in outcomes], summary=facts)
    print(f"\n{time.perf_counter() - began:.0f} s in all")
    return 1 if any(one.false_cordon for one in outcomes) else 0


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=419)
    parser.add_argument("--healthy", type=int, default=40)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--ranks", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--missing", type=float, default=0.0, help="part of files left out")
    parser.add_argument("--skew-minutes", type=float, default=0.05)
    parser.add_argument("--kernel-lines", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--wrong", type=int, default=0, help="how many wrong answers are listed")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="reliability diagram, SVG")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the numbers as JSON")
    return parser.parse_args()


def worked(share: tuple[argparse.Namespace, int]) -> list[Outcome]:
    """The incidents of one process: each is written, analysed and deleted."""
    return list(_worked(*share))


def _worked(options: argparse.Namespace, turn: int) -> Iterator[Outcome]:
    from triage import analyze
    from triage.errors import TriageError
    from triage.simulator.campaign import draw

    with tempfile.TemporaryDirectory() as scratch:
        drawn = draw(
            Path(scratch), count=options.count, seed=options.seed, ranks=options.ranks,
            missing=options.missing, skew_s=60 * options.skew_minutes, healthy=options.healthy,
            kernel_lines=options.kernel_lines, share=(turn, options.jobs),
        )  # fmt: skip
        for path, truth in drawn:
            began = time.perf_counter()
            try:
                report = analyze(path).to_dict()
            except TriageError as error:
                report = {"verdict": {"kind": "inconclusive", "category": f"error: {error}",
                                      "llama3_category": None, "confidence": 0.0, "cordon": []},
                          "suspects": []}  # fmt: skip
            yield judged(report, truth.to_dict(), time.perf_counter() - began)
            shutil.rmtree(path)


def judged(report: dict[str, Any], truth: dict[str, Any], seconds: float) -> Outcome:
    """One report held against its truth."""
    verdict, suspects = report["verdict"], report["suspects"]
    guilty, ranks = set(truth["culprit_nodes"]), set(truth["culprit_ranks"])
    # Without a map a suspect has no node: then its ranks stand for it.
    hits = [
        row["node"] in guilty if row["node"] is not None else bool(set(row["ranks"]) & ranks)
        for row in suspects
    ]
    convicted = [hit for row, hit in zip(suspects, hits, strict=True) if row["role"] == "culprit"]
    if guilty:
        node1, node3 = hits[:1] == [True], any(hits[:3])
        first = suspects[0]["ranks"] if suspects else []
        rank1 = bool(first) and first[0] in ranks if ranks else None
    else:
        node1 = node3 = not convicted
        rank1 = None
    said = verdict["category"]
    accepted = set(truth["accepted"])
    return Outcome(
        truth["id"], truth["scenario"], truth["category"], said, truth["llama3_row"],
        verdict["llama3_category"], node1, node3, rank1, said in accepted,
        bool(set(verdict["cordon"]) - set(truth["cordon"])),
        bool([hit for hit in convicted if not hit]), float(verdict["confidence"]),
        truth["healthy"], seconds, tuple(truth["culprit_nodes"]),
        ", ".join(str(row["node"] or row["ranks"][:1]) for row in suspects[:2]),
    )  # fmt: skip


def summary(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """The figures over all incidents; healthy jobs count only in their own."""
    sick = [one for one in outcomes if not one.healthy]
    well = [one for one in outcomes if one.healthy]
    ranked = [one for one in sick if one.rank1 is not None]
    with_node = [one for one in sick if one.culprits]

    def part(good: int, of: Sequence[object]) -> float:
        return good / len(of) if of else 1.0

    held = [(one.confidence, one.category_right and one.node1) for one in outcomes]
    return {
        "node top-1": part(sum(one.node1 for one in sick), sick),
        "node top-3": part(sum(one.node3 for one in sick), sick),
        "node top-1 where one is guilty": part(sum(one.node1 for one in with_node), with_node),
        "rank top-1": part(sum(bool(one.rank1) for one in ranked), ranked),
        "category (accepted)": part(sum(one.category_right for one in sick), sick),
        "category (exact)": part(sum(one.said == one.category for one in sick), sick),
        "false cordons": part(sum(one.false_cordon for one in outcomes), outcomes),
        "convicts an innocent": part(sum(one.convicts_innocent for one in outcomes), outcomes),
        "healthy jobs silent": part(
            sum(one.said == "none" and not one.named for one in well), well
        ),
        "expected calibration error": expected_error(held),
        "seconds an incident": sum(one.seconds for one in outcomes) / max(len(outcomes), 1),
    }


def shown(value: float) -> str:
    """Four digits are enough."""
    return f"{value:.4f}"


def leaf_pair(one: Outcome) -> tuple[str, str]:
    """True and said leaf; an accepted one counts as the true one."""
    return one.category, one.category if one.category_right else one.said


def row_pair(one: Outcome) -> tuple[str, str]:
    """True and said row."""
    true = one.row or one.category
    return true, true if one.category_right else (one.said_row or one.said)


def by_class(pairs: Sequence[tuple[str, str]]) -> tuple[list[tuple[str, ...]], float]:
    """Counts and F1 of each true class, and the mean F1 over them."""
    true, said = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    right = Counter(a for a, b in pairs if a == b)
    scores = {name: 2 * right[name] / (true[name] + said[name]) for name in true}
    rows: list[tuple[str, ...]] = [
        (name, str(true[name]), str(said[name]), str(right[name]), f"{scores[name]:.3f}")
        for name, _ in true.most_common()
    ]
    return rows, sum(scores.values()) / max(len(scores), 1)


if __name__ == "__main__":
    raise SystemExit(main())
