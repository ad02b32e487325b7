"""What fails, beside what failed in the Llama 3 run, and in what a fleet differs from it.

Both columns are counts, and the 419 of Llama 3 are a sample as ours are: each row is tested as
that of two samples, not as ours against shares that were known for sure.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from triage.domain.category import LLAMA3_ROW, Category
from triage.domain.llama3 import LLAMA3_COUNTS, LLAMA3_PARENT, LLAMA3_UNEXPECTED, Parent
from triage.domain.wire import Count, Share, WireForm
from triage.statistics.estimate import Estimate
from triage.statistics.rates import adjust_p_values, compute_share_bounds

# One row is said to differ at this false-discovery rate over all rows.
_ROW_FDR = 0.05


@dataclass(frozen=True, slots=True)
class CauseRow:
    """One row of the table: ours beside theirs; shares are derived from the counts.

    ``differs`` says that this row alone stands out (Fisher's exact test, Benjamini-Hochberg
    over the rows), None where we counted nothing at all.
    """

    row: str
    parent: Parent
    count: Count
    share: Estimate
    llama3_count: Count
    llama3_share: Share
    p_value: float | None
    differs: bool | None


@dataclass(frozen=True, slots=True)
class CauseMix(WireForm):
    """The table.

    ``count`` is what stands in a row; ``without_row`` counts interruptions with no cause known,
    or one that the table has no row for.
    """

    rows: tuple[CauseRow, ...]
    count: Count
    without_row: Count


def count_by_row(causes: Iterable[Category | None]) -> tuple[dict[str, int], int]:
    """Counts by row of the table, and how many have none."""
    counted = Counter(None if cause is None else LLAMA3_ROW[cause] for cause in causes)
    without = counted.pop(None, 0)
    return {row: counted[row] for row in LLAMA3_COUNTS}, without


def compare_cause_mix(counts: Mapping[str, int], *, without_row: int = 0) -> CauseMix:
    """Our ``counts`` by row (absent rows are 0) beside the table's."""
    ours = {row: int(counts.get(row, 0)) for row in LLAMA3_COUNTS}
    total = sum(ours.values())
    p_values = _test_rows(ours, total)
    q_values = adjust_p_values(np.array([*p_values.values()], np.float64)).tolist()
    differ = {row for row, q in zip(p_values, q_values, strict=True) if q < _ROW_FDR}
    rows = tuple(
        CauseRow(
            row,
            LLAMA3_PARENT[row],
            ours[row],
            estimate_share(ours[row], total),
            theirs,
            theirs / LLAMA3_UNEXPECTED,
            p_values.get(row),
            row in differ if total else None,
        )
        for row, theirs in LLAMA3_COUNTS.items()
    )
    return CauseMix(rows, total, without_row)


def estimate_share(count: int, total: int) -> Estimate:
    """``count`` of ``total`` with its exact (Clopper-Pearson) interval."""
    if not total:
        return Estimate(None, None, None, 0, "share", notes=("nothing was counted",))
    low, high = compute_share_bounds(count, total - count)
    return Estimate(count / total, low, high, count, "share")


def _test_rows(ours: Mapping[str, int], total: int) -> dict[str, float]:
    from scipy.stats import fisher_exact

    if not total:
        return {}
    tests = {}
    for row, theirs in LLAMA3_COUNTS.items():
        table = [[ours[row], total - ours[row]], [theirs, LLAMA3_UNEXPECTED - theirs]]
        tests[row] = float(fisher_exact(table).pvalue)
    return tests
