"""Tables of a fleet as data: what stands beside every picture, and is read aloud in its place."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Table(NamedTuple):
    """Rows under their heads; a head that begins with ``#`` is of figures, set to the right.

    The first cell of a row is its head. ``left_out`` rows are told under the table; ``name`` is
    its class on a page. Cells are text, or markup that is already safe.
    """

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left_out: int = 0
    name: str = ""


def make_table(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    left_out: int = 0,
    name: str = "",
) -> Table | None:
    """The table; None without a row."""
    listed = [*rows]
    return Table(caption, head, listed, left_out, name) if listed else None
