"""Plot of standings: the rates of the worst nodes with their intervals."""

from typing import TYPE_CHECKING

import numpy as np

from triage.render.plots.style import INK, LINE, SOFT, axes, label, say_nothing, style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

__all__ = ["draw"]

_LOOKS = {"lemon": "culprit", "watch": "possible", "golden": "affected"}


def draw(nodes: "DataFrame", most: int = 20, ax: "Axes | None" = None) -> "Axes":
    """``nodes`` as ``FLEET_NODES``, the first ``most`` of those that have a rate."""
    seen = nodes[nodes["rate_per_1000_node_days"].notna()].head(most)
    if not len(seen):
        return say_nothing(axes(ax, 6, 1.2), "No node was in a run that names it.")
    ax = axes(ax, 9, 0.28 * len(seen) + 1.2)
    value, low, high = (
        seen[name].to_numpy("float64")
        for name in ("rate_per_1000_node_days", "rate_low", "rate_high")
    )
    at = np.arange(len(seen))
    grades = seen["grade"].to_numpy()
    ax.hlines(at, low, high, color=SOFT, linewidth=1.5)
    for grade in dict.fromkeys(grades):
        style, which = style_of(_LOOKS.get(grade, "idle")), grades == grade
        ax.plot(
            value[which],
            at[which],
            linestyle="none",
            marker=style.mark,
            color=style.fill,
            markeredgecolor=INK,
            label=grade,
        )
    ax.set_yticks(at, [label(name, 32) for name in seen["node"]], parse_math=False)
    ax.invert_yaxis()
    ax.set_xlim(left=0)
    ax.set_xlabel("interruptions per 1,000 node-days", color=SOFT)
    ax.grid(axis="x", color=LINE, linewidth=0.7)
    ax.set_axisbelow(True)
    ax.legend(frameon=False, loc="lower right")
    return ax
