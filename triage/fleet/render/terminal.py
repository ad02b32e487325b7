"""A fleet on a terminal: the report, tables, standings, repairs and plans as lines.

Takes wire forms. No line is wider than the screen. Plain ASCII of our own; what comes from the
record is cleaned and cut.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from triage.domain.counts import count
from triage.fleet.render.sentences import (
    EMPTY,
    STANDS_OUT,
    TO_BEGIN,
    format_period,
    is_empty,
    is_without_runs,
    list_headlines,
    select_cause_rows,
    write_sentences,
)
from triage.fleet.render.tables import (
    Table,
    describe_reference_job,
    list_repair_tables,
    list_shared_warnings,
    tabulate,
    tabulate_spares,
    tabulate_windows,
)
from triage.fleet.render.words import Wire, format_node_rate
from triage.render.terminal.text import Line, join_sections, wrap
from triage.render.words.clean import count_cells, cut, format_one_line

_WIDTH: Final = 80
_TOP: Final = 10
_MAX_WINDOWS: Final = 13
_BOLD, _DIM = "1", "2"
_TONES: Final = {"bad": "1;31", "may": "33", "good": "32"}
# Of the sizes of a projection, those that people plan by.
_SIZES: Final = frozenset({8, 64, 1_024, 8_192, 16_384, 32_768, 65_536, 131_072, 1_000_000})
_GAP = 2
_INDENT = 2
_LEAST = 8
_MOST_ASIDE: Final = 20
_NO_NODE: Final = "No node is known: triage fleet import takes in runs."
_COLOUR: Final = {"lemon": "1;31", "watch": "33", "golden": "1;32"}


def render(
    report: Wire,
    standings: Wire,
    *,
    colour: bool = False,
    width: int = _WIDTH,
    top: int = _TOP,
    num_checks: int = 0,
) -> str:
    """All of it in lines of at most ``width`` columns, with a newline at the end.

    ``top`` is the number of nodes shown. Escape sequences stand in it only when ``colour`` is
    true, and then only ours. No figure is cut at 80 columns or more.
    """
    width = max(width, 60)
    head = _wrap_text(f"The fleet, {format_period(report)}", width, colour=_BOLD)
    if is_empty(report, standings):
        commands = [Line(f"  {command}") for command in TO_BEGIN]
        return join_sections([head, [*_wrap_text(EMPTY, width), *commands]], colour=colour)
    sections = (
        head,
        _format_answers(report, standings, num_checks, width),
        _format_nodes(standings, top, width),
        *(_format_table(table, notes, width) for table, notes in _iterate_tables(report)),
        _format_items("Notes", [*report["notes"], *standings["notes"]], width),
    )
    return join_sections(sections, colour=colour)


def _iterate_tables(report: Wire) -> Iterator[tuple[Table | None, list[str]]]:
    """The tables that the answers rest on, with what is to be said of each."""
    windows = report["over_time"]
    if len(windows) > 1 and not is_without_runs(report):
        left = len(windows) - _MAX_WINDOWS
        more = [f"and {count(left, 'earlier window')} (--format json)"] if left > 0 else []
        yield tabulate_windows(report, "terminal_windows", windows[-_MAX_WINDOWS:]), more
    if report["mix"]["count"]:
        causes = [row for row in select_cause_rows(report) if row["count"]]
        yield tabulate("terminal_causes", causes), write_sentences("mix", report)
    shared = list_shared_warnings(report)
    sizes = (
        {**row, "far": "far from what was seen" if {*row["warnings"]}.difference(shared) else ""}
        for row in report["projection"]
        if row["num_gpus"] in {*_SIZES, report["exposure"]["reference_gpus"]}
    )
    yield tabulate("terminal_projection", sizes), [f"beware: {text}" for text in shared]
    chances = tabulate("terminal_chances", report["survival"], job=describe_reference_job(report))
    yield chances, write_sentences("lifetime", report)
    costs = sorted(report["checkpoints"], key=lambda row: float(row["cost_s"]))
    plans = tabulate("terminal_checkpoints", (row for row in costs if row["young"]["value"]))
    yield plans, write_sentences("effective_time", report)
    yield tabulate_spares("terminal_spares", report), write_sentences("forecast_notes", report)


def _wrap_text(text: str, width: int, first: str = "", colour: str = "") -> list[Line]:
    """Foreign text, cleaned, in lines that begin with ``first``."""
    return [Line(line, colour) for line in wrap(format_one_line(text), width, first=first)]


def _format_items(title: str, texts: Iterable[str], width: int) -> list[Line]:
    """A list under its title; nothing without an item."""
    items = [line for text in texts for line in _wrap_text(text, width, "  - ")]
    return [Line(title, _BOLD), *items] if items else []


def _format_table(table: Table | None, notes: Iterable[str], width: int) -> list[Line]:
    """A table under its title, with what is to be said of it; nothing without a row."""
    if table is None:
        return []
    items = [line for note in notes for line in _wrap_text(note, width, "  - ")]
    lines = format_table_lines(table.head, table.rows, width)
    return [Line(table.caption, _BOLD), *lines, *items]


def _format_answers(report: Wire, standings: Wire, num_checks: int, width: int) -> list[Line]:
    lines: list[Line] = []
    for answer in list_headlines(report, standings, num_checks):
        lines += _wrap_text(answer.text, width, "* ", _TONES.get(answer.tone, _BOLD))
        lines += _wrap_text(answer.why, width, "  ", _DIM) if answer.why else []
    return lines


def _format_nodes(standings: Wire, top: int, width: int) -> list[Line]:
    shown = [row for row in standings["nodes"] if row["grade"] in STANDS_OUT]
    if not shown:
        return []
    lines = _format_items("Nodes that stand out", write_sentences("tested", standings), width)
    for row in shown[:top]:
        rate = format_node_rate(row, " per 1,000 node-days")
        tone = _TONES["bad" if row["grade"] == "lemon" else "may"]
        text = f"{format_one_line(row['node'])}: {row['grade']}{f', {rate}' if rate else ''}"
        lines += _wrap_text(text, width, "  ", tone)
        lines += [line for reason in row["reasons"] for line in _wrap_text(reason, width, "    - ")]
    if len(shown) > top:
        more = f"and {count(len(shown) - top, 'more node')} (--top N)"
        lines += _wrap_text(more, width, "  - ")
    leaves = [part["text"] for part in standings["parts"] if part["kind"] == "leaf_switch"]
    for text in leaves[:top]:
        lines += _wrap_text(text, width, "  ", _TONES["bad"])
    return lines


def format_table_lines(
    head: Sequence[str], rows: Iterable[Sequence[str]], width: int
) -> list[Line]:
    """Lines of at most ``width`` columns; a head that begins with ``#`` is of figures.

    What does not fit is cut in the widest column of words. Cells are cleaned here. A column
    that is blank in every row is left out.
    """
    cleaned = [[format_one_line(cell) for cell in row] for row in rows]
    kept = [place for place in range(len(head)) if any(row[place] for row in cleaned)]
    if not kept:
        return []
    body = [[row[place] for place in kept] for row in cleaned]
    words = [head[place].removeprefix("#") for place in kept]
    to_right = [head[place].startswith("#") for place in kept]
    wide = [max(map(count_cells, column)) for column in zip(words, *body, strict=True)]
    _fit(wide, to_right, width - _INDENT - _GAP * (len(kept) - 1))
    return [
        Line(_draw_row(words, wide, to_right, width), _DIM),
        *(Line(_draw_row(row, wide, to_right, width)) for row in body),
    ]


def _fit(wide: list[int], figures: Sequence[bool], room: int) -> None:
    """Columns of words give way, the widest first; then all do."""
    for may_shrink in ([not figure for figure in figures], [True] * len(wide)):
        while sum(wide) > room:
            places = [at for at, may in enumerate(may_shrink) if may and wide[at] > _LEAST]
            if not places:
                break
            wide[max(places, key=wide.__getitem__)] -= 1


def _draw_row(row: Sequence[str], wide: Sequence[int], to_right: Sequence[bool], width: int) -> str:
    shown = []
    for cell, room, right in zip(row, wide, to_right, strict=True):
        text = cut(cell, room)
        blanks = " " * (room - count_cells(text))
        shown.append(blanks + text if right else text + blanks)
    return cut((" " * _INDENT + (" " * _GAP).join(shown)).rstrip(), width)


def format_standing_lines(
    rows: Sequence[Wire],
    width: int = _WIDTH,
    *,
    wanted: str | None = None,
    most: int = 50,
) -> list[Line]:
    """One node after another, in the order given, at most ``most``.

    ``wanted`` is the one grade that all ``rows`` have. Without it only nodes that stand out
    are listed with their reasons; the others, which have the same one, are counted.
    """
    shown = [row for row in rows if wanted or _is_remarkable(row)]
    lines = [line for row in shown[:most] for line in _format_node(row, width)]
    if len(shown) > most:
        lines.append(Line(f"and {count(len(shown) - most, 'more node')} (--limit N)"))
    if not shown:
        none = "No node stands out." if rows else _NO_NODE
        lines.append(Line(f"no node stands as {wanted}" if wanted else none))
    if wanted:
        return lines
    for row in [row for row in rows if row.get("special")][:_MOST_ASIDE]:
        lines += _wrap_text(f"{row['node']} is set aside: it {row['special']}", width)
    if len(shown) < len(rows):
        grades = Counter(row["grade"] for row in rows if not _is_remarkable(row))
        listed = ", ".join(f"{number:,} {grade}" for grade, number in grades.items())
        lines += _wrap_text(f"Others: {listed}. --standing NAME lists them.", width)
    return lines


def _is_remarkable(row: Wire) -> bool:
    return row["grade"] in STANDS_OUT or bool(row.get("probation"))


def _format_node(row: Wire, width: int) -> list[Line]:
    rate = format_node_rate(row, " per 1,000 node-days")
    figures = f"  {count(row['strikes'], 'strike')}, {rate}" if rate else ""
    head = f"{format_one_line(row['node'])}  {row['grade']}{figures}"
    probation = row.get("probation")
    reasons = [*([f"on probation: {probation['text']}"] if probation else ()), *row["reasons"]]
    lines = [line for text in reasons for line in _wrap_text(text, width, "  - ")]
    return [Line(cut(head, width), _COLOUR.get(row["grade"], "")), *lines]


def repair_lines(repairs: Wire, width: int = _WIDTH, most: int = 50) -> list[Line]:
    """The answer ``triage.repairs/1``; at most ``most`` nodes on probation by name."""
    said = write_sentences("repairs", repairs)
    lines = [line for text in said for line in _wrap_text(text, width)]
    for _, title, table, _ in list_repair_tables(repairs, most=most):
        if table is not None:
            shown = format_table_lines(table.head, table.rows, width)
            lines += [Line(""), Line(title, _BOLD), *shown]
            if table.left_out > 0:
                lines.append(Line(f"  and {count(table.left_out, 'more node')} (--limit N)"))
    notes = [line for note in repairs["notes"] for line in _wrap_text(note, width, "  ", _DIM)]
    return [*lines, Line(""), Line("What the record lacks", _BOLD), *notes] if notes else lines


def plan_lines(plan: Wire, width: int = _WIDTH) -> list[Line]:
    """``{projection, checkpoint, spares}`` as the service answers them."""
    lines: list[Line] = []
    for title, part in (
        (f"A job of {count(plan['projection']['num_gpus'], 'GPU')}", "projection"),
        ("Checkpoints", "checkpoint"),
        ("Spare nodes", "spares"),
    ):
        lines += [Line("")] if lines else []
        lines.append(Line(title, _BOLD))
        for text in write_sentences(f"plan_{part}", plan[part]):
            lines += map(Line, wrap(text, width, first="  ", rest="    "))
    warnings = dict.fromkeys(
        text for part in ("projection", "checkpoint") for text in plan[part]["warnings"]
    )
    if warnings:
        lines += [Line(""), Line("Before you rely on it", _BOLD)]
        lines += [line for text in warnings for line in _wrap_text(text, width, "  ", _DIM)]
    return lines
