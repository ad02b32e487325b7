"""How nodes stand, as lines for a terminal: the grade, the figures, the reasons."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from triage.render.clean import cut, one_line
from triage.render.fleet_words import count, figure
from triage.render.text import Line
from triage.render.wrap import wrap

__all__ = ["standing_lines"]

_COLOUR: Final = {"lemon": "1;31", "watch": "33", "golden": "1;32"}


def standing_lines(rows: Sequence[Mapping[str, Any]], width: int = 80) -> list[Line]:
    """One node after another, in the order given; a sentence where there is none."""
    if not rows:
        return [Line("no such node")]
    lines: list[Line] = []
    for row in rows:
        head = f"{one_line(row['node'])}  {row['grade']}{_figures(row)}"
        lines.append(Line(cut(head, width), _COLOUR.get(row["grade"], "")))
        for reason in row["reasons"]:
            lines += [Line(one) for one in wrap(one_line(reason), width, first="  ", rest="  ")]
    return lines


def _figures(row: Mapping[str, Any]) -> str:
    if row["rate_per_1000_node_days"] is None:
        return ""
    strikes = count(row["strikes"], "strike")
    rate, low, high = (
        figure(row[key]) for key in ("rate_per_1000_node_days", "rate_low", "rate_high")
    )
    return f"  {strikes}, {rate} per 1,000 node-days ({low} to {high})"
