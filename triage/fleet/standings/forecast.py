"""How many faults each node is to have in the days ahead, learned from the record's own past.

A sum of what each past fault still says: some of it fades in days (the repair did not take), some
in weeks, some in months, and some never (the node is so). How much of each is refitted at each
time to what came true before, by least squares over nodes that have failed, and starts from
weights that are stated here. Assumes that what was predictable stays so.

Chosen on records of real machines by what predicts weeks ahead: plain counts of 56 and 112 days,
of all time, and decayed counts are each a special case of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.fleet.record.columns import Flags, Floats
from triage.fleet.standings.history import (
    FaultHistory,
    as_known_at,
    decayed_faults,
    expected_back,
    wave_weights,
)

__all__ = ["FIRST_DAYS", "HORIZON_DAYS", "Forecast", "Look", "came_true", "forecast", "looks_of"]

HORIZON_DAYS: Final = 56.0
STEP_DAYS: Final = 14.0
# Less is no history to forecast from.
FIRST_DAYS: Final = 28.0
# What is older is looked at no more: fleets change.
MOST_LOOKS: Final = 104
HALF_LIVES: Final = (3.0, 14.0, 56.0)
# What each term is worth beforehand: the fleet's rate, faults fading with each half-life, and the
# node's own rate of all time. Each term says by itself how many faults are to come, so together
# they come to about 1. They weigh as much as so many faults that came true.
BEFOREHAND: Final[Floats] = np.array([0.3, 0.05, 0.15, 0.15, 0.2])
WEIGHT: Final = 40.0
# The fleet's own rate is that of so many days: it drifts.
RECENT_DAYS: Final = 112.0
# Nodes that never failed: how often they do beside the fleet beforehand, and what it weighs.
BEFOREHAND_CLEAN: Final = 0.6
CLEAN_WEIGHT: Final = 10.0
# A fleet in which nothing failed still has a rate: less than one fault is known.
UNSEEN: Final = 0.5


@dataclass(frozen=True, slots=True)
class Look:
    """The fleet as it was known at ``day``: ``terms`` of each node, shape (nodes, 5).

    Terms are of a node that is in service; ``up`` is what to expect of them, as far as the node is
    back: of rates in proportion to its time in service, of what fades after a return as far as
    there is one. ``in_service`` is the part of the horizon that it can be expected to be up.
    """

    day: float
    terms: Floats
    up: Floats
    in_service: Floats
    history: FaultHistory


@dataclass(frozen=True, slots=True)
class Forecast:
    """``faults`` of each node within :data:`HORIZON_DAYS` of ``day``. ``weights`` are those of the
    terms, ``learned_from`` the number of faults that they were fitted to.
    """

    day: float
    faults: Floats
    weights: Floats
    learned_from: int
    look: Look

    def within(self, days: float) -> Floats:
        """The faults within so many days, of a node as it is: what fades soon counts sooner."""
        part = np.array(
            [
                days / HORIZON_DAYS,
                *(
                    (1 - 0.5 ** (days / half)) / (1 - 0.5 ** (HORIZON_DAYS / half))
                    for half in HALF_LIVES
                ),
                days / HORIZON_DAYS,
            ]
        )
        up, _ = up_of(self.look.history, days)
        faults: Floats = (self.look.terms * up) @ (self.weights * part)
        # Such a node was never out.
        never_yet = self.look.terms[:, -1] <= 0
        faults[never_yet] = self.faults[never_yet] * days / HORIZON_DAYS
        return faults


def looks_of(history: FaultHistory) -> list[Look]:
    """The looks back at every ``STEP_DAYS``, oldest first; the last is of the record's end."""
    num = int((history.days - FIRST_DAYS) // STEP_DAYS)
    back = range(min(max(num, 0), MOST_LOOKS), -1, -1)
    return [look_at(history, history.days - STEP_DAYS * one) for one in back]


def look_at(history: FaultHistory, day: float) -> Look:
    known = as_known_at(history, day)
    weights = wave_weights(known)
    length = max(day, 1.0)
    lately = known.day > day - RECENT_DAYS
    faults = max(float(known.share[lately].sum()), UNSEEN)
    fleet = faults / min(length, RECENT_DAYS) / known.num_nodes
    terms = [np.full(known.num_nodes, fleet * HORIZON_DAYS)]
    for half_life in HALF_LIVES:
        # Faults per day at the decayed rate; what lies before the record is missing in it.
        seen = half_life / np.log(2) * (1 - 0.5 ** (length / half_life))
        terms.append(decayed_faults(known, half_life, weights) / seen * HORIZON_DAYS)
    ever = np.bincount(known.node, weights, known.num_nodes)
    terms.append(ever / length * HORIZON_DAYS)
    up, in_service = up_of(known, HORIZON_DAYS)
    return Look(day, np.array(terms).T, up, in_service, known)


def up_of(known: FaultHistory, days: float) -> tuple[Floats, Floats]:
    """What to expect of each term of each node, and the part of ``days`` that it is up."""
    in_service, back = expected_back(known, days)
    return np.array([in_service, *[back] * len(HALF_LIVES), in_service]).T, in_service


def came_true(history: FaultHistory, day: float, horizon_days: float = HORIZON_DAYS) -> Floats:
    """The faults of each node in the ``horizon_days`` after ``day``."""
    first, last = np.searchsorted(history.day, [day, day + horizon_days], side="right")
    counts = np.bincount(history.node[first:last], history.share[first:last], history.num_nodes)
    return counts.astype(np.float64)


def forecast(history: FaultHistory, ordinary: Flags) -> Iterator[Forecast]:
    """The forecast at each look, each fitted to what was known by then.

    ``ordinary`` nodes alone are learned from. The last one is that of the record's end.
    """
    looks = looks_of(history)
    squares, product, events = np.zeros((5, 5)), np.zeros(5), 0.0
    # Nodes that never failed have one term alone: how often they do, in times the fleet's rate.
    clean, clean_expected = CLEAN_WEIGHT * BEFOREHAND_CLEAN, CLEAN_WEIGHT
    learned = 0
    for look in looks:
        while learned < len(looks) and looks[learned].day + HORIZON_DAYS <= look.day:
            past = looks[learned]
            failed = past.terms[:, -1] > 0
            counts = ordinary & failed
            terms = (past.terms * past.up)[counts]
            after = came_true(history, past.day)
            faults = after[counts]
            # Looks overlap, and each fault is to be counted once.
            once = STEP_DAYS / HORIZON_DAYS
            never = ordinary & ~failed
            clean += once * float(after[never].sum())
            clean_expected += once * float(past.terms[never, 0].sum())
            squares += once * terms.T @ terms
            product += once * terms.T @ faults
            events += once * float(faults.sum())
            learned += 1
        weights = fitted(squares, product, events)
        faults = (look.terms * look.up) @ weights
        never_yet = look.terms[:, -1] <= 0
        faults[never_yet] = look.terms[never_yet, 0] * clean / clean_expected
        yield Forecast(look.day, faults, weights, round(events), look)


def fitted(squares: Floats, product: Floats, events: float) -> Floats:
    """Weights of least squares, none below zero, drawn towards :data:`BEFOREHAND`."""
    if events <= 0:
        return BEFOREHAND
    from scipy.optimize import nnls

    ridge = WEIGHT / max(events, 1.0) * np.diag(squares)
    whole = squares + np.diag(ridge)
    root = np.linalg.cholesky(whole + 1e-12 * np.eye(5))
    weights, _ = nnls(root.T, np.linalg.solve(root, product + ridge * BEFOREHAND))
    return np.asarray(weights, np.float64)
