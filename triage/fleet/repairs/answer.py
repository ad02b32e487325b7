"""What a record says of its repairs: which hold, which do not, and who is on probation.

Pure: the same record gives the same answer. What it lacks is said in ``notes``.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

import numpy as np

from triage.domain.counts import count
from triage.domain.probation import Probation
from triage.domain.wire import Count, Share, WireForm, as_wire
from triage.fleet.record.columns import FleetRecord
from triage.fleet.record.faults import Faults, faults_of
from triage.fleet.repairs.actions import CauseRecurrence, RepairRow, by_cause, by_repair
from triage.fleet.repairs.curve import EARLY_DAYS, LATE_DAYS, own_curve
from triage.fleet.repairs.features import Features, features_of
from triage.fleet.repairs.judged import Judged, judged
from triage.fleet.repairs.model import Chances, chances_of, fitted, walked_forward
from triage.fleet.repairs.probation import faults_a_day, on_probation
from triage.fleet.repairs.returns import ACTIONS, CAUSES, Returns, returns_of
from triage.fleet.repairs.shares import failed_share
from triage.fleet.repairs.visits import Visit, with_notes
from triage.statistics.estimate import Estimate

SCHEMA: Final = "triage.repairs/1"
_MOST_ROWS: Final = 200
_FEW_RETURNS: Final = 20


@dataclass(frozen=True, slots=True)
class ReturnRow(WireForm):
    """One link of the chain: out, repaired, back, and what came after.

    ``failed_after_days`` is None where the node has not failed within the ``watched_days`` since.
    ``within_7`` and ``within_30`` are the chances said on the day of the return.
    """

    node: str
    out_at: datetime
    returned_at: datetime
    cause: str
    action: str | None
    failed_after_days: float | None
    watched_days: float
    within_7: Share
    within_30: Share


@dataclass(frozen=True, slots=True)
class VisitRow(WireForm):
    """A repair that a note tells of, and no outage."""

    node: str
    at: datetime
    action: str


@dataclass(frozen=True, slots=True)
class FleetRepairs(WireForm):
    """All answers on repairs; ``to_dict`` is the wire form ``triage.repairs/1``.

    ``failed_7`` and ``failed_30`` are shares of returns whose time is over; ``usual_7`` and
    ``usual_30`` the chances of any node. ``judged`` holds the chances said on each day against
    what came, for 7 and for 30 days. ``returns`` are the newest of them, and ``visits`` the
    newest repairs without an outage.
    """

    cluster: str | None
    since: datetime
    until: datetime
    num_faults: Count
    num_returns: Count
    num_out: Annotated[Count, "Not back at the end."]
    num_visits: Annotated[Count, "Repairs that no outage is known around."]
    failed_7: Estimate
    failed_30: Estimate
    usual_7: Share
    usual_30: Share
    probation: tuple[Probation, ...]
    by_cause: tuple[CauseRecurrence, ...]
    by_repair: tuple[RepairRow, ...]
    judged: tuple[Judged, ...]
    returns: tuple[ReturnRow, ...]
    visits: tuple[VisitRow, ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The wire form, of plain values."""
        return {"schema": SCHEMA, **as_wire(self)}


def fleet_repairs(record: FleetRecord) -> FleetRepairs:
    """Answer everything on the repairs of a record."""
    faults, visits = with_notes(faults_of(record), record.repairs, record.since_ns)
    returns = returns_of(faults)
    features = features_of(returns)
    chances = walked_forward(returns, features)
    everything = np.ones(len(returns), np.bool_)
    rate = faults_a_day(faults)
    return FleetRepairs(
        cluster=record.cluster,
        since=_moment(record.since_ns),
        until=_moment(record.until_ns),
        num_faults=len(faults),
        num_returns=len(returns),
        num_out=returns.num_out,
        num_visits=len(visits),
        failed_7=failed_share(returns, everything, EARLY_DAYS),
        failed_30=failed_share(returns, everything, LATE_DAYS),
        usual_7=float(-np.expm1(-rate * EARLY_DAYS)),
        usual_30=float(-np.expm1(-rate * LATE_DAYS)),
        probation=_probations(record, faults, returns, features),
        by_cause=by_cause(returns),
        by_repair=by_repair(returns),
        judged=tuple(_judged_over(returns, chances)),
        returns=tuple(_rows_of(record, returns, chances)),
        visits=tuple(_visit_row(record, one) for one in reversed(visits[-_MOST_ROWS:])),
        notes=(*record.notes, *returns.notes, *_notes_of(returns, len(visits))),
    )


