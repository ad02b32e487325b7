"""The pictures of a fleet's page, each alone: for a notebook, or as a file."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from triage.fleet.render.charts import causes, leaves, over_time, projection
from triage.fleet.render.page.style import FLEET_CSS
from triage.fleet.render.words import Wire
from triage.render.page.style import CSS

__all__ = ["FleetPictures", "Picture"]

# A picture alone brings the sheets of its page, and the ground that it stands on.
HEAD: Final = '<svg xmlns="http://www.w3.org/2000/svg" style="background: var(--page)" '
STYLE: Final = f"<style>{CSS}{FLEET_CSS}</style>"


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG document that a notebook shows; ``svg`` is empty where there is nothing to draw."""

    of: str
    svg: str

    def _repr_svg_(self) -> str | None:
        return self.svg or None

    def __repr__(self) -> str:
        return f"<picture: {self.of}>" if self.svg else f"<no picture: no {self.of} to draw>"


class FleetPictures:
    """The four pictures of one fleet, as its page draws them."""

    def __init__(
        self, read: Callable[[], dict[str, Any]], read_nodes: Callable[[], Sequence[Wire]]
    ) -> None:
        self._read = read
        self._read_nodes = read_nodes

    def causes(self) -> Picture:
        """Shares of the causes beside those of the Llama 3 run."""
        return alone("causes", causes.as_svg(self._read()))

    def mtti(self) -> Picture:
        """The mean time between interruptions over the period, each with its interval."""
        return alone("time between interruptions", over_time.as_svg(self._read()))

    def projection(self) -> Picture:
        """The mean time between interruptions by GPUs of the job, both in powers of ten."""
        return alone("projection", projection.as_svg(self._read()))

    def nodes(self) -> Picture:
        """All nodes by their standing, each under its leaf switch."""
        standings = {**self._read()["standings"], "nodes": self._read_nodes()}
        return alone("nodes under leaf switches", leaves.as_svg(leaves.leaves_of(standings)))


def alone(of: str, drawn: str) -> Picture:
    """A chart of a page as a document of its own; a sentence in place of a chart is none."""
    if not drawn.startswith("<svg "):
        return Picture(of, "")
    attributes, _, content = drawn.removeprefix("<svg ").partition(">")
    return Picture(of, f"{HEAD}{attributes}>{STYLE}{content}")
