"""A fleet's answer as tables: causes, time between interruptions, projection, spares, nodes, runs.

Taken from the wire form, so a notebook beside the service and one on files have the same tables.
An estimate becomes three columns: the figure, ``_low`` and ``_high``; missing where unknown.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from triage.render.data.tables import TIME, table

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = [
    "FLEET_CAUSES", "FLEET_CHECKPOINTS", "FLEET_LEAVES", "FLEET_MTTI", "FLEET_NODES", "FLEET_PARTS",
    "FLEET_PROJECTION", "FLEET_RUNS", "FLEET_SIZES", "FLEET_SPARES",
    "causes", "checkpoints", "leaves", "mtti", "nodes", "parts", "projection", "runs", "sizes",
    "spares",
]  # fmt: skip

Wire = Mapping[str, Any]

FLEET_CAUSES: Final[Mapping[str, str]] = {
    "row": "string", "parent": "string", "count": "int64", "share": "Float64",
    "share_low": "Float64", "share_high": "Float64", "llama3_count": "int64",
    "llama3_share": "float64", "differs": "boolean",
}  # fmt: skip
"""One row per row of the Llama 3 table, in its order."""

FLEET_LEAVES: Final[Mapping[str, str]] = {
    "category": "string", "row": "string", "count": "int64", "resolved": "int64",
    "share": "Float64", "per_million_gpu_hours": "Float64",
    "per_million_gpu_hours_low": "Float64", "per_million_gpu_hours_high": "Float64",
}  # fmt: skip
"""One row per cause, the most frequent first; ``category`` is missing where nobody triaged."""

FLEET_MTTI: Final[Mapping[str, str]] = {
    "from": TIME, "to": TIME, "events": "int64", "job_hours": "float64", "gpu_hours": "float64",
    "mtti_h": "Float64", "mtti_h_low": "Float64", "mtti_h_high": "Float64",
}  # fmt: skip
"""One row per day, week or four weeks of the period."""

FLEET_SIZES: Final[Mapping[str, str]] = {
    "from_gpus": "int64", "to_gpus": "int64", "runs": "int64", "events": "int64",
    "job_hours": "float64", "gpu_hours": "float64", "mtti_h": "Float64", "mtti_h_low": "Float64",
    "mtti_h_high": "Float64",
}  # fmt: skip
"""One row per size of job, the smallest first."""

FLEET_PROJECTION: Final[Mapping[str, str]] = {
    "num_gpus": "int64", "mtti_h": "Float64", "mtti_h_low": "Float64", "mtti_h_high": "Float64",
    "software_fixed_h": "Float64", "warnings": "object",
}  # fmt: skip
"""One row per size of a job to come."""

FLEET_CHECKPOINTS: Final[Mapping[str, str]] = {
    "cost_s": "float64", "restart_s": "float64", "young_s": "Float64", "young_s_low": "Float64",
    "young_s_high": "Float64", "daly_s": "Float64", "loss": "Float64", "loss_low": "Float64",
    "loss_high": "Float64",
}  # fmt: skip
"""One row per cost of a checkpoint, for the job of ``reference_gpus``."""

FLEET_SPARES: Final[Mapping[str, str]] = {
    "basis": "string", "repair_days": "float64", "per_1000_node_days": "float64",
    "mean_down": "float64", "at_95": "int64", "at_99": "int64", "at_999": "int64",
}  # fmt: skip
"""One row per reason for a node to be away, and time that it is."""

FLEET_NODES: Final[Mapping[str, str]] = {
    "node": "string", "grade": "string", "strikes": "int64", "blame": "float64",
    "expected": "Float64", "exposure_days": "float64", "p_value": "Float64",
    "q_value": "Float64", "score": "Float64", "rate_per_1000_node_days": "Float64",
    "rate_low": "Float64", "rate_high": "Float64", "part": "string", "reasons": "object",
}  # fmt: skip
"""One row per node, the worst first."""

FLEET_PARTS: Final[Mapping[str, str]] = {
    "kind": "string", "name": "string", "node": "string", "nodes": "object",
    "interruptions": "int64", "expected": "Float64", "q_value": "Float64", "text": "string",
}  # fmt: skip
"""One row per part, or leaf switch, that several interruptions name."""

FLEET_RUNS: Final[Mapping[str, str]] = {
    "job_id": "string", "cluster": "string", "started_at": TIME, "ended_at": TIME,
    "ending": "string", "cause": "string", "num_nodes": "int64", "num_gpus": "int64",
    "source": "string",
}  # fmt: skip
"""One row per run, newest first; ``ended_at`` is missing while nobody has told the end."""


def causes(report: Wire) -> "DataFrame":
    """``FLEET_CAUSES``."""
    rows = ({**row, **spread("share", row["share"])} for row in report["mix"]["rows"])
    return table(rows, FLEET_CAUSES)


def leaves(report: Wire) -> "DataFrame":
    """``FLEET_LEAVES``."""
    rows = (
        {**row, **spread("share", row["share"]), **spread("per_million_gpu_hours", row["rate"])}
        for row in report["causes"]
    )
    return table(rows, FLEET_LEAVES)


def mtti(report: Wire) -> "DataFrame":
    """``FLEET_MTTI``."""
    return table(with_mtti(report["over_time"]), FLEET_MTTI)


def sizes(report: Wire) -> "DataFrame":
    """``FLEET_SIZES``."""
    return table(with_mtti(report["by_size"]), FLEET_SIZES)


def projection(report: Wire) -> "DataFrame":
    """``FLEET_PROJECTION``."""
    rows = (
        {**row, "software_fixed_h": row["software_fixed"]}
        for row in with_mtti(report["projection"])
    )
    return table(rows, FLEET_PROJECTION)


def checkpoints(report: Wire) -> "DataFrame":
    """``FLEET_CHECKPOINTS``."""
    rows = (
        {
            **row,
            **spread("young_s", row["young"]),
            **spread("daly_s", row["daly"]),
            **spread("loss", row["loss"]),
        }
        for row in report["checkpoints"]
    )
    return table(rows, FLEET_CHECKPOINTS)


def spares(report: Wire) -> "DataFrame":
    """``FLEET_SPARES``."""
    rows = (
        {**row, **row["spares"], "per_1000_node_days": row["per_thousand_node_days"]}
        for row in report["spares"]
    )
    return table(rows, FLEET_SPARES)


def nodes(standings: Iterable[Wire]) -> "DataFrame":
    """``FLEET_NODES``."""
    return table(standings, FLEET_NODES)


def parts(standings: Wire) -> "DataFrame":
    """``FLEET_PARTS``."""
    return table(standings["parts"], FLEET_PARTS)


def runs(rows: Iterable[Wire]) -> "DataFrame":
    """``FLEET_RUNS``."""
    return table(rows, FLEET_RUNS)


def with_mtti(rows: Iterable[Wire]) -> Iterator[dict[str, Any]]:
    return ({**row, **spread("mtti_h", row["mtti"])} for row in rows)


def spread(name: str, estimate: Wire) -> dict[str, float | None]:
    """An estimate as its three columns."""
    return {
        name: estimate["value"], f"{name}_low": estimate["low"], f"{name}_high": estimate["high"],
    }  # fmt: skip
