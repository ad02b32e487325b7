"""What is known of a return on its day, as columns: the fleet, the node, the cause, the repair.

All of them are logarithms of ratios to the usual, so that 0 says nothing. They are capped: no
record shows more than a few times the usual, and a single node's luck may. Each looks at its own
past alone, so that a return is judged as on the day it happened; it decays with a half-life, and is
shrunk towards 1 by so many expected faults without a surprise.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from triage.fleet.domain.cause import OutageCause
from triage.fleet.record.columns import Flags, Floats, Ints
from triage.fleet.repairs.returns import ACTIONS, CAUSES, NO_ACTION, Returns
from triage.statistics.away.steps import sum_time_since

# The curve of faults after a return: high in the first hour, falling over a month.
#
# Assumes that what differs from return to return is how high the curve is, and not its shape. The
# usual curve is that of 400 servers that train language models (InfiniteHBD trace, 525 returns):
# 33 % failed again within 7 days and 45 % within 30.

EARLY_DAYS: Final = 7.0
LATE_DAYS: Final = 30.0
EDGES: Final = (0.0, 0.05, 0.25, 1.0, 3.0, 7.0, 14.0, 30.0)
"""Days after a return between which the hazard is constant."""
USUAL: Final = (1.4, 0.3, 0.105, 0.048, 0.024, 0.012, 0.007)
"""Faults a day in each of them, where nothing else is known."""
# A record's own curve takes over as its faults in an interval exceed these.
_PRIOR_FAULTS: Final = 5.0
_SUREST: Final = 0.9999


def accumulate_hazard(days: Floats, per_day: tuple[float, ...] = USUAL) -> Floats:
    """Expected faults up to so many days after a return; flat after 30."""
    reach = np.clip(np.asarray(days, np.float64)[..., None] - EDGES[:-1], 0, np.diff(EDGES))
    return np.asarray(reach @ np.array(per_day), np.float64)


@dataclass(frozen=True, slots=True)
class Curves:
    """Curves of returns: ``early`` faults expected in 7 days, ``late`` in 7 to 30, one each.

    ``after`` are faults a day from then on: those of any node.
    """

    early: Floats
    late: Floats
    after: float
    per_day: tuple[float, ...] = USUAL

    @classmethod
    def through(
        cls,
        within_7: Floats,
        within_30: Floats,
        after: float,
        per_day: tuple[float, ...] = USUAL,
    ) -> "Curves":
        """The curves that give these chances at the moment of return."""
        early = -np.log1p(-np.minimum(within_7, _SUREST))
        late = -np.log1p(-np.minimum(within_30, _SUREST)) - early
        return cls(early, np.maximum(late, 0.0), after, per_day)

    def expected(self, days: Floats) -> Floats:
        """Faults expected from the return until then; ``days`` has the curves as its rows."""
        at = accumulate_hazard(days, self.per_day)
        week, month = accumulate_hazard(np.array([EARLY_DAYS, LATE_DAYS]), self.per_day)
        early = self.early[:, None] * np.minimum(at, week) / week
        late = self.late[:, None] * np.maximum(at - week, 0.0) / (month - week)
        after = self.after * np.maximum(np.asarray(days) - LATE_DAYS, 0.0)
        return np.asarray(early + late + after, np.float64)

    def chance(self, since: Floats, days: float) -> Floats:
        """The chance of a fault within ``days``, after ``since`` days without one; (n, m)."""
        more = self.expected(since + days) - self.expected(since)
        return np.asarray(-np.expm1(-more), np.float64)


def own_curve(gap: Floats, watched: Floats) -> tuple[float, ...]:
    """The curve of a record: ``gap`` is days to the next fault, ``watched`` for how long."""
    low, high = np.array(EDGES[:-1]), np.array(EDGES[1:])
    reach = np.clip(np.minimum(gap, watched)[:, None] - low, 0, high - low).sum(axis=0)
    faults = np.histogram(gap[gap <= watched], EDGES)[0]
    found = (faults + _PRIOR_FAULTS) / (reach + _PRIOR_FAULTS / np.array(USUAL))
    return tuple(float(rate) for rate in found)


EARLY: Final = (0.0, EARLY_DAYS)
LATE: Final = (EARLY_DAYS, LATE_DAYS)
WHOLE: Final = (0.0, LATE_DAYS)


def compute_past_ratios(
    returns: Returns,
    among: Flags,
    expected: Floats,
    span: tuple[float, float],
    half_life: float,
    pseudo: float,
) -> Floats:
    """At each return ``among`` these: seen over expected, of those before it.

    ``expected`` is by how much each return's own curve is held to be higher than the usual one;
    faults count that came in ``span`` days after a return.
    """
    day, next_day = returns.day[among], returns.next_day[among]
    weight = np.exp2(day / half_life)
    gap = next_day - day
    hit = (gap >= span[0]) & (gap < span[1])
    seen_at = np.sort(next_day[hit])
    seen = np.concatenate([[0.0], np.cumsum(weight[hit][np.argsort(next_day[hit])])])
    observed = seen[np.searchsorted(seen_at, day, side="right")]
    hoped = _accumulate_hazard_until(day, next_day, weight * expected[among], span)
    decay = np.exp2(-day / half_life)
    return np.asarray((observed * decay + pseudo) / (hoped * decay + pseudo), np.float64)


def _accumulate_hazard_until(
    day: Floats, next_day: Floats, weight: Floats, span: tuple[float, float]
) -> Floats:
    """At each day, the usual hazard that all returns before it have run through, weighted.

    Each return adds a slope at the begin of an interval of its curve, and takes it away at its end
    or at its next fault.
    """
    times, slopes = [np.zeros(0)], [np.zeros(0)]
    for low, high, rate in zip(EDGES[:-1], EDGES[1:], USUAL, strict=True):
        if low < span[0] or high > span[1]:
            continue
        begin, end = day + low, np.minimum(day + high, next_day)
        open_ = end > begin
        times += [begin[open_], end[open_]]
        slopes += [rate * weight[open_], -rate * weight[open_]]
    hazard = sum_time_since(np.concatenate(times), day, np.concatenate(slopes))
    return np.maximum(hazard, 0.0)


def compute_group_ratios(
    returns: Returns, group: Ints, expected: Floats, half_life: float, pseudo: float
) -> Floats:
    """``compute_past_ratios`` over a month within each group; 1 for a group below 0, which is
    none.
    """
    found = np.ones(len(returns))
    for one in np.unique(group[group >= 0]).tolist():
        among = group == one
        found[among] = compute_past_ratios(returns, among, expected, WHOLE, half_life, pseudo)
    return found


def compute_node_ratios(
    returns: Returns, expected: Floats, half_life: float, pseudo: float
) -> Floats:
    """The same of the node's own earlier returns, whose outcome is known by its next fault."""
    found = np.ones(len(returns))
    gap = np.minimum(returns.next_day - returns.day, LATE_DAYS)
    hoped = (accumulate_hazard(gap) * expected).tolist()
    hit = returns.failed(LATE_DAYS).tolist()
    day = returns.day.tolist()
    for rows in _iterate_rows_by_node(returns.node):
        seen = hope = 0.0
        for before, row in pairwise(rows):
            decay = 2.0 ** ((day[before] - day[row]) / half_life)
            seen, hope = (seen + hit[before]) * decay, (hope + hoped[before]) * decay
            found[row] = (seen + pseudo) / (hope + pseudo)
    return found


