"""MMU faults of which the GPU names no client: the GPU, or a program that went astray.

Such a fault on one GPU alone may be that GPU. GPUs of a node do not break within one minute of each
other, and where a program was seen out of bounds before, the faults are what it left behind.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from triage.analysis.facts.stop import SECOND
from triage.domain.category import Category
from triage.domain.evidence import Evidence, Kind

TOGETHER_NS: Final = 60 * SECOND
# One rank that met an illegal access may have met it for the fault of its own GPU.
_RANKS: Final = 2
_OUT_OF_BOUNDS: Final = "Out Of Range Address"
_ILLEGAL_ACCESS: Final = "cuda.illegal_address"


def is_unclaimed_fault(row: Evidence) -> bool:
    """Whether it is a fault of an MMU (Xid 31) for which the GPU names no client."""
    return row.kind is Kind.XID and row.fields.get("client") == "UNRECOGNIZED_CLIENT"


def may_be_of_a_program(row: Evidence) -> bool:
    """Whether it is such a fault, or what the process itself is told of it."""
    return is_unclaimed_fault(row) or row.signature == _ILLEGAL_ACCESS


def with_faults_of_programs(rows: Sequence[Evidence]) -> list[Evidence]:
    """The rows of one node; such faults are a program's where several GPUs have them together,
    or a program was out of bounds there.
    """
    faults = [row for row in rows if is_unclaimed_fault(row)]
    if not faults or not (on_several_gpus(faults) or _is_illegal_access_by_program(rows)):
        return list(rows)
    software = (Category.SOFTWARE_USER, Category.GPU)
    # One program, in the category of its own words: "illegal memory access".
    return [
        replace(row, category=Category.SOFTWARE_FRAMEWORK, also=software)
        if is_unclaimed_fault(row) or _is_out_of_bounds(row)
        else row
        for row in rows
    ]


def _is_out_of_bounds(row: Evidence) -> bool:
    """Whether a GPU says that a program left the addresses it has (Xid 13)."""
    return row.kind is Kind.XID and row.code == 13 and _OUT_OF_BOUNDS in row.text


def on_several_gpus(faults: Sequence[Evidence]) -> bool:
    """Whether two GPUs fault within a minute, or where no clock tells them apart."""
    located = [row for row in faults if row.gpu is not None]
    if any(row.at_ns is None for row in located):
        # Without a clock any other GPU may have faulted together with it.
        return len({row.gpu for row in located}) > 1
    ends = sorted((row.last_at_ns or row.at_ns or 0, row.gpu or "") for row in located)
    # Behind the place of each end: the first one of another GPU.
    changes = [len(ends)] * len(ends)
    for place in reversed(range(len(ends) - 1)):
        same = ends[place][1] == ends[place + 1][1]
        changes[place] = changes[place + 1] if same else place + 1
    for row in located:
        at_ns = row.at_ns or 0
        near = bisect_left(ends, (at_ns - TOGETHER_NS, ""))
        if near < len(ends) and ends[near][1] == row.gpu:
            near = changes[near]
        if near < len(ends) and ends[near][0] <= at_ns + TOGETHER_NS:
            return True
    return False


def _is_illegal_access_by_program(rows: Iterable[Evidence]) -> bool:
    """Whether several ranks met an illegal access, or a GPU says that a program left its bounds."""
    rows = list(rows)
    ranks = {row.rank for row in rows if row.signature == _ILLEGAL_ACCESS and row.rank is not None}
    return len(ranks) >= _RANKS or any(map(_is_out_of_bounds, rows))
