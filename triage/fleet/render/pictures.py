"""The pictures of a fleet's page, each alone: for a notebook, or as a file."""

from collections.abc import Callable, Sequence
from typing import Any

from triage.fleet.render.charts import causes, leaves, over_time, projection
from triage.fleet.render.page.style import FLEET_CSS
from triage.fleet.render.words import Wire
from triage.render.pictures.alone import Picture, make_picture


class FleetPictures:
    """The four pictures of one fleet, as its page draws them."""

    def __init__(
        self, read: Callable[[], dict[str, Any]], read_nodes: Callable[[], Sequence[Wire]]
    ) -> None:
        self._read = read
        self._read_nodes = read_nodes

    def causes(self) -> Picture:
        """Shares of the causes beside those of the Llama 3 run."""
        return _make("causes", causes.as_svg(self._read()))

    def mtti(self) -> Picture:
        """The mean time between interruptions over the period, each with its interval."""
        return _make("time between interruptions", over_time.as_svg(self._read()))

    def projection(self) -> Picture:
        """The mean time between interruptions by GPUs of the job, both in powers of ten."""
        return _make("projection", projection.as_svg(self._read()))

    def nodes(self) -> Picture:
        """All nodes by their standing, each under its leaf switch."""
        standings = {**self._read()["standings"], "nodes": self._read_nodes()}
        return _make("nodes under leaf switches", leaves.as_svg(leaves.leaves_of(standings)))


def _make(of: str, drawn: str) -> Picture:
    return make_picture(of, drawn, FLEET_CSS)
