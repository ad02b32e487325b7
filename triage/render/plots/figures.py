"""Plots: the pictures of a report for a notebook, drawn by matplotlib (extra ``notebook``).

Each returns the Axes it drew on, so that a caller can add to it. A state shows by colour
and by mark, and colour-blind people can tell the colours apart.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from triage.domain.report import Answer

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

__all__ = ["Plots"]


class Plots:
    """The four pictures of one answer; matplotlib is loaded when the first is drawn.

    Each takes the Axes to draw on (a figure of fitting size when None) and raises
    :class:`UsageError` where matplotlib is not installed. Where there is nothing to draw, the
    picture says so.
    """

    def __init__(self, answer: Answer, lateness: "Callable[[], DataFrame]") -> None:
        self._answer = answer
        self._lateness = lateness

    def ranks(self, ax: "Axes | None" = None) -> "Axes":
        """Every rank as a square by its state: a column a node, or rows of ranks."""
        from triage.render.plots.ranks import draw

        return draw(self._answer.ranks, ax)

    def timeline(self, ax: "Axes | None" = None, *, most: int = 30) -> "Axes":
        """The first error of each node beside the stop; of many nodes ``most``."""
        from triage.render.plots.timeline import draw

        return draw(self._answer, ax, most)

    def waits(self, ax: "Axes | None" = None) -> "Axes":
        """Who waits for whom: boxes of ranks, arrows that mean "waits for"."""
        from triage.render.plots.waits import draw

        return draw(self._answer.waits, ax)

    def lateness(self, ax: "Axes | None" = None) -> "Axes":
        """The delay that each rank causes per operation, in ms."""
        from triage.render.plots.lateness import draw

        suspected = {rank for suspect in self._answer.suspects for rank in suspect.ranks}
        return draw(self._lateness(), suspected, ax)
