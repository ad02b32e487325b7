"""Returns: each time that a node came back, why it was out, what was done, and what came after.

The chain fault, repair, return, next fault as columns. A return whose time is not over is not
counted as a good one: it is known as far as it was watched.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from triage.domain.counts import count
from triage.fleet.domain.cause import OutageCause, RepairAction
from triage.fleet.record.columns import Flags, Floats, Ints
from triage.fleet.record.faults import Faults
from triage.statistics.cause_mix import estimate_share as share_of
from triage.statistics.estimate import Estimate

CAUSES = tuple(OutageCause)
ACTIONS = tuple(RepairAction)
NO_ACTION = -1
# The newest that are looked at: sums that decay over a week have no more room in a float.
_MAX_DAYS = 3_700.0


@dataclass(frozen=True, slots=True)
class Returns:
    """One row per return, by time; days are counted from the record's start.

    ``cause`` and ``action`` are places in ``CAUSES`` and ``ACTIONS``, -1 for no action that is
    known. ``next_day`` is the node's next fault, infinite where none came before ``days``, the
    end of the record. ``before_days`` is how long the node had run since its last return, NaN
    where there was none. ``num_out`` nodes had not come back by then.
    """

    node: Ints
    start_day: Floats
    day: Floats
    next_day: Floats
    before_days: Floats
    cause: Ints
    action: Ints
    num_nodes: int
    days: float
    num_out: int = 0
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.node)

    def failed(self, within_days: float) -> Flags:
        """Which were followed by a fault within so many days."""
        return self.next_day - self.day <= within_days

    def over(self, within_days: float, day: float | None = None) -> Flags:
        """Of which so many days were watched until ``day``, by default the record's end."""
        return self.day + within_days <= (self.days if day is None else day)


def build_returns(faults: Faults) -> Returns:
    """The returns of a record's faults."""
    first = max(0.0, faults.days - _MAX_DAYS)
    order = np.lexsort((faults.start_day, faults.node))
    node = faults.node[order].astype(np.int64)
    start, end, back = faults.start_day[order], faults.back_day[order], faults.back[order]
    same = np.append(node[1:] == node[:-1], False) if len(node) else back
    next_day = np.where(same, np.append(start[1:], np.inf), np.inf) if len(node) else start
    again = np.append(False, same[:-1]) if len(node) else back
    last_end = np.append(np.nan, end[:-1]) if len(node) else end
    before = np.where(again, start - last_end, np.nan)
    code_of = {cause: place for place, cause in enumerate(CAUSES)}
    act_of = {action: place for place, action in enumerate(ACTIONS)}
    cause = np.array([code_of[faults.cause[row]] for row in order.tolist()], np.int64)
    actions = (faults.action[row] for row in order.tolist())
    action = np.array([NO_ACTION if one is None else act_of[one] for one in actions], np.int64)
    kept = np.flatnonzero(back & (end >= first))
    kept = kept[np.lexsort((node[kept], end[kept]))]
    notes = list(faults.notes)
    if early := int(np.count_nonzero(back & (end < first))):
        notes.append(f"returns more than {_MAX_DAYS:,.0f} days before the end, not used: {early:,}")
    return Returns(
        node=node[kept],
        start_day=start[kept],
        day=end[kept],
        next_day=next_day[kept],
        before_days=before[kept],
        cause=cause[kept],
        action=action[kept],
        num_nodes=faults.num_nodes,
        days=faults.days,
        num_out=int(np.count_nonzero(~back)),
        notes=tuple(notes),
    )


FEWEST: Final = 5
"""Of fewer returns no share is said, only its bounds."""


def estimate_failed_share(returns: Returns, among: Flags, within_days: float) -> Estimate:
    """The share of those returns ``among`` these whose time is over that failed within it."""
    over = among & returns.over(within_days)
    return estimate_return_share(
        int(np.count_nonzero(returns.failed(within_days) & over)), int(over.sum())
    )


def estimate_return_share(hits: int, num_returns: int) -> Estimate:
    """``hits`` of all returns with its exact 95 % interval; ``n`` is the number of returns."""
    found = replace(share_of(hits, num_returns), n=num_returns)
    if num_returns >= FEWEST:
        return found
    why = f"{count(num_returns, 'return')}, fewer than {FEWEST}: cannot tell"
    return replace(found, value=None, notes=(why,))
