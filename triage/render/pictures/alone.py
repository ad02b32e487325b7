"""Pictures alone: those of a page, each an SVG document for a notebook or a file."""

from dataclasses import dataclass
from typing import Final

from triage.domain.report import Answer
from triage.render.page.templates import CSS
from triage.render.pictures import graph, grid, progress

# The ground that a picture stands on; a page brings its own.
_HEAD: Final = '<svg xmlns="http://www.w3.org/2000/svg" style="background: var(--page)" '


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG document that a notebook shows; ``svg`` is empty where there is nothing to draw."""

    of: str
    svg: str

    def _repr_svg_(self) -> str | None:
        return self.svg or None

    def __repr__(self) -> str:
        return f"<picture: {self.of}>" if self.svg else f"<no picture: no {self.of} to draw>"


def make_picture(of: str, drawn: str) -> Picture:
    """A chart of a page as a document with the style sheet of its page.

    A sentence in place of a chart is no picture.
    """
    if not drawn.startswith("<svg "):
        return Picture(of, "")
    attributes, _, content = drawn.removeprefix("<svg ").partition(">")
    return Picture(of, f"{_HEAD}{attributes}><style>{CSS}</style>{content}")


class ReportPictures:
    """The pictures of one answer, as its page draws them."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def ranks(self) -> Picture:
        """Every rank as a square by its state: a column a node, or rows of ranks."""
        return make_picture("ranks", grid.as_svg(self._answer.ranks))

    def waits(self) -> Picture:
        """Who waits for whom: boxes of ranks, arrows that mean "waits for"."""
        return make_picture("waits", graph.as_svg(self._answer.waits))

    def progress(self) -> Picture:
        """How the job moved: its steps over time, as its own logs print them."""
        return make_picture("progress", progress.as_svg(self._answer.progress))
