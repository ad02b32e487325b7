"""Plot of lateness: the delay that each rank causes per operation.

A slow rank stands above all others; where many stand equally high, it is the network or
the measurement, and not one rank. The picture marks the suspects of the answer and accuses
nobody by itself.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from triage.render.plots.style import (
    INK,
    LINE,
    SOFT,
    TEXT,
    axes,
    label,
    say_nothing,
    style_of,
    title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

__all__ = ["draw"]

_NAMED = 3
# More ranks than this are points, fewer are bars.
_MOST_BARS = 256
# The shortest scale in ms: on a shorter one, noise would look like a finding.
_LEAST_MS = 5.0


def draw(lateness: "DataFrame", suspected: Collection[int], ax: "Axes | None" = None) -> "Axes":
    """``lateness`` as ``Report.lateness`` gives it; a sentence where it is empty.

    ``suspected`` ranks are marked, and the latest of them named.
    """
    if not len(lateness):
        why = "Too few dumps or finished operations to tell how late ranks are."
        return say_nothing(axes(ax, 6, 1.2), why)
    ax = axes(ax, 9, 3.2)
    ranks = lateness["rank"].to_numpy()
    late = lateness["late_ms"].to_numpy()
    middle = float(np.median(late))
    out = lateness["rank"].isin(list(suspected)).to_numpy()
    culprit, usual = style_of("culprit"), style_of("waiting")
    if len(ranks) <= _MOST_BARS:
        ax.bar(ranks[~out], late[~out], color=usual.fill, width=0.8)
        ax.bar(ranks[out], late[out], color=culprit.fill, width=0.8, hatch="//", edgecolor=INK)
    else:
        ax.scatter(ranks[~out], late[~out], s=6, color="#5a9fd4", linewidths=0)
        ax.scatter(
            ranks[out], late[out], s=60, color=culprit.fill, marker="X", edgecolors=INK, zorder=3
        )
    ax.axhline(middle, color=SOFT, linewidth=1, linestyle=(0, (4, 3)))
    words, beside = f"median\n{middle:,.1f} ms", ax.get_yaxis_transform()
    ax.text(1.005, middle, words, transform=beside, va="center", fontsize=9, color=SOFT)
    _name(ax, lateness[out].head(_NAMED))
    marked = "; suspects are marked" if out.any() else ""
    _frame(ax, len(ranks), marked, (int(ranks.min()), int(ranks.max())), float(late.max()))
    return ax


def _name(ax: "Axes", late: "DataFrame") -> None:
    columns = (late["rank"].tolist(), late["node"].fillna("").tolist(), late["late_ms"].tolist())
    for rank, name, late_ms in zip(*columns, strict=True):
        node = f" ({label(name, 20)})" if name else ""
        delay = f"{late_ms:,.0f}" if late_ms >= 10 else f"{late_ms:.1f}"
        ax.annotate(
            f"rank {rank}{node}: {delay} ms",
            (rank, late_ms),
            xytext=(0, 7),
            textcoords="offset points",
            ha="center",
            annotation_clip=False,
            **TEXT,
        )


def _frame(ax: "Axes", count: int, marked: str, reach: tuple[int, int], highest: float) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.set_ylim(0, max(highest * 1.2, _LEAST_MS))
    edge = max(0.7, (reach[1] - reach[0]) * 0.02)
    ax.set_xlim(reach[0] - edge, reach[1] + edge)
    ax.set_xlabel("rank", color=SOFT)
    ax.set_ylabel("ms per operation", color=SOFT)
    ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    ax.grid(axis="y", color=LINE, linewidth=0.7)
    ax.set_axisbelow(True)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(length=0, colors=SOFT)
    title(ax, f"Delay that each of {count:,} ranks causes{marked}")
