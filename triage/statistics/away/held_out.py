"""Methods judged by what they did not see: each foretells stretches of the record from before.

Walking forward: the outages up to a day, then the share of the following stretch in which the
spares sufficed, and the loss of the 99 % quantile (pinball: a node that is short costs 99 times
one that idles).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.domain.wire import WireForm
from triage.statistics.away.clusters import cluster_ids
from triage.statistics.away.methods import METHODS, laws_of
from triage.statistics.away.steps import Away, away, part_of

__all__ = ["CUTS", "FEWEST_CLUSTERS", "HeldOut", "held_out"]

CUTS: Final = (0.4, 0.55, 0.7, 0.85)
"""Where in the record a stretch begins; each lasts to the next, the last to the end."""
FEWEST_CLUSTERS: Final = 10
"""Clusters of outages without which nothing is foretold."""


@dataclass(frozen=True, slots=True)
class HeldOut(WireForm):
    """``covered``: share of the held-out time in which the spares sufficed; ``loss``: pinball."""

    method: str
    covered: float
    loss: float
    stretches: int


def held_out(outages: Away, confidence: float) -> tuple[HeldOut, ...]:
    """One row per method; empty where no stretch has enough before it."""
    rows: dict[str, list[tuple[float, float]]] = {name: [] for name in METHODS}
    for begin, end in zip(CUTS, (*CUTS[1:], 1.0), strict=True):
        before = outages.start < begin * outages.days
        known = away(
            outages.start[before],
            np.minimum(outages.end[before], begin * outages.days),
            begin * outages.days,
        )
        if not len(known) or cluster_ids(known)[-1] + 1 < FEWEST_CLUSTERS:
            continue
        after = part_of(outages, begin * outages.days, end * outages.days)
        for name, law in laws_of(known).items():
            spares = law.quantile(confidence)
            rows[name].append((after.covered(spares), loss(after, spares, confidence)))
    return tuple(
        HeldOut(name, float(figures[0]), float(figures[1]), len(pairs))
        for name, pairs in rows.items()
        if pairs
        for figures in (np.mean(pairs, axis=0),)
    )


def loss(outages: Away, spares: int, confidence: float) -> float:
    """The mean of ``confidence`` x nodes short, or (1 - ``confidence``) x spares that idle."""
    beyond = np.arange(len(outages.share)) - spares
    each = np.where(beyond > 0, confidence * beyond, (confidence - 1) * beyond)
    return float(outages.share @ each)