def _iterate_rows_by_node(node: Ints) -> Iterator[list[int]]:
    """The rows of each node that has more than one, by time."""
    order = np.argsort(node, kind="stable")
    edges = np.flatnonzero(np.diff(node[order])) + 1
    yield from (rows.tolist() for rows in np.split(order, edges) if len(rows) > 1)


class Weight(NamedTuple):
    """How much one column counts on the scale of log odds before a record says otherwise."""

    name: str
    mean: float
    sd: float


# Chosen on two public records (400 servers, 512 nodes) so that both are told apart and neither
# is fitted: what one of them alone would like is left out.
FEATURES: Final = (
    Weight("one", -0.55, 0.3),
    Weight("fleet", 0.6, 0.2),
    Weight("fleet_now", 0.8, 0.2),
    Weight("node", 0.4, 0.15),
    Weight("soon", 0.1, 0.05),
    Weight("cause_elsewhere", 0.7, 0.3),
    Weight("cause", 0.5, 0.3),
    Weight("action", 0.7, 0.4),
    Weight("together", -0.15, 0.1),
)
"""Of a fault within 7 days."""
LATE_FEATURES: Final = (
    Weight("one", -0.7, 0.3),
    Weight("fleet", 0.6, 0.2),
    Weight("node", 0.3, 0.15),
    Weight("soon", 0.05, 0.05),
    Weight("action", 0.5, 0.4),
)
"""Of one within 7 to 30 days, where none came before."""

