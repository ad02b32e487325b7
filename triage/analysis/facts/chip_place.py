"""Where on a chip a fault was: what repeats itself there on many days is of the chip."""

from typing import Final

from triage.analysis.facts.stop import SECOND
from triage.domain.evidence import Evidence

__all__ = ["APPLICATION_XIDS", "RUNS_APART_NS", "chip_place"]

# What bad code and a bad chip print alike.
APPLICATION_XIDS: Final = frozenset({13, 31, 32, 68, 69})
# Faults further apart than this are not of one run of one program.
RUNS_APART_NS: Final = 6 * 3600 * SECOND


def chip_place(row: Evidence) -> str | None:
    """``GPC 7, TPC 7``: where on the chip a fault was, as far as the line says it."""
    place = row.fields.get("place", "")
    return ", ".join(place.split(", ")[:2]) or None
