"""Plans for a larger job, for checkpoints and for spares, from the record of one period."""

from typing import Annotated, Any, Final, TypedDict

from triage.domain.wire import SentAs, Time, format_iso_utc
from triage.fleet.report.report import FleetReport
from triage.fleet.report.what_if import (
    DEFAULT_CONFIDENCE,
    checkpoints_for,
    projection_for,
    spares_for,
)

COST_S: Final = 10.0
RESTART_S: Final = 300.0


class PlanHead(TypedDict):
    """What every plan begins with: its form, and the period whose rates it rests on."""

    schema: str
    since: Annotated[str | None, SentAs(Time)]
    until: Annotated[str | None, SentAs(Time)]
    cluster: str | None


def answer_projection(report: FleetReport, gpus: int, hours: float | None) -> dict[str, Any]:
    """``GET /v1/fleet/projection``."""
    found = (
        projection_for(report, gpus) if hours is None else projection_for(report, gpus, (hours,))
    )
    return {**_head(report, "projection"), **found.to_dict()}


def answer_checkpoint(
    report: FleetReport, gpus: int | None, cost_s: float | None, restart_s: float | None
) -> dict[str, Any]:
    """``GET /v1/fleet/checkpoint``."""
    found = checkpoints_for(
        report,
        gpus,
        cost_s=COST_S if cost_s is None else cost_s,
        restart_s=RESTART_S if restart_s is None else restart_s,
    )
    return {**_head(report, "checkpoint"), **found.to_dict()}


def answer_spares(
    report: FleetReport, nodes: int | None, repair_days: float | None, confidence: float | None
) -> dict[str, Any]:
    """``GET /v1/fleet/spares``."""
    found = spares_for(
        report,
        nodes,
        repair_days=repair_days,
        confidence=DEFAULT_CONFIDENCE if confidence is None else confidence,
    )
    return {**_head(report, "spares"), **found.to_dict()}


def _head(report: FleetReport, name: str) -> PlanHead:
    """What every plan begins with."""
    return {
        "schema": f"triage.fleet.{name}/1",
        "since": format_iso_utc(report.since),
        "until": format_iso_utc(report.until),
        "cluster": report.cluster,
    }
