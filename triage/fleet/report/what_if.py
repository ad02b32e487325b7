"""What a fleet's record says of one plan: a larger job, an interval of checkpoints, spare nodes.

Each is worked out from the rate that the report holds, and from its bounds: a plan has an
interval too. Assumes that the nodes to come fail as those of the record did.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, ClassVar, Final, TypedDict

from triage.domain.wire import Count, SentAs, Share, Time, WireForm, format_iso_utc
from triage.errors import UsageError
from triage.fleet.report.plan import (
    SurvivalPoint,
    compute_survival_points,
    list_rate_warnings,
    project_sizes,
)
from triage.fleet.report.rates import Origin, thin_dispersion
from triage.fleet.report.report import FleetReport
from triage.statistics.away.methods import SparesCost
from triage.statistics.estimate import NO_EXPOSURE, Estimate
from triage.statistics.ettr import CheckpointPlan, plan_checkpoints
from triage.statistics.projection import Projection
from triage.statistics.rates import estimate_rate

_CONFIDENCE: Final = 0.99
_REPAIR_DAYS: Final = 7.0
_PER_NODE_DAY: Final = "per 1,000 node-days"


@dataclass(frozen=True, slots=True)
class ProjectionAnswer(WireForm):
    """A job of ``num_gpus``: ``mtti`` in hours, and how likely it is to last.

    ``software_fixed`` (h) is the MTTI where software does not fail more often on more GPUs;
    ``seen_gpus`` are the sizes that the rate is from. ``warnings`` say why not to take it at
    its word.
    """

    num_gpus: int
    mtti: Estimate
    software_fixed: float | None
    survival: tuple[SurvivalPoint, ...]
    seen_gpus: tuple[int, int] | None
    per_million_gpu_hours: Estimate
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckpointAnswer(CheckpointPlan):
    """How often to checkpoint a job of ``num_gpus`` (None: of no known size), and what is lost.

    ``young`` and ``daly`` are seconds of work between two checkpoints; ``loss`` is the share of
    time that checkpoints, lost work and restarts take at Young's.
    """

    WIRE: ClassVar[tuple[str, ...]] = (
        "num_gpus", "mtti", "cost_s", "restart_s", "young", "daly", "loss",
        "loss_without_restart", "warnings",
    )  # fmt: skip

    num_gpus: int | None
    mtti: Estimate
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SparesBy:
    """Spares when nodes go away as often as ``basis`` says.

    ``forecast`` is the one to plan by, from the outages of the record as they came and lasted:
    its bounds are those of what the next period will have needed. ``record`` is what sufficed in
    the record. The others take each node to leave on its own: ``every stop`` counts each
    unexpected stop as a node that is away, ``hardware`` those with a cause in hardware,
    ``outages`` the nodes that were out of service. ``mean_down`` is how many are away at once on
    average; ``spares`` has the bounds of the rate.
    """

    basis: str
    per_thousand_node_days: Estimate
    mean_down: float | None
    spares: Estimate


@dataclass(frozen=True, slots=True)
class SparesAnswer(WireForm):
    """Spares for ``num_nodes`` that are away for ``repair_days`` each, at ``confidence``.

    ``measured_repair_days`` is what the outages of the record took. ``costs`` weighs spares
    against what is short without them; empty where the plan is not of the record's own nodes.
    """

    num_nodes: Count
    repair_days: float
    confidence: Share
    rows: tuple[SparesBy, ...]
    measured_repair_days: Estimate
    costs: tuple[SparesCost, ...]
    notes: tuple[str, ...]


_NAMES: Final[Mapping[type[WireForm], str]] = {
    ProjectionAnswer: "projection",
    CheckpointAnswer: "checkpoint",
    SparesAnswer: "spares",
}


def projection_for(
    report: FleetReport, num_gpus: int, hours: tuple[float, ...] = ()
) -> ProjectionAnswer:
    """A job of ``num_gpus`` at the fleet's rate; estimates without figures where it has none.

    Its survival is told over ``hours``, those of the report where none are given.
    """
    one = project_size(report, num_gpus)
    if one is None:
        warnings = ("no run says how many GPUs it had: nothing can be projected",)
        one = Projection(num_gpus, _make_unknown("h"), None, warnings)
    options = replace(report.options, survival_hours=hours or report.options.survival_hours)
    return ProjectionAnswer(
        num_gpus,
        one.mtti,
        one.software_fixed,
        compute_survival_points(report.rates, num_gpus, options),
        report.exposure.seen_gpus,
        report.rates.per_million_gpu_hours,
        one.warnings,
    )


def checkpoints_for(
    report: FleetReport,
    num_gpus: int | None,
    *,
    cost_s: float | None = None,
    restart_s: float | None = None,
) -> CheckpointAnswer:
    """Checkpoints of a job of ``num_gpus``; of the record's usual job where None."""
    cost = report.options.checkpoint_cost_s if cost_s is None else cost_s
    restart = report.options.restart_s if restart_s is None else restart_s
    size = num_gpus or report.exposure.reference_gpus
    one = None if size is None else project_size(report, size)
    if one is None:
        known = report.stops.unexpected or report.exposure.basis != "calendar"
        mtti = report.rates.mtti if known else _make_unknown("h")
        size = None
        warnings: tuple[str, ...] = ("the size of the jobs is not known: it is for any of them",)
    else:
        mtti, warnings = one.mtti, one.warnings
    plan = plan_checkpoints(cost, mtti, restart_s=restart)
    own = {one.name: getattr(plan, one.name) for one in fields(plan)}
    return CheckpointAnswer(**own, num_gpus=size, mtti=mtti, warnings=warnings)


