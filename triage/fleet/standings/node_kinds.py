"""Two kinds of nodes, and which node is which: most fail about alike, a few many times as often.

A mixture, weighed over all that is plausible of it: how often healthy nodes fail and how much
they differ (Gamma rates, or all alike), how many lemons there are, and how many times as often
those fail. Each node has a chance of being healthy given all strikes of the fleet; of the nodes
that are named at most the stated part is (Bayesian false-discovery rate: Newton et al.,
Biostatistics 5, 2004; Efron, "Large-Scale Inference", 2010).

A strike of share b says with chance b that the node did it, so a node that fails g times as
often as expected has strikes of that share 1 + (g - 1) b times as often: ties count as what they
are. Assumes that strikes of one node come on their own.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from triage.fleet.record.columns import Floats, Ints, Small
from triage.fleet.standings.outliers import chance_of
from triage.fleet.standings.own_rates import Groups

__all__ = ["Kinds", "healthy_among", "split_kinds"]

STEPS: Final = 8  # of the grids, to a doubling
# How often a node fails, in times what is expected of it.
TIMES: Final[Floats] = np.exp2(np.arange(-6 * STEPS, 11 * STEPS + 1) / STEPS)
# How often healthy nodes do: lemons take part in what is expected, so it may be much less.
USUAL: Final[Floats] = np.exp2(np.arange(-28, 3) / STEPS)
# How healthy nodes differ (Gamma shape; all alike), and how likely each was beforehand.
SHAPES: Final = ((2.0, 0.1), (4.0, 0.2), (math.inf, 0.7))
# Lemons fail so many times as often as healthy nodes, half to twice that.
LEMONS: Final[Floats] = np.exp2(np.arange(3, 9))
# The part of the nodes that are lemons, and how likely it was beforehand that there is none.
PARTS: Final = (0.001, 0.004, 0.016, 0.064)
WITHOUT: Final = 0.2
# A smaller share proves nothing: a node that is accused beside the same lemon each time is none.
LEAST_SHARE: Final = 0.2
# Nodes without a strike differ in exposure alone, and so many classes of it are enough.
CLASSES: Final = 32
ROUNDS: Final = 6
STEADY: Final = 0.02
# Models less likely than this beside the likeliest change no digit that is shown.
NEGLIGIBLE: Final = 1e-7
TINY: Final = 1e-300


@dataclass(frozen=True, slots=True)
class Kinds:
    """``fleet_rate`` and ``rate`` (of each node's own group) are per unit of exposure, of healthy
    nodes; ``expected`` is blame at the latter. ``p`` is the chance of as much blame at that rate,
    ``q`` the part of healthy nodes among those that stand out as far; 1 without exposure.
    """

    fleet_rate: float
    rate: Floats
    expected: Floats
    p: Floats
    q: Floats


def split_kinds(node: Ints | Small, share: Floats, exposure: Floats, groups: Groups) -> Kinds:
    """What each node is held against, and how sure it stands out; a strike is a node's share.

    Lemons would raise the rates that they are held against, so each node counts in these as far
    as it is healthy; where there are several groups, all are weighed again until that is steady.
    """
    blame = np.bincount(node, weights=share, minlength=len(exposure)).astype(np.float64)
    counts = (share >= LEAST_SHARE) & (exposure[node] > 0)
    counted = float(share[counts].sum()) / (float(share.sum()) or 1.0)
    healthy = np.ones(len(exposure))
    fleet_rate, rate = groups.rates(blame, exposure, healthy)
    for _ in range(ROUNDS):
        healthy = healthy_among(node[counts], share[counts], counted * rate * exposure)
        before = rate / (fleet_rate or 1.0)
        fleet_rate, rate = groups.rates(blame, exposure, healthy)
        if (np.abs(rate / (fleet_rate or 1.0) - before) <= STEADY * before).all():
            break
    tested = exposure > 0
    expected = rate * exposure
    p, q = np.ones(len(exposure)), np.ones(len(exposure))
    p[tested] = chance_of(blame[tested], expected[tested])
    q[tested] = false_among(healthy[tested])
    return Kinds(fleet_rate, rate, expected, p, q)


def false_among(healthy: Floats) -> Floats:
    """For each node the mean chance of being healthy of those that are no likelier to be."""
    rounded = np.round(healthy, 9)
    order = np.sort(rounded)
    mean = np.cumsum(order) / np.arange(1, len(order) + 1)
    q: Floats = mean[np.searchsorted(order, rounded, side="right") - 1]
    return q


def healthy_among(node: Ints | Small, share: Floats, expected: Floats) -> Floats:
    """The chance that each node is healthy; 1 for all where nobody was ever blamed.

    ``expected`` is each node's, up to one factor for all; nodes without exposure are healthy.
    """
    healthy = np.ones(len(expected))
    struck = np.unique(node).astype(np.int64)
    if not len(struck) or not expected.sum():
        return healthy
    seen, num = likelihoods(node, share, expected, struck)
    of_healthy, of_lemons = spreads()
    usual = (seen @ of_healthy).reshape(len(num), len(SHAPES), len(USUAL), 1)
    lemon = (seen @ of_lemons).reshape(len(num), 1, len(USUAL), len(LEMONS))
    beforehand = np.log([weight for _, weight in SHAPES])[:, None, None]
    each = math.log((1 - WITHOUT) / len(PARTS) / len(LEMONS))
    rows = num[:, None, None, None]
    models = [
        (rows * np.log((1 - part) * usual + part * lemon + TINY)).sum(0) + beforehand + each
        for part in PARTS
    ]
    none = (rows * np.log(usual + TINY)).sum(0) + beforehand + math.log(WITHOUT)
    likeliest = max(float(none.max()), *(float(one.max()) for one in models))
    weights = [np.exp(one - likeliest) for one in models]
    total = float(np.exp(none - likeliest).sum()) + sum(float(one.sum()) for one in weights)
    for part, weight in zip(PARTS, weights, strict=True):
        for shape, place, times in np.argwhere(weight > NEGLIGIBLE).tolist():
            bad = part * lemon[: len(struck), 0, place, times]
            good = (1 - part) * usual[: len(struck), shape, place, 0]
            healthy[struck] -= bad / (bad + good + TINY) * (weight[shape, place, times] / total)
    return np.clip(healthy, 0.0, 1.0)


def likelihoods(
    node: Ints | Small, share: Floats, expected: Floats, struck: Ints
) -> tuple[Floats, Floats]:
    """How likely each row is at each of ``TIMES``, up to a factor; how many nodes a row is.

    Rows are the struck nodes, then classes of the others.
    """
    logs = -(TIMES - 1) * expected[struck][:, None]
    np.add.at(logs, np.searchsorted(struck, node), np.log1p((TIMES - 1) * share[:, None]))
    others = np.ones(len(expected), dtype=bool)
    others[struck] = False
    classes = np.array_split(np.sort(expected[others & (expected > 0)]), CLASSES)
    classes = [one for one in classes if len(one)]
    clean = np.array([float(one.mean()) for one in classes])
    logs = np.concatenate([logs, -(TIMES - 1) * clean[:, None]])
    seen: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
    return seen, np.array([1.0] * len(struck) + [float(len(one)) for one in classes])


def on_grid(below: Callable[[Floats], Floats]) -> Floats:
    """The chance of each of ``TIMES`` by a distribution function."""
    edges = np.sqrt(TIMES[1:] * TIMES[:-1])
    chance: Floats = np.diff(below(edges), prepend=0.0, append=1.0)
    return chance


def gamma_below(shape: float, mean: float) -> Callable[[Floats], Floats]:
    from scipy.special import gammainc

    if math.isinf(shape):
        return lambda times: (times > mean).astype(np.float64)
    return lambda times: np.asarray(gammainc(shape, shape * times / mean), np.float64)


def even_below(middle: float) -> Callable[[Floats], Floats]:
    """Even in the logarithm, from half of ``middle`` to twice it."""
    return lambda times: np.clip(np.log2(times / middle) / 2 + 0.5, 0.0, 1.0)


@cache
def spreads() -> tuple[Floats, Floats]:
    """How likely each of ``TIMES`` is (rows), by shape and usual rate, and by usual rate and kind
    of lemons (columns).
    """
    healthy = [on_grid(gamma_below(shape, usual)) for shape, _ in SHAPES for usual in USUAL]
    lemons = [on_grid(even_below(usual * times)) for usual in USUAL for times in LEMONS]
    return np.array(healthy).T.copy(), np.array(lemons).T.copy()
