"""Grid: where each rank has its cell.

When nodes are known, a node is a column of its local ranks and columns stand in bands;
a node that stopped is a stripe. Else ranks stand in rows of 64 (of 128 past 4,096).
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from triage.domain.report import RankState
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


def join_spans(cells: Sequence[Cell], size: int) -> Iterator[tuple[int, int, int]]:
    """Cells that touch in a row, joined: (x, y, width), top to bottom, left to right."""
    places = sorted((cell.y, cell.x) for cell in cells)
    for y, row in groupby(places, lambda place: place[0]):
        start = end = -1
        for _, x in row:
            if x != end and start >= 0:
                yield start, y, end - start
            start = x if x != end else start
            end = x + size
        yield start, y, end - start


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
