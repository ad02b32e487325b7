"""Tables on a terminal: columns in line, figures to the right, never wider than the screen."""

from collections.abc import Iterable, Sequence

from triage.render.terminal.text import Line
from triage.render.words.clean import count_cells, cut, format_one_line

_GAP = 2
_INDENT = 2
_LEAST = 8
_DIM = "2"


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
