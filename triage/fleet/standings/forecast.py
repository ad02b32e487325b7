"""How many faults each node is to have in the next 56 days: decayed counts, shrunk.

A fault counts less the older it is. One part of it fades within days (the repair did not take),
the rest within months (the node is so). Counts are shrunk towards the rate of the node's place by
a Gamma prior (Gamma-Poisson). Half-lives, weights and prior are those that are likeliest by the
record's own past: by which nodes failed within each 14 days, given the counts before them. How
many failed does not enter, so a fleet that gets better or worse misleads nothing.
Assumes that what was predictable stays so.

Called are the nodes of the highest forecast, few at a time. Before that the record itself has to
show that faults come back to the same nodes. Each call of the past is made again from what was
known by then, and held against what followed.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Final

import numpy as np

from triage.domain.standing import Walked
from triage.fleet.record.columns import Flags, Floats, Ints
from triage.fleet.standings.strikes import (
    FaultHistory,
    cut_history,
    measure_days_out,
    sum_by_member,
)
from triage.statistics.estimate import LEVEL

HORIZON_DAYS: Final = 56.0
_STEP_DAYS: Final = 7.0
# Whom a look names is held against the nodes that failed in so many days after it.
_LEARN_DAYS: Final = 14.0
# Less is no history to forecast from.
FIRST_DAYS: Final = 28.0
# What is older is looked at no more: fleets change.
_MOST_LOOKS: Final = 208
# The fleet's own rate is that of so many days: it drifts.
_RECENT_DAYS: Final = 112.0
# A fleet in which nothing failed still has a rate: less than one fault is known.
_UNSEEN: Final = 0.5
FAST: Final = (3.0, 7.0, 14.0)
SLOW: Final = (56.0, 112.0, 224.0, 448.0)
_GAINS: Final = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0)
_SHAPES: Final = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True, slots=True)
class Fading:
    """How faults fade: half-lives in days, ``gain`` times as much of the ``fast`` part as of the
    ``slow`` one. ``shape`` is that of the Gamma prior: it weighs as much as so many faults.
    """

    fast: float
    slow: float
    gain: float
    shape: float

    def weigh(self, decayed: Callable[[float], Floats]) -> Floats:
        """Values that ``decayed`` gives by half-life, so that a fault of this moment counts 1."""
        return (decayed(self.slow) + self.gain * decayed(self.fast)) / (1 + self.gain)

    def doublings(self) -> float:
        """How far it is from :data:`USUAL`."""
        pairs = (
            (self.fast, USUAL.fast),
            (self.slow, USUAL.slow),
            (self.gain + 0.5, USUAL.gain + 0.5),
            (self.shape, USUAL.shape),
        )
        return float(sum(abs(np.log2(one / usual)) for one, usual in pairs))


USUAL: Final = Fading(7.0, 112.0, 8.0, 0.25)
"""What is assumed before the record says more: in the week after a repair a node fails about ten
times as often as usual.
"""
FADINGS: Final = tuple(
    one
    for one in (Fading(*each) for each in product(FAST, SLOW, _GAINS, _SHAPES))
    if one.gain or one.fast == USUAL.fast
)
_GAIN: Final[Floats] = np.array([one.gain for one in FADINGS])
_SHAPE: Final[Floats] = np.array([one.shape for one in FADINGS])
_OF_FAST: Final[Ints] = np.array([FAST.index(one.fast) for one in FADINGS], np.int64)
_OF_SLOW: Final[Ints] = np.array([SLOW.index(one.slow) for one in FADINGS], np.int64)
# Each doubling away from the usual is e times as unlikely beforehand (logarithms).
_BEFOREHAND: Final[Floats] = -np.array([one.doublings() for one in FADINGS])


@dataclass(frozen=True, slots=True)
class Forecast:
    """The forecast of each node at ``day``: ``faults`` within :data:`HORIZON_DAYS`, and ``times``
    as many as its peers. ``weight`` is the shape of its Gamma distribution: about the faults that
    it rests on.

    ``chance`` bounds how likely such a record is where nodes of one place are all alike;
    ``bursts`` is how much likelier it is that a part of each fault fades fast than that none does
    (logarithm).
    """

    day: float
    fading: Fading
    faults: Floats
    times: Floats
    weight: Floats
    chance: float
    bursts: float
    known: FaultHistory


def compute_gamma_interval(mean: Floats, shape: Floats) -> tuple[Floats, Floats]:
    """The 95 % interval of Gamma distributions."""
    from scipy.special import gammaincinv

    outside = (1 - LEVEL) / 2
    scale = mean / shape
    return gammaincinv(shape, outside) * scale, gammaincinv(shape, 1 - outside) * scale


def sum_decayed_faults(history: FaultHistory, half_life_days: float) -> Floats:
    """The faults of each node, each half as much for each half-life since it; shape (nodes,)."""
    weights = history.share * np.exp2((history.day - history.days) / half_life_days)
    return sum_by_member(history.node, weights, history.num_nodes)


def count_later_faults(
    history: FaultHistory, day: float, horizon_days: float = HORIZON_DAYS
) -> Floats:
    """The faults of each node in the ``horizon_days`` after ``day``."""
    first, last = np.searchsorted(history.day, [day, day + horizon_days], side="right")
    return sum_by_member(history.node[first:last], history.share[first:last], history.num_nodes)


def iterate_forecasts(history: FaultHistory, ordinary: Flags, beside: Floats) -> Iterator[Forecast]:
    """The forecast at every ``STEP_DAYS`` back, oldest first; the last is of the record's end.

    Each is learned from what was known by then, from ``ordinary`` nodes alone. ``beside`` is how
    often the place of each node fails beside the fleet.
    """
    num = max(int((history.days - FIRST_DAYS) // _STEP_DAYS), 0)
    likelier = np.zeros(len(FADINGS))
    for back in range(min(num, _MOST_LOOKS), -1, -1):
        day = history.days - _STEP_DAYS * back
        if (before := day - _LEARN_DAYS) >= FIRST_DAYS:
            failed = count_later_faults(history, before, _LEARN_DAYS)
            found = compute_likelihoods(cut_history(history, before), failed, ordinary, beside)
            # Looks overlap, and each failure is to be counted once.
            likelier = likelier + _STEP_DAYS / _LEARN_DAYS * found
        yield _build_forecast(cut_history(history, day), ordinary, beside, likelier)


def _build_forecast(
    known: FaultHistory, ordinary: Flags, beside: Floats, likelier: Floats
) -> Forecast:
    fading = FADINGS[int(np.argmax(_BEFOREHAND + likelier))]
    counts = fading.weigh(lambda half_life: sum_decayed_faults(known, half_life))
    usual = beside * float(counts[ordinary].sum() / beside[ordinary].sum())
    weight = fading.shape + counts
    times = weight / (fading.shape + usual)
    lately = min(max(known.days, 1.0), _RECENT_DAYS)
    recent = (known.day > known.days - lately) & ordinary[known.node]
    total = max(float(known.share[recent].sum()), _UNSEEN) / lately * HORIZON_DAYS
    rates = beside * times
    faults = rates * total / float(rates[ordinary].sum())
    alike = _average_likelihood(likelier, _GAIN >= 0)
    bursts = _average_likelihood(likelier, _GAIN > 0) - _average_likelihood(likelier, _GAIN == 0)
    chance = float(np.exp(-max(alike, 0.0)))
    return Forecast(known.days, fading, faults, times, weight, chance, bursts, known)


def compute_likelihoods(
    known: FaultHistory, failed: Floats, ordinary: Flags, beside: Floats
) -> Floats:
    """For each of ``FADINGS`` how much likelier it made the nodes that ``failed`` than nodes of
    one place that are all alike (logarithm). A node counts once, however often it failed.
    """
    nodes = np.flatnonzero(ordinary & (failed > 0))
    if not len(nodes):
        return np.zeros(len(FADINGS))
    rates, place = np.unique(beside, return_inverse=True)
    num = np.bincount(place[ordinary], minlength=len(rates)).astype(np.float64)
    fast, slow = (
        np.array([sum_decayed_faults(known, one) for one in half_lives])
        for half_lives in (FAST, SLOW)
    )

    def of_places(counts: Floats) -> Floats:
        return np.array(
            [sum_by_member(place[ordinary], row[ordinary], len(rates)) for row in counts]
        )

    sums = _weigh_fadings(of_places(fast), of_places(slow))
    usual = sums.sum(axis=1, keepdims=True) / (rates * num).sum() * rates
    prior = _SHAPE[:, None] + usual
    whole = (rates * (num * _SHAPE[:, None] + sums) / prior).sum(axis=1, keepdims=True)
    times = (_SHAPE[:, None] + _weigh_fadings(fast[:, nodes], slow[:, nodes])) / prior[
        :, place[nodes]
    ]
    found: Floats = np.log(times * (rates * num).sum() / whole) @ np.minimum(failed[nodes], 1.0)
    return found


def _weigh_fadings(fast: Floats, slow: Floats) -> Floats:
    """Rows by half-life as rows by ``FADINGS``."""
    gain = _GAIN[:, None]
    found: Floats = (slow[_OF_SLOW] + gain * fast[_OF_FAST]) / (1 + gain)
    return found


def _average_likelihood(likelier: Floats, among: Flags) -> float:
    """The logarithm of the mean likelihood of some of ``FADINGS``, weighed as beforehand.

    Where nodes are all alike it exceeds ln(1/p) at any time in at most p of all fleets (Ville's
    inequality).
    """
    weights = np.exp(_BEFOREHAND[among])
    some = likelier[among]
    return float(some.max() + np.log(np.average(np.exp(some - some.max()), weights=weights)))


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


def _evaluate_calls(
    history: FaultHistory, ordinary: Flags, before: Mapping[float, tuple[int, ...]]
) -> Walked | None:
    """How the calls came out; None where there were none."""
    num = failed = 0
    faults = fleet = 0.0
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
    if not num:
        return None
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
    )


def _compute_bounds(failed: float, num: float) -> tuple[float, float]:
    """The 95 % interval of ``failed`` in ``num``, of Jeffreys."""
    from scipy.special import betaincinv

    outside = (1 - LEVEL) / 2
    shape = (failed + 0.5, num - failed + 0.5)
    return float(betaincinv(*shape, outside)), float(betaincinv(*shape, 1 - outside))
