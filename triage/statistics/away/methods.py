"""Ways to say how many spares will suffice, from the outages of a record.

``fit_poisson``         Palm: the number away is Poisson with the record's mean
``fit_over_dispersed``  a negative binomial with the variance of the record, widened by how little
                    the mean of so long a record is known where outages come in bursts of weeks
``record``          what sufficed in the record
``fit_clusters``        the larger of ``record`` and the law of its clusters (``fit_clusters``): its
                    bursts, batches and long repairs, in any other order
``fit_drifting``        the same with a rate that moves from period to period as much as the
                    record's own fluctuations say

Each is a law of k nodes away, so that a person can read any confidence from it.

What spares cost and save is per month of 30 days. A job that goes on with fewer nodes loses the
node-hours that are short; one that cannot loses all its nodes in each hour in which one is short.
"""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np

from triage.domain.arrays import F64, I64
from triage.domain.wire import Count, Share, WireForm
from triage.statistics.away.steps import Away

# The law of nodes away at once where they leave in clusters, exactly and without a simulation.
#
# Palm's theorem says Poisson where nodes leave on their own. Where they leave in clusters that
# come on their own, the number away is compound Poisson: a cluster of which k nodes are away for
# w days adds w to the intensity of a step of k. So nodes that leave together stay together, and
# each repair time is one of the record, however long. How often a cluster *like this one* comes
# is known from a single event: its rate is gamma with that event as its shape, and the law is
# the one averaged over it (for each cluster a compound geometric). It is evaluated at the roots
# of unity, where the law is a product over clusters.

# Outages are one cluster where each begins this soon after the one before: within 0.3 days, and
# in a large fleet within a fifth of the usual gap, so that chance joins few.
_GAP_DAYS: Final = 0.3
_GAP_SHARE: Final = 0.2
# Patterns times lengths, at most: beyond, small clusters share a pattern.
_BUDGET: Final = 2**17


def cluster_ids(outages: Away) -> I64:
    """The cluster of each outage, from 0, in order of their starts.

    What was away when the record began did not leave together: each is a cluster of its own.
    """
    if not len(outages):
        return np.empty(0, np.int64)
    gap = min(_GAP_DAYS, _GAP_SHARE * outages.days / len(outages))
    apart = (np.diff(outages.start) > gap) | (outages.start[:-1] <= 0)
    return np.cumsum(np.concatenate([[False], apart])).astype(np.int64)


def compute_clustered_law(outages: Away) -> F64:
    """Probability of k nodes away at once, k = 0, 1, ...; sums to 1."""
    if not len(outages) or not outages.mean:
        return np.ones(1)
    clusters = cluster_ids(outages)
    steps = _measure_time_by_number(outages, clusters)
    length = _choose_length(outages, clusters, steps)
    patterns, sizes = _group_patterns(steps, length)
    spectrum = np.fft.rfft(patterns, axis=1) - patterns.sum(axis=1, keepdims=True)
    logarithm = -sizes @ np.log(1 - spectrum / outages.days)
    law = np.maximum(np.fft.irfft(np.exp(logarithm), length), 0.0)
    return np.asarray(law / law.sum(), np.float64)


def _measure_time_by_number(outages: Away, clusters: I64) -> tuple[I64, I64, F64]:
    """``(cluster, k, days)``: for how long k nodes of each cluster were away; k from 1."""
    at = np.concatenate([outages.start, outages.end])
    step = np.repeat([1, -1], len(outages))
    of = np.concatenate([clusters, clusters])
    order = np.lexsort((at, of))  # stable: starts stand before ends
    number = np.cumsum(step[order])  # back to 0 at the end of each cluster
    lasted = np.diff(at[order], append=0.0)
    used = (number > 0) & (lasted > 0)
    return of[order][used], number[used], lasted[used]


def _choose_length(outages: Away, clusters: I64, steps: tuple[I64, I64, F64]) -> int:
    """A power of two that holds the law with room for its tail."""
    of, number, lasted = steps
    means = np.bincount(of, weights=number * lasted, minlength=int(clusters[-1]) + 1) / outages.days
    variance = float((number**2 * lasted).sum() / outages.days + (means**2).sum())
    reach = outages.mean + 20 * variance**0.5 + 4 * float(number.max()) + 32
    return int(2 ** np.ceil(np.log2(reach)))


