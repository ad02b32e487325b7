"""What is printed as the confidence of a verdict: how often answers like it are right.

What is believed is bounded (``bounds.py``), so that nothing acts on one weak source; it does not
say how often such answers are right. That is a table (``calibration.toml``), fitted after all
bounds on incidents of several generators, by the sort of answer. The scores of suspects stay what
is believed of them.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

from triage.domain.category import Category, Role, VerdictKind
from triage.domain.report import Suspect, Verdict
from triage.domain.toml_tables import read_toml

TABLE: Final = Path(__file__).with_name("calibration.toml")
GRID: Final = tuple(step / 10 for step in range(11))
# From here on acts follow what is believed, and it is printed so; below it is printed as less.
# What one weak, undated or unfamiliar source says is printed as 0.6 at most, as it is believed: a
# commit message may say it.
_ACTS: Final = 0.9
_MOST: Final = ((0.6, 0.6), (_ACTS, 0.89))


class Sort(StrEnum):
    """The sorts of answers; those that have no row in the table are right as often as believed."""

    UNKNOWN = "unknown"
    """It stopped, or nothing tells, and no cause is named."""
    OPEN = "open"
    """A cause is named, and nobody is convicted."""
    CONVICTED = "convicted"
    """A culprit is named, or the nodes behind a switch."""
    HEALTHY = "healthy"


def classify_answer(verdict: Verdict, suspects: Sequence[Suspect]) -> Sort:
    """The sort of an answer."""
    if verdict.kind is VerdictKind.HEALTHY:
        return Sort.HEALTHY
    if any(one.role is not Role.POSSIBLE for one in suspects):
        return Sort.CONVICTED
    is_unknown = verdict.category in (Category.NCCL_TIMEOUT, Category.NONE)
    return Sort.UNKNOWN if is_unknown else Sort.OPEN


def calibrate(
    believed: float, sort: Sort, table: Mapping[Sort, Sequence[float]] | None = None
) -> float:
    """The confidence that is printed of an answer that is believed so much."""
    row = (_FITTED if table is None else table).get(sort)
    if row is None or believed >= _ACTS:
        return believed
    below = min(bisect_right(GRID, believed), len(GRID) - 1) - 1
    share = (believed - GRID[below]) / (GRID[below + 1] - GRID[below])
    printed = row[below] + share * (row[below + 1] - row[below])
    return min(printed, *(most for limit, most in _MOST if believed <= limit))


_FITTED: Final = {
    Sort(name): tuple(row)
    for name, row in read_toml("triage.analysis.joining", "calibration").items()
}
