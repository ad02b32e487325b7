"""A report held against the truth. Only benchmarks and tests read the truth.

``false`` is the one fault that does harm: somebody innocent was convicted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Judgement:
    """``right`` needs ranks, kind of verdict and category; ``innocent`` were convicted."""

    right: bool
    innocent: tuple[int, ...]
    why: str


def convicted(report: Mapping[str, Any]) -> set[int]:
    """The ranks that a report convicts."""
    rows = [row for row in report["suspects"] if row["role"] == "culprit"]
    return {rank for row in rows for rank in row["ranks"]}


def judge(report: Mapping[str, Any], truth: Mapping[str, Any]) -> Judgement:
    """``truth`` is the simulator's (``OUT.truth.json``)."""
    named = convicted(report)
    guilty = set(truth["culprit_ranks"]) if truth["expect"] == "culprit" else set()
    innocent = tuple(sorted(named - guilty))
    verdict = report["verdict"]
    wrong = []
    if innocent:
        wrong.append(f"convicts {_listed(innocent)}")
    if guilty - named:
        wrong.append(f"misses {_listed(guilty - named)}")
    if verdict["kind"] not in truth["verdicts"]:
        wrong.append(f"says {verdict['kind']}, not {'/'.join(truth['verdicts'])}")
    if verdict["category"] not in {truth["category"], *truth["also"]}:
        wrong.append(f"says {verdict['category']}, not {truth['category']}")
    return Judgement(not wrong, innocent, "; ".join(wrong))


def _listed(ranks: set[int] | tuple[int, ...]) -> str:
    """A few ranks for a message."""
    shown = ", ".join(map(str, sorted(ranks)[:6]))
    return shown + (" ..." if len(ranks) > 6 else "")
