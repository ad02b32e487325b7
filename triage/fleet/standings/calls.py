"""Calls: which nodes are named for the weeks ahead, and how calls of the past came out.

Named are the nodes of the highest forecast, few at a time. Before that the record itself has to
show that faults come back to the same nodes. Each call of the past is made again from what was
known by then, and held against what followed and against plain counts at as many calls.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from triage.domain.standing import Walked
from triage.fleet.record.columns import Flags, Floats
from triage.fleet.standings.forecast import (
    HORIZON_DAYS,
    Forecast,
    count_later_faults,
    iterate_forecasts,
)
from triage.fleet.standings.history import FaultHistory, cut_history, measure_days_out
from triage.fleet.standings.strikes import sum_by_member
from triage.statistics.estimate import LEVEL

# Half-lives and windows of the counts that calls are held against; days.
_WINDOWS: Final = (56.0, 112.0)
_DECAYS: Final = (7.0, 14.0, 28.0, 56.0, 112.0)
COUNTS: Final = (
    *(f"count of {days:g} days" for days in _WINDOWS),
    "count of all",
    *(f"decayed count, half-life {days:g} days" for days in _DECAYS),
)


@dataclass(frozen=True, slots=True)
class CallRule:
    """Who is called: a forecast of ``times`` that of its peers, and at most ``share`` of all
    nodes; none where nodes that are alike would do as well (``level``). With ``bursts`` faults
    also have to come back sooner than steady rates explain: where nodes differ in their rates
    alone, a test of counts is better.
    """

    times: float = 2.0
    share: float = 0.02
    level: float = 0.05
    bursts: bool = True

    def decides(self, now: Forecast) -> bool:
        """Whether the record shows by then that forecasts may decide."""
        enough = not self.bursts or now.bursts >= -np.log(self.level)
        return bool(now.chance <= self.level and enough)


@dataclass(frozen=True, slots=True)
class Calls:
    """``now`` is the forecast at the record's end; ``decided`` says that forecasts decide.
    ``called`` are the nodes named now, ``before`` those of each day of the past.
    """

    now: Forecast
    called: Flags
    decided: bool
    walked: Walked | None
    before: Mapping[float, tuple[int, ...]] = field(default_factory=dict)


def decide_calls(
    history: FaultHistory,
    ordinary: Flags,
    beside: Floats | None = None,
    rule: CallRule | None = None,
) -> Calls:
    """The calls of now and of the past; only ``ordinary`` nodes are called.

    ``beside`` is how often the place of each node fails beside the fleet, 1 where left out.
    """
    rule = rule or CallRule()
    beside = np.ones(history.num_nodes) if beside is None else beside
    before: dict[float, tuple[int, ...]] = {}
    for now in iterate_forecasts(history, ordinary, beside):
        decided = rule.decides(now)
        named = _list_called(now, ordinary, rule) if decided else ()
        if decided and now.day + HORIZON_DAYS <= history.days:
            before[now.day] = named
    called = np.zeros(history.num_nodes, dtype=bool)
    called[list(named)] = True
    return Calls(now, called, decided, _evaluate_calls(history, ordinary, before), before)


def _list_called(now: Forecast, ordinary: Flags, rule: CallRule) -> tuple[int, ...]:
    """The nodes called at one look, the worst first; one that is long out is none."""
    able = ordinary & (now.times >= rule.times) & (measure_days_out(now.known) < HORIZON_DAYS)
    order = np.argsort(np.where(able, -now.times, 0.0), kind="stable")
    most = max(1, round(rule.share * len(able)))
    return tuple(node for node in order[:most].tolist() if able[node])


def count_scores(history: FaultHistory, day: float) -> list[Floats]:
    """The counts of :data:`COUNTS` at ``day``, each of shape (nodes,)."""
    known = cut_history(history, day)
    every = np.ones(len(known))
    windows = [(known.day > day - days).astype(np.float64) for days in _WINDOWS]
    fading = [np.exp2(-(known.days - known.day) / half_life) for half_life in _DECAYS]
    return [sum_by_member(known.node, kept, known.num_nodes) for kept in (*windows, every, *fading)]


def compute_expected_of_top(score: Floats, num: int, after: Floats, ordinary: Flags) -> float:
    """The sum of ``after`` over the ``num`` nodes of the highest score; ties count on average."""
    scores = score[ordinary]
    values = after[ordinary]
    last = np.partition(scores, len(scores) - num)[len(scores) - num]
    above, level = scores > last, scores == last
    return float(values[above].sum() + (num - above.sum()) * values[level].mean())


def _evaluate_calls(
    history: FaultHistory, ordinary: Flags, before: Mapping[float, tuple[int, ...]]
) -> Walked | None:
    """How the calls came out; None where there were none."""
    num = failed = 0
    faults = fleet = 0.0
    counts = np.zeros(len(COUNTS))
    apart: set[tuple[int, int]] = set()
    for day, named in before.items():
        if not named:
            continue
        after = count_later_faults(history, day)
        of_called = after[list(named)]
        num += len(named)
        failed += int(np.count_nonzero(of_called))
        faults += float(of_called.sum())
        fleet += len(named) * float(after[ordinary].mean())
        apart |= {(node, int((history.days - day) // HORIZON_DAYS)) for node in named}
        scores = count_scores(history, day)
        counts += [compute_expected_of_top(score, len(named), after, ordinary) for score in scores]
    if not num:
        return None
    best = int(np.argmax(counts))
    low, high = _compute_bounds(failed / num * len(apart), len(apart))
    return Walked(
        days=HORIZON_DAYS,
        looks=sum(bool(named) for named in before.values()),
        calls=num,
        calls_apart=len(apart),
        failed=failed,
        precision=failed / num,
        precision_low=low,
        precision_high=high,
        faults_per_call=faults / num,
        faults_per_node=fleet / num,
        best_count=COUNTS[best],
        faults_per_best_count=float(counts[best]) / num,
    )


def _compute_bounds(failed: float, num: float) -> tuple[float, float]:
    """The 95 % interval of ``failed`` in ``num``, of Jeffreys."""
    from scipy.special import betaincinv

    outside = (1 - LEVEL) / 2
    shape = (failed + 0.5, num - failed + 0.5)
    return float(betaincinv(*shape, outside)), float(betaincinv(*shape, 1 - outside))