def probations_of(record: FleetRecord) -> tuple[Probation, ...]:
    """The nodes on probation alone; see :func:`fleet_repairs`."""
    faults, _ = with_notes(faults_of(record), record.repairs, record.since_ns)
    returns = returns_of(faults)
    return _probations(record, faults, returns, features_of(returns))


def _probations(
    record: FleetRecord, faults: Faults, returns: Returns, features: Features
) -> tuple[Probation, ...]:
    model = fitted(returns, features, returns.days)
    per_day = own_curve(returns.next_day - returns.day, returns.days - returns.day)
    return tuple(
        on_probation(
            returns,
            chances_of(model, features),
            record.nodes,
            _moment(record.since_ns),
            faults_a_day(faults),
            per_day,
        )
    )


def _judged_over(returns: Returns, chances: Chances) -> list[Judged]:
    """What was said, against what came, over 7 and over 30 days."""
    spans = ((EARLY_DAYS, chances.within_7), (LATE_DAYS, chances.within_30))
    return [
        judged(within[over], returns.failed(days)[over], days)
        for days, within in spans
        for over in (returns.over(days),)
    ]


def _rows_of(record: FleetRecord, returns: Returns, chances: Chances) -> list[ReturnRow]:
    """The newest returns first."""
    found = []
    since = _moment(record.since_ns)
    for row in reversed(range(max(0, len(returns) - _MOST_ROWS), len(returns))):
        gap, action = float(returns.next_day[row] - returns.day[row]), int(returns.action[row])
        found.append(
            ReturnRow(
                node=record.nodes[int(returns.node[row])],
                out_at=since + timedelta(days=float(returns.start_day[row])),
                returned_at=since + timedelta(days=float(returns.day[row])),
                cause=str(CAUSES[returns.cause[row]]),
                action=str(ACTIONS[action]) if action >= 0 else None,
                failed_after_days=gap if np.isfinite(gap) else None,
                watched_days=float(returns.days - returns.day[row]),
                within_7=float(chances.within_7[row]),
                within_30=float(chances.within_30[row]),
            )
        )
    return found


def _visit_row(record: FleetRecord, one: Visit) -> VisitRow:
    at = _moment(record.since_ns) + timedelta(days=one.day)
    return VisitRow(record.nodes[one.node], at, str(one.action))


def _notes_of(returns: Returns, num_visits: int) -> list[str]:
    """What is missing, in words."""
    found = []
    if num_visits:
        found.append(f"repairs without an outage, counted as visits alone: {num_visits:,}")
    if not len(returns):
        why = "no node has come back from an unplanned outage: nothing to say of repairs"
        return [*found, why]
    if young := int(np.count_nonzero(~returns.over(LATE_DAYS) & ~returns.failed(LATE_DAYS))):
        found.append(f"returns whose 30 days are not over, counted neither good nor bad: {young:,}")
    if len(returns) < _FEW_RETURNS:
        found.append(
            f"{count(len(returns), 'return')}, fewer than {_FEW_RETURNS}: the chances are mostly"
            " those of public records"
        )
    if unsaid := int(np.count_nonzero(returns.action < 0)):
        found.append(f"returns of which nobody said what was done: {unsaid:,} of {len(returns):,}")
    return found


def _moment(ns: int) -> datetime:
    return datetime.fromtimestamp(ns / 1e9, UTC)
