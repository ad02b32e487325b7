"""Plot of the ranks: 64 or 16,384 squares by state, one image and a few marks.

Where nodes are known a column is a node, local rank 0 on top, and columns stand in bands:
a node that stopped is a stripe. Else ranks stand in rows.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from triage.domain.report import RankState
from triage.render.pictures.grid import STATES, state_of
from triage.render.plots.style import (
    INK,
    SOFT,
    TEXT,
    axes,
    frameless,
    label,
    legend_below,
    legend_mark,
    say_nothing,
    style_of,
    title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw"]

# A node with more ranks than this is a wrong map: then rows say more.
_MAX_PER_NODE = 32
_NAMED = 6
_MARKED = ("culprit", "possible", "no_dump")
# Inches that a square may take, and the picture as a whole.
_CELL, _WIDTH = 0.28, 9.0
_MOST_NAMES = 20
# Columns of a picture in rows, by how many ranks there are.
_WIDE = ((128, 16), (1024, 32), (4096, 64), (1 << 30, 128))


@dataclass(frozen=True, slots=True)
class _Plan:
    """Where squares are: (column, row) of each rank; the words left of rows and below columns."""

    places: Mapping[int, tuple[int, int]]
    num_columns: int
    num_rows: int
    left: Sequence[tuple[float, str]]
    below: Sequence[tuple[float, str]]
    order: str


def draw(ranks: Sequence[RankState], ax: "Axes | None" = None) -> "Axes":
    """All ``ranks`` on ``ax``; a sentence where there are none."""
    if not ranks:
        return say_nothing(axes(ax, 6, 1.2), "Nothing tells the ranks: there are no dumps.")
    ordered = sorted(ranks, key=lambda rank_state: rank_state.rank)
    plan = _plan(ordered)
    cell = min(_CELL, _WIDTH / plan.num_columns)
    width = max(4.6, plan.num_columns * cell) + 1.5
    height = max(1.0, plan.num_rows * cell) + 1.5
    ax = axes(ax, width, height)
    _paint(ax, ordered, plan)
    # Points that a square is wide: 72 of them are an inch.
    _mark(ax, ordered, plan, size=max(cell * 72 * 0.45, 3.0))
    _name(ax, ordered, plan)
    _frame(ax, ordered, plan)
    return ax


def _plan(ordered: Sequence[RankState]) -> _Plan:
    nodes: dict[str, list[int]] = defaultdict(list)
    for rank_state in ordered:
        if rank_state.node is not None:
            nodes[rank_state.node].append(rank_state.rank)
    tallest = max(map(len, nodes.values()), default=0)
    if sum(map(len, nodes.values())) == len(ordered) and 0 < tallest <= _MAX_PER_NODE:
        return _by_node(nodes, tallest)
    return _by_row([rank_state.rank for rank_state in ordered])


def _by_node(nodes: Mapping[str, Sequence[int]], tallest: int) -> _Plan:
    num_columns = min(len(nodes), 128 if len(nodes) > 1024 else 64 if len(nodes) > 40 else 40)
    names = list(nodes)
    places, bands = {}, []
    # Bands are a row apart, so that nodes do not run into each other.
    for number, name in enumerate(names):
        band, column = divmod(number, num_columns)
        top = band * (tallest + 1)
        if column == 0:
            last = names[min(number + num_columns, len(names)) - 1]
            bands.append((top + (tallest - 1) / 2, f"{label(name, 16)} to\n{label(last, 16)}"))
        places.update({rank: (column, top + row) for row, rank in enumerate(nodes[name])})
    num_rows = len(bands) * (tallest + 1) - 1
    if len(bands) > 1:
        order = "a column is a node, local rank 0 on top"
        return _Plan(places, num_columns, num_rows, bands, (), order)
    every = -(-len(names) // _MOST_NAMES)
    below = [(at, label(name, 16)) for at, name in enumerate(names) if at % every == 0]
    rows = [(row, str(row)) for row in range(tallest)]
    return _Plan(places, num_columns, num_rows, rows, below, "local rank by node")


def _by_row(ranks: Sequence[int]) -> _Plan:
    num_columns = next(wide for most, wide in _WIDE if len(ranks) <= most)
    rows = {row: at for at, row in enumerate(sorted({r // num_columns for r in ranks}))}
    places = {rank: (rank % num_columns, rows[rank // num_columns]) for rank in ranks}
    every = max(1, len(rows) // 16)
    left = [(at, f"{row * num_columns:,}") for row, at in rows.items() if at % every == 0]
    return _Plan(places, num_columns, len(rows), left, (), "in rows; no node is known")


def _paint(ax: "Axes", ordered: Sequence[RankState], plan: _Plan) -> None:
    from matplotlib.colors import ListedColormap

    image = np.full((plan.num_rows, plan.num_columns), np.nan)
    for rank_state in ordered:
        column, row = plan.places[rank_state.rank]
        image[row, column] = STATES.index(state_of(rank_state))
    colours = ListedColormap([style_of(state).fill for state in STATES])
    ax.pcolormesh(
        np.arange(plan.num_columns + 1) - 0.5,
        np.arange(plan.num_rows + 1) - 0.5,
        np.ma.masked_invalid(image),
        cmap=colours,
        vmin=-0.5,
        vmax=len(STATES) - 0.5,
        edgecolors="white",
        linewidth=0.8 if plan.num_columns <= 40 else 0.25,
    )
    ax.set_xlim(-0.8, plan.num_columns - 0.2)
    ax.set_ylim(plan.num_rows - 0.2, -0.8)
    ax.set_aspect("equal")


def _mark(ax: "Axes", ordered: Sequence[RankState], plan: _Plan, *, size: float) -> None:
    small = size < 6
    for state in reversed(_MARKED):
        style = style_of(state)
        at = [
            plan.places[rank_state.rank] for rank_state in ordered if state_of(rank_state) == state
        ]
        if not at:
            continue
        xs, ys = zip(*at, strict=True)
        # Squares too small for a mark get a larger one around them; a whole field gets none.
        if small and state != "no_dump" and len(at) <= 64:
            ax.scatter(xs, ys, s=110, marker="o", facecolors="none", edgecolors=INK, zorder=3)
            look: dict[str, Any] = {"color": style.fill, "edgecolors": INK, "linewidths": 0.6}
            ax.scatter(xs, ys, s=36, marker=style.mark, zorder=4, **look)
        elif not small:
            look = {"color": style.ink, "linewidths": 0.8 if state != "no_dump" else 1.4}
            ax.scatter(xs, ys, s=size**2, marker=style.mark, zorder=3, **look)


def _name(ax: "Axes", ordered: Sequence[RankState], plan: _Plan) -> None:
    """The first few that stand out, by rank and node."""
    named = [
        rank_state
        for state in _MARKED[:2]
        for rank_state in ordered
        if state_of(rank_state) == state
    ][:_NAMED]
    used: list[tuple[int, int]] = []
    for rank_state in named:
        x, y = plan.places[rank_state.rank]
        # Neighbours would write over each other; the table has them all.
        near = plan.num_columns * 0.3, plan.num_rows * 0.08 + 1
        if any(abs(x - a) < near[0] and abs(y - b) < near[1] for a, b in used):
            continue
        used.append((x, y))
        left = x > plan.num_columns * 0.6
        where = f"rank {rank_state.rank}" + (
            f", {label(rank_state.node, 20)}" if rank_state.node else ""
        )
        ax.annotate(
            where,
            (x, y),
            xytext=(-12 if left else 12, 12),
            textcoords="offset points",
            ha="right" if left else "left",
            va="bottom",
            zorder=5,
            bbox={"boxstyle": "round,pad=0.25", "fc": "white", "ec": INK},
            arrowprops={"arrowstyle": "-", "color": INK},
            **TEXT,
        )


def _frame(ax: "Axes", ordered: Sequence[RankState], plan: _Plan) -> None:
    _legend(ax, ordered, plan)
    ax.set_yticks([at for at, _ in plan.left], [word for _, word in plan.left], color=SOFT)
    ax.set_xticks([at for at, _ in plan.below], [word for _, word in plan.below], color=SOFT)
    if any(len(word) > 3 for _, word in plan.below):
        for tick in ax.get_xticklabels():
            tick.set(rotation=45, ha="right", rotation_mode="anchor")
    frameless(ax)
    ax.tick_params(length=0, labelsize=8 if len(plan.left) > 8 else 9)
    title(ax, f"{len(ordered):,} ranks, {plan.order}", pad=18)


def _legend(ax: "Axes", ordered: Sequence[RankState], plan: _Plan) -> None:
    from matplotlib.legend_handler import HandlerTuple

    counts = Counter(map(state_of, ordered))
    styles = {state: style_of(state) for state in STATES if counts[state]}
    edge = {"markeredgecolor": SOFT, "markeredgewidth": 0.5}
    squares = [legend_mark("s", 11, style.fill, **edge) for style in styles.values()]
    marks = [
        legend_mark(style.mark, 6, style.ink if state in _MARKED else "none")
        for state, style in styles.items()
    ]
    # In heights of a line: below the names of the columns, which are turned where they are long.
    longest = max((len(word) for _, word in plan.below), default=0)
    lines = 0.4 if not longest else 1.8 if longest <= 3 else 1.8 + 0.36 * longest
    legend_below(
        ax,
        list(zip(squares, marks, strict=True)),
        [f"{style.word} {counts[state]:,}" for state, style in styles.items()],
        10 * lines,
        handler_map={tuple: HandlerTuple(ndivide=1)},
        ncols=6,
        handletextpad=0.3,
        columnspacing=1.2,
    )
