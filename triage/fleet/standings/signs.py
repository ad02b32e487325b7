"""Signs: what else speaks against a node besides interruptions.

A failing check is grave, since it is of now. Everything else is a hint: it counts from a number
that is rare by itself, and only where it is three times what is usual in the fleet, since a
maintenance takes all nodes out and a software bug prints the same Xid everywhere. Signs never
make a lemon.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.domain.health import CheckResult, Outcome
from triage.fleet.record.columns import FleetRecord, Floats, NodeSignals
from triage.fleet.record.node_exposure import NS_PER_DAY

# How often the fleet's mean a count has to be.
_USUAL: Final = 3.0
_LEAST_XIDS: Final = 3
_LEAST_EXCLUDED: Final = 3
_LEAST_STRAGGLER_HITS: Final = 3
_LEAST_TAKEN_OUT: Final = 3
# Telemetry of 28 days: from where it counts, and how it is said.
_TELEMETRY: Final[Mapping[str, tuple[float, str]]] = {
    "throttled_hours": (24.0, "its GPUs were throttled for {:.0f} h in 28 days"),
    "power_brake_hours": (1.0, "its power brake held its GPUs back for {:.0f} h in 28 days"),
    "ecc_growth": (1.0, "its GPUs met {:.0f} memory errors in 28 days that nothing corrected"),
    "remap_growth": (1.0, "its GPUs remapped {:.0f} more rows in 28 days"),
    "nvlink_growth": (100.0, "its NVLink errors grew by {:.0f} in 28 days"),
    "ib_growth": (1000.0, "the errors of its network ports grew by {:.0f} in 28 days"),
}
# What loads a whole node, as checks are named.
STRESS: Final = ("stress", "burn", "nccl", "dcgm.targeted", "dcgm.diagnostic", "dcgm.memtest")


@dataclass(frozen=True, slots=True)
class Sign:
    """One sign in words; a ``grave`` one puts a node under watch by itself, two others do too."""

    text: str
    grave: bool = False


def collect_signs(
    record: FleetRecord, from_ns: int, *, drains: bool = True
) -> dict[str, tuple[Sign, ...]]:
    """The signs against each node that has any; ``drains`` count from ``from_ns`` on."""
    found: dict[str, list[Sign]] = {}
    for node, signals in record.signals.items():
        if failing := [one for one in signals.checks if one.outcome is Outcome.FAIL]:
            found.setdefault(node, []).append(Sign(_describe_checks(failing), grave=True))
    names = list(record.signals)
    signals_of = [record.signals[name] for name in names]
    for values, least, words in _list_measures(signals_of):
        _add(found, names, values, least, words, len(record.nodes))
    if not drains:
        return {node: tuple(signs) for node, signs in found.items()}
    since = record.outages.start_ns >= from_ns
    taken_out = np.bincount(record.outages.node[since], minlength=len(record.nodes))
    words = "it was taken out of service {:.0f} times"
    counts = taken_out.astype(np.float64)
    _add(found, record.nodes, counts, _LEAST_TAKEN_OUT, words, len(record.nodes))
    return {node: tuple(signs) for node, signs in found.items()}


def _list_measures(signals: list[NodeSignals]) -> list[tuple[Floats, float, str]]:
    """Counts per node, from where they count, and their words."""
    xids = [len(set(node.distinct_xids)) for node in signals]
    excluded = [node.jobs_that_excluded_it for node in signals]
    hits = [node.straggler_hits for node in signals]
    rows: list[tuple[Floats, float, str]] = [
        (np.array(xids, np.float64), _LEAST_XIDS, "it printed {:.0f} different Xids"),
        (np.array(excluded, np.float64), _LEAST_EXCLUDED, "{:.0f} jobs asked not to run on it"),
        (np.array(hits, np.float64), _LEAST_STRAGGLER_HITS, "it was the slow node of {:.0f} jobs"),
    ]
    for key, (least, words) in _TELEMETRY.items():
        rows.append((np.array([one.telemetry.get(key, 0.0) for one in signals]), least, words))
    return rows


def _add(
    found: dict[str, list[Sign]],
    names: tuple[str, ...] | list[str],
    values: Floats,
    least: float,
    words: str,
    num_nodes: int,
) -> None:
    """Nodes of which nothing is known have a count of none, and are part of the mean."""
    if not len(values):
        return
    bound = max(least, _USUAL * float(values.sum()) / max(num_nodes, len(values)))
    for place in np.flatnonzero(values >= bound).tolist():
        found.setdefault(names[place], []).append(Sign(words.format(values[place])))


def _describe_checks(failing: list[CheckResult]) -> str:
    first = min(failing, key=lambda one: (one.check, one.part or ""))
    where = f" on {first.part}" if first.part else ""
    more = f" and {len(failing) - 1} more" if len(failing) > 1 else ""
    return f"check {first.check}{where} fails{more}"


def find_passed_stress_check(record: FleetRecord, node: str, within_days: float) -> str | None:
    """The stress check that the node passed lately, with no check that warns or fails."""
    signals = record.signals.get(node)
    if signals is None:
        return None
    if any(one.outcome in (Outcome.FAIL, Outcome.WARN) for one in signals.checks):
        return None
    since_ns = record.until_ns - within_days * NS_PER_DAY
    passed = [
        one.check
        for one in signals.checks
        if one.outcome is Outcome.PASS
        and one.check.startswith(STRESS)
        and one.at is not None
        and since_ns <= one.at.timestamp() * 1e9 <= record.until_ns
    ]
    return min(passed, default=None)
