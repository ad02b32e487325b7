"""What stored telemetry adds to a fleet's record: heat and errors by node.

Read from one row for each node and day; the packed hours of nodes are not touched.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from sqlalchemy.orm import Session

from triage.fleet.services.telemetry.cells import GROWTHS
from triage.fleet.store import telemetry

DAYS: Final = 28
_DAY_S: Final = 86_400
NodeTelemetry = Mapping[str, Mapping[str, float]]
"""Node -> what its days come to, as a fleet's record holds it."""


def sum_node_telemetry(
    session: Session,
    until: datetime,
    *,
    cluster: str | None = None,
    node: str | None = None,
) -> dict[str, dict[str, float]]:
    """What the last 28 days before ``until`` come to, of all nodes or of ``node`` alone.

    ``telemetry_days`` (how many have any), ``throttled_hours``, ``power_brake_hours`` (summed
    over GPUs), ``ecc_growth`` (uncorrectable errors), ``ecc_corrected_growth``,
    ``remap_growth``, ``nvlink_growth``, ``ib_growth``; ``gpu_temp_max_c`` and ``inlet_mean_c``
    where they were measured. The day that ``until`` lies in counts.
    """
    last = int(until.timestamp() // _DAY_S) + 1
    rows = telemetry.list_node_sums(session, last - DAYS, last, cluster=cluster, node=node)
    return {name: _collect_sums(sums) for name, sums in rows.items()}


def _collect_sums(sums: Mapping[str, float | None]) -> dict[str, float]:
    found = {
        "telemetry_days": float(sums["num_days"] or 0),
        "throttled_hours": (sums["throttled_minutes"] or 0.0) / 60,
        "power_brake_hours": (sums["brake_minutes"] or 0.0) / 60,
        **{name: sums[name] or 0.0 for name in dict.fromkeys(GROWTHS.values())},
    }
    measured = {name: sums[name] for name in ("gpu_temp_max_c", "inlet_mean_c")}
    return found | {name: value for name, value in measured.items() if value is not None}


def describe_telemetry(nodes: NodeTelemetry, top: int) -> dict[str, Any]:
    """The wire form; the ``top`` nodes that were throttled longest."""
    hottest = sorted(nodes.items(), key=lambda one: (-one[1].get("throttled_hours", 0.0), one[0]))
    return {
        "num_nodes": len(nodes),
        "nodes": [{"node": node, **sums} for node, sums in hottest[:top]],
    }
