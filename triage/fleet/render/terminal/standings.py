"""How nodes stand, as lines for a terminal: the grade, the figures, the reasons."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from triage.fleet.render.words import count, figure
from triage.render.terminal.text import Line
from triage.render.terminal.wrap import wrap
from triage.render.words.clean import cut, one_line

__all__ = ["standing_lines"]

_COLOUR: Final = {"lemon": "1;31", "watch": "33", "golden": "1;32"}
_STANDS_OUT: Final = frozenset({"lemon", "watch"})


def standing_lines(
    rows: Sequence[Mapping[str, Any]],
    width: int = 80,
    *,
    wanted: str | None = None,
    most: int = 50,
) -> list[Line]:
    """One node after another, in the order given, at most ``most``.

    ``wanted`` is the one grade that all ``rows`` have. Without it only nodes that stand out
    are told of with their reasons; the others, which have the same one, are counted.
    """
    told = [row for row in rows if wanted or row["grade"] in _STANDS_OUT]
    lines = [line for row in told[:most] for line in _of_node(row, width)]
    if len(told) > most:
        lines.append(Line(f"and {count(len(told) - most, 'more node')} (--limit N)"))
    if not told:
        lines.append(Line(_nobody(rows, wanted)))
    if not wanted and len(told) < len(rows):
        lines += [Line(one) for one in wrap(_others(rows), width)]
    return lines


def _of_node(row: Mapping[str, Any], width: int) -> list[Line]:
    head = f"{one_line(row['node'])}  {row['grade']}{_figures(row)}"
    reasons = [one for text in row["reasons"] for one in wrap(one_line(text), width, first="  - ")]
    return [Line(cut(head, width), _COLOUR.get(row["grade"], "")), *map(Line, reasons)]


def _nobody(rows: Sequence[Mapping[str, Any]], wanted: str | None) -> str:
    if wanted:
        return f"no node stands as {wanted}"
    return "No node stands out." if rows else "No node is known: triage fleet import takes in runs."


def _others(rows: Sequence[Mapping[str, Any]]) -> str:
    grades = Counter(row["grade"] for row in rows if row["grade"] not in _STANDS_OUT)
    said = ", ".join(f"{number:,} {grade}" for grade, number in grades.items())
    return f"Others: {said}. --standing NAME lists them."


def _figures(row: Mapping[str, Any]) -> str:
    if row["rate_per_1000_node_days"] is None:
        return ""
    strikes = count(row["strikes"], "strike")
    rate, low, high = (
        figure(row[key]) for key in ("rate_per_1000_node_days", "rate_low", "rate_high")
    )
    return f"  {strikes}, {rate} per 1,000 node-days ({low} to {high})"
