"""Plot of the time line: one row a node, its first error left or right of the stop.

What decides lies within a second of the stop, what warned of it an hour before: the scale
is logarithmic on both sides of the stop.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from triage.domain.report import Answer
from triage.render.plots.style import (
    INK,
    LINE,
    SOFT,
    TEXT,
    PlotStyle,
    axes,
    frameless,
    label,
    legend_below,
    legend_mark,
    say_nothing,
    style_of,
    title,
)
from triage.render.words.moments import (
    MARKS,
    NEAREST_S,
    TICKS,
    TimelineRow,
    days,
    doubt,
    relative,
    timeline_rows,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw"]

# Its scale ends at 100 h.
_TICKS = TICKS[:-1]


def draw(answer: Answer, ax: "Axes | None" = None, most: int = 30) -> "Axes":
    """The rows of ``most`` nodes, suspects first; a sentence where there is none."""
    rows = timeline_rows(answer)
    placed = [row for row in rows if row.from_stop_s is not None]
    nodes = [row for row in placed if row.moment.kind not in MARKS]
    if not nodes:
        why = "No log tells an error with a time beside the stop."
        return say_nothing(axes(ax, 6, 1.2), why)
    kept = sorted(nodes, key=lambda row: (row.role is None, abs(row.from_stop_s or 0.0)))
    shown = sorted(kept[: max(1, most)], key=lambda row: row.from_stop_s or 0.0)
    ax = axes(ax, 9, 1.5 + 0.34 * len(shown))
    for y, row in enumerate(shown):
        _row(ax, y, row)
    _scale(ax, [row.from_stop_s or 0.0 for row in (*shown, *_ends(placed))])
    ax.axvline(0, color=INK, linewidth=1.6)
    top = ax.get_xaxis_transform()
    ax.text(0, 1.01, "the stop", transform=top, ha="center", va="bottom", color=INK, fontsize=9)
    for end in _ends(placed):
        x = end.from_stop_s or 0.0
        ax.axvline(x, color=SOFT, linewidth=1.2, linestyle=(0, (4, 3)))
        # Away from the words at the stop, however near it was.
        side = "left" if x > 0 else "right"
        ax.text(x, 1.01, "given up", transform=top, ha=side, va="bottom", color=SOFT, fontsize=9)
    _frame(ax, shown, len(nodes) - len(shown), days(rows))
    return ax


def _ends(placed: Sequence[TimelineRow]) -> list[TimelineRow]:
    return [row for row in placed if row.moment.kind == "end" and row.from_stop_s]


def _mark(style: PlotStyle) -> str:
    return "D" if style.word == "culprit" else style.mark


def _row(ax: "Axes", y: int, row: TimelineRow) -> None:
    x = row.from_stop_s or 0.0
    style = style_of(str(row.role) if row.role is not None else "unknown")
    ax.axhline(y, color=LINE, linewidth=0.8, zorder=0)
    error = row.moment.error_s
    if doubt(error, ""):
        look: dict[str, Any] = {"color": SOFT, "linewidth": 3, "alpha": 0.45}
        ax.plot([x - error, x + error], [y, y], solid_capstyle="round", zorder=2, **look)
    ax.scatter([x], [y], s=64, marker=_mark(style), color=style.fill, edgecolors=INK, zorder=3)
    words = ", ".join(filter(None, (relative(row.from_stop_s), label(row.what, 28))))
    ax.text(1.01, y, words, transform=ax.get_yaxis_transform(), va="center", **TEXT)


def _scale(ax: "Axes", seconds: Sequence[float]) -> None:
    ax.set_xscale("symlog", linthresh=NEAREST_S, linscale=0.4)
    before = _reach(-min(seconds))
    after = _reach(max(seconds))
    ax.set_xlim(-before, after)
    ticks = [
        (sign * at, f"{'-' if sign < 0 else '+'}{word}")
        for sign, side in ((-1, before), (1, after))
        for at, word in _thinned(side)
        if at <= side
    ]
    ax.set_xticks([at for at, _ in ticks], [word for _, word in ticks], color=SOFT)
    ax.set_xticks([], minor=True)


def _thinned(side: float) -> list[tuple[float, str]]:
    """Every tick of a short side; of a long one every second, so that words stay apart."""
    inside = [tick for tick in _TICKS if tick[0] <= side]
    return inside if len(inside) <= 4 else inside[::-2][::-1]


def _reach(farthest: float) -> float:
    """A little past the first tick that is not passed, one second at the least."""
    for at, _ in _TICKS[1:]:
        if farthest <= at:
            return at * 1.3
    return farthest * 1.3


def _frame(ax: "Axes", shown: Sequence[TimelineRow], left: int, dates: Sequence[str]) -> None:
    names = [label(row.where or "unknown", 24) for row in shown]
    ax.set_yticks(range(len(shown)), names)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.tick_params(length=0)
    frameless(ax)
    day = f", {dates[0]}" if len(dates) == 1 else ""
    more = f"; {left:,} more nodes in .timeline" if left > 0 else ""
    title(ax, f"First error of each node beside the stop{day}{more}", pad=20)
    styles = [style_of(role) for role in sorted({str(row.role) for row in shown if row.role})]
    if styles:
        edge = {"markeredgecolor": INK}
        marks = [legend_mark(_mark(style), 7, style.fill, **edge) for style in styles]
        legend_below(ax, marks, [style.word for style in styles], 22, ncols=3)
