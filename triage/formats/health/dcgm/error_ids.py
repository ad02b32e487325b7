"""The numbers of DCGM's errors, as ``dcgm_errors.h`` of DCGM 4.6 has them.

A number says which part a warning is about better than the words around it. Severities are
0 none, 1 monitor, 2 isolate, 3 unknown, 4 triage, 5 config, 6 reset.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from triage.domain.category import Category

__all__ = ["category_of_errors", "names_nobody"]

OF_ERROR: Final = {
    118: Category.GPU_SRAM,  # errors of on-chip memory above the threshold
    119: Category.NVLINK, 121: Category.NVLINK,  # bit errors of a link
    120: Category.GPU,  # fallen off the bus
    122: Category.NVLINK, 123: Category.NVLINK,  # IMEX, probe of the fabric
    125: Category.GPU, 126: Category.GPU, 127: Category.GPU, 128: Category.GPU,  # reset, drain
    131: Category.GPU, 132: Category.GPU_HBM,  # contained error, no row left to remap to
}  # fmt: skip
# 129 NCCL failed somewhere among the nodes, 130 the test was run again.
OF_NOBODY: Final = frozenset({129, 130})
MAX_WARNINGS: Final = 64


def ids_of(result: Mapping[str, Any]) -> Iterator[int]:
    warnings = result.get("warnings")
    for warning in warnings[:MAX_WARNINGS] if isinstance(warnings, list) else ():
        number = warning.get("error_id") if isinstance(warning, Mapping) else None
        if isinstance(number, int):
            yield number


def category_of_errors(result: Mapping[str, Any]) -> Category | None:
    """The part that the first known number of a result names."""
    return next((OF_ERROR[number] for number in ids_of(result) if number in OF_ERROR), None)


def names_nobody(result: Mapping[str, Any]) -> bool:
    """Whether all errors of a result are of a kind that every node of a run may report."""
    numbers = set(ids_of(result))
    return bool(numbers) and numbers <= OF_NOBODY
