"""Plots: the pictures of a fleet for a notebook, drawn by matplotlib (extra ``notebook``).

Each returns the Axes it drew on. Interval and figure are told by form as well as by colour.
"""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

__all__ = ["FleetPlots", "FleetTables"]


class FleetTables(Protocol):
    """The tables that pictures are drawn from."""

    @property
    def causes(self) -> "DataFrame":
        """Interruptions by row of the Llama 3 table."""

    @property
    def mtti(self) -> "DataFrame":
        """Windows of the period."""

    @property
    def projection(self) -> "DataFrame":
        """Sizes of jobs to come."""

    @property
    def nodes(self) -> "DataFrame":
        """How every node stands."""


class FleetPlots:
    """The four pictures of one fleet; matplotlib is loaded when the first is drawn.

    Each takes the Axes to draw on (a figure of fitting size when None) and raises
    :class:`UsageError` where matplotlib is not installed. Where there is nothing to draw, the
    picture says so.
    """

    def __init__(self, tables: FleetTables) -> None:
        self._tables = tables

    def causes(self, ax: "Axes | None" = None) -> "Axes":
        """Shares of the causes beside those of the Llama 3 run."""
        from triage.fleet.render.plots.causes import draw

        return draw(self._tables.causes, ax)

    def mtti(self, ax: "Axes | None" = None) -> "Axes":
        """The mean time between interruptions over the period, each with its interval."""
        from triage.fleet.render.plots.mtti import draw

        return draw(self._tables.mtti, ax)

    def projection(self, ax: "Axes | None" = None) -> "Axes":
        """The mean time between interruptions by GPUs of the job, both in powers of ten."""
        from triage.fleet.render.plots.projection import draw

        return draw(self._tables.projection, ax)

    def nodes(self, ax: "Axes | None" = None, *, most: int = 20) -> "Axes":
        """The worst nodes: rate with its interval, beside the fleet's."""
        from triage.fleet.render.plots.nodes import draw

        return draw(self._tables.nodes, most, ax)
