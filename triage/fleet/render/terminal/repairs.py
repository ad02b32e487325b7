"""Repairs as lines for a terminal: the sentences, who is on probation, what holds."""

from collections.abc import Iterable, Sequence
from typing import Final

from triage.domain.counts import count
from triage.fleet.render.repairs import (
    CAUSE_HEAD,
    JUDGED_HEAD,
    PROBATION_HEAD,
    REPAIR_HEAD,
    iterate_cause_rows,
    iterate_judged_rows,
    iterate_probation_rows,
    repair_rows,
    summary,
)
from triage.fleet.render.terminal.table import format_table_lines
from triage.fleet.render.words import Wire
from triage.render.terminal.text import Line
from triage.render.terminal.wrap import wrap
from triage.render.words.clean import format_one_line

_BOLD: Final = "1"
_DIM: Final = "2"


def repair_lines(repairs: Wire, width: int = 80, most: int = 50) -> list[Line]:
    """The answer ``triage.repairs/1``; at most ``most`` nodes on probation by name."""
    lines = [Line(line) for text in summary(repairs) for line in wrap(format_one_line(text), width)]
    nodes = repairs["probation"]
    tables: tuple[tuple[str, Sequence[str], Iterable[Sequence[str]]], ...] = (
        ("On probation", PROBATION_HEAD, iterate_probation_rows(nodes[:most])),
        ("By cause", CAUSE_HEAD, iterate_cause_rows(repairs)),
        ("Which repair holds", REPAIR_HEAD, repair_rows(repairs)),
        ("What was said, and what came", JUDGED_HEAD, iterate_judged_rows(repairs)),
    )
    for title, head, rows in tables:
        if shown := format_table_lines(head, rows, width):
            lines += [Line(""), Line(title, _BOLD), *shown]
        if title == "On probation" and len(nodes) > most:
            lines.append(Line(f"  and {count(len(nodes) - most, 'more node')} (--limit N)"))
    notes = [
        line for note in repairs["notes"] for line in wrap(format_one_line(note), width, first="  ")
    ]
    if notes:
        lines += [Line(""), Line("What the record lacks", _BOLD), *(Line(n, _DIM) for n in notes)]
    return lines
