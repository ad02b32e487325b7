"""Fit what is printed as the confidence of a verdict, and say how often it is right.

    python -m benchmarks.fit_calibration FOLDER... [--write]
    python -m benchmarks.fit_calibration FOLDER... --leave-out FOLDER

Folders are campaigns as ``benchmarks.field.make`` writes them; a name of several (``a,b``) is one
generator. Isotonic regression by the sort of answer, over all answers but those of the generator
left out, on which the expected calibration error is shown before and after.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.campaign_cases import folder_cases, weighed_of
from benchmarks.campaign_outcome import held, judged
from benchmarks.reliability_picture import expected_error
from triage.analysis.joining.calibration import GRID, TABLE, Sort, calibrate, classify_answer
from triage.domain.wire import convert_to_wire

# A sort of answer that came up less often says nothing of itself.
_LEAST = 12
_PRIOR = 3.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """One answer: its sort, what was believed of it, and whether it was right."""

    sort: Sort
    believed: float
    right: bool


def collect_outcomes(folder: str) -> list[Outcome]:
    """The outcomes of one generator, by what was believed before calibration."""
    found = []
    for path in map(Path, folder.split(",")):
        for case, right in folder_cases(path):
            joined = weighed_of(case).joined
            verdict, suspects = joined.decision.verdict, joined.decision.suspects
            report = {
                "verdict": convert_to_wire(verdict),
                "suspects": [convert_to_wire(one) for one in suspects],
            }
            ((_, is_right),) = held([judged(report, right, 0.0)])
            found.append(Outcome(classify_answer(verdict, suspects), joined.believed, is_right))
    return found


def fit_table(outcomes: Iterable[Outcome]) -> dict[Sort, list[float]]:
    """The printed confidence at each value of :data:`GRID`, by the sort of answer."""
    from sklearn.isotonic import IsotonicRegression

    by_sort: dict[Sort, list[Outcome]] = defaultdict(list)
    for one in outcomes:
        by_sort[one.sort].append(one)
    table: dict[Sort, list[float]] = {}
    for sort, ones in by_sort.items():
        if len(ones) < _LEAST or sort is Sort.HEALTHY:
            continue
        fitted = IsotonicRegression(y_min=0.05, y_max=0.99, out_of_bounds="clip")
        # A few answers that are right as often as is believed, where there are none else.
        fitted.fit(
            [*(one.believed for one in ones), *GRID],
            [*(float(one.right) for one in ones), *GRID],
            sample_weight=[*(1.0 for _ in ones), *(_PRIOR for _ in GRID)],
        )
        table[sort] = [round(float(one), 2) for one in fitted.predict(np.array(GRID))]
    return table


def main() -> None:
    """Measure, fit, print, and write where that is asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--leave-out", default="")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with ProcessPoolExecutor(2) as pool:
        found = dict(zip(options.folders, pool.map(collect_outcomes, options.folders), strict=True))
    learned = [one for name, ones in found.items() if name != options.leave_out for one in ones]
    table = fit_table(learned)
    for name, ones in found.items():
        before = expected_error([(one.believed, one.right) for one in ones])
        after = expected_error(
            [(calibrate(one.believed, one.sort, table), one.right) for one in ones]
        )
        left = " (left out)" if name == options.leave_out else ""
        print(f"{name}{left}: {len(ones)} answers, error {before:.3f} -> {after:.3f}")
    for sort, row in table.items():
        print(f"{sort}: {row}")
    if options.write:
        lines = [f"{sort} = [{', '.join(map(str, row))}]" for sort, row in sorted(table.items())]
        TABLE.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


HEAD = """\
# How often answers are right, at beliefs of 0, 0.1 ... 1: what is printed as their confidence.
# Made by benchmarks/fit_calibration.py; by the sort of answer.
"""


if __name__ == "__main__":
    main()
