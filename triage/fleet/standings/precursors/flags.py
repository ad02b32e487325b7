"""Flags of one counter: where it grew by a threshold in the window, once in each horizon."""

from dataclasses import dataclass

import numpy as np

from triage.fleet.record.columns import CounterDays, Flags, Floats, Ints
from triage.fleet.standings.precursors.node_days import HORIZON_DAYS, WINDOW_DAYS, NodeDays


@dataclass(frozen=True, slots=True)
class WindowGrowth:
    """``grew`` has shape (rows, days): by how much a counter grew over the window that ends with
    the day; 0 on days that raise no flag. ``rows`` are rows of the node-days.
    """

    rows: Ints
    grew: Floats


@dataclass(frozen=True, slots=True)
class RaisedFlags:
    """Flags, by day: ``row`` of the node-days, ``day``, and by how much the counter ``grew``."""

    row: Ints
    day: Ints
    grew: Floats

    def where(self, kept: Flags) -> "RaisedFlags":
        """Some of them."""
        return RaisedFlags(self.row[kept], self.day[kept], self.grew[kept])


def growth_of(counters: CounterDays, counter: str, days: NodeDays) -> WindowGrowth:
    """The growth of the nodes of which the counter grew at all; what is not finite is none."""
    values = np.nan_to_num(counters.growth[counter], nan=0.0, posinf=0.0, neginf=0.0)
    known = (values > 0) & (counters.day >= 0) & (counters.day < days.num_days)
    known &= np.isin(counters.node, days.nodes)
    row = np.searchsorted(days.nodes, counters.node[known])
    rows, place = np.unique(row, return_inverse=True)
    by_day = np.zeros((len(rows), days.num_days))
    np.add.at(by_day, (place, counters.day[known]), values[known])
    grew = by_day.copy()
    for back in range(1, WINDOW_DAYS):
        grew[:, back:] += by_day[:, :-back]
    grew[~days.clear[rows]] = 0.0
    return WindowGrowth(rows.astype(np.int64), grew)


def raised(growth: WindowGrowth, threshold: float) -> RaisedFlags:
    """The flags at a threshold: the first day of each stretch, and again after the horizon."""
    above = growth.grew >= threshold
    busy_until = np.full(len(growth.rows), -1)
    rows, days = [], []
    for day in np.flatnonzero(above.any(axis=0)).tolist():
        new = np.flatnonzero(above[:, day] & (busy_until < day))
        busy_until[new] = day + HORIZON_DAYS
        rows.append(new)
        days.append(np.full(len(new), day))
    if not rows:
        nothing = np.zeros(0, np.int64)
        return RaisedFlags(nothing, nothing, np.zeros(0))
    place, day_of = np.concatenate(rows), np.concatenate(days)
    return RaisedFlags(growth.rows[place], day_of, growth.grew[place, day_of])
