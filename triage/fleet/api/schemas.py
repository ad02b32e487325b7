"""The shapes of a fleet's answers, for the OpenAPI description."""

from typing import Annotated, Any

from pydantic import BaseModel, Field

from triage.api.description.schemas import Open, Page, Time
from triage.domain.category import Category
from triage.domain.standing import Grade, PartKind
from triage.fleet.domain.exposure import Ending
from triage.fleet.report.causes import Origin

__all__ = [
    "FLEET", "Fleet", "FleetCauses", "FleetCheckpoint", "FleetMtti", "FleetParts",
    "FleetProjection", "FleetRunPage", "FleetSpares", "NodeStandingPage",
]  # fmt: skip

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]


class Estimate(Open):
    """A figure with its interval; `value` is null after no event, a bound where there is none."""

    value: float | None
    low: float | None
    high: float | None
    n: int = Field(description="Events, or samples, behind it.")
    unit: str
    level: Share
    notes: list[str]


class FleetExposure(Open):
    """What the rates rest on; `basis` is `runs`, or `calendar` where not one run is known."""

    basis: str
    days: float
    job_hours: float
    gpu_hours: float
    node_days: float
    runs: Count
    num_nodes: Count
    seen_gpus: list[int] | None = Field(description="Sizes of jobs that the rate is from.")
    reference_gpus: int | None = Field(description="The job that plans are worked out for.")


class FleetStops(Open):
    """Interruptions; planned ones are in no rate."""

    unexpected: Count
    counted: Count = Field(description="With a run: rates count these.")
    without_run: Count
    planned: Count
    triaged: Count
    resolved: Count


class FleetRates(Open):
    """The same rate in each of its units."""

    mtti: Estimate
    calendar_mtti: Estimate
    gpu_hours_between: Estimate
    per_million_gpu_hours: Estimate
    per_thousand_node_days: Estimate
    per_day: Estimate


class CauseCount(Open):
    """Stops of one cause; `category` is null where nobody triaged them."""

    category: Category | None
    row: str | None = Field(description="Row of the Llama 3 table.")
    count: Count
    resolved: Count
    share: Estimate
    rate: Estimate = Field(description="Per 1e6 GPU-hours.")


class OriginCount(Open):
    """Stops by where the cause lies."""

    origin: Origin
    count: Count
    share: Estimate
    rate: Estimate


class CauseRow(Open):
    """One row of the Llama 3 table: ours beside theirs."""

    row: str
    parent: str
    count: Count
    share: Estimate
    llama3_count: Count
    llama3_share: Share
    differs: bool | None


class CauseMix(Open):
    """All rows, and one test of whether the mix differs from Llama 3's."""

    rows: list[CauseRow]
    count: Count
    without_row: Count
    p_value: float | None


class MttiWindow(BaseModel):
    """One stretch of the period."""

    from_: Time = Field(alias="from")
    to: Time
    events: Count
    job_hours: float
    gpu_hours: float
    mtti: Estimate
    gpu_hours_between: Estimate


class Projection(Open):
    """A job of `num_gpus`."""

    num_gpus: int
    mtti: Estimate
    software_fixed: float | None = Field(
        description="Hours, if software stops it no more often than the jobs seen."
    )
    warnings: list[str]


class NodeStanding(Open):
    """How one node stands; rates are per 1,000 node-days in runs, shrunk towards the fleet."""

    node: str
    grade: Grade
    reasons: list[str]
    strikes: Count
    blame: float
    expected: float | None
    exposure_days: float
    p_value: float | None
    q_value: float | None
    score: float | None
    rate_per_1000_node_days: float | None
    rate_low: float | None
    rate_high: float | None
    part: str | None


class RepeatedPart(Open):
    """A part of a node, or a leaf switch, that several interruptions name."""

    kind: PartKind
    name: str
    node: str | None
    nodes: list[str]
    interruptions: Count
    expected: float | None
    p_value: float | None
    q_value: float | None
    text: str


