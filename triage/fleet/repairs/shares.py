"""Shares of returns that failed again, as estimates: with interval and number, or not at all."""

from dataclasses import replace
from typing import Final

import numpy as np

from triage.domain.counts import count
from triage.fleet.record.columns import Flags
from triage.fleet.repairs.returns import Returns
from triage.statistics.cause_mix import share as share_of
from triage.statistics.estimate import Estimate

FEWEST: Final = 5
"""Of fewer returns no share is said, only its bounds."""


def failed_share(returns: Returns, among: Flags, within_days: float) -> Estimate:
    """The share of those returns ``among`` these whose time is over that failed within it."""
    over = among & returns.over(within_days)
    return share(int(np.count_nonzero(returns.failed(within_days) & over)), int(over.sum()))


def share(hits: int, num_returns: int) -> Estimate:
    """``hits`` of all returns with its exact 95 % interval; ``n`` is the number of returns."""
    found = replace(share_of(hits, num_returns), n=num_returns)
    if num_returns >= FEWEST:
        return found
    why = f"{count(num_returns, 'return')}, fewer than {FEWEST}: cannot tell"
    return replace(found, value=None, notes=(why,))
