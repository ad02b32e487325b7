"""What is known of a return on its day, as columns: the fleet, the node, the cause, the repair.

All of them are logarithms of ratios to the usual, so that 0 says nothing. They are capped: no
record shows more than a few times the usual, and a single node's luck may.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from triage.fleet.domain.cause import OutageCause
from triage.fleet.record.columns import Floats
from triage.fleet.repairs.curve import EARLY_DAYS, LATE_DAYS, cumulative
from triage.fleet.repairs.past import EARLY, LATE, by_group, by_node, ratios
from triage.fleet.repairs.returns import ACTIONS, CAUSES, NO_ACTION, Returns


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


def features_of(returns: Returns) -> Features:
    """The columns of all returns, each of its own past alone."""
    count = len(returns)
    everything, alike = np.ones(count, np.bool_), np.ones(count)
    long_early = ratios(returns, everything, alike, EARLY, 112.0, 10.0)
    long_late = ratios(returns, everything, alike, LATE, 112.0, 10.0)
    now = ratios(returns, everything, long_early, EARLY, 7.0, 3.0)
    expected = long_early * now**_SHARED
    of_cause = returns.cause * len(ACTIONS) + returns.action
    repair = np.where(returns.action >= 0, of_cause, NO_ACTION)
    action = by_group(returns, repair, expected, _YEAR, 5.0)
    gap = np.clip(np.nan_to_num(returns.before_days, nan=_USUAL_DAYS - 0.5), 0.0, _MOST_DAYS)
    early, late = cumulative(np.array([EARLY_DAYS, LATE_DAYS]))
    columns = {
        "one": alike,
        "fleet_now": np.clip(np.log(now), -1.1, 1.1),
        "node": np.clip(np.log(by_node(returns, expected, 56.0, 1.0)), -1.0, 1.1),
        "soon": np.clip(-np.log((gap + 0.5) / _USUAL_DAYS), -1.4, 3.0),
        "cause_elsewhere": elsewhere()[returns.cause],
        "cause": np.log(by_group(returns, returns.cause, expected, _YEAR, 20.0)),
        "action": np.clip(np.log(action), -1.6, 1.1),
        "together": np.minimum(np.log1p(_others_back(returns.day)), 2.5),
    }
    of_early = columns | {"fleet": _log_odds(early * long_early)}
    of_late = columns | {"fleet": _log_odds((late - early) * long_late)}
    return Features(
        early=np.column_stack([of_early[one.name] for one in FEATURES]),
        late=np.column_stack([of_late[one.name] for one in LATE_FEATURES]),
    )


def elsewhere() -> Floats:
    """By cause: how much more often it came back in a public record, as a logarithm."""
    return np.log([_ELSEWHERE.get(cause, _OF_ALL) / _OF_ALL for cause in CAUSES])


def _log_odds(expected: Floats) -> Floats:
    """The log odds of any fault where so many are expected."""
    return np.asarray(np.log(np.expm1(expected)), np.float64)


def _others_back(day: Floats) -> Floats:
    """How many others came back in the last hours: a batch was away for a cause that it shares."""
    before = np.searchsorted(day, day - _TOGETHER_DAYS, side="right")
    return np.asarray(np.searchsorted(day, day, side="right") - before - 1, np.float64)
