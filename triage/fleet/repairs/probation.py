"""Who is on probation: nodes whose chance to fail again is more than twice the usual."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np

from triage.domain.probation import Probation
from triage.fleet.record.columns import Floats
from triage.fleet.record.faults import Faults
from triage.fleet.repairs.curve import EARLY_DAYS, LATE_DAYS, Curves
from triage.fleet.repairs.model import Chances
from triage.fleet.repairs.returns import ACTIONS, CAUSES, Returns
from triage.fleet.repairs.words import check_after, probation_text

_TIMES_USUAL: Final = 2.0
# The fleet's rate is that of four half-lives of a standing.
_RATE_DAYS: Final = 112.0
# Where a record has no fault, or none yet: 4.18 per 1,000 node-days (InfiniteHBD trace).
_USUAL_RATE: Final = 0.00418
_PRIOR_FAULTS: Final = 1.0
_STEP_DAYS: Final = 0.25


def faults_a_day(faults: Faults) -> float:
    """Faults of a node a day in the last 112 days, a hint of the usual rate added."""
    span = min(_RATE_DAYS, faults.days)
    new = faults.begun & (faults.start_day >= faults.days - span)
    node_days = faults.num_nodes * span
    prior_days = _PRIOR_FAULTS / _USUAL_RATE
    return float((np.count_nonzero(new) + _PRIOR_FAULTS) / (node_days + prior_days))


def on_probation(
    returns: Returns,
    chances: Chances,
    names: tuple[str, ...],
    since: datetime,
    usual_a_day: float,
    per_day: tuple[float, ...],
) -> Iterator[Probation]:
    """The nodes on probation at the end of the record, the likeliest to fail first.

    ``chances`` are those of all returns; ``usual_a_day`` are the faults of any node a day.
    """
    rows = np.flatnonzero(np.isinf(returns.next_day) & (returns.day >= returns.days - LATE_DAYS))
    back = (returns.days - returns.day[rows])[:, None]
    curves = Curves.through(chances.within_7[rows], chances.within_30[rows], usual_a_day, per_day)
    next_7, next_30 = (curves.chance(back, days)[:, 0] for days in (EARLY_DAYS, LATE_DAYS))
    usual_7 = float(-np.expm1(-usual_a_day * EARLY_DAYS))
    ends = _end_days(curves, _TIMES_USUAL * usual_7)
    for at in np.argsort(-next_7, kind="stable").tolist():
        row, days_back = int(rows[at]), float(back[at, 0])
        if ends[at] <= days_back:
            continue
        cause, action = CAUSES[returns.cause[row]], int(returns.action[row])
        done = ACTIONS[action] if action >= 0 else None
        returned_at = since + timedelta(days=float(returns.day[row]))
        until = returned_at + timedelta(days=float(ends[at]))
        said = [float(one[row]) for one in (chances.within_7, chances.low_7, chances.high_7)]
        number = int(chances.num_returns[row])
        yield Probation(
            node=names[int(returns.node[row])],
            returned_at=returned_at,
            days_back=days_back,
            cause=str(cause),
            action=None if done is None else str(done),
            within_7=said[0],
            low_7=said[1],
            high_7=said[2],
            within_30=float(chances.within_30[row]),
            next_7=float(next_7[at]),
            next_30=float(next_30[at]),
            usual_7=usual_7,
            num_returns=number,
            until=until.astimezone(UTC),
            check=check_after(cause),
            text=probation_text(
                days_back, cause, done, (said[0], said[1], said[2]), float(next_7[at]), usual_7,
                until, number,
            ),
        )  # fmt: skip


def _end_days(curves: Curves, least: float) -> Floats:
    """Days after the return from which on the chance of a week is below ``least``; 30 at most."""
    grid = np.arange(0.0, LATE_DAYS + _STEP_DAYS, _STEP_DAYS)
    above = curves.chance(grid[None, :], EARLY_DAYS) >= least
    last = above.shape[1] - 1 - np.argmax(above[:, ::-1], axis=1)
    return np.where(above.any(axis=1), np.minimum(grid[last] + _STEP_DAYS, LATE_DAYS), 0.0)
