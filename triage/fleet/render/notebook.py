"""A fleet in a notebook: its answers in sentences, its tables, its pictures."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from triage.errors import UsageError
from triage.fleet.render.charts import causes, leaves, over_time, projection
from triage.fleet.render.frames import FRAMES
from triage.fleet.render.page.style import FLEET_CSS
from triage.fleet.render.sentences import EMPTY, STANDS_OUT, format_period, is_empty, list_headlines
from triage.fleet.render.words import Wire
from triage.render.page.notebook import render_plain_table
from triage.render.pictures.alone import Picture, make_picture
from triage.render.pictures.markup import make_element

if TYPE_CHECKING:
    from pandas import DataFrame

    from triage.domain.standing import FleetStandings
    from triage.fleet.repairs.answer import FleetRepairs
    from triage.fleet.report.report import FleetReport


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
        return _make("nodes under leaf switches", leaves.as_svg(leaves.group_by_leaf(standings)))


def _make(of: str, drawn: str) -> Picture:
    return make_picture(of, drawn, FLEET_CSS)


_HEAD: Final = ("node", "standing", "strikes", "why")
_MOST_NODES: Final = 10


class FleetView:
    """What a record says; shows itself in a notebook.

    ``read`` gives the wire form ``triage.fleet/1`` with its ``standings``, ``read_nodes`` those
    of all nodes, ``read_runs`` the runs and ``read_repairs`` the wire form
    ``triage.repairs/1``; each is asked once, when it is needed.
    """

    def __init__(
        self,
        read: Callable[[], dict[str, Any]],
        read_nodes: Callable[[], Sequence[Wire]],
        read_runs: Callable[[], Sequence[Wire]],
        read_repairs: Callable[[], Wire] | None = None,
    ) -> None:
        self._read = read
        self._read_repairs = read_repairs
        self._read_nodes = read_nodes
        self._read_runs = read_runs

    @classmethod
    def of(
        cls,
        report: "FleetReport",
        standings: "FleetStandings",
        repairs: "FleetRepairs | None" = None,
    ) -> "FleetView":
        """The view of a report that was made here; its runs are in the frames of its record."""
        facts = {**report.to_dict(), "standings": standings.to_dict(), "num_checks": 0}
        rows = facts["standings"]["nodes"]
        read_repairs = None if repairs is None else repairs.to_dict
        return cls(lambda: facts, lambda: rows, list, read_repairs)

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
        return [
            answer.text for answer in list_headlines(facts, facts["standings"], facts["num_checks"])
        ]

    @property
    def causes(self) -> "DataFrame":
        """Interruptions by row of the Llama 3 table, beside Llama 3's own."""
        return FRAMES["causes"].build(self._facts)

    @property
    def leaves(self) -> "DataFrame":
        """Interruptions by cause, the most frequent first."""
        return FRAMES["leaves"].build(self._facts)

    @property
    def mtti(self) -> "DataFrame":
        """The mean time between interruptions over the period, window by window."""
        return FRAMES["mtti"].build(self._facts)

    @property
    def sizes(self) -> "DataFrame":
        """The same by size of job."""
        return FRAMES["sizes"].build(self._facts)

    @property
    def projection(self) -> "DataFrame":
        """The mean time between interruptions of jobs of other sizes."""
        return FRAMES["projection"].build(self._facts)

    @property
    def checkpoints(self) -> "DataFrame":
        """How often to checkpoint, by what a checkpoint costs."""
        return FRAMES["checkpoints"].build(self._facts)

    @property
    def spares(self) -> "DataFrame":
        """How many spare nodes to keep."""
        return FRAMES["spares"].build(self._facts)

    @property
    def spares_cost(self) -> "DataFrame":
        """Spares against what is short without them, a month."""
        return FRAMES["spares_cost"].build(self._facts)

    @property
    def away(self) -> "DataFrame":
        """Nodes away at once and spares for them, by generation, rack and cause."""
        return FRAMES["away"].build(self._facts)

    @cached_property
    def nodes(self) -> "DataFrame":
        """How every node stands, the worst first."""
        return FRAMES["nodes"].build_from_rows(self._read_nodes())

    @property
    def parts(self) -> "DataFrame":
        """Parts and leaf switches that are named again and again."""
        return FRAMES["parts"].build(self._facts)

    @property
    def places(self) -> "DataFrame":
        """How often each place fails beside the rest of its kind, the surest first."""
        return FRAMES["places"].build(self._facts)

    @cached_property
    def runs(self) -> "DataFrame":
        """The runs that the rates rest on, newest first."""
        return FRAMES["runs"].build_from_rows(self._read_runs())

    @cached_property
    def _repairs(self) -> Wire:
        if self._read_repairs is None:
            raise UsageError("this view has no repairs: make it with FleetView.of(..., repairs)")
        return self._read_repairs()

    @property
    def probation(self) -> "DataFrame":
        """Nodes that came back lately and are likelier to fail than others."""
        return FRAMES["probation"].build(self._repairs)

    @property
    def repairs(self) -> "DataFrame":
        """Which repair holds for which cause."""
        return FRAMES["repairs"].build(self._repairs)

    @property
    def returns(self) -> "DataFrame":
        """The newest returns: out, repaired, back, and what came after."""
        return FRAMES["returns"].build(self._repairs)

    @property
    def notes(self) -> list[str]:
        """What the record lacks."""
        return list(self._facts["notes"])

    @property
    def plot(self) -> FleetPictures:
        """The pictures: ``.plot.causes()``, ``.mtti()``, ``.projection()``, ``.nodes()``."""
        return FleetPictures(lambda: self._facts, self._read_nodes)

    def _repr_html_(self) -> str:
        answers = [make_element("li", None, text) for text in self.answers]
        rows = [
            (row["node"], row["grade"], str(row["strikes"]), (row["reasons"] or ("",))[0])
            for row in self._facts["standings"]["nodes"]
            if row["grade"] in STANDS_OUT
        ]
        return str(
            make_element(
                "div",
                {"class": "triage-fleet"},
                make_element(
                    "p", None, make_element("b", None, f"The fleet, {format_period(self._facts)}")
                ),
                make_element("ul", None, *answers),
                render_plain_table(_HEAD, rows[:_MOST_NODES]) if rows else None,
                *(make_element("p", None, note) for note in self.notes),
            )
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {format_period(self._facts)}: {self.answers[0]}>"
