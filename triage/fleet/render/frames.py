"""A fleet's answer as tables: causes, time between interruptions, projection, spares, nodes, runs.

Taken from the wire form, so a notebook beside the service and one on files have the same tables.
An estimate becomes three columns: the figure, ``_low`` and ``_high``; missing where unknown.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from triage.fleet.render.words import Wire
from triage.render.data.tables import TIME, build_table

if TYPE_CHECKING:
    from pandas import DataFrame

_BOUNDS: Final = {"": "value", "_low": "low", "_high": "high"}


class Frame:
    """One table: where its rows stand in an answer, and its columns.

    Columns are written ``name dtype`` or ``name=key dtype``, where the key of a row has another
    name; both may have dots. The dtype ``estimate`` makes three columns.
    """

    def __init__(self, rows: str, columns: str) -> None:
        self._rows = rows
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

    def build(self, answer: Wire) -> "DataFrame":
        """The table of an answer on the wire; empty where the answer lacks it."""
        return self.build_from_rows(_find(answer, self._rows) or ())

    def build_from_rows(self, rows: Iterable[Wire]) -> "DataFrame":
        """The table of its rows."""
        found = ({name: _find(row, key) for name, key in self._keys.items()} for row in rows)
        return build_table(found, self.columns)


def _find(value: Wire, path: str) -> Any:  # noqa: ANN401 - what JSON can hold
    """What stands at a path with dots; None where a part of it is missing."""
    found: Any = value
    for key in path.split("."):
        found = None if found is None else found.get(key)
    return found


FRAMES: Final[Mapping[str, Frame]] = {
    # One row per row of the Llama 3 table, in its order.
    "causes": Frame(
        "mix.rows",
        "row string, parent string, count int64, share estimate, llama3_count int64,"
        "llama3_share float64, differs boolean",
    ),
    # One row per cause, the most frequent first; category is missing where nobody triaged.
    "leaves": Frame(
        "causes",
        "category string, row string, count int64, resolved int64, share=share.value Float64,"
        "per_million_gpu_hours=rate estimate",
    ),
    # One row per day, week or four weeks of the period.
    "mtti": Frame(
        "over_time",
        "from time, to time, events int64, job_hours float64, gpu_hours float64,"
        "mtti_h=mtti estimate",
    ),
    # One row per size of job, the smallest first.
    "sizes": Frame(
        "by_size",
        "from_gpus int64, to_gpus int64, runs int64, events int64, job_hours float64,"
        "gpu_hours float64, mtti_h=mtti estimate",
    ),
    # One row per size of a job to come.
    "projection": Frame(
        "projection",
        "num_gpus int64, mtti_h=mtti estimate, software_fixed_h=software_fixed Float64,"
        "warnings object",
    ),
    # One row per cost of a checkpoint, for the job of reference_gpus.
    "checkpoints": Frame(
        "checkpoints",
        "cost_s float64, restart_s float64, young_s=young estimate, daly_s=daly.value Float64,"
        "loss estimate",
    ),
    # One row per reason for a node to be away, and time that it is.
    "spares": Frame(
        "spares",
        "basis string, repair_days float64, per_1000_node_days=per_thousand_node_days float64,"
        "mean_down=spares.mean_down float64, at_95=spares.at_95 int64, at_99=spares.at_99 int64,"
        "at_999=spares.at_999 int64",
    ),
    # One row per number of spares, a month of them; empty without outages.
    "spares_cost": Frame(
        "away.costs",
        "spares int64, in_sample float64, forecast float64, node_days float64,"
        "idle_node_days float64, node_hours_short float64, hours_short float64,"
        "gpu_hours_short Float64",
    ),
    # One row per generation, rack and cause, the most node-days away first.
    "away": Frame(
        "away.groups",
        "kind string, name string, num_nodes int64, outages int64, mean_away float64,"
        "in_sample int64, forecast estimate",
    ),
    # One row per node, the worst first.
    "nodes": Frame(
        "standings.nodes",
        "node string, grade string, strikes int64, blame float64, expected Float64,"
        "exposure_days float64, p_value Float64, q_value Float64, score Float64,"
        "rate_per_1000_node_days Float64, rate_low Float64, rate_high Float64, part string,"
        "reasons object, forecast_faults_56_days Float64, forecast_low Float64,"
        "forecast_high Float64, times Float64, special string",
    ),
    # One row per part, or leaf switch, that several interruptions name.
    "parts": Frame(
        "standings.parts",
        "kind string, name string, node string, nodes object, interruptions int64,"
        "expected Float64, q_value Float64, text string",
    ),
    # One row per generation, delivery, rack, cage, slot and leaf, the surest to differ first.
    "places": Frame(
        "standings.places",
        "kind string, name string, nodes int64, faults int64, rate_per_1000_node_days Float64,"
        "rate_of_rest Float64, ratio Float64, ratio_low Float64, ratio_high Float64,"
        "p_value Float64, q_value Float64, found boolean, text string",
    ),
    # One row per run, newest first; ended_at is missing while nobody has told the end.
    "runs": Frame(
        "runs",
        "job_id string, cluster string, started_at time, ended_at time, ending string,"
        "cause string, num_nodes int64, num_gpus int64, source string",
    ),
    # One row per node on probation, the likeliest to fail first.
    "probation": Frame(
        "probation",
        "node string, returned_at time, days_back float64, cause string, action string,"
        "within_7 float64, low_7 float64, high_7 float64, within_30 float64, next_7 float64,"
        "next_30 float64, usual_7 float64, num_returns int64, until time, check string,"
        "text string",
    ),
    # One row per cause and repair; shares of returns that failed again.
    "repairs": Frame(
        "by_repair",
        "cause string, action string, num_returns int64, failed_7 estimate, failed_30 estimate,"
        "others_30 estimate, p_value Float64, q_value Float64, verdict string",
    ),
    # One row per return, the newest first, with the chances said on its day.
    "returns": Frame(
        "returns",
        "node string, out_at time, returned_at time, cause string, action string,"
        "failed_after_days Float64, watched_days float64, within_7 float64, within_30 float64",
    ),
}
"""The tables by their names in a notebook."""