class Standings(Open):
    """The worst nodes, how many stand how, and what they were held against."""

    counts: dict[Grade, Count]
    fleet_rate_per_1000_node_days: float | None
    num_tested: Count
    window_days: float
    false_discovery_rate: float
    nodes: list[NodeStanding]
    parts: list[RepeatedPart]
    notes: list[str]


class FleetTelemetry(Open):
    """Telemetry of the 28 days before the end: nodes, racks, the daily swing of step time."""

    num_nodes: Count
    nodes: list[dict[str, Any]]
    racks: list[dict[str, Any]]
    daily_swing: dict[str, Any] | None


class Part(Open):
    """What every part of a fleet's answer begins with."""

    since: Time
    until: Time
    cluster: str | None


class Fleet(Part):
    """`triage.fleet/1`: every answer of the record of one period."""

    options: dict[str, Any]
    exposure: FleetExposure
    stops: FleetStops
    rates: FleetRates
    mtti: Estimate = Field(description="`rates.mtti`: hours between stops of a job.")
    reference_mtti: Estimate
    causes: list[CauseCount]
    origins: list[OriginCount]
    mix: CauseMix
    over_time: list[MttiWindow]
    projection: list[Projection]
    standings: Standings
    checks: list[dict[str, Any]]
    num_checks: Count
    telemetry: FleetTelemetry
    clusters: list[str]
    notes: list[str]


class FleetCauses(Part):
    """What stopped the jobs."""

    stops: FleetStops
    causes: list[CauseCount]
    origins: list[OriginCount]
    mix: CauseMix
    notes: list[str]


class FleetMtti(Part):
    """How often jobs stop, in all and over time."""

    exposure: FleetExposure
    stops: FleetStops
    rates: FleetRates
    over_time: list[MttiWindow]
    notes: list[str]


class SurvivalAt(Open):
    """How likely the job runs so long without a stop."""

    hours: float
    probability: Estimate


class FleetProjection(Part):
    """A job of N GPUs at this fleet's rate."""

    num_gpus: int
    mtti: Estimate
    software_fixed: float | None
    survival: list[SurvivalAt]
    seen_gpus: list[int] | None
    per_million_gpu_hours: Estimate
    warnings: list[str]


class FleetCheckpoint(Part):
    """How often to checkpoint; intervals in seconds of work between two."""

    num_gpus: int | None
    mtti: Estimate
    cost_s: float
    restart_s: float
    young: Estimate
    daly: Estimate
    loss: Estimate
    loss_without_restart: Estimate
    warnings: list[str]


class SparesBy(Open):
    """Spares where nodes go away as often as `basis` says."""

    basis: str
    per_thousand_node_days: Estimate
    mean_down: float | None
    spares: Estimate


class FleetSpares(Part):
    """How many spare nodes suffice."""

    num_nodes: Count
    repair_days: float
    confidence: Share
    rows: list[SparesBy]
    measured_repair_days: Estimate
    notes: list[str]


class FleetParts(Open):
    """What is named again and again, as of the end of the period."""

    until: Time
    cluster: str | None
    parts: list[RepeatedPart]
    notes: list[str]


class FleetRun(Open):
    """One attempt of a job on one set of nodes."""

    job_id: str
    cluster: str = Field(description="Empty where nobody named one.")
    started_at: Time
    ended_at: Time | None
    seen_at: Time
    ending: Ending
    cause: Category | None = Field(description="What the scheduler said, before any triage.")
    num_nodes: Count
    num_gpus: Count
    source: str


class NodeStandingPage(Page):
    """One page of nodes, the worst first."""

    items: list[NodeStanding]


class FleetRunPage(Page):
    """One page of runs, the newest first."""

    items: list[FleetRun]


FLEET: tuple[type[BaseModel], ...] = (
    Fleet, FleetCauses, FleetMtti, FleetParts, FleetProjection, FleetCheckpoint, FleetSpares,
    NodeStandingPage, FleetRunPage,
)  # fmt: skip
