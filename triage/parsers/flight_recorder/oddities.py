"""What was odd in a dump that was read all the same, in sentences for its digest."""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from triage.parsers.flight_recorder import columns as col
from triage.parsers.flight_recorder import interpreter as ops
from triage.parsers.flight_recorder import reduce as red

# The newest dump format that was looked at.
_KNOWN: Final = (2, 10)


def list_oddities(
    version: str | None,
    walked: NDArray[np.int64],
    reduced: NDArray[np.int64],
    out: NDArray[np.int64],
) -> tuple[str, ...]:
    """Sentences about one dump; none where nothing was odd.

    ``version`` is what it says of its format; ``walked``, ``reduced`` and ``out`` are the
    results of ``columns``, ``reduce`` and ``interpreter``, by their ``OUT_*`` slots.
    """
    zeros = out[ops.OUT_ZERO_TAIL] and out[ops.OUT_CODE] != ops.CUT
    return (
        *_list_version_oddities(version),
        *_list_entry_oddities(walked, reduced),
        *(("zeros follow the end of the dump",) if zeros else ()),
    )


def _list_version_oddities(version: str | None) -> Iterator[str]:
    if version is None:
        return
    parsed = _parse_version(version)
    if parsed is None:
        yield f'dump format "{version[:40]}" is no version number'
    elif parsed > _KNOWN:
        known = ".".join(map(str, _KNOWN))
        yield f"dump format {version} is newer than those known (up to {known})"


def _list_entry_oddities(walked: NDArray[np.int64], reduced: NDArray[np.int64]) -> Iterator[str]:
    if walked[col.OUT_SKIPPED]:
        yield f"{int(walked[col.OUT_SKIPPED])} items are no entries and were left out"
    if walked[col.OUT_BAD_VALUES]:
        name = col.WALK_NAMES[int(walked[col.OUT_BAD_FIELD])]
        yield (
            f"{int(walked[col.OUT_BAD_VALUES])} values of an unexpected type were left out,"
            f' the first in entry {int(walked[col.OUT_BAD_ENTRY])}, "{name}"'
        )
    if reduced[red.OUT_NO_SEQ]:
        yield f"{int(reduced[red.OUT_NO_SEQ])} entries lack a sequence number"


def _parse_version(text: str) -> tuple[int, int] | None:
    """``"2.10"`` as (2, 10): minor numbers are integers, not decimals."""
    major, dot, minor = text.partition(".")
    if dot and major.isascii() and major.isdigit() and minor.isascii() and minor.isdigit():
        return int(major[:6]), int(minor[:6])
    return None
