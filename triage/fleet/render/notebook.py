"""A fleet in a notebook: its answers in sentences, its tables."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, overload

from triage.errors import UsageError
from triage.fleet.render.sentences import EMPTY, STANDS_OUT, format_period, is_empty, list_headlines
from triage.fleet.render.tables import find_field
from triage.fleet.render.words import Wire
from triage.render.data.tables import TIME, build_table
from triage.render.pictures.markup import draw

if TYPE_CHECKING:
    from pandas import DataFrame

    from triage.domain.standing import FleetStandings
    from triage.fleet.repairs.answer import FleetRepairs
    from triage.fleet.report.report import FleetReport


_BOUNDS: Final = {"": "value", "_low": "low", "_high": "high"}


class Frame:
    """One table: where its rows stand in an answer, and its columns.

    Columns are written ``name dtype`` or ``name=key dtype``, where the key of a row has another
    name; both may have dots. The dtype ``estimate`` makes three columns. As an attribute of a view
    it is the DataFrame of the answer that the view has under ``source``.
    """

    def __init__(self, rows: str, columns: str, source: str = "_facts") -> None:
        self._rows = rows
        self._source = source
        self._keys: dict[str, str] = {}
        self.columns: dict[str, str] = {}
        for column in columns.split(","):
            word, dtype = column.split()
            name, _, key = word.partition("=")
            bounds = _BOUNDS if dtype == "estimate" else {"": ""}
            for suffix, bound in bounds.items():
                self._keys[name + suffix] = ".".join(filter(None, (key or name, bound)))
                self.columns[name + suffix] = {"estimate": "Float64", "time": TIME}.get(
                    dtype, dtype
                )

    @overload
    def __get__(self, view: None, owner: type) -> "Frame": ...

    @overload
    def __get__(self, view: object, owner: type) -> "DataFrame": ...

    def __get__(self, view: object, owner: type) -> "Frame | DataFrame":
        return self if view is None else self.build(getattr(view, self._source))

    def build(self, answer: Wire) -> "DataFrame":
        """The table of an answer on the wire; empty where the answer lacks it."""
        rows = find_field(answer, self._rows) or ()
        found = ({name: find_field(row, key) for name, key in self._keys.items()} for row in rows)
        return build_table(found, self.columns)


_HEAD: Final = ("node", "standing", "strikes", "why")
_MOST_NODES: Final = 10


class FleetView:
    """What a record says; shows itself in a notebook.

    ``read`` gives the wire form ``triage.fleet/1`` with its ``standings``, ``read_nodes`` those
    of all nodes, ``read_runs`` the runs and ``read_repairs`` the wire form
    ``triage.repairs/1``; each is asked once, when it is needed. Its tables are taken from the wire
    form, so a notebook beside the service and one on files have the same ones.
    """

    causes = Frame(
        "mix.rows",
        "row string, parent string, count int64, share estimate, llama3_count int64,"
        "llama3_share float64, differs boolean",
    )
    """One row per row of the Llama 3 table, in its order, beside Llama 3's own interruptions."""

    leaves = Frame(
        "causes",
        "category string, row string, count int64, resolved int64, share=share.value Float64,"
        "per_million_gpu_hours=rate estimate",
    )
    """One row per cause, the most frequent first; category is missing where nobody triaged."""

    mtti = Frame(
        "over_time",
        "from time, to time, events int64, job_hours float64, gpu_hours float64,"
        "mtti_h=mtti estimate",
    )
    """The mean time between interruptions: one row per day, week or four weeks of the period."""

    sizes = Frame(
        "by_size",
        "from_gpus int64, to_gpus int64, runs int64, events int64, job_hours float64,"
        "gpu_hours float64, mtti_h=mtti estimate",
    )
    """The same, one row per size of job, the smallest first."""

    projection = Frame(
        "projection",
        "num_gpus int64, mtti_h=mtti estimate, software_fixed_h=software_fixed Float64,"
        "warnings object",
    )
    """The same for jobs to come, one row per size."""

    checkpoints = Frame(
        "checkpoints",
        "cost_s float64, restart_s float64, young_s=young estimate, daly_s=daly.value Float64,"
        "loss estimate",
    )
    """One row per cost of a checkpoint, for the job of reference_gpus."""

    spares = Frame(
        "spares",
        "basis string, repair_days float64, per_1000_node_days=per_thousand_node_days float64,"
        "mean_down=spares.mean_down float64, at_95=spares.at_95 int64, at_99=spares.at_99 int64,"
        "at_999=spares.at_999 int64",
    )
    """Spare nodes to keep: one row per reason for a node to be away, and time that it is."""

    spares_cost = Frame(
        "away.costs",
        "spares int64, in_sample float64, forecast float64, node_days float64,"
        "idle_node_days float64, node_hours_short float64, hours_short float64,"
        "gpu_hours_short Float64",
    )
    """One row per number of spares, a month of them; empty without outages."""

    away = Frame(
        "away.groups",
        "kind string, name string, num_nodes int64, outages int64, mean_away float64,"
        "in_sample int64, forecast estimate",
    )
    """One row per generation, rack and cause, the most node-days away first."""

    nodes = Frame(
        "standings.nodes",
        "node string, grade string, strikes int64, blame float64, expected Float64,"
        "exposure_days float64, p_value Float64, q_value Float64, score Float64,"
        "rate_per_1000_node_days Float64, rate_low Float64, rate_high Float64, part string,"
        "reasons object, forecast_faults_56_days Float64, forecast_low Float64,"
        "forecast_high Float64, times Float64, special string",
        source="_standing_facts",
    )
    """One row per node, the worst first."""

    parts = Frame(
        "standings.parts",
        "kind string, name string, node string, nodes object, interruptions int64,"
        "expected Float64, q_value Float64, text string",
    )
    """One row per part, or leaf switch, that several interruptions name."""

    places = Frame(
        "standings.places",
        "kind string, name string, nodes int64, faults int64, rate_per_1000_node_days Float64,"
        "rate_of_rest Float64, ratio Float64, ratio_low Float64, ratio_high Float64,"
        "p_value Float64, q_value Float64, found boolean, text string",
    )
    """One row per generation, delivery, rack, cage, slot and leaf, the surest to differ first."""

    runs = Frame(
        "runs",
        "job_id string, cluster string, started_at time, ended_at time, ending string,"
        "cause string, num_nodes int64, num_gpus int64, source string",
        source="_run_facts",
    )
    """One row per run, newest first; ended_at is missing while nobody has told the end."""

    probation = Frame(
        "probation",
        "node string, returned_at time, days_back float64, cause string, action string,"
        "within_7 float64, low_7 float64, high_7 float64, within_30 float64, next_7 float64,"
        "next_30 float64, usual_7 float64, num_returns int64, until time, check string,"
        "text string",
        source="_repairs",
    )
    """One row per node that came back lately and is likelier to fail, the likeliest first."""

    repairs = Frame(
        "by_repair",
        "cause string, action string, num_returns int64, failed_7 estimate, failed_30 estimate,"
        "others_30 estimate, p_value Float64, q_value Float64, verdict string",
        source="_repairs",
    )
    """One row per cause and repair: shares of returns that failed again."""

    returns = Frame(
        "returns",
        "node string, out_at time, returned_at time, cause string, action string,"
        "failed_after_days Float64, watched_days float64, within_7 float64, within_30 float64",
        source="_repairs",
    )
    """One row per return, the newest first, with the chances said on its day."""

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

    @cached_property
    def _standing_facts(self) -> Wire:
        return {"standings": {"nodes": self._read_nodes()}}

    @cached_property
    def _run_facts(self) -> Wire:
        return {"runs": self._read_runs()}

    @cached_property
    def _repairs(self) -> Wire:
        if self._read_repairs is None:
            raise UsageError("this view has no repairs: make it with FleetView.of(..., repairs)")
        return self._read_repairs()

    @property
    def notes(self) -> list[str]:
        """What the record lacks."""
        return list(self._facts["notes"])

    def _repr_html_(self) -> str:
        rows = [
            (row["node"], row["grade"], str(row["strikes"]), (row["reasons"] or ("",))[0])
            for row in self._facts["standings"]["nodes"]
            if row["grade"] in STANDS_OUT
        ]
        title = f"The fleet, {format_period(self._facts)}"
        return str(draw("fleet", title, self.answers, _HEAD, rows[:_MOST_NODES], self.notes))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {format_period(self._facts)}: {self.answers[0]}>"


FRAMES: Final[Mapping[str, Frame]] = {
    name: one for name, one in vars(FleetView).items() if isinstance(one, Frame)
}
"""The tables by their names in a notebook."""
