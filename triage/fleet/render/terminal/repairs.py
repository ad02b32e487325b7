"""Repairs as lines for a terminal: the sentences, who is on probation, what holds."""

from typing import Final

from triage.domain.counts import count
from triage.fleet.render.repairs import list_repair_tables, summarize_repairs
from triage.fleet.render.terminal.table import format_table_lines
from triage.fleet.render.words import Wire
from triage.render.terminal.text import Line
from triage.render.terminal.wrap import wrap
from triage.render.words.clean import format_one_line

_BOLD: Final = "1"
_DIM: Final = "2"


def repair_lines(repairs: Wire, width: int = 80, most: int = 50) -> list[Line]:
    """The answer ``triage.repairs/1``; at most ``most`` nodes on probation by name."""
    lines = [
        Line(line)
        for text in summarize_repairs(repairs)
        for line in wrap(format_one_line(text), width)
    ]
    for _, title, table, _ in list_repair_tables(repairs, most=most):
        if table is not None:
            shown = format_table_lines(table.head, table.rows, width)
            lines += [Line(""), Line(title, _BOLD), *shown]
            if table.left_out > 0:
                lines.append(Line(f"  and {count(table.left_out, 'more node')} (--limit N)"))
    notes = [
        line for note in repairs["notes"] for line in wrap(format_one_line(note), width, first="  ")
    ]
    if notes:
        lines += [Line(""), Line("What the record lacks", _BOLD), *(Line(n, _DIM) for n in notes)]
    return lines
