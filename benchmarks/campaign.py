"""Campaigns of whole incidents through the analysis, held against the truth.

Node and rank first and in the first three, category, false cordons, calibration,
healthy jobs that stay silent, seconds: of ``triage simulate``, and beside it of every
folder of another generator. An incident in which no node is guilty is right at the node
when nobody innocent is convicted. Status 1 when a node was cordoned wrongly.

    python -m benchmarks.campaign [--count 419] [--healthy 40] [--missing 0.2] [--wrong 20]
    python -m benchmarks.campaign --no-dumps --live stacks ras
    python -m benchmarks.campaign --count 0 --folders field=DIR other=DIR --picture FILE.svg
"""

import argparse
import multiprocessing
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from itertools import chain
from pathlib import Path

from benchmarks.campaign_cases import Expected, Setting, folder_cases, simulated_cases
from benchmarks.campaign_outcome import (
    Outcome,
    by_class,
    held,
    judged,
    leaf_pair,
    row_pair,
    summary,
)
from benchmarks.reliability_picture import bins, picture
from benchmarks.table import aligned, machine, write_json
from simulator.live.files import LIVE_SOURCES


def main() -> int:
    """Draw, analyse, judge, print."""
    options = _arguments()
    began = time.perf_counter()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, mp_context=context) as pool:
        shares = [(options, turn) for turn in range(options.jobs)]
        outcomes = [one for share in pool.map(_worked, shares) for one in share]
    outcomes.sort(key=lambda one: (one.generator, one.id))
    by_generator: dict[str, list[Outcome]] = {}
    for one in outcomes:
        by_generator.setdefault(one.generator, []).append(one)
    print(f"{machine()}; {len(outcomes)} incidents; simulated: seed {options.seed}, ranks "
          f"{options.ranks}, {options.missing:.0%} of files left out, clocks off by up to "
          f"{options.skew_minutes} min\n")  # fmt: skip
    facts = {name: summary(own) for name, own in by_generator.items()}
    print(_table_of(facts))
    for name, own in by_generator.items():
        _show_one(name, own, options.wrong)
    if options.picture:
        shown = {name: held(own) for name, own in by_generator.items()}
        options.picture.write_text(picture(shown), encoding="utf-8")
    write_json(options.out, "campaign", [asdict(one) for one in outcomes], summary=facts)
    print(f"\n{time.perf_counter() - began:.0f} s in all")
    return 1 if any(one.false_cordon for one in outcomes) else 0


def _arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=419, help="simulated incidents")
    parser.add_argument("--healthy", type=int, default=40, help="simulated jobs that are well")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--ranks", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--missing", type=float, default=0.0, help="part of files left out")
    parser.add_argument("--skew-minutes", type=float, default=0.05)
    parser.add_argument("--kernel-lines", type=int, default=30)
    parser.add_argument("--no-dumps", action="store_true", help="simulated: no dumps are written")
    parser.add_argument(
        "--live", nargs="+", default=[], choices=LIVE_SOURCES,
        help="simulated: two looks at the job while it hung",
    )  # fmt: skip
    parser.add_argument(
        "--folders", nargs="+", default=[], metavar="[NAME=]DIR",
        help="campaigns of other generators: DIR/cases/ID and DIR/truth/ID.json",
    )  # fmt: skip
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--wrong", type=int, default=0, help="how many wrong answers are listed")
    parser.add_argument(
        "--picture", type=Path, metavar="FILE", help="calibration, a curve for each generator; SVG"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="the numbers as JSON")
    options = parser.parse_args()
    if not options.count and not options.healthy and not options.folders:
        parser.error("nothing to do: give --count, --healthy or --folders")
    return options


def _worked(share: tuple[argparse.Namespace, int]) -> list[Outcome]:
    """The incidents of one process."""
    from triage import analyze
    from triage.errors import TriageError

    found = []
    for path, right in _drawn(*share):
        began = time.perf_counter()
        try:
            report = analyze(path).to_dict()
        except TriageError as error:
            report = {"verdict": {"kind": "inconclusive", "category": f"error: {error}",
                                  "llama3_category": None, "confidence": 0.0, "cordon": []},
                      "suspects": []}  # fmt: skip
        found.append(judged(report, right, time.perf_counter() - began))
    return found


def _drawn(options: argparse.Namespace, turn: int) -> Iterator[tuple[Path, Expected]]:
    """The cases of one process, of all generators."""
    share = (turn, options.jobs)
    setting = Setting(
        options.seed, options.count, tuple(options.ranks), options.missing,
        60 * options.skew_minutes, healthy=options.healthy, kernel_lines=options.kernel_lines,
        dumps=not options.no_dumps, live=tuple(options.live),
    )  # fmt: skip
    named = [given.rpartition("=") for given in options.folders]
    return chain(
        simulated_cases(setting, share=share),
        *(folder_cases(Path(path), name, share) for name, _, path in named),
    )


def _table_of(facts: dict[str, dict[str, float]]) -> str:
    """The measures as lines, the generators as columns."""
    measures = next(iter(facts.values()))
    return aligned(
        ("measure", *facts),
        [(name, *(_shown(own[name]) for own in facts.values())) for name in measures],
    )


def _shown(value: float) -> str:
    """Four digits are enough."""
    return str(value) if isinstance(value, int) else f"{value:.4f}"


def _show_one(generator: str, outcomes: Sequence[Outcome], wrong: int) -> None:
    """What is to be said of one generator beside its measures."""
    for name, of in (("leaf", leaf_pair), ("row", row_pair)):
        rows, macro = by_class([of(one) for one in outcomes])
        print(f"\n{generator}: macro-F1 over {name}s: {macro:.3f}")
        print(aligned((name, "true", "said", "right", "F1"), rows))
    print(f"\n{generator}:\n" + aligned(("confidence", "incidents", "mean said", "right"), [
        (f"{low:.1f}-{low + 0.1:.1f}", str(n), f"{said:.3f}", f"{right:.3f}")
        for low, n, said, right in bins(held(outcomes))
    ]))  # fmt: skip
    for one in [one for one in outcomes if not (one.node1 and one.category_right)][:wrong]:
        print(f"wrong: {one.id} {one.kind}: {one.category} on {', '.join(one.culprits) or '-'}"
              f"; said {one.said} on {one.named or '-'} ({one.confidence:.2f})")  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main())