def _group_patterns(steps: tuple[I64, I64, F64], length: int) -> tuple[F64, I64]:
    """Patterns of days by number away, shape (patterns, length), and how many clusters have each.

    The clusters that weigh most have their own; many small ones of about one weight share one.
    """
    of, number, lasted = steps
    names, cluster = np.unique(of, return_inverse=True)
    weight = np.bincount(cluster, weights=number * lasted)
    most = int(np.clip(_BUDGET // length, 4, 256))
    place = np.empty(len(names), np.int64)
    place[np.argsort(-weight, kind="stable")] = np.arange(len(names))
    own = most if len(names) <= most else most * 3 // 4
    shared = np.maximum(place - own, 0) * (most - own) // max(1, len(names) - own)
    group = np.where(place < own, place, own + shared)
    sizes = np.bincount(group)
    table = np.zeros((len(sizes), length))
    np.add.at(table, (group[cluster], number), lasted)
    return table / sizes[:, None], sizes


# Levels of the rate at which a drifting law is evaluated: quantiles of its distribution.
_LEVELS: Final = 41


class Law:
    """Probability that more than k nodes are away, by k; the last is 0."""

    __slots__ = ("above",)

    def __init__(self, share: F64) -> None:
        self.above = np.maximum(1.0 - np.cumsum(share), 0.0)

    @classmethod
    def larger(cls, one: "Law", other: "Law") -> "Law":
        """The law under which as many or more are away as under both."""
        longest = max(len(one.above), len(other.above))
        made = cls.__new__(cls)
        made.above = np.maximum(_pad_values(one.above, longest), _pad_values(other.above, longest))
        return made

    def quantile(self, confidence: float) -> int:
        """The fewest spares that suffice for that share of the time."""
        return int(np.argmax(np.append(self.above, 0.0) <= 1 - confidence + 1e-9))

    def short(self, spares: int) -> float:
        """Nodes that are short on average, with so many spares."""
        return float(self.above[spares:].sum())

    def lacking(self, spares: int) -> float:
        """The share of the time in which a node or more is short."""
        return float(self.above[spares]) if spares < len(self.above) else 0.0


def fit_poisson(outages: Away, _: F64) -> Law:
    """Palm's theorem."""
    from scipy.stats import poisson as law

    numbers = np.arange(int(law.ppf(1 - 1e-9, outages.mean)) + 2)
    return Law(law.pmf(numbers, outages.mean))


def fit_over_dispersed(outages: Away, law: F64) -> Law:
    """Negative binomial of the variance that a look at any time to come has."""
    from scipy.stats import nbinom

    mean, variance = outages.mean, compute_later_variance(outages)
    if not mean or variance <= mean * (1 + 1e-6):
        return fit_poisson(outages, law)
    size, success = mean**2 / (variance - mean), mean / variance
    numbers = np.arange(int(nbinom.ppf(1 - 1e-9, size, success)) + 2)
    return Law(nbinom.pmf(numbers, size, success))


def record(outages: Away, _: F64) -> Law:
    """What was."""
    return Law(outages.share)


def fit_clusters(outages: Away, law: F64) -> Law:
    """What was, or what its clusters give in another order, whichever is more."""
    return Law.larger(Law(outages.share), Law(law))


def fit_drifting(outages: Away, law: F64) -> Law:
    """``fit_clusters`` at a gamma of levels, wide enough for the variance of a later look."""
    from scipy.stats import gamma

    numbers = np.arange(len(law))
    mean = float(law @ numbers)
    missing = compute_later_variance(outages) - float(law @ (numbers - mean) ** 2)
    if not mean or missing <= 0:
        return fit_clusters(outages, law)
    shape = mean**2 / missing
    levels = gamma.ppf((np.arange(_LEVELS) + 0.5) / _LEVELS, shape) / shape
    reached = np.arange(int(len(law) * max(1.0, levels[-1])) + 1) + 0.5
    at = np.minimum(reached[None, :] / np.maximum(levels[:, None], 1e-9), len(law) - 1)
    mixed = np.cumsum(law)[at.astype(np.int64)].mean(axis=0)
    return Law.larger(Law(outages.share), Law(np.diff(mixed, prepend=0.0)))


METHODS: Final[Mapping[str, Callable[[Away, F64], Law]]] = MappingProxyType(
    {
        "poisson": fit_poisson,
        "over_dispersed": fit_over_dispersed,
        "record": record,
        "clusters": fit_clusters,
        "drifting": fit_drifting,
    }
)
"""By name: of the outages and the law of their clusters."""


def fit_laws(
    outages: Away, whole: Away | None = None, only: Collection[str] = METHODS
) -> dict[str, Law]:
    """The law of each method; in ``whole`` outages that an end cuts have their whole length."""
    law = compute_clustered_law(outages if whole is None else whole)
    return {name: method(outages, law) for name, method in METHODS.items() if name in only}


def compute_later_variance(outages: Away) -> float:
    """Variance of the number away at a time to come around the mean of this record.

    The mean of a record differs from the true one by long_run / days, and its own variance is
    too small by as much.
    """
    return outages.variance + 2 * outages.long_run / outages.days


def _pad_values(values: F64, length: int) -> F64:
    return np.pad(values, (0, length - len(values)))


MONTH_DAYS: Final = 30.0
_ROWS: Final = 9
_BEYOND: Final = 1.25


@dataclass(frozen=True, slots=True)
class SparesCost(WireForm):
    """One number of spares, a month of them.

    ``in_sample`` and ``forecast`` are shares of the time in which they suffice, ``node_days``
    what they are, ``idle_node_days`` those of them that no outage uses. ``node_hours_short`` and
    ``hours_short`` (a node or more is short) are of the forecast; ``gpu_hours_short`` is None
    where nobody said how many GPUs a node has.
    """

    spares: Count
    in_sample: Share
    forecast: Share
    node_days: float
    idle_node_days: float
    node_hours_short: float
    hours_short: float
    gpu_hours_short: float | None


def compute_spares_costs(
    seen: Away, law: Law, *marks: int, gpus_per_node: int | None = None
) -> tuple[SparesCost, ...]:
    """Rows from no spare to a quarter beyond the most of ``marks``, each of them among them.

    ``law`` says what is to come.
    """
    most = math.ceil(max(marks) * _BEYOND)
    steps = sorted({round(most * row / (_ROWS - 1)) for row in range(_ROWS)} | set(marks))
    return tuple(_compute_cost(seen, law, spares, gpus_per_node) for spares in steps)


def _compute_cost(seen: Away, law: Law, spares: int, gpus_per_node: int | None) -> SparesCost:
    short_h = law.short(spares) * MONTH_DAYS * 24
    used = law.short(0) - law.short(spares)
    return SparesCost(
        spares,
        seen.covered(spares),
        1 - law.lacking(spares),
        spares * MONTH_DAYS,
        max(0.0, spares - used) * MONTH_DAYS,
        short_h,
        law.lacking(spares) * MONTH_DAYS * 24,
        short_h * gpus_per_node if gpus_per_node else None,
    )
