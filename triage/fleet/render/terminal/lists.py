"""Tables, standings, repairs and plans as lines for a terminal, never wider than the screen."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from triage.domain.counts import count
from triage.fleet.render.page.nodes import format_node_rate
from triage.fleet.render.repairs import list_repair_tables, summarize_repairs
from triage.fleet.render.sentences import STANDS_OUT
from triage.fleet.render.words import (
    Wire,
    format_by_unit,
    format_duration,
    format_hours,
    format_per_cent,
    format_share,
    with_interval,
)
from triage.render.terminal.text import Line
from triage.render.terminal.wrap import wrap
from triage.render.words.clean import count_cells, cut, format_one_line

_GAP = 2
_INDENT = 2
_LEAST = 8
_BOLD, _DIM = "1", "2"


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


_SPARES_BASIS: Final = {
    "every stop": "if every stop takes a node away",
    "hardware": "if hardware faults alone do",
    "outages": "as often as nodes were out of service, each on its own",
    "forecast": "forecast, by the outages of the record",
    "record": "in sample: what sufficed in the record",
}


def plan_lines(plan: Wire, width: int = 80) -> list[Line]:
    """``{projection, checkpoint, spares}`` as the service answers them."""
    lines: list[Line] = []
    job = f"A job of {count(plan['projection']['num_gpus'], 'GPU')}"
    for title, sentences in (
        (job, _iterate_projection(plan["projection"])),
        ("Checkpoints", _iterate_checkpoint(plan["checkpoint"])),
        ("Spare nodes", _iterate_spares(plan["spares"])),
    ):
        lines += [Line("")] if lines else []
        lines.append(Line(title, _BOLD))
        for text in sentences:
            lines += map(Line, wrap(text, width, first="  ", rest="    "))
    warnings = dict.fromkeys(
        format_one_line(text)
        for part in (plan["projection"], plan["checkpoint"])
        for text in part["warnings"]
    )
    if warnings:
        lines += [Line(""), Line("Before you rely on it", _BOLD)]
        lines += [Line(line, _DIM) for text in warnings for line in wrap(text, width, first="  ")]
    return lines


def _iterate_projection(projection: Wire) -> Iterator[str]:
    if projection["mtti"]["value"] is None and not projection["mtti"]["low"]:
        yield "nothing can be said: the record holds no GPU-hours"
        return
    yield f"is interrupted every {format_duration(projection['mtti'])}"
    if projection["software_fixed"] is not None:
        time = format_hours(projection["software_fixed"])
        yield f"every {time} if software stops it no more often than now"
    for point in projection["survival"]:
        yield f"runs {point['hours']:g} h without a stop: {format_by_unit(point['probability'])}"
    if projection["seen_gpus"] is not None:
        low, high = projection["seen_gpus"]
        yield f"from jobs of {low:,}{'' if low == high else f' to {high:,}'} GPUs"


def _iterate_checkpoint(checkpoint: Wire) -> Iterator[str]:
    young = checkpoint["young"]
    if young["value"] is None and young["low"] is None:
        yield "nothing can be said: no stop and no time without one is known"
        return
    yield (
        f"best interval: {format_by_unit(young)}; by Daly's formula"
        f" {format_by_unit(checkpoint['daly'])}"
    )
    yield (
        f"lost to checkpoints and work done again:"
        f" {format_by_unit(checkpoint['loss_without_restart'])}"
    )
    yield f"with restarts: {format_by_unit(checkpoint['loss'])}"
    cost, restart = _format_plainly(checkpoint["cost_s"]), _format_plainly(checkpoint["restart_s"])
    yield f"a checkpoint stops the job for {cost} s, a restart takes {restart} s"


def _iterate_spares(answer: Wire) -> Iterator[str]:
    if not answer["num_nodes"]:
        yield "nothing can be said: no node is known; --nodes says for how many"
        return
    nodes, days = count(answer["num_nodes"], "node"), _format_plainly(answer["repair_days"])
    sure = format_per_cent(answer["confidence"])
    yield f"for {nodes} that are away for {days} days each, at {sure}"
    for row in answer["rows"]:
        spares = row["spares"]
        part = ""
        if spares["value"] is not None:
            part = f", {format_share(spares['value'] / answer['num_nodes'])} of them"
        basis = _SPARES_BASIS.get(row["basis"]) or format_one_line(row["basis"])
        yield f"{basis}: {with_interval(spares, lambda value: f'{value:,.0f}')}{part}"
    for row in answer["costs"]:
        yield (
            f"with {count(row['spares'], 'spare')} {format_share(row['forecast'])} of the time:"
            f" {row['node_days']:,.0f} node-days a month, {row['node_hours_short']:,.0f}"
            " node-hours short"
        )
    yield from map(format_one_line, answer["notes"])


def _format_plainly(number: float) -> str:
    """A number that somebody gave, or that was measured: three digits, ``7`` and not 7.0."""
    return f"{float(f'{number:.3g}'):g}"
