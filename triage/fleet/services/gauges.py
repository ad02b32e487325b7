"""A few figures of the fleet for Prometheus: numbers by name, with labels of few values.

No node, job or token ever becomes a label: who wants to know which node asks the service.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from triage.domain.standing import PartKind
from triage.fleet.report.report import FleetReport
from triage.fleet.services.answers import FleetAnswer, look_at_fleet
from triage.services.context import Context
from triage.statistics.estimate import Estimate

_HOUR_S: Final = 3600.0
_DAY_S: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Figure:
    """One gauge. ``values`` are by the value of ``label``, by the empty text where it has none."""

    name: str
    label: str | None = None
    values: Mapping[str, float] = field(default_factory=dict)


GAUGES: Final[Mapping[str, str]] = {
    "triage_fleet_window_seconds": "Length of the period that the other gauges look back on.",
    "triage_fleet_mtti_seconds": "Mean time between unexpected interruptions of a job: value,"
    " low and high of the 95 % interval; a bound where nothing was seen.",
    "triage_fleet_reference_mtti_seconds": "The same of a job of the usual size.",
    "triage_fleet_reference_gpus": "GPUs of the job of the usual size.",
    "triage_fleet_gpu_hours_between": "GPU-hours between unexpected interruptions.",
    "triage_fleet_interruptions": "Unexpected interruptions in the period, by Llama 3 row.",
    "triage_fleet_planned_interruptions": "Planned interruptions in the period; in no rate.",
    "triage_fleet_untriaged": "Unexpected interruptions in the period whose cause is not known.",
    "triage_fleet_runs": "Runs of jobs in the period.",
    "triage_fleet_gpu_hours": "GPU-hours of runs in the period.",
    "triage_fleet_node_days": "Node-days of runs in the period.",
    "triage_fleet_nodes": "Nodes by how they stand.",
    "triage_fleet_repeated_parts": "Parts and leaf switches that several interruptions name.",
    "triage_fleet_checks": "Checks of nodes that fail or are due.",
    "triage_fleet_nodes_out": "Nodes that are out of service at the end of the period.",
    "triage_fleet_availability": "Share of node-time in service.",
    "triage_fleet_ettr": "Share of GPU-hours that made progress, at 10 s for a checkpoint and 300 s"
    " for a restart.",
    "triage_fleet_silent_days": "Days without a record where some are certain.",
    "triage_fleet_throttled_gpu_hours": "GPU-hours with a slowed clock, of the last 28 days.",
}
"""Every gauge by name, with its help. A figure that is not known is left out."""


def read_figures(ctx: Context) -> list[Figure]:
    """The figures of all clusters, over the last 30 days."""
    return list_gauges(look_at_fleet(ctx))


def list_gauges(answer: FleetAnswer) -> list[Figure]:
    """The gauges of one look at the fleet."""
    figures = (*_iterate_report_figures(answer.report), *_iterate_node_figures(answer))
    return [figure for figure in figures if figure.values]


def _iterate_report_figures(report: FleetReport) -> Iterator[Figure]:
    rates, exposure, stops = report.rates, report.exposure, report.stops
    # Without a run and without a stop the hours of the calendar would bound a rate of nothing.
    known = bool(stops.unexpected or exposure.runs)
    by_row = {row.row: row.count for row in report.mix.rows}
    yield _make_plain_figure("triage_fleet_window_seconds", exposure.days * _DAY_S)
    if known:
        yield _make_bounds_figure("triage_fleet_mtti_seconds", rates.mtti, _HOUR_S)
        yield _make_bounds_figure(
            "triage_fleet_reference_mtti_seconds", report.reference_mtti, _HOUR_S
        )
    yield _make_plain_figure("triage_fleet_reference_gpus", exposure.reference_gpus)
    if known:
        yield _make_bounds_figure("triage_fleet_gpu_hours_between", rates.gpu_hours_between)
    yield Figure("triage_fleet_interruptions", "row", by_row)
    yield _make_plain_figure("triage_fleet_planned_interruptions", stops.planned)
    yield _make_plain_figure("triage_fleet_untriaged", stops.unexpected - stops.triaged)
    yield _make_plain_figure("triage_fleet_runs", exposure.runs)
    yield _make_plain_figure("triage_fleet_gpu_hours", exposure.gpu_hours)
    yield _make_plain_figure("triage_fleet_node_days", exposure.node_days)


def _iterate_node_figures(answer: FleetAnswer) -> Iterator[Figure]:
    report, nodes = answer.report, answer.telemetry.nodes
    kinds = [part.kind for part in answer.standings.parts]
    failing = sum(check["state"] == "failing" for check in answer.checks)
    checks = {"failing": failing, "due": len(answer.checks) - failing}
    throttled = sum(node.get("throttled_hours", 0.0) for node in nodes.values())
    by_kind = {str(kind): kinds.count(kind) for kind in PartKind}
    yield Figure("triage_fleet_nodes", "standing", dict(answer.standings.counts()))
    yield Figure("triage_fleet_repeated_parts", "kind", by_kind)
    yield Figure("triage_fleet_checks", "state", checks)
    yield _make_plain_figure("triage_fleet_nodes_out", report.repairs.still_out)
    yield _make_plain_figure("triage_fleet_availability", report.repairs.availability)
    yield _make_plain_figure("triage_fleet_ettr", report.ettr.measured.share.value)
    yield _make_plain_figure("triage_fleet_silent_days", len(report.silent_days.days))
    yield _make_plain_figure("triage_fleet_throttled_gpu_hours", throttled if nodes else None)


def _make_plain_figure(name: str, value: float | None) -> Figure:
    return Figure(name, None, {} if value is None else {"": float(value)})


def _make_bounds_figure(name: str, estimate: Estimate, unit: float = 1.0) -> Figure:
    values = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    known = {key: value * unit for key, value in values.items() if value is not None}
    return Figure(name, "bound", known)
