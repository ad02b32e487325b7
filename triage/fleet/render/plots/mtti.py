"""Plot of MTTI: the mean time between interruptions, window by window, with its interval."""

from typing import TYPE_CHECKING

import numpy as np

from triage.render.plots.style import INK, LINE, SOFT, axes, say_nothing, style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

__all__ = ["draw"]


def draw(windows: "DataFrame", ax: "Axes | None" = None) -> "Axes":
    """``windows`` as ``FLEET_MTTI``; a window without a stop is an arrow from its bound up."""
    seen = windows[windows["mtti_h_low"].notna()]
    # Without runs the hours are those of the calendar: no stop in them says nothing.
    if not len(seen) or not (seen["events"].sum() or seen["gpu_hours"].sum()):
        return say_nothing(axes(ax, 6, 1.2), "No hours of jobs, and so no time between stops.")
    ax = axes(ax, 9, 3.2)
    middle = (seen["from"] + (seen["to"] - seen["from"]) / 2).to_numpy("datetime64[us]")
    value, low, high = (
        seen[name].to_numpy("float64", na_value=np.nan)
        for name in ("mtti_h", "mtti_h_low", "mtti_h_high")
    )
    style, known = style_of("affected"), ~np.isnan(value)
    ax.errorbar(
        middle[known],
        value[known],
        fmt="o",
        color=style.fill,
        ecolor=style.fill,
        capsize=3,
        yerr=np.abs([value[known] - low[known], high[known] - value[known]]),
    )
    ax.plot(
        middle[~known],
        low[~known],
        linestyle="none",
        marker="^",
        color=INK,
        label="at least: no stop",
    )
    if (~known).any():
        ax.legend(frameon=False)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("hours between stops", color=SOFT)
    ax.grid(axis="y", color=LINE, linewidth=0.7)
    ax.set_axisbelow(True)
    ax.figure.autofmt_xdate()
    return ax