def spares_for(
    report: FleetReport,
    num_nodes: int | None = None,
    *,
    repair_days: float | None = None,
    confidence: float | None = None,
) -> SparesAnswer:
    """Spares for ``num_nodes`` (those of the record where None).

    ``repair_days`` is what the outages of the record took on average where None, else a week;
    ``confidence`` is 99 %. Raises UsageError for a confidence that is none.
    """
    from scipy.stats import poisson

    confidence = _CONFIDENCE if confidence is None else confidence
    if not 0 < confidence < 1:
        raise UsageError(f"a confidence lies between 0 and 1, not at {confidence:g}")
    nodes = report.exposure.num_nodes if num_nodes is None else num_nodes
    measured = report.repairs.mean_days
    notes = []
    days = repair_days if repair_days is not None else measured.value
    if days is None:
        days = _REPAIR_DAYS
        notes.append("no outage has ended in the record: a repair is taken to be 7 days")
    if nodes < 1:
        notes.append("no node is known: say for how many nodes")
        return SparesAnswer(nodes, days, confidence, (), measured, (), tuple(notes))
    own = [] if repair_days is not None else _own_spares(report, nodes, confidence)
    per_rate = nodes * days / 1e3
    rows = (
        *own,
        *(
            SparesBy(
                basis,
                rate,
                None if rate.value is None else per_rate * rate.value,
                rate.growing(lambda one: float(poisson.ppf(confidence, per_rate * one)), "nodes"),
            )
            for basis, rate in _list_node_rates(report)
            if rate.high is not None
        ),
    )
    if not rows:
        notes.append("no run with nodes and no outage is known: no rate to plan spares by")
    costs = report.away.costs if own and report.away and nodes == report.away.num_nodes else ()
    notes += [text for row in own for text in row.spares.notes if text not in notes]
    return SparesAnswer(nodes, days, confidence, rows, measured, costs, tuple(notes))


def _own_spares(report: FleetReport, nodes: int, confidence: float) -> list[SparesBy]:
    """What will suffice and what did, by the record's outages; for other fleets in proportion."""
    absent = report.away
    if absent is None or not absent.outages:
        return []
    scale = nodes / absent.num_nodes
    rate = _get_outage_rate(report)
    forecast = absent.at(confidence)
    if scale != 1:
        said = f"taken in proportion from the {absent.num_nodes:,} nodes of the record"
        forecast = replace(
            forecast.growing(lambda one: float(math.ceil(one * scale)), forecast.unit),
            notes=(*forecast.notes, said),
        )
    sufficed = float(math.ceil(absent.seen.quantile(confidence) * scale))
    record = Estimate(sufficed, None, None, absent.departures, forecast.unit, forecast.level)
    down = absent.mean_away * scale
    return [
        SparesBy("forecast", rate, down, forecast),
        SparesBy("record", rate, down, record),
    ]


def _get_outage_rate(report: FleetReport) -> Estimate:
    """Outages per 1,000 node-days; the bounds hold that of the next period too."""
    days = report.exposure.num_nodes * report.exposure.days
    plain = estimate_rate(report.repairs.outages, days, unit=_PER_NODE_DAY, per=1e3)
    said = report.next_period.outages if report.next_period else None
    if plain.value is None or said is None or not said.value or not said.low or not said.high:
        return plain
    low, high = plain.value * said.low / said.value, plain.value * said.high / said.value
    return replace(plain, low=low, high=high, notes=said.notes)


def project_size(report: FleetReport, num_gpus: int) -> Projection | None:
    """A job of this size; None where the record knows no rate."""
    seen = report.exposure
    rows = project_sizes(
        report.rates,
        report.origins,
        seen.gpu_hours,
        (seen.reference_gpus, seen.seen_gpus) if seen.reference_gpus and seen.seen_gpus else None,
        list_rate_warnings(report.size_test, report.dispersion),
        (num_gpus,),
    )
    return rows[0] if rows else None


def _list_node_rates(report: FleetReport) -> list[tuple[str, Estimate]]:
    """How often nodes go away, per 1,000 node-days, by what takes them away."""
    every = report.rates.per_thousand_node_days
    rows = [("every stop", every)]
    counted = report.stops.counted
    hardware = next((one.count for one in report.origins if one.origin is Origin.HARDWARE), 0)
    if counted:
        wide = thin_dispersion(report.dispersion.factor, hardware, counted)
        days = report.exposure.node_days
        rows.append(("hardware", estimate_rate(hardware, days, wide, unit=every.unit, per=1e3)))
    if report.repairs.outages:
        rows.append(("outages", _get_outage_rate(report)))
    return rows


def _make_unknown(unit: str) -> Estimate:
    return Estimate(None, None, None, 0, unit, notes=(NO_EXPOSURE,))


class PlanHead(TypedDict):
    """What every plan begins with: its form, and the period whose rates it rests on."""

    schema: str
    since: Annotated[str | None, SentAs(Time)]
    until: Annotated[str | None, SentAs(Time)]
    cluster: str | None


def answer_plan(
    report: FleetReport, found: ProjectionAnswer | CheckpointAnswer | SparesAnswer
) -> dict[str, Any]:
    """What ``GET /v1/fleet/projection``, ``checkpoint`` and ``spares`` answer."""
    head: PlanHead = {
        "schema": f"triage.fleet.{_NAMES[type(found)]}/1",
        "since": format_iso_utc(report.since),
        "until": format_iso_utc(report.until),
        "cluster": report.cluster,
    }
    return {**head, **found.to_dict()}
