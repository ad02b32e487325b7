"""A fleet's answer as tables: causes, time between interruptions, projection, spares, nodes, runs.

Taken from the wire form, so a notebook beside the service and one on files have the same tables.
An estimate becomes three columns: the figure, ``_low`` and ``_high``; missing where unknown.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from triage.fleet.render.words import Estimate, Wire
from triage.render.data.tables import TIME, build_table

if TYPE_CHECKING:
    from pandas import DataFrame

_BOUNDS: Final = {"": "value", "_low": "low", "_high": "high"}


def _parse_columns(text: str) -> Mapping[str, str]:
    """``"from time, mtti_h estimate"`` as dtypes by name; an estimate is three columns."""
    found: dict[str, str] = {}
    for column in text.split(","):
        name, dtype = column.split()
        if dtype == "estimate":
            found |= {f"{name}{bound}": "Float64" for bound in _BOUNDS}
        else:
            found[name] = TIME if dtype == "time" else dtype
    return found


FLEET_CAUSES: Final = _parse_columns(
    "row string, parent string, count int64, share estimate, llama3_count int64,"
    "llama3_share float64, differs boolean"
)
"""One row per row of the Llama 3 table, in its order."""
FLEET_LEAVES: Final = _parse_columns(
    "category string, row string, count int64, resolved int64, share Float64,"
    "per_million_gpu_hours estimate"
)
"""One row per cause, the most frequent first; ``category`` is missing where nobody triaged."""
FLEET_MTTI: Final = _parse_columns(
    "from time, to time, events int64, job_hours float64, gpu_hours float64, mtti_h estimate"
)
"""One row per day, week or four weeks of the period."""
FLEET_SIZES: Final = _parse_columns(
    "from_gpus int64, to_gpus int64, runs int64, events int64, job_hours float64,"
    "gpu_hours float64, mtti_h estimate"
)
"""One row per size of job, the smallest first."""
FLEET_PROJECTION: Final = _parse_columns(
    "num_gpus int64, mtti_h estimate, software_fixed_h Float64, warnings object"
)
"""One row per size of a job to come."""
FLEET_CHECKPOINTS: Final = _parse_columns(
    "cost_s float64, restart_s float64, young_s estimate, daly_s Float64, loss estimate"
)
"""One row per cost of a checkpoint, for the job of ``reference_gpus``."""
FLEET_SPARES: Final = _parse_columns(
    "basis string, repair_days float64, per_1000_node_days float64, mean_down float64,"
    "at_95 int64, at_99 int64, at_999 int64"
)
"""One row per reason for a node to be away, and time that it is."""
FLEET_SPARES_COST: Final = _parse_columns(
    "spares int64, in_sample float64, forecast float64, node_days float64,"
    "idle_node_days float64, node_hours_short float64, hours_short float64,"
    "gpu_hours_short Float64"
)
"""One row per number of spares, a month of them; empty without outages."""
FLEET_AWAY: Final = _parse_columns(
    "kind string, name string, num_nodes int64, outages int64, mean_away float64,"
    "in_sample int64, forecast estimate"
)
"""One row per generation, rack and cause, the most node-days away first."""
FLEET_NODES: Final = _parse_columns(
    "node string, grade string, strikes int64, blame float64, expected Float64,"
    "exposure_days float64, p_value Float64, q_value Float64, score Float64,"
    "rate_per_1000_node_days Float64, rate_low Float64, rate_high Float64, part string,"
    "reasons object, forecast_faults_56_days Float64, forecast_low Float64, forecast_high Float64,"
    "times Float64, special string"
)
"""One row per node, the worst first."""
FLEET_PARTS: Final = _parse_columns(
    "kind string, name string, node string, nodes object, interruptions int64,"
    "expected Float64, q_value Float64, text string"
)
"""One row per part, or leaf switch, that several interruptions name."""
FLEET_PLACES: Final = _parse_columns(
    "kind string, name string, nodes int64, faults int64, rate_per_1000_node_days Float64,"
    "rate_of_rest Float64, ratio Float64, ratio_low Float64, ratio_high Float64, p_value Float64,"
    "q_value Float64, found boolean, text string"
)
"""One row per generation, delivery, rack, cage, slot and leaf, the surest to differ first."""
FLEET_RUNS: Final = _parse_columns(
    "job_id string, cluster string, started_at time, ended_at time, ending string,"
    "cause string, num_nodes int64, num_gpus int64, source string"
)
"""One row per run, newest first; ``ended_at`` is missing while nobody has told the end."""


FLEET_PROBATION: Final = _parse_columns(
    "node string, returned_at time, days_back float64, cause string, action string,"
    "within_7 float64, low_7 float64, high_7 float64, within_30 float64, next_7 float64,"
    "next_30 float64, usual_7 float64, num_returns int64, until time, check string, text string"
)
"""One row per node on probation, the likeliest to fail first."""
FLEET_REPAIRS: Final = _parse_columns(
    "cause string, action string, num_returns int64, failed_7 estimate, failed_30 estimate,"
    "others_30 estimate, p_value Float64, q_value Float64, verdict string"
)
"""One row per cause and repair; shares of returns that failed again."""
FLEET_RETURNS: Final = _parse_columns(
    "node string, out_at time, returned_at time, cause string, action string,"
    "failed_after_days Float64, watched_days float64, within_7 float64, within_30 float64"
)
"""One row per return, the newest first, with the chances said on its day."""


def build_causes_frame(report: Wire) -> "DataFrame":
    """``FLEET_CAUSES``."""
    rows = ({**row, **_spread("share", row["share"])} for row in report["mix"]["rows"])
    return build_table(rows, FLEET_CAUSES)


def build_leaves_frame(report: Wire) -> "DataFrame":
    """``FLEET_LEAVES``."""
    rows = (
        {**row, **_spread("share", row["share"]), **_spread("per_million_gpu_hours", row["rate"])}
        for row in report["causes"]
    )
    return build_table(rows, FLEET_LEAVES)


def build_mtti_frame(report: Wire) -> "DataFrame":
    """``FLEET_MTTI``."""
    return build_table(_with_mtti(report["over_time"]), FLEET_MTTI)


def build_sizes_frame(report: Wire) -> "DataFrame":
    """``FLEET_SIZES``."""
    return build_table(_with_mtti(report["by_size"]), FLEET_SIZES)


def build_projection_frame(report: Wire) -> "DataFrame":
    """``FLEET_PROJECTION``."""
    rows = (
        {**row, "software_fixed_h": row["software_fixed"]}
        for row in _with_mtti(report["projection"])
    )
    return build_table(rows, FLEET_PROJECTION)


def build_checkpoints_frame(report: Wire) -> "DataFrame":
    """``FLEET_CHECKPOINTS``."""
    rows = (
        {
            **row,
            **_spread("young_s", row["young"]),
            **_spread("daly_s", row["daly"]),
            **_spread("loss", row["loss"]),
        }
        for row in report["checkpoints"]
    )
    return build_table(rows, FLEET_CHECKPOINTS)


def build_spares_frame(report: Wire) -> "DataFrame":
    """``FLEET_SPARES``."""
    rows = (
        {**row, **row["spares"], "per_1000_node_days": row["per_thousand_node_days"]}
        for row in report["spares"]
    )
    return build_table(rows, FLEET_SPARES)


def build_spares_cost_frame(report: Wire) -> "DataFrame":
    """``FLEET_SPARES_COST``."""
    return build_table((report["away"] or {}).get("costs", ()), FLEET_SPARES_COST)


def build_away_frame(report: Wire) -> "DataFrame":
    """``FLEET_AWAY``."""
    rows = (
        {**row, **_spread("forecast", row["forecast"])}
        for row in (report["away"] or {}).get("groups", ())
    )
    return build_table(rows, FLEET_AWAY)


def build_nodes_frame(standings: Iterable[Wire]) -> "DataFrame":
    """``FLEET_NODES``."""
    return build_table(standings, FLEET_NODES)


def build_parts_frame(standings: Wire) -> "DataFrame":
    """``FLEET_PARTS``."""
    return build_table(standings["parts"], FLEET_PARTS)


def build_places_frame(standings: Wire) -> "DataFrame":
    """``FLEET_PLACES``."""
    return build_table(standings["places"], FLEET_PLACES)


def build_probation_frame(repairs: Wire) -> "DataFrame":
    """``FLEET_PROBATION``."""
    return build_table(repairs["probation"], FLEET_PROBATION)


def build_repairs_frame(facts: Wire) -> "DataFrame":
    """``FLEET_REPAIRS``."""
    shares = ("failed_7", "failed_30", "others_30")
    rows = (
        {key: value for name in shares for key, value in _spread(name, row[name]).items()}
        | {key: value for key, value in row.items() if key not in shares}
        for row in facts["by_repair"]
    )
    return build_table(rows, FLEET_REPAIRS)


def build_returns_frame(repairs: Wire) -> "DataFrame":
    """``FLEET_RETURNS``."""
    return build_table(repairs["returns"], FLEET_RETURNS)


def build_runs_frame(rows: Iterable[Wire]) -> "DataFrame":
    """``FLEET_RUNS``."""
    return build_table(rows, FLEET_RUNS)


def _with_mtti(rows: Iterable[Wire]) -> list[Wire]:
    return [{**row, **_spread("mtti_h", row["mtti"])} for row in rows]


def _spread(name: str, estimate: Estimate) -> Wire:
    """An estimate as its three columns."""
    return {f"{name}{bound}": estimate[key] for bound, key in _BOUNDS.items()}
