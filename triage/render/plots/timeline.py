"""Plot of the time line: one row a node, its first error left or right of the stop.

What decides lies within a second of the stop, what warned of it an hour before: the scale
is logarithmic on both sides of the stop.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from triage.domain.report import Answer
from triage.render.plots.style import INK, LINE, SOFT, axes, label, say_nothing, style_of
from triage.render.words.moments import (
    MARKS,
    NEAREST_S,
    TICKS,
    Line,
    days,
    doubt,
    lines,
    relative,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw"]

# Its scale ends at 100 h.
_TICKS = TICKS[:-1]


def draw(answer: Answer, ax: "Axes | None" = None, most: int = 30) -> "Axes":
    """The rows of ``most`` nodes, suspects first; a sentence where there is none."""
    every = lines(answer)
    placed = [one for one in every if one.from_stop_s is not None]
    nodes = [one for one in placed if one.moment.kind not in MARKS]
    if not nodes:
        why = "No log tells an error with a time beside the stop."
        return say_nothing(axes(ax, 6, 1.2), why)
    kept = sorted(nodes, key=lambda one: (one.role is None, abs(one.from_stop_s or 0.0)))
    shown = sorted(kept[: max(1, most)], key=lambda one: one.from_stop_s or 0.0)
    ax = axes(ax, 9, 1.5 + 0.34 * len(shown))
    for row, line in enumerate(shown):
        _row(ax, row, line)
    _scale(ax, [one.from_stop_s or 0.0 for one in (*shown, *_ends(placed))])
    ax.axvline(0, color=INK, linewidth=1.6)
    top = ax.get_xaxis_transform()
    ax.text(0, 1.01, "the stop", transform=top, ha="center", va="bottom", color=INK, fontsize=9)
    for end in _ends(placed):
        x = end.from_stop_s or 0.0
        ax.axvline(x, color=SOFT, linewidth=1.2, linestyle=(0, (4, 3)))
        # Away from the words at the stop, however near it was.
        side = "left" if x > 0 else "right"
        ax.text(x, 1.01, "given up", transform=top, ha=side, va="bottom", color=SOFT, fontsize=9)
    _frame(ax, shown, len(nodes) - len(shown), days(every))
    return ax


def _ends(placed: Sequence[Line]) -> list[Line]:
    return [one for one in placed if one.moment.kind == "end" and one.from_stop_s]


def _row(ax: "Axes", row: int, line: Line) -> None:
    seconds = line.from_stop_s or 0.0
    style = style_of(str(line.role) if line.role is not None else "unknown")
    mark = "D" if style.word == "culprit" else style.mark
    ax.axhline(row, color=LINE, linewidth=0.8, zorder=0)
    error = line.moment.error_s
    if doubt(error, ""):
        ax.plot(
            [seconds - error, seconds + error],
            [row, row],
            color=SOFT,
            linewidth=3,
            alpha=0.45,
            solid_capstyle="round",
            zorder=2,
        )
    ax.scatter([seconds], [row], s=64, marker=mark, color=style.fill, edgecolors=INK, zorder=3)
    words = ", ".join(filter(None, (relative(line.from_stop_s), label(line.what, 28))))
    ax.text(
        1.01,
        row,
        words,
        transform=ax.get_yaxis_transform(),
        va="center",
        fontsize=9,
        color=INK,
        parse_math=False,
    )


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


def _frame(ax: "Axes", shown: Sequence[Line], left: int, when: Sequence[str]) -> None:
    names = [label(line.where or "unknown", 24) for line in shown]
    ax.set_yticks(range(len(shown)), names)
    for tick in ax.get_yticklabels():
        tick.set_parse_math(False)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)
    day = f", {when[0]}" if len(when) == 1 else ""
    more = f"; {left:,} more nodes in .timeline" if left > 0 else ""
    title = f"First error of each node beside the stop{day}{more}"
    ax.set_title(title, loc="left", fontsize=11, color=INK, pad=20)
    roles = {str(line.role) for line in shown if line.role is not None}
    if roles:
        _legend(ax, sorted(roles))


def _legend(ax: "Axes", roles: Sequence[str]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.transforms import offset_copy

    styles = [style_of(role) for role in roles]
    handles = [
        Line2D(
            [],
            [],
            linestyle="none",
            marker="D" if one.word == "culprit" else one.mark,
            markersize=7,
            color=one.fill,
            markeredgecolor=INK,
        )
        for one in styles
    ]
    below = offset_copy(ax.transAxes, ax.get_figure(root=True), y=-22, units="points")
    ax.legend(
        handles,
        [one.word for one in styles],
        loc="upper left",
        ncols=3,
        frameon=False,
        bbox_to_anchor=(0, 0),
        bbox_transform=below,
        borderaxespad=0,
    )
