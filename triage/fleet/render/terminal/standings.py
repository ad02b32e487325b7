"""How nodes stand, as lines for a terminal: the grade, the figures, the reasons."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from triage.domain.counts import count
from triage.fleet.render.page.nodes import format_node_rate
from triage.fleet.render.sentences import STANDS_OUT
from triage.fleet.render.words import Wire
from triage.render.terminal.text import Line
from triage.render.terminal.wrap import wrap
from triage.render.words.clean import cut, format_one_line

_MOST_ASIDE: Final = 20
_COLOUR: Final = {"lemon": "1;31", "watch": "33", "golden": "1;32"}


def format_standing_lines(
    rows: Sequence[Wire],
    width: int = 80,
    *,
    wanted: str | None = None,
    most: int = 50,
) -> list[Line]:
    """One node after another, in the order given, at most ``most``.

    ``wanted`` is the one grade that all ``rows`` have. Without it only nodes that stand out
    are listed with their reasons; the others, which have the same one, are counted.
    """
    shown = [row for row in rows if wanted or row["grade"] in STANDS_OUT or row.get("probation")]
    lines = [line for row in shown[:most] for line in _format_node(row, width)]
    if len(shown) > most:
        lines.append(Line(f"and {count(len(shown) - most, 'more node')} (--limit N)"))
    if not shown:
        lines.append(Line(_describe_empty(rows, wanted)))
    lines += _set_aside([row for row in rows if row.get("special")] if not wanted else [], width)
    if not wanted and len(shown) < len(rows):
        lines += map(Line, wrap(_count_others(rows), width))
    return lines


def _format_node(row: Wire, width: int) -> list[Line]:
    rate = format_node_rate(row, " per 1,000 node-days")
    figures = f"  {count(row['strikes'], 'strike')}, {rate}" if rate else ""
    head = f"{format_one_line(row['node'])}  {row['grade']}{figures}"
    reasons = [
        line
        for text in _list_reasons(row)
        for line in wrap(format_one_line(text), width, first="  - ")
    ]
    return [Line(cut(head, width), _COLOUR.get(row["grade"], "")), *map(Line, reasons)]


def _list_reasons(row: Wire) -> list[str]:
    """The reasons of a grade, behind those of a probation."""
    probation = row.get("probation")
    return [*([f"on probation: {probation['text']}"] if probation else ()), *row["reasons"]]


def _set_aside(rows: Sequence[Wire], width: int) -> list[Line]:
    """Special nodes, each with why it is one."""
    return [
        Line(text)
        for row in rows[:_MOST_ASIDE]
        for text in wrap(f"{format_one_line(row['node'])} is set aside: it {row['special']}", width)
    ]


def _describe_empty(rows: Sequence[Wire], wanted: str | None) -> str:
    if wanted:
        return f"no node stands as {wanted}"
    return "No node stands out." if rows else "No node is known: triage fleet import takes in runs."


def _count_others(rows: Sequence[Wire]) -> str:
    others = [row for row in rows if row["grade"] not in STANDS_OUT and not row.get("probation")]
    grades = Counter(row["grade"] for row in others)
    listed = ", ".join(f"{number:,} {grade}" for grade, number in grades.items())
    return f"Others: {listed}. --standing NAME lists them."
