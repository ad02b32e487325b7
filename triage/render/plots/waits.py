"""Plot of the wait-for graph: boxes of ranks, arrows that mean "waits for".

The same boxes and arrows at the same places as the page's picture; a culprit has cut
corners, a thick border and its word, so that it stands out without colours too.
"""

import re
from typing import TYPE_CHECKING, Any

from triage.domain.report import WaitEdge, WaitNode, Waits
from triage.render.pictures.graph import boxes, curve, ranks_text
from triage.render.pictures.layout import BOX_HEIGHT, BOX_WIDTH, Placed, place
from triage.render.plots.style import SOFT, TEXT, axes, label, say_nothing, style_of, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.path import Path

__all__ = ["draw"]

# Pixels of the layout that are an inch here, so that 9 points of text fit its boxes.
_PER_INCH = 96
_WIDEST = 14.0
_CORNER = 10
_FILL = {"culprit": "#ffe3d3", "possible": "#fff3d1", "no_dump": "#e9ebee"}
_EDGE = {"culprit": "#b34700", "possible": "#8a5d00", "no_dump": "#3d4450"}
_DASH = {"possible": (0, (6, 3)), "no_dump": (0, (2, 2))}


def draw(waits: Waits, ax: "Axes | None" = None) -> "Axes":
    """The graph on ``ax``; a sentence where nobody waits."""
    shown, omitted = boxes(waits)
    if not shown:
        return say_nothing(axes(ax, 6, 1.2), "Nobody waits for anybody, or no dump tells it.")
    placed = place([node.key for node in shown], waits.edges)
    width, height = placed.width / _PER_INCH, placed.height / _PER_INCH
    scale = min(1.0, _WIDEST / width)
    ax = axes(ax, max(width * scale, 4.5), height * scale + 0.45)
    for edge in waits.edges:
        if edge.source in placed.corners and edge.target in placed.corners:
            _arrow(ax, edge, placed, scale)
    for node in shown:
        _box(ax, node, placed.corners[node.key], scale)
    ax.set_xlim(0, placed.width)
    ax.set_ylim(placed.height, 0)
    ax.set_aspect("equal")
    ax.set_axis_off()
    more = f"; {omitted:,} smaller boxes are left out" if omitted else ""
    title(ax, f"Who waits for whom: an arrow is “waits for”{more}")
    return ax


def _box(ax: "Axes", node: WaitNode, corner: tuple[int, int], scale: float) -> None:
    from matplotlib.patches import Polygon

    x, y = corner
    strong = node.kind in _FILL
    ax.add_patch(
        Polygon(
            _outline(x, y, _CORNER if node.kind in ("culprit", "possible") else 0),
            closed=True,
            facecolor=_FILL.get(node.kind, "white"),
            edgecolor=_EDGE.get(node.kind, SOFT),
            linewidth=(2.5 if node.kind == "culprit" else 1.5 if strong else 1.0) * scale,
            linestyle=_DASH.get(node.kind, "-"),
            zorder=2,
        )
    )
    word = style_of(node.kind).word.upper() + " " if strong else ""
    lines = (
        (label(node.label, 25), 19, "bold"),
        (label(node.detail, 30), 35, "normal"),
        (f"{word}{ranks_text(node, 14)}", 51, "bold" if strong else "normal"),
    )
    for text, dy, weight in lines:
        look = {**TEXT, "fontsize": 8 * scale, "weight": weight}
        ax.text(x + 10, y + dy, text, zorder=3, va="center", clip_on=True, **look)


def _outline(x: int, y: int, cut: int) -> list[tuple[int, int]]:
    right, low = x + BOX_WIDTH, y + BOX_HEIGHT
    top, bottom = [(x + cut, y), (right - cut, y)], [(right - cut, low), (x + cut, low)]
    return [*top, (right, y + cut), (right, low - cut), *bottom, (x, low - cut), (x, y + cut)]


def _arrow(ax: "Axes", edge: WaitEdge, placed: Placed, scale: float) -> None:
    from matplotlib.patches import FancyArrowPatch

    drawn, middle = curve(edge, placed)
    ax.add_patch(
        FancyArrowPatch(
            path=_path(drawn),
            arrowstyle="-|>",
            mutation_scale=9 * scale,
            color=SOFT,
            fill=False,
            linewidth=(1 if edge.num_ranks < 64 else 1.8) * scale,
            zorder=1,
            shrinkA=0,
            shrinkB=0,
        )
    )
    ground = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none"}
    place: dict[str, Any] = {"ha": "center", "va": "center", "zorder": 1.5, "bbox": ground}
    ax.text(*middle, f"{edge.num_ranks:,}", fontsize=7.5 * scale, color=SOFT, **place)


def _path(drawn: str) -> "Path":
    """An arrow of :func:`curve`, which only moves, draws lines and cubic curves."""
    from matplotlib.path import Path

    code_of = {"M": Path.MOVETO, "L": Path.LINETO, "C": Path.CURVE4}
    points: list[tuple[float, float]] = []
    codes: list[int] = []
    for letter, numbers in re.findall(r"([MLC])([^MLC]+)", drawn):
        values = [float(number) for number in numbers.replace(",", " ").split()]
        pairs = list(zip(values[::2], values[1::2], strict=True))
        points += pairs
        codes += [int(code_of[letter])] * len(pairs)
    return Path(points, codes)
