"""Grid: where each rank has its cell, and all of them as inline SVG with a legend as a table.

When nodes are known, a node is a column of its local ranks and columns stand in bands;
a node that stopped is a stripe. Else ranks stand in rows of 64 (of 128 past 4,096). 16,384
squares as elements would be a megabyte; joined runs in one path a state are a tenth of it at
most. A state shows by pattern, ring and table, never by colour alone.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import orjson
from markupsafe import escape

from triage.domain.report import RankState
from triage.render.pictures.markup import Html, draw
from triage.render.words.clean import format_one_line
from triage.render.words.ranges import condense

STATES = ("culprit", "possible", "no_dump", "waiting", "idle", "unknown")

# Beyond this no screen shows a cell; the table below the picture still has every rank.
MAX_CELLS = 65_536
# A node with more ranks than this is a wrong map: then rows say more.
_MAX_PER_NODE = 32
_WIDTH = 960
_MIN_SIZE, _MAX_SIZE = 4, 24
_LABEL_HEIGHT, _LABEL_WIDTH = 18, 52
# Room above the first row for a ring around its squares.
_RING = 12


@dataclass(frozen=True, slots=True)
class Cell:
    """One rank's square; x and y are pixels of its top left corner."""

    state: RankState
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Grid:
    """All squares, their size in pixels, and the words beside them (x, y, text).

    ``columns`` is the number of ranks in a whole row; 0 when a node is a column.
    """

    cells: tuple[Cell, ...]
    size: int
    width: int
    height: int
    labels: tuple[tuple[int, int, str], ...]
    columns: int = 0

    def strips(self) -> Iterator[tuple[int, int, str, str]]:
        """One per node or row: left, top, node (empty when unknown), its ranks condensed."""
        key = (lambda c: c.y) if self.columns else (lambda c: c.state.node)
        for _, group in groupby(self.cells, key):
            members = list(group)
            left = _LABEL_WIDTH if self.columns else members[0].x
            node = "" if self.columns else members[0].state.node or ""
            yield left, members[0].y, node, condense(cell.state.rank for cell in members)


def choose_state(rank: RankState) -> str:
    """The state by a name of ``STATES``."""
    return rank.state if rank.state in STATES else "unknown"


def arrange(ranks: Sequence[RankState]) -> Grid | None:
    """The grid; None without ranks or with more than ``MAX_CELLS``."""
    if not ranks or len(ranks) > MAX_CELLS:
        return None
    ordered = sorted(ranks, key=lambda state: state.rank)
    nodes: dict[str, list[RankState]] = defaultdict(list)
    for state in ordered:
        if state.node is not None:
            nodes[state.node].append(state)
    tallest = max(map(len, nodes.values()), default=0)
    whole = sum(map(len, nodes.values())) == len(ordered)
    if whole and tallest <= _MAX_PER_NODE:
        return _arrange_by_node(list(nodes.items()), tallest)
    return _arrange_by_row(ordered)


