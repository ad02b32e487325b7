"""Probation: a node that came back a few days ago, and is more likely to fail than others.

It stands beside the grade of a node and is no grade: it rests on what such returns did before,
and ends by itself.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from triage.domain.wire import Count, Rounded, Share, WireForm

_DAYS = Rounded(decimals=2)
_SHARE = Rounded(decimals=4)


@dataclass(frozen=True, slots=True)
class Probation(WireForm):
    """A node in service, ``days_back`` days after it returned.

    ``within_7`` is the chance, at the moment of return, that such a node fails within a week,
    with its 95 % bounds; ``next_7`` and ``next_30`` are the chances from now on, as it has run
    so far. ``usual_7`` is the chance of any node. ``num_returns`` is on how many returns of this
    fleet the figures rest; 0 says that they are those of public records. ``until`` is when the
    chance will have fallen to twice the usual, and ``check`` what to run until then.
    """

    node: str
    returned_at: datetime
    days_back: Annotated[float, _DAYS]
    cause: str
    action: str | None
    within_7: Annotated[Share, _SHARE]
    low_7: Annotated[Share, _SHARE]
    high_7: Annotated[Share, _SHARE]
    within_30: Annotated[Share, _SHARE]
    next_7: Annotated[Share, _SHARE]
    next_30: Annotated[Share, _SHARE]
    usual_7: Annotated[Share, _SHARE]
    num_returns: Count
    until: datetime
    check: str
    text: str
