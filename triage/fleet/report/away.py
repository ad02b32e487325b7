"""Nodes away at once: how many spares sufficed, how many will, what they cost and what they save.

Rests on the faults of the record (outages that nobody planned, merged per node). Two answers are
kept apart: in sample, a fact, and the forecast for the next period of the same length.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from triage.domain.arrays import Flags
from triage.domain.wire import Count
from triage.fleet.record.columns import FleetRecord
from triage.fleet.record.exposed import HOUR_NS, Exposed
from triage.fleet.record.faults import Faults, faults_of
from triage.fleet.report.options import FleetOptions
from triage.fleet.report.rates import Origin, OriginCount
from triage.statistics.away.forecast import SparesForecast, forecast_spares
from triage.statistics.away.methods import SparesCost, compute_spares_costs
from triage.statistics.away.steps import cut_outages
from triage.statistics.estimate import Estimate
from triage.statistics.next_period import estimate_next_events
from triage.statistics.rates import estimate_mtti
from triage.statistics.spares import (
    CONFIDENCES,
    Spares,
    estimate_spares_in_repair,
)

_Names = npt.NDArray[np.str_]
_MOST_OF_A_KIND: Final = 8


@dataclass(frozen=True, slots=True)
class AwayOf:
    """One generation, rack or cause: ``num_nodes`` are those that it can take away."""

    kind: str
    name: str
    num_nodes: Count
    outages: Count
    mean_away: float
    in_sample: Count
    forecast: Estimate


@dataclass(frozen=True, slots=True)
class NodesAway(SparesForecast):
    """Spares of the record's nodes at 99 %: ``in_sample`` sufficed, ``forecast`` will.

    ``departures`` is how many times nodes went away, alone or together; ``looks`` how many
    independent looks at the fleet the record is worth. ``forecast.value`` is null where the
    record cannot tell, and its notes say why. ``methods`` are all answers side by side with the
    share of held-out time that each covered; ``method`` is that of the forecast.
    """

    WIRE: ClassVar[tuple[str, ...]] = (
        "num_nodes", "outages", "departures", "looks", "mean_away", "confidence", "in_sample",
        "in_sample_covers", "forecast", "method", "methods", "drift", "costs", "groups",
    )  # fmt: skip

    costs: tuple[SparesCost, ...]
    groups: tuple[AwayOf, ...]


@dataclass(frozen=True, slots=True)
class NextPeriod:
    """Counts that the ``days`` after the record are expected to see, as many as it has.

    95 of 100 such periods lie within, bursts and drift of the rate included.
    """

    days: float
    stops: Estimate
    outages: Estimate


def measure_nodes_away(record: FleetRecord) -> NodesAway | None:
    """None for a record without nodes or without length."""
    faults = faults_of(record)
    if not faults.num_nodes or faults.days <= 0:
        return None
    every = np.ones(len(faults), np.bool_)
    found = _forecast_rows(faults, every, faults.num_nodes, walk=True)
    foretold = found.law.quantile(found.confidence)
    return NodesAway(
        **{one.name: getattr(found, one.name) for one in fields(found)},
        costs=compute_spares_costs(
            found.seen,
            found.law,
            found.in_sample,
            min(foretold, faults.num_nodes),
            gpus_per_node=record.gpus_per_node,
        ),
        groups=tuple(iterate_away_groups(record, faults)),
    )


def estimate_next_period(seen: Exposed, found: NodesAway | None) -> NextPeriod | None:
    """None for a record without length."""
    if not seen.period_h:
        return None
    days = seen.period_h / 24
    began = np.empty(0) if found is None else found.began
    return NextPeriod(
        days,
        estimate_next_events(seen.at_h / 24, days, unit="stops"),
        estimate_next_events(began, days, unit="outages"),
    )


def iterate_away_groups(record: FleetRecord, faults: Faults) -> Iterator[AwayOf]:
    """By generation, rack and cause, the most node-days first; nothing where all are alike."""
    for kind, names in (("generation", record.generation), ("rack", record.rack)):
        of_node = np.array([name or "" for name in names], np.str_)
        yield from _iterate_kind(kind, faults, of_node[faults.node], of_node)
    causes = np.array([str(cause) for cause in faults.cause], np.str_)
    yield from _iterate_kind("cause", faults, causes, None)


def _iterate_kind(
    kind: str, faults: Faults, of_fault: _Names, of_node: _Names | None
) -> Iterator[AwayOf]:
    names, row = np.unique(of_fault, return_inverse=True)
    if len(names) < 2 and (of_node is None or len(np.unique(of_node)) < 2):
        return
    away_days = np.bincount(row, weights=faults.end_day - faults.start_day, minlength=len(names))
    for place in np.argsort(-away_days, kind="stable")[:_MOST_OF_A_KIND]:
        if not names[place]:
            continue
        nodes = faults.num_nodes if of_node is None else int((of_node == names[place]).sum())
        found = _forecast_rows(faults, row == place, nodes, walk=False)
        yield AwayOf(
            kind,
            str(names[place]),
            nodes,
            found.outages,
            found.mean_away,
            found.in_sample,
            found.forecast,
        )


def _forecast_rows(faults: Faults, rows: Flags, num_nodes: int, *, walk: bool) -> SparesForecast:
    # What touches the record in one moment alone is no time away.
    rows = rows & (faults.start_day < faults.days) & (faults.end_day > 0)
    return forecast_spares(
        cut_outages(faults.start_day[rows], faults.end_day[rows], faults.days),
        num_nodes,
        begun=faults.begun[rows],
        walk=walk,
    )


# Nodes out of service, and how many spares make up for them.

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
    nodes = absent.num_nodes
    if not absent.outages:
        return []
    rate = len(absent.began) / (nodes * absent.seen.days) * 1e3
    foretold = [int(absent.at(one).value or 0) for one in CONFIDENCES]
    sufficed = [absent.seen.quantile(one) for one in CONFIDENCES]
    known = absent.forecast.value is not None
    rows = [("forecast", foretold), ("record", sufficed)] if known else [("record", sufficed)]
    each, down = mending.mean_days.value or 0.0, absent.mean_away
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
) -> tuple[SpareRow, ...]:
    """Spares for ``num_nodes``: foretold, and by rate and days of repair."""
    if num_nodes < 1:
        return ()
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
    return tuple(rows)
