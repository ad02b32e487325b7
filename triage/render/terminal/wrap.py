"""Wrap: clean text in lines of a terminal's width, counted in columns.

``textwrap`` counts characters and so overruns with wide ones; it also cuts a path or
a rank list anywhere, where a comma or a slash is the better place.
"""

from collections.abc import Iterator

from triage.render.words.clean import count_cells

_BREAK_AFTER = ",/;:"
_MIN_ROOM = 8


def wrap(text: str, width: int, *, first: str = "", rest: str | None = None) -> list[str]:
    """``text`` in lines of at most ``width`` columns.

    The first line begins with ``first``, the others with ``rest`` (blanks of the same
    width when None). Nothing gives one line of ``first`` alone.
    """
    indent = " " * count_cells(first) if rest is None else rest
    lines, line = [], first
    empty = True
    for piece, glued in _split_pieces(
        text, max(_MIN_ROOM, width - max(count_cells(first), count_cells(indent)))
    ):
        gap = "" if empty or glued else " "
        if not empty and count_cells(line) + len(gap) + count_cells(piece) > width:
            lines.append(line)
            line, gap = indent, ""
        line += gap + piece
        empty = False
    lines.append(line)
    return [whole.rstrip() for whole in lines]


def _split_pieces(text: str, room: int) -> Iterator[tuple[str, bool]]:
    """Words in order; a word longer than ``room`` in several, the later ones glued on."""
    for word in text.split():
        rest, glued = word, False
        while count_cells(rest) > room:
            end = _place_to_break(rest, room)
            yield rest[:end], glued
            rest, glued = rest[end:], True
        yield rest, glued


def _place_to_break(word: str, room: int) -> int:
    """Index after the last comma or slash that fits, else after all that fits."""
    used, fits, good = 0, 0, 0
    for index, char in enumerate(word):
        used += count_cells(char)
        if used > room:
            break
        fits = index + 1
        if char in _BREAK_AFTER:
            good = fits
    return good if good > room // 2 else max(1, fits)
