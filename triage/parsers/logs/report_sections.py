"""Reports of GPU tools: the rows below a GPU's heading are that GPU's.

``nvidia-smi -q`` prints ``GPU 00000000:1B:00.0`` once and its state below it, ``dcgmi health``
``-> 2`` and what is wrong below that.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, TypeVar

from triage.domain.evidence import Evidence, Trait
from triage.signatures.gpu.gpu_names import NAMES

T = TypeVar("T")
# A GPU's part of ``nvidia-smi -q`` has some 250 lines.
_MOST_LINES: Final = 400


def add_headings(rows: Iterable[tuple[Evidence, T]]) -> list[tuple[Evidence, T]]:
    """``rows`` of one file, those of reports with the GPU of the heading they stand under."""
    found = list(rows)
    if not any(Trait.HEADING in row.traits for row, _ in found):
        return found
    found.sort(key=lambda pair: pair[0].line or 0)
    heading: Evidence | None = None
    for place, (row, key) in enumerate(found):
        if Trait.HEADING in row.traits:
            heading = row
        elif heading is not None and _is_below(row, heading):
            names = {name: heading.fields[name] for name in NAMES if name in heading.fields}
            placed = replace(row, gpu=heading.gpu, fields={**names, **row.fields})
            found[place] = (placed, key)
    return found


def _is_below(row: Evidence, heading: Evidence) -> bool:
    """Whether a row that names no GPU stands in the report of a heading, printed with it."""
    return (
        Trait.OF_A_REPORT in row.traits
        and row.gpu is None
        and row.cuda_device is None
        and not any(name in row.fields for name in NAMES)
        and 0 <= (row.line or 0) - (heading.line or 0) <= _MOST_LINES
        and row.stamp.wall_ns == heading.stamp.wall_ns
    )
