"""Nodes out of service, and how many spares make up for them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from triage.fleet.record.columns import FleetRecord
from triage.fleet.record.exposed import HOUR_NS, Exposed
from triage.fleet.report.away import NodesAway
from triage.fleet.report.options import FleetOptions
from triage.fleet.report.rates import Origin, OriginCount
from triage.statistics.estimate import Estimate
from triage.statistics.rates import estimate_mtti
from triage.statistics.spares import (
    CONFIDENCES,
    Spares,
    estimate_spares_in_repair,
    solve_spares_for_availability,
)

_Floats = npt.NDArray[np.float64]
_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Repairs:
    """Nodes out of service: how many times, for how long, and the share of nodes in service.

    Of the ``outages``, so many ``began`` within the record. ``mean_days`` counts the days of
    outages that still last, but not as ended (exponential likelihood); None where none ended.
    """

    outages: int
    began: int
    still_out: int
    mean_days: Estimate
    availability: float | None


@dataclass(frozen=True, slots=True)
class SpareRow:
    """Spares; ``basis`` is what they rest on.

    ``forecast`` is the one to plan by: from the record's own outages, in clusters and as long as
    they were; left out where the record cannot tell. ``record`` is what sufficed in it. The
    others are Palm's, of nodes that leave on their own: ``every stop`` takes a node out,
    ``hardware`` (stops with a cause in hardware) does, or ``outages``: as often and as long as
    nodes were out of service.
    """

    basis: str
    repair_days: float
    per_thousand_node_days: float
    spares: Spares


@dataclass(frozen=True, slots=True)
class AvailabilitySpares:
    """Spares with which all nodes are up at 99 %, by availability alone."""

    availability: float
    measured: bool
    at_99: int | None


def collect_record_repairs(record: FleetRecord, seen: Exposed) -> Repairs:
    """Outages within the record; those of one node that overlap or touch are one."""
    out = record.outages
    start = (out.start_ns - record.since_ns) / HOUR_NS
    end = np.maximum((out.end_ns - record.since_ns) / HOUR_NS, start)
    within = (start < seen.period_h) & (end > 0)
    start, end = _merge_stretches(out.node[within].astype(np.int64), start[within], end[within])
    away_h = np.minimum(end, seen.period_h) - np.maximum(start, 0.0)
    days = float(away_h.sum()) / 24
    lasting = int((end >= seen.period_h).sum())
    fleet_days = len(record.nodes) * seen.period_h / 24
    return Repairs(
        len(start),
        int((start > 0).sum()),
        lasting,
        estimate_mtti(len(start) - lasting, days, unit="d"),
        max(0.0, 1 - days / fleet_days) if len(start) and fleet_days else None,
    )


def _own_rows(absent: NodesAway, mending: Repairs) -> list[SpareRow]:
    """What will suffice, and what did, by the record's own outages; nothing without one."""
    found, nodes = absent.found, absent.num_nodes
    if not found.outages:
        return []
    rate = len(found.began) / (nodes * found.seen.days) * 1e3
    foretold = [int(found.at(one).value or 0) for one in CONFIDENCES]
    sufficed = [found.seen.quantile(one) for one in CONFIDENCES]
    known = found.forecast.value is not None
    rows = [("forecast", foretold), ("record", sufficed)] if known else [("record", sufficed)]
    each, down = mending.mean_days.value or 0.0, found.mean_away
    return [
        SpareRow(basis, each, rate, Spares(nodes, down, at_95, at_99, at_999, 100 * at_99 / nodes))
        for basis, (at_95, at_99, at_999) in rows
    ]


def _merge_stretches(node: _Ints, start: _Floats, end: _Floats) -> tuple[_Floats, _Floats]:
    """Stretches of each node without overlaps."""
    if not len(node):
        return start, end
    order = np.lexsort((start, node))
    # Every node gets a stretch of the axis of its own, so that one pass is enough for all.
    apart = node[order] * (float(end.max() - start.min()) + 1.0)
    begin, last = start[order] + apart, np.maximum.accumulate(end[order] + apart)
    new = np.flatnonzero(np.concatenate([[True], begin[1:] > last[:-1]]))
    until = np.append(new[1:] - 1, len(order) - 1)
    return start[order][new], (last - apart)[until]


def build_spare_rows(
    seen: Exposed,
    origins: tuple[OriginCount, ...],
    mending: Repairs,
    num_nodes: int,
    absent: NodesAway | None,
    options: FleetOptions,
) -> tuple[tuple[SpareRow, ...], AvailabilitySpares | None]:
    """Spares for ``num_nodes``: foretold, by rate and days of repair, and by availability."""
    if num_nodes < 1:
        return (), None
    rows = [] if absent is None else _own_rows(absent, mending)
    hardware = sum(one.count for one in origins if one.origin is Origin.HARDWARE)
    for basis, events in (("every stop", seen.events), ("hardware", hardware)):
        if not seen.node_days or not events:
            continue
        one = events / seen.node_days
        rows += [
            SpareRow(basis, days, one * 1e3, estimate_spares_in_repair(num_nodes, one, days))
            for days in options.repair_days
        ]
    mean = mending.mean_days.value
    if mean is not None and seen.period_h:
        one = mending.began / (num_nodes * seen.period_h / 24)
        rows.append(
            SpareRow("outages", mean, one * 1e3, estimate_spares_in_repair(num_nodes, one, mean))
        )
    if mending.availability is None:
        return tuple(rows), None
    at_99 = solve_spares_for_availability(num_nodes, mending.availability)
    return tuple(rows), AvailabilitySpares(mending.availability, measured=True, at_99=at_99)
