"""What a record says of its repairs: which hold, which do not, and who is on probation.

Pure: the same record gives the same answer. What it lacks is said in ``notes``.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

import numpy as np

from triage.domain.counts import count
from triage.domain.probation import Probation
from triage.domain.wire import Count, Share, WireForm, convert_to_wire
from triage.fleet.domain.cause import RepairAction
from triage.fleet.record.columns import (
    FleetRecord,
    Floats,
    RepairNotes,
    convert_from_epoch_ns,
)
from triage.fleet.record.faults import Faults, faults_of
from triage.fleet.record.node_exposure import NS_PER_DAY
from triage.fleet.repairs.actions import (
    CauseRecurrence,
    RepairRow,
    summarize_by_cause,
    summarize_by_repair,
)
from triage.fleet.repairs.features import (
    EARLY_DAYS,
    LATE_DAYS,
    Curves,
    Features,
    compute_features,
    own_curve,
)
from triage.fleet.repairs.model import (
    Chances,
    Judged,
    fit_model,
    judge_chances,
    predict_chances,
    walk_forward,
)
from triage.fleet.repairs.returns import (
    ACTIONS,
    CAUSES,
    Returns,
    build_returns,
    estimate_failed_share,
)
from triage.fleet.repairs.words import check_after, describe_probation
from triage.statistics.estimate import Estimate

# A note is often written after the node is back, or before anybody drained it.
_WRITTEN_WITHIN_DAYS: Final = 1.0
_DRAINED_WITHIN_DAYS: Final = 1 / 24
_STRENGTH: Final = tuple(RepairAction)
"""What changes most stands last, but for ``other``."""


def with_notes(faults: Faults, repairs: RepairNotes | None, since_ns: int) -> tuple[Faults, int]:
    """The faults with what notes say was done in them, and how many notes are of no fault.

    What an outage itself says of its repair stands; of several notes, the one that changes most.
    """
    if repairs is None or not len(repairs.node):
        return faults, 0
    order = np.lexsort((faults.start_day, faults.node))
    keys = faults.node[order].astype(np.float64) * 1e6 + faults.start_day[order]
    days = (repairs.at_ns - since_ns) / NS_PER_DAY
    wanted = repairs.node.astype(np.float64) * 1e6 + days + _DRAINED_WITHIN_DAYS
    places = np.searchsorted(keys, wanted, side="right") - 1
    actions, num_visits = list(faults.action), 0
    own = {row for row, action in enumerate(actions) if action is not None}
    for note, place in enumerate(places.tolist()):
        row = int(order[place]) if place >= 0 else -1
        last = faults.back_day[row] + _WRITTEN_WITHIN_DAYS if row >= 0 else 0.0
        if row < 0 or faults.node[row] != repairs.node[note] or days[note] > last:
            num_visits += 1
        elif row not in own:
            actions[row] = _choose_stronger(actions[row], repairs.action[note])
    return replace(faults, action=tuple(actions)), num_visits


def _choose_stronger(one: RepairAction | None, other: RepairAction) -> RepairAction:
    """Of two repairs, the one that changes more."""
    if one is None or one is RepairAction.OTHER:
        return other
    if other is RepairAction.OTHER:
        return one
    return max(one, other, key=_STRENGTH.index)


_TIMES_USUAL: Final = 2.0
# The fleet's rate is that of four half-lives of a standing.
_RATE_DAYS: Final = 112.0
# Where a record has no fault, or none yet: 4.18 per 1,000 node-days (InfiniteHBD trace).
_USUAL_RATE: Final = 0.00418
_PRIOR_FAULTS: Final = 1.0
_STEP_DAYS: Final = 0.25


def estimate_faults_a_day(faults: Faults) -> float:
    """Faults of a node a day in the last 112 days, a hint of the usual rate added."""
    span = min(_RATE_DAYS, faults.days)
    new = faults.begun & (faults.start_day >= faults.days - span)
    node_days = faults.num_nodes * span
    prior_days = _PRIOR_FAULTS / _USUAL_RATE
    return float((np.count_nonzero(new) + _PRIOR_FAULTS) / (node_days + prior_days))


def _list_probations(
    record: FleetRecord, faults: Faults, returns: Returns, features: Features
) -> tuple[Probation, ...]:
    """The nodes on probation at the end of the record, the likeliest to fail first."""
    chances = predict_chances(fit_model(returns, features, returns.days), features)
    per_day = own_curve(returns.next_day - returns.day, returns.days - returns.day)
    usual_a_day = estimate_faults_a_day(faults)
    rows = np.flatnonzero(np.isinf(returns.next_day) & (returns.day >= returns.days - LATE_DAYS))
    back = (returns.days - returns.day[rows])[:, None]
    curves = Curves.through(chances.within_7[rows], chances.within_30[rows], usual_a_day, per_day)
    next_7, next_30 = (curves.chance(back, days)[:, 0] for days in (EARLY_DAYS, LATE_DAYS))
    usual_7 = float(-np.expm1(-usual_a_day * EARLY_DAYS))
    ends = _end_days(curves, _TIMES_USUAL * usual_7)
    listed = []
    for at in np.argsort(-next_7, kind="stable").tolist():
        row, days_back = int(rows[at]), float(back[at, 0])
        if ends[at] <= days_back:
            continue
        facts = _describe_return(record, returns, row)
        found = Probation(
            **facts,
            days_back=days_back,
            within_7=float(chances.within_7[row]),
            low_7=float(chances.low_7[row]),
            high_7=float(chances.high_7[row]),
            within_30=float(chances.within_30[row]),
            next_7=float(next_7[at]),
            next_30=float(next_30[at]),
            usual_7=usual_7,
            num_returns=int(chances.num_returns[row]),
            until=(facts["returned_at"] + timedelta(days=float(ends[at]))).astimezone(UTC),
            check=check_after(CAUSES[returns.cause[row]]),
            text="",
        )
        listed.append(replace(found, text=describe_probation(found)))
    return tuple(listed)


def _end_days(curves: Curves, least: float) -> Floats:
    """Days after the return from which on the chance of a week is below ``least``; 30 at most."""
    grid = np.arange(0.0, LATE_DAYS + _STEP_DAYS, _STEP_DAYS)
    above = curves.chance(grid[None, :], EARLY_DAYS) >= least
    last = above.shape[1] - 1 - np.argmax(above[:, ::-1], axis=1)
    return np.where(above.any(axis=1), np.minimum(grid[last] + _STEP_DAYS, LATE_DAYS), 0.0)


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
class FleetRepairs(WireForm):
    """All answers on repairs; ``to_dict`` is the wire form ``triage.repairs/1``.

    ``failed_7`` and ``failed_30`` are shares of returns whose time is over; ``usual_7`` and
    ``usual_30`` the chances of any node. ``judged`` holds the chances said on each day against what
    came, for 7 and for 30 days. ``returns`` are the newest of them.
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
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The wire form, of plain values."""
        return {"schema": SCHEMA, **convert_to_wire(self)}


def fleet_repairs(record: FleetRecord) -> FleetRepairs:
    """Answer everything on the repairs of a record."""
    faults, num_visits = with_notes(faults_of(record), record.repairs, record.since_ns)
    returns = build_returns(faults)
    features = compute_features(returns)
    chances = walk_forward(returns, features)
    everything = np.ones(len(returns), np.bool_)
    rate = estimate_faults_a_day(faults)
    spans = (EARLY_DAYS, chances.within_7), (LATE_DAYS, chances.within_30)
    return FleetRepairs(
        cluster=record.cluster,
        since=convert_from_epoch_ns(record.since_ns),
        until=convert_from_epoch_ns(record.until_ns),
        num_faults=len(faults),
        num_returns=len(returns),
        num_out=returns.num_out,
        num_visits=num_visits,
        failed_7=estimate_failed_share(returns, everything, EARLY_DAYS),
        failed_30=estimate_failed_share(returns, everything, LATE_DAYS),
        usual_7=float(-np.expm1(-rate * EARLY_DAYS)),
        usual_30=float(-np.expm1(-rate * LATE_DAYS)),
        probation=_list_probations(record, faults, returns, features),
        by_cause=summarize_by_cause(returns),
        by_repair=summarize_by_repair(returns),
        judged=tuple(
            judge_chances(within[over], returns.failed(days)[over], days)
            for days, within in spans
            for over in (returns.over(days),)
        ),
        returns=tuple(_list_rows(record, returns, chances)),
        notes=(*record.notes, *returns.notes, *_list_notes(returns, num_visits)),
    )


def list_record_probations(record: FleetRecord) -> tuple[Probation, ...]:
    """The nodes on probation alone; see :func:`fleet_repairs`."""
    faults, _ = with_notes(faults_of(record), record.repairs, record.since_ns)
    returns = build_returns(faults)
    return _list_probations(record, faults, returns, compute_features(returns))


def _describe_return(record: FleetRecord, returns: Returns, row: int) -> dict[str, Any]:
    """The node, when it was back, after what, and what was done."""
    action, day = int(returns.action[row]), float(returns.day[row])
    return {
        "node": record.nodes[int(returns.node[row])],
        "returned_at": convert_from_epoch_ns(record.since_ns) + timedelta(days=day),
        "cause": str(CAUSES[returns.cause[row]]),
        "action": str(ACTIONS[action]) if action >= 0 else None,
    }


def _list_rows(record: FleetRecord, returns: Returns, chances: Chances) -> list[ReturnRow]:
    """The newest returns first."""
    found = []
    since = convert_from_epoch_ns(record.since_ns)
    for row in reversed(range(max(0, len(returns) - _MOST_ROWS), len(returns))):
        gap = float(returns.next_day[row] - returns.day[row])
        found.append(
            ReturnRow(
                **_describe_return(record, returns, row),
                out_at=since + timedelta(days=float(returns.start_day[row])),
                failed_after_days=gap if np.isfinite(gap) else None,
                watched_days=float(returns.days - returns.day[row]),
                within_7=float(chances.within_7[row]),
                within_30=float(chances.within_30[row]),
            )
        )
    return found


def _list_notes(returns: Returns, num_visits: int) -> list[str]:
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
