"""Nodes away at once: how many spares sufficed, how many will, what they cost and what they save.

Rests on the faults of the record (outages that nobody planned, merged per node). Two answers are
kept apart: in sample, a fact, and the forecast for the next period of the same length.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Final

import numpy as np
import numpy.typing as npt

from triage.domain.arrays import Flags
from triage.domain.wire import UNSENT, Count, Share
from triage.fleet.record.columns import FleetRecord
from triage.fleet.record.exposed import Exposed
from triage.fleet.record.faults import Faults, faults_of
from triage.statistics.away.forecast import SparesAt, SparesForecast, forecast_spares
from triage.statistics.away.methods import SparesCost, compute_spares_costs
from triage.statistics.away.steps import cut_outages
from triage.statistics.estimate import Estimate
from triage.statistics.next_period import Drift, estimate_next_events

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
class NodesAway:
    """Spares of the record's nodes at 99 %: ``in_sample`` sufficed, ``forecast`` will.

    ``departures`` is how many times nodes went away, alone or together; ``looks`` how many
    independent looks at the fleet the record is worth. ``forecast.value`` is null where the
    record cannot tell, and its notes say why. ``methods`` are all answers side by side with the
    share of held-out time that each covered; ``method`` is that of the forecast.
    """

    num_nodes: Count
    outages: Count
    departures: Count
    looks: float
    mean_away: float
    confidence: Share
    in_sample: Count
    in_sample_covers: Share
    forecast: Estimate
    method: str
    methods: tuple[SparesAt, ...]
    drift: Drift
    costs: tuple[SparesCost, ...]
    groups: tuple[AwayOf, ...]
    found: Annotated[SparesForecast, UNSENT] = field(compare=False)


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
        faults.num_nodes,
        found.outages,
        found.departures,
        found.looks,
        found.mean_away,
        found.confidence,
        found.in_sample,
        found.seen.covered(found.in_sample),
        found.forecast,
        found.method,
        found.methods,
        found.drift,
        compute_spares_costs(
            found.seen,
            found.law,
            found.in_sample,
            min(foretold, faults.num_nodes),
            gpus_per_node=record.gpus_per_node,
        ),
        tuple(iterate_away_groups(record, faults)),
        found,
    )


def estimate_next_period(seen: Exposed, found: NodesAway | None) -> NextPeriod | None:
    """None for a record without length."""
    if not seen.period_h:
        return None
    days = seen.period_h / 24
    began = np.empty(0) if found is None else found.found.began
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
