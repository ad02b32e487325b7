"""A fleet in a notebook: its answers in sentences, its tables, its pictures."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from triage.fleet.render import frames
from triage.fleet.render.plots.figures import FleetPlots
from triage.fleet.render.sentences import EMPTY, STANDS_OUT, answers, is_empty, period_text
from triage.fleet.render.words import Wire
from triage.render.page.notebook import html_table
from triage.render.pictures.markup import el

if TYPE_CHECKING:
    from pandas import DataFrame

    from triage.domain.standing import FleetStandings
    from triage.fleet.report.report import FleetReport

__all__ = ["FleetView"]

HEAD: Final = ("node", "standing", "strikes", "why")
MOST_NODES: Final = 10


class FleetView:
    """What a record says; shows itself in a notebook.

    ``read`` gives the wire form ``triage.fleet/1`` with its ``standings``, ``read_nodes`` those
    of all nodes and ``read_runs`` the runs; each is asked once, when it is needed.
    """

    def __init__(
        self,
        read: Callable[[], dict[str, Any]],
        read_nodes: Callable[[], Sequence[Wire]],
        read_runs: Callable[[], Sequence[Wire]],
    ) -> None:
        self._read = read
        self._read_nodes = read_nodes
        self._read_runs = read_runs

    @classmethod
    def of(cls, report: "FleetReport", standings: "FleetStandings") -> "FleetView":
        """The view of a report that was made here; its runs are in the frames of its record."""
        facts = {**report.to_dict(), "standings": standings.to_dict(), "num_checks": 0}
        rows = facts["standings"]["nodes"]
        return cls(lambda: facts, lambda: rows, list)

    @cached_property
    def _facts(self) -> dict[str, Any]:
        return self._read()

    def to_dict(self) -> dict[str, Any]:
        """What the service says at ``GET /v1/fleet``."""
        return dict(self._facts)

    @property
    def answers(self) -> list[str]:
        """The sentences that answer: how often jobs stop, which nodes to take out, what to plan."""
        facts = self._facts
        if is_empty(facts, facts["standings"]):
            return [EMPTY]
        return [answer.text for answer in answers(facts, facts["standings"], facts["num_checks"])]

    @property
    def causes(self) -> "DataFrame":
        """Interruptions by row of the Llama 3 table, beside Llama 3's own."""
        return frames.causes(self._facts)

    @property
    def leaves(self) -> "DataFrame":
        """Interruptions by cause, the most frequent first."""
        return frames.leaves(self._facts)

    @property
    def mtti(self) -> "DataFrame":
        """The mean time between interruptions over the period, window by window."""
        return frames.mtti(self._facts)

    @property
    def sizes(self) -> "DataFrame":
        """The same by size of job."""
        return frames.sizes(self._facts)

    @property
    def projection(self) -> "DataFrame":
        """The mean time between interruptions of jobs of other sizes."""
        return frames.projection(self._facts)

    @property
    def checkpoints(self) -> "DataFrame":
        """How often to checkpoint, by what a checkpoint costs."""
        return frames.checkpoints(self._facts)

    @property
    def spares(self) -> "DataFrame":
        """How many spare nodes to keep."""
        return frames.spares(self._facts)

    @cached_property
    def nodes(self) -> "DataFrame":
        """How every node stands, the worst first."""
        return frames.nodes(self._read_nodes())

    @property
    def parts(self) -> "DataFrame":
        """Parts and leaf switches that are named again and again."""
        return frames.parts(self._facts["standings"])

    @cached_property
    def runs(self) -> "DataFrame":
        """The runs that the rates rest on, newest first."""
        return frames.runs(self._read_runs())

    @property
    def notes(self) -> list[str]:
        """What the record lacks."""
        return list(self._facts["notes"])

    @property
    def plot(self) -> FleetPlots:
        """The pictures: ``.plot.causes()``, ``.mtti()``, ``.projection()``, ``.nodes()``."""
        return FleetPlots(self)

    def _repr_html_(self) -> str:
        answers = [el("li", None, text) for text in self.answers]
        rows = [
            (row["node"], row["grade"], str(row["strikes"]), (row["reasons"] or ("",))[0])
            for row in self._facts["standings"]["nodes"]
            if row["grade"] in STANDS_OUT
        ]
        return str(
            el(
                "div",
                {"class": "triage-fleet"},
                el("p", None, el("b", None, f"The fleet, {period_text(self._facts)}")),
                el("ul", None, *answers),
                html_table(HEAD, rows[:MOST_NODES]) if rows else None,
                *(el("p", None, note) for note in self.notes),
            )
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {period_text(self._facts)}: {self.answers[0]}>"
