"""Plot of the projection: the mean time between interruptions of larger and smaller jobs."""

from typing import TYPE_CHECKING

import numpy as np

from triage.render.plots.style import LINE, SOFT, axes, say_nothing, style_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

__all__ = ["draw"]


def draw(sizes: "DataFrame", ax: "Axes | None" = None) -> "Axes":
    """``sizes`` as ``FLEET_PROJECTION``; those with a warning are hollow."""
    seen = sizes[sizes["mtti_h_low"].notna()]
    if not len(seen):
        return say_nothing(axes(ax, 6, 1.2), "No GPU-hours are known: nothing can be projected.")
    ax = axes(ax, 9, 3.6)
    gpus = seen["num_gpus"].to_numpy()
    value, low, high = (
        seen[name].to_numpy("float64", na_value=np.nan)
        for name in ("mtti_h", "mtti_h_low", "mtti_h_high")
    )
    style = style_of("affected")
    ax.fill_between(gpus, low, high, color=style.fill, alpha=0.2, linewidth=0, label="95 %")
    ax.plot(gpus, value, color=style.fill, linewidth=1.5)
    warned = seen["warnings"].map(bool).to_numpy("bool")
    for which, fill, words in ((~warned, style.fill, "as seen"), (warned, "white", "beyond")):
        ax.plot(
            gpus[which],
            value[which],
            linestyle="none",
            marker="o",
            markeredgecolor=style.fill,
            color=fill,
            label=words if which.any() else None,
        )
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("GPUs of the job", color=SOFT)
    ax.set_ylabel("hours between stops", color=SOFT)
    ax.grid(color=LINE, linewidth=0.7)
    ax.set_axisbelow(True)
    ax.legend(frameon=False)
    return ax
