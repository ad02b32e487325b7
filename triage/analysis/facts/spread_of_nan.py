"""Whose NaN it is: one GPU's, or the model's.

A rank that has a NaN before anything was reduced has computed it. Where ranks of
several nodes have one of their own at once, their data, their weights or the model
are to blame, and no GPU: two nodes do not break in one step.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from triage.domain.category import Category
from triage.domain.evidence import Blame, Evidence

__all__ = ["with_spread"]

# The field of rows whose NaN was there before the reduction.
LOCAL: Final = "before_reduction"
# Ranks of one node share activations (tensor parallel) and may pass one NaN on.
RANKS_OF_A_MODEL: Final = 3


def with_spread(evidence: Iterable[Evidence]) -> list[Evidence]:
    """The rows, those of local NaNs as numerical where ranks of several nodes print them."""
    rows = list(evidence)
    local = [row for row in rows if LOCAL in row.fields]
    nodes = {row.node for row in local if row.node is not None}
    ranks = {row.rank for row in local if row.rank is not None}
    lines = sum(row.count for row in local if row.rank is None)
    if len(nodes) < 2 or max(len(ranks), lines) < RANKS_OF_A_MODEL:
        return rows
    return [
        replace(row, category=Category.NUMERICAL, also=(Category.SDC,), blame=Blame.NOBODY)
        if LOCAL in row.fields
        else row
        for row in rows
    ]
