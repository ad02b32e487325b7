"""Plot of causes: what stopped our jobs, beside what stopped the Llama 3 run."""

from typing import TYPE_CHECKING

import numpy as np

from triage.render.plots.style import INK, LINE, SOFT, axes, say_nothing, style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

__all__ = ["draw"]


def draw(causes: "DataFrame", ax: "Axes | None" = None) -> "Axes":
    """``causes`` as ``FLEET_CAUSES``; a row that stands out from Llama 3's has a mark."""
    if not causes["count"].sum():
        return say_nothing(axes(ax, 6, 1.2), "No interruption with a known cause.")
    ax = axes(ax, 9, 0.32 * len(causes) + 1.2)
    ours = 100 * causes["share"].to_numpy("float64", na_value=0.0)
    low, high = (
        100 * causes[name].to_numpy("float64", na_value=np.nan)
        for name in ("share_low", "share_high")
    )
    theirs = 100 * causes["llama3_share"].to_numpy()
    at = np.arange(len(causes))
    own, other = style_of("culprit"), style_of("waiting")
    ax.barh(at - 0.19, ours, 0.36, color=own.fill, label=f"here ({causes['count'].sum():,})")
    ax.errorbar(
        ours,
        at - 0.19,
        xerr=np.abs([ours - low, high - ours]),
        fmt="none",
        ecolor=INK,
        elinewidth=1,
    )
    ax.barh(
        at + 0.19,
        theirs,
        0.36,
        color=other.fill,
        hatch="//",
        edgecolor=SOFT,
        linewidth=0,
        label=f"Llama 3 ({causes['llama3_count'].sum():,})",
    )
    differs = causes["differs"].fillna(value=False).to_numpy("bool")
    names = [f"{row} *" if mark else row for row, mark in zip(causes["row"], differs, strict=True)]
    ax.set_yticks(at, names)
    ax.invert_yaxis()
    ax.set_xlabel("% of interruptions" + ("; * differs" if differs.any() else ""), color=SOFT)
    ax.grid(axis="x", color=LINE, linewidth=0.7)
    ax.set_axisbelow(True)
    ax.legend(frameon=False)
    return ax