def _choose_size(num_columns: int) -> int:
    return max(_MIN_SIZE, min(_MAX_SIZE, _WIDTH // num_columns))


def _arrange_by_node(nodes: Sequence[tuple[str, list[RankState]]], tallest: int) -> Grid:
    num_columns = min(len(nodes), _count_columns(len(nodes)))
    size = _choose_size(num_columns)
    pitch = _LABEL_HEIGHT + tallest * size + size // 2
    cells, labels = [], []
    for number, (node, members) in enumerate(nodes):
        band, column = divmod(number, num_columns)
        top = band * pitch + _LABEL_HEIGHT
        if column == 0:
            last = nodes[min(number + num_columns, len(nodes)) - 1][0]
            labels.append((0, top - 5, node if last == node else f"{node} to {last}"))
        cells += [Cell(state, column * size, top + row * size) for row, state in enumerate(members)]
    num_bands = -(-len(nodes) // num_columns)
    # Narrow pictures keep room for the words above them.
    width = max(num_columns * size, 240)
    return Grid(tuple(cells), size, width, num_bands * pitch, tuple(labels))


def _count_columns(num_nodes: int) -> int:
    for most, columns in ((40, 40), (256, 32), (1024, 64)):
        if num_nodes <= most:
            return columns
    return 128


def _arrange_by_row(ordered: Sequence[RankState]) -> Grid:
    num_columns = 64 if len(ordered) <= 4096 else 128
    size = _choose_size(num_columns)
    cells, labels = [], []
    rows = [(row, list(m)) for row, m in groupby(ordered, lambda s: s.rank // num_columns)]
    every = max(1, -(-len(rows) // 32))
    for number, (row, members) in enumerate(rows):
        y = _RING + number * size
        if number % every == 0:
            labels.append((0, y + min(size, 12), str(row * num_columns)))
        cells += [Cell(s, _LABEL_WIDTH + s.rank % num_columns * size, y) for s in members]
    widest = max(cell.x for cell in cells) + size
    return Grid(tuple(cells), size, widest, _RING + len(rows) * size, tuple(labels), num_columns)


def join_spans(
    cells: Sequence[Cell], size: int, *, upright: bool = False
) -> Iterator[tuple[int, int, int]]:
    """Cells that touch in a row, joined: (x, y, width), top to bottom, left to right.

    ``upright`` joins those that touch in a column: (x, y, height), left to right, top to bottom.
    """
    places = sorted((cell.x, cell.y) if upright else (cell.y, cell.x) for cell in cells)
    for line, members in groupby(places, lambda place: place[0]):
        start = end = -1
        for _, at in [*members, (line, -1)]:
            if at != end and start >= 0:
                yield (line, start, end - start) if upright else (start, line, end - start)
            start = at if at != end else start
            end = at + size


def group_ranks_by_state(ranks: Sequence[RankState]) -> list[tuple[str, list[int]]]:
    """(state, its ranks) in the order of ``STATES``; states that do not occur are left out."""
    by_state: dict[str, list[int]] = defaultdict(list)
    for state in ranks:
        by_state[choose_state(state)].append(state.rank)
    return [(name, sorted(by_state[name])) for name in STATES if name in by_state]


def summarize_ranks(ranks: Sequence[RankState]) -> str:
    """One sentence with the count of each state and the ranks that stand out."""
    parts = []
    for name, members in group_ranks_by_state(ranks):
        which = f" ({condense(members, max_chars=80)})" if name in STATES[:3] else ""
        parts.append(f"{len(members):,} {name.replace('_', ' ')}{which}")
    return ", ".join(parts)


MEANING = {
    "culprit": "the others wait for it",
    "possible": "may be the one; not convicted",
    "no_dump": "left no dump",
    "waiting": "waits for another rank",
    "idle": "everything it issued is done",
    "unknown": "nothing is known of it",
}
_MAX_RINGS = 64
# Below this a square is too small for a sign of its own.
_SIGN_SIZE = 14
_SIGNED = frozenset({"culprit", "possible", "no_dump"})
_MAX_LATE = 20
# More places than this would make the page heavy; the tip then says rank, node and state.
_MAX_PLACES = 4096
_MAX_RANK_CHARS = 300

_Mark = tuple[str, float, float]


def as_svg(ranks: Sequence[RankState]) -> Html:
    """The picture; a sentence instead when there are too many ranks, nothing without any."""
    if len(ranks) > MAX_CELLS:
        return draw("too_many", len(ranks))
    grid = arrange(ranks)
    if grid is None:
        return Html()
    # A ring around a small square at the edge needs room.
    size = grid.size
    edge = 1 if size >= _SIGN_SIZE else 12
    order = "a column a node, local rank 0 on top" if not grid.columns else "in rows, rank 0 first"
    by_state: dict[str, list[Cell]] = {name: [] for name in STATES}
    for cell in grid.cells:
        by_state[choose_state(cell.state)].append(cell)
    return draw(
        "grid",
        f"{len(ranks):,} ranks, {order}",
        summarize_ranks(ranks),
        grid,
        edge,
        [
            (
                name,
                Html("".join(f"M{x} {y}h{w}v{size}h-{w}z" for x, y, w in join_spans(cells, size))),
            )
            for name, cells in reversed(by_state.items())
            if cells
        ],
        Html(_draw_lines(grid)),
        *_place_marks(grid),
        escape(_encode_hover(grid)),
    )


def describe_states(ranks: Sequence[RankState]) -> tuple[tuple[str, str, int, str], ...]:
    """(state, its meaning, number and ranks), for legends that are the grid's text twin."""
    return tuple(
        (name, MEANING[name], len(members), condense(members, max_chars=_MAX_RANK_CHARS))
        for name, members in group_ranks_by_state(ranks)
    )


def render_grid_legend(ranks: Sequence[RankState]) -> Html:
    """Legend and text twin of the picture: state, meaning, count, ranks."""
    return draw("legend", describe_states(ranks))


def render_late_table(ranks: Sequence[RankState]) -> Html:
    """The ranks that delay the others most, of a job that does not hang; else nothing."""
    late = [state for state in ranks if state.late_ms]
    late.sort(key=lambda state: (-(state.late_ms or 0.0), state.rank))
    return draw("late", late[:_MAX_LATE]) if late else Html()


def _draw_lines(grid: Grid) -> str:
    """Lines of the page's colour between the squares, so that joined runs read as cells."""
    upright = (f"M{x} {y}v{h}" for x, y, h in join_spans(grid.cells, grid.size, upright=True))
    level = (f"M{x} {y}h{w}" for x, y, w in join_spans(grid.cells, grid.size))
    return "".join((*upright, *level))


def _place_marks(grid: Grid) -> tuple[list[_Mark], list[_Mark]]:
    """(state, x, y) of the signs in squares that have room for one, and of rings around others."""
    marked = [(choose_state(cell.state), cell) for cell in grid.cells]
    marked = [(name, cell) for name, cell in marked if name in _SIGNED]
    half = grid.size // 2
    if grid.size >= _SIGN_SIZE:
        return [(name, cell.x + half, cell.y + half + 4) for name, cell in marked], []
    middle = grid.size / 2
    ringed = [
        (name, cell.x + middle, cell.y + middle) for name, cell in marked if name != "no_dump"
    ]
    return [], ringed if len(ringed) <= _MAX_RINGS else []


def _encode_hover(grid: Grid) -> str:
    """The words for each cell that ``style.SCRIPT`` shows under the picture, as JSON."""
    places: dict[str, int] = {}
    numbers = [places.setdefault(describe_place(cell.state), len(places)) for cell in grid.cells]
    cells = {
        "size": grid.size,
        "columns": grid.columns,
        "states": "".join(str(STATES.index(choose_state(cell.state))) for cell in grid.cells),
        "names": [name.replace("_", " ") for name in STATES],
        "strips": [(x, y, format_one_line(node), ranks) for x, y, node, ranks in grid.strips()],
        "places": list(places) if len(places) <= _MAX_PLACES else [],
        "at": [(number, len(list(run))) for number, run in groupby(numbers)],
    }
    return orjson.dumps(cells).decode("utf-8")


def describe_place(state: RankState) -> str:
    """``mesh_tp all_reduce #812``, as far as it is known."""
    words = [format_one_line(word, 40) for word in (state.desc or state.pg, state.op) if word]
    words += [f"#{state.seq_id}"] if state.seq_id is not None else []
    return " ".join(words)
