"""A few figures of the fleet for Prometheus: numbers by name, with labels of few values.

No node, job or token ever becomes a label: who wants to know which node asks the service.
"""

from collections.abc import Mapping
from typing import Final

from prometheus_client.core import GaugeMetricFamily

from triage.domain.standing import PartKind
from triage.domain.toml_tables import read_toml
from triage.fleet.services.answers import FleetAnswer, look_at_fleet
from triage.services.context import Context

_HOUR_S: Final = 3600.0
_DAY_S: Final = 86_400.0


GAUGES: Final[Mapping[str, str]] = read_toml("triage.fleet.services", "gauges")["help"]
"""Every gauge by name, with its help. A figure that is not known is left out."""


_Values = Mapping[str, float | None]


def read_gauges(ctx: Context) -> list[GaugeMetricFamily]:
    """The gauges of all clusters, over the last 30 days."""
    return list_gauges(look_at_fleet(ctx))


def list_gauges(answer: FleetAnswer) -> list[GaugeMetricFamily]:
    """The gauges of one look at the fleet: numbers, and those by the values of one label."""
    found = [
        GaugeMetricFamily(name, GAUGES[name], value=one)
        for name, one in _collect_plain(answer).items()
        if one is not None
    ]
    for name, (label, values) in _collect_labelled(answer).items():
        known = {key: one for key, one in values.items() if one is not None}
        if known:
            found.append(GaugeMetricFamily(name, GAUGES[name], labels=[label]))
        for key, one in known.items():
            found[-1].add_metric([key], one)
    return found


def _collect_plain(answer: FleetAnswer) -> _Values:
    report, nodes = answer.report, answer.telemetry
    exposure, stops = report.exposure, report.stops
    throttled = sum(node.get("throttled_hours", 0.0) for node in nodes.values())
    return {
        "triage_fleet_window_seconds": exposure.days * _DAY_S,
        "triage_fleet_reference_gpus": exposure.reference_gpus,
        "triage_fleet_planned_interruptions": stops.planned,
        "triage_fleet_untriaged": stops.unexpected - stops.triaged,
        "triage_fleet_runs": exposure.runs,
        "triage_fleet_gpu_hours": exposure.gpu_hours,
        "triage_fleet_node_days": exposure.node_days,
        "triage_fleet_nodes_out": report.repairs.still_out,
        "triage_fleet_availability": report.repairs.availability,
        "triage_fleet_ettr": report.ettr.measured.share.value,
        "triage_fleet_silent_days": len(report.silent_days.days),
        "triage_fleet_throttled_gpu_hours": throttled if nodes else None,
    }


def _collect_labelled(answer: FleetAnswer) -> dict[str, tuple[str, _Values]]:
    report = answer.report
    kinds = [part.kind for part in answer.standings.parts]
    failing = sum(check["state"] == "failing" for check in answer.checks)
    found: dict[str, tuple[str, _Values]] = {
        "triage_fleet_interruptions": ("row", {row.row: row.count for row in report.mix.rows}),
        "triage_fleet_nodes": ("standing", answer.standings.counts),
        "triage_fleet_repeated_parts": ("kind", {str(one): kinds.count(one) for one in PartKind}),
        "triage_fleet_checks": (
            "state",
            {"failing": failing, "due": len(answer.checks) - failing},
        ),
    }
    # Without a run and without a stop the hours of the calendar would bound a rate of nothing.
    if report.stops.unexpected or report.exposure.runs:
        for name, one in (
            ("mtti_seconds", report.rates.mtti.growing(lambda hours: hours * _HOUR_S, "s")),
            (
                "reference_mtti_seconds",
                report.reference_mtti.growing(lambda hours: hours * _HOUR_S, "s"),
            ),
            ("gpu_hours_between", report.rates.gpu_hours_between),
        ):
            bounds = {"value": one.value, "low": one.low, "high": one.high}
            found[f"triage_fleet_{name}"] = ("bound", bounds)
    return found
