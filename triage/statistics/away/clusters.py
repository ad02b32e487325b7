"""The law of nodes away at once where they leave in clusters, exactly and without a simulation.

Palm's theorem says Poisson where nodes leave on their own. Where they leave in clusters that
come on their own, the number away is compound Poisson: a cluster of which k nodes are away for
w days adds w to the intensity of a step of k. So nodes that leave together stay together, and
each repair time is one of the record, however long. How often a cluster *like this one* comes
is known from a single event: its rate is gamma with that event as its shape, and the law is
the one averaged over it (for each cluster a compound geometric). It is evaluated at the roots
of unity, where the law is a product over clusters.
"""

from typing import Final

import numpy as np

from triage.domain.arrays import F64, I64
from triage.statistics.away.steps import Away

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
