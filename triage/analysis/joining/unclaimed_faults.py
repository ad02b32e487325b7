"""MMU faults of which the GPU names no client: the GPU, or a program that went astray.

Such a fault on one GPU alone may be that GPU. GPUs of a node do not break within one minute of each
other, and where a program was seen out of bounds before, the faults are what it left behind.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from triage.analysis.facts.stop import SECOND
from triage.domain.category import Category
from triage.domain.evidence import Evidence, Kind

__all__ = ["is_unclaimed_fault", "with_faults_of_programs"]

TOGETHER_NS: Final = 60 * SECOND
# One rank that met an illegal access may have met it for the fault of its own GPU.
RANKS: Final = 2
OUT_OF_BOUNDS: Final = "Out Of Range Address"
ILLEGAL_ACCESS: Final = "cuda.illegal_address"


def is_unclaimed_fault(row: Evidence) -> bool:
    """Whether it is a fault of an MMU (Xid 31) for which the GPU names no client."""
    return row.kind is Kind.XID and row.fields.get("client") == "UNRECOGNIZED_CLIENT"


def with_faults_of_programs(rows: Sequence[Evidence]) -> list[Evidence]:
    """The rows of one node; such faults are a program's where several GPUs have them together,
    or a program was out of bounds there.
    """
    faults = [row for row in rows if is_unclaimed_fault(row)]
    if not faults or not (on_several_gpus(faults) or program_strayed(rows)):
        return list(rows)
    software = (Category.SOFTWARE_USER, Category.GPU)
    # One program, in the category of its own words: "illegal memory access".
    return [
        replace(row, category=Category.SOFTWARE_FRAMEWORK, also=software)
        if is_unclaimed_fault(row) or is_out_of_bounds(row)
        else row
        for row in rows
    ]


def is_out_of_bounds(row: Evidence) -> bool:
    """Whether a GPU says that a program left the addresses it has (Xid 13)."""
    return row.kind is Kind.XID and row.code == 13 and OUT_OF_BOUNDS in row.text


def on_several_gpus(faults: Sequence[Evidence]) -> bool:
    """Whether two GPUs fault within a minute, or where no clock tells them apart."""
    return any(
        one.gpu is not None
        and other.gpu is not None
        and one.gpu != other.gpu
        and (
            one.at_ns is None
            or other.at_ns is None
            or abs((one.last_at_ns or one.at_ns) - other.at_ns) <= TOGETHER_NS
            or abs((other.last_at_ns or other.at_ns) - one.at_ns) <= TOGETHER_NS
        )
        for place, one in enumerate(faults)
        for other in faults[:place]
    )


def program_strayed(rows: Iterable[Evidence]) -> bool:
    """Whether several ranks met an illegal access, or a GPU says that a program left its bounds."""
    rows = list(rows)
    ranks = {row.rank for row in rows if row.signature == ILLEGAL_ACCESS and row.rank is not None}
    return len(ranks) >= RANKS or any(map(is_out_of_bounds, rows))
