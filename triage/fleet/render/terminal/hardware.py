"""Stays of parts as lines for a terminal, the newest first."""

from typing import Final

from triage.fleet.render.terminal.table import as_lines
from triage.fleet.render.words import Wire, day_of
from triage.render.terminal.text import Line

__all__ = ["stay_lines"]

_HEAD: Final = ("node", "cluster", "part", "identity", "slot", "first seen", "last seen")
_NOTHING: Final = "Nothing has named it yet: docs/hardware.md says where identities come from."


def stay_lines(found: Wire, width: int = 80) -> list[Line]:
    """One line a stay; a sentence where there is none."""
    rows = [
        (
            stay["node"],
            stay["cluster"],
            stay["kind"],
            stay["identity"],
            stay["slot"],
            day_of(stay["first_at"]),
            day_of(stay["last_at"]),
        )
        for stay in found["stays"]
    ]
    if not rows:
        return [Line(_NOTHING)]
    lines = as_lines(_HEAD, rows, max(width, 100))
    return [*lines, *([Line("and more")] if found["more"] else [])]
