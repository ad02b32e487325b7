"""A recurring problem: incidents that are the same kind of failure, and what resolved them."""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Final

from triage.domain.category import Category
from triage.domain.counts import count, format_ordinal
from triage.domain.wire import UNSENT, SentAs, WireForm

_DAY: Final = timedelta(days=1)
_TIMES: Final = {1: "once", 2: "twice"}


@dataclass(frozen=True, slots=True)
class NodeCount(WireForm):
    """How many incidents had this node as their first suspect."""

    node: str
    count: int


@dataclass(frozen=True, slots=True)
class ResolutionCount(WireForm):
    """How many incidents a person resolved so."""

    category: Annotated[str, SentAs(Category)]
    node: str | None
    count: int

    def __str__(self) -> str:
        """``twice resolved as network on n12``."""
        on = f" on {self.node}" if self.node else ""
        return f"{_TIMES.get(self.count, f'{self.count:,} times')} resolved as {self.category}{on}"


@dataclass(frozen=True, slots=True)
class ProblemOfIncident(WireForm):
    """The problem that an incident belongs to; the incident is the ``nth`` of its ``count``."""

    id: str
    count: int
    nth: int
    first_seen: Annotated[datetime, "When the first of its incidents was opened."]
    last_seen: Annotated[datetime, "When the newest of its incidents was opened."]
    resolved_by: Annotated[tuple[ResolutionCount, ...], "Most frequent first; at most 20."]
    seen_at: Annotated[datetime, UNSENT]

    def describe(self) -> str:
        """``the 4th of this kind in 9 days; twice resolved as network on n12``."""
        if self.nth == 1:
            words = "the 1st of its kind"
        else:
            days = max(1, math.ceil((self.seen_at - self.first_seen) / _DAY))
            words = f"the {format_ordinal(self.nth)} of this kind in {count(days, 'day')}"
        return "; ".join((words, *map(str, self.resolved_by[:2])))


@dataclass(frozen=True, slots=True)
class RecurringProblem(WireForm):
    """Incidents of one cluster that are the same kind of failure.

    ``category`` and ``summary`` are those of its newest incident.
    """

    id: str
    cluster: str | None
    category: Annotated[str | None, SentAs(Category | None)]
    summary: str
    count: int
    first_seen: Annotated[datetime, "When the first of its incidents was opened."]
    last_seen: Annotated[datetime, "When the newest of its incidents was opened."]
    nodes: Annotated[tuple[NodeCount, ...], "First suspects, most frequent first; at most 20."]
    resolved_by: Annotated[tuple[ResolutionCount, ...], "Most frequent first; at most 20."]
