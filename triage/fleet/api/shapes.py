"""Shapes of the fleet's answers: its report, the parts of it, and plans from it."""

from typing import Annotated, Any, Final

from triage.api.description.shapes import make_shape, select_keys
from triage.domain.standing import RepeatedPart, StandingsForm
from triage.domain.wire import Count, Time
from triage.fleet.repairs.answer import FleetRepairs
from triage.fleet.report.report import FleetReport
from triage.fleet.report.what_if import CheckpointAnswer, ProjectionAnswer, SparesAnswer
from triage.fleet.services.health.due_list import CheckRow
from triage.fleet.services.plans import PlanHead
from triage.fleet.services.telemetry.rollups import DailySwing, RackInlet
from triage.fleet.store.parts import PartStayView
from triage.statistics.estimate import Estimate

_HEAD: Final = ("since", "until", "cluster")
_TELEMETRY: Final = make_shape(
    "FleetTelemetry",
    doc="Telemetry of the 28 days before the end: nodes, racks, the daily swing of step time.",
    num_nodes=Count,
    nodes=list[dict[str, Any]],
    racks=list[RackInlet],
    daily_swing=DailySwing | None,
)
FLEET: Final = make_shape(
    "Fleet",
    FleetReport,
    doc="`triage.fleet/1`: every answer of the record of one period.",
    schema=str,
    mtti=Annotated[Estimate, "`rates.mtti`: hours between stops of a job."],
    standings=StandingsForm,
    checks=list[CheckRow],
    num_checks=Count,
    telemetry=_TELEMETRY,
    clusters=list[str],
)
CAUSES: Final = select_keys(
    "FleetCauses",
    "What stopped the jobs.",
    FleetReport,
    (*_HEAD, "stops", "causes", "origins", "mix", "notes"),
)
MTTI: Final = select_keys(
    "FleetMtti",
    "How often jobs stop, in all and over time.",
    FleetReport,
    (
        *_HEAD, "exposure", "stops", "rates", "reference_mtti", "by_size", "size_test",
        "by_generation", "over_time", "dispersion", "comparison", "hours_of_day", "silent_days",
        "notes",
    ),
)  # fmt: skip
PARTS: Final = make_shape(
    "FleetParts",
    doc="What is named again and again, as of the end of the period.",
    until=Time,
    cluster=str | None,
    parts=list[RepeatedPart],
    notes=list[str],
)
REPAIRS: Final = make_shape(
    "FleetRepairsAnswer",
    FleetRepairs,
    doc="`triage.repairs/1`: which repairs hold, and which nodes are on probation.",
    schema=str,
)
HARDWARE: Final = make_shape(
    "FleetHardware",
    doc="Stays of parts in nodes, the newest first.",
    identity=str | None,
    node=str | None,
    stays=list[PartStayView],
    more=bool,
)
PROJECTION: Final = make_shape(
    "FleetProjection", PlanHead, ProjectionAnswer, doc="A job of N GPUs at this fleet's rate."
)
CHECKPOINT: Final = make_shape(
    "FleetCheckpoint",
    PlanHead,
    CheckpointAnswer,
    doc="How often to checkpoint; intervals in seconds of work between two.",
)
SPARES: Final = make_shape(
    "FleetSpares", PlanHead, SparesAnswer, doc="How many spare nodes suffice."
)