# Shares that failed again within 7 days, beside 33 % of all (InfiniteHBD trace, 525 returns).
_ELSEWHERE: Final = {
    OutageCause.NIC: 0.48,
    OutageCause.CABLE: 0.42,
    OutageCause.FAILED_TEST: 0.42,
    OutageCause.POWER: 0.25,
    OutageCause.GPU: 0.22,
    OutageCause.COOLING: 0.15,
}
_OF_ALL: Final = 0.33
# By cause: how much more often it came back in a public record, as a logarithm.
_PUBLIC_RATIOS: Final = np.log([_ELSEWHERE.get(cause, _OF_ALL) / _OF_ALL for cause in CAUSES])
_YEAR: Final = 365.0
_USUAL_DAYS, _MOST_DAYS = 28.0, 112.0
_TOGETHER_DAYS: Final = 0.1
# The fleet's ratio already holds what its burst does to each node.
_SHARED: Final = 0.7


@dataclass(frozen=True, slots=True)
class Features:
    """``early`` and ``late``: one row per return, columns as in the two tables above."""

    early: Floats
    late: Floats


def compute_features(returns: Returns) -> Features:
    """The columns of all returns, each of its own past alone."""
    count = len(returns)
    everything, alike = np.ones(count, np.bool_), np.ones(count)
    long_early = compute_past_ratios(returns, everything, alike, EARLY, 112.0, 10.0)
    long_late = compute_past_ratios(returns, everything, alike, LATE, 112.0, 10.0)
    now = compute_past_ratios(returns, everything, long_early, EARLY, 7.0, 3.0)
    expected = long_early * now**_SHARED
    of_cause = returns.cause * len(ACTIONS) + returns.action
    repair = np.where(returns.action >= 0, of_cause, NO_ACTION)
    action = compute_group_ratios(returns, repair, expected, _YEAR, 5.0)
    gap = np.clip(np.nan_to_num(returns.before_days, nan=_USUAL_DAYS - 0.5), 0.0, _MOST_DAYS)
    early, late = accumulate_hazard(np.array([EARLY_DAYS, LATE_DAYS]))
    columns = {
        "one": alike,
        "fleet_now": np.clip(np.log(now), -1.1, 1.1),
        "node": np.clip(np.log(compute_node_ratios(returns, expected, 56.0, 1.0)), -1.0, 1.1),
        "soon": np.clip(-np.log((gap + 0.5) / _USUAL_DAYS), -1.4, 3.0),
        "cause_elsewhere": _PUBLIC_RATIOS[returns.cause],
        "cause": np.log(compute_group_ratios(returns, returns.cause, expected, _YEAR, 20.0)),
        "action": np.clip(np.log(action), -1.6, 1.1),
        "together": np.minimum(np.log1p(_count_others_back(returns.day)), 2.5),
    }
    of_early = columns | {"fleet": _log_odds(early * long_early)}
    of_late = columns | {"fleet": _log_odds((late - early) * long_late)}
    return Features(
        early=np.column_stack([of_early[one.name] for one in FEATURES]),
        late=np.column_stack([of_late[one.name] for one in LATE_FEATURES]),
    )


def _log_odds(expected: Floats) -> Floats:
    """The log odds of any fault where so many are expected."""
    return np.asarray(np.log(np.expm1(expected)), np.float64)


def _count_others_back(day: Floats) -> Floats:
    """How many others came back in the last hours: a batch was away for a cause that it shares."""
    before = np.searchsorted(day, day - _TOGETHER_DAYS, side="right")
    return np.asarray(np.searchsorted(day, day, side="right") - before - 1, np.float64)
