"""What is known of nodes beside their interruptions, put into the record of a fleet."""

from collections.abc import Mapping
from dataclasses import replace

from triage.domain.health import CheckResult
from triage.fleet.record.columns import FleetRecord, NodeSignals


def with_signals(
    record: FleetRecord,
    checks: Mapping[str, tuple[CheckResult, ...]],
    telemetry: Mapping[str, Mapping[str, float]],
) -> FleetRecord:
    """The record with the newest checks and the telemetry of its nodes; others are left out."""
    known = set(record.nodes)
    signals = dict(record.signals)
    for node in sorted(known & (checks.keys() | telemetry.keys())):
        signals[node] = replace(
            signals.get(node, NodeSignals()),
            checks=checks.get(node, ()),
            telemetry=telemetry.get(node, {}),
        )
    return replace(record, signals=signals)
