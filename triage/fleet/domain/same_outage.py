"""Two reports of one outage: which of them stands, and whether they contradict each other.

Of different ends the earlier one stands; of causes and reasons the one that names a part, then
the first in the alphabet; so that neither the order of reports nor a repeat changes the result.
"""

from datetime import timedelta
from typing import Any, Final, Protocol

from triage.fleet.domain.cause import rank_vagueness

CLOCKS_APART: Final = timedelta(minutes=1)
"""Two sources see one return by their own clocks."""


class OutageReport(Protocol):
    """An outage as one source tells it."""

    @property
    def to_at(self) -> Any:  # noqa: ANN401 - a datetime, or nanoseconds
        """When the node came back; None where it is still out."""

    @property
    def reason(self) -> str:
        """In the source's words."""

    @property
    def cause(self) -> str | None:
        """A value of ``OutageCause``; None where nobody looked for one."""

    @property
    def action(self) -> str | None:
        """A value of ``RepairAction``."""

    @property
    def planned(self) -> bool | None:
        """Whether it is maintenance."""


def is_contradiction(one: OutageReport, other: OutageReport, apart: Any = CLOCKS_APART) -> bool:  # noqa: ANN401
    """Whether both say an end, or a cause, and not the same; ``apart`` is how far clocks are."""
    causes = {report.cause for report in (one, other) if not rank_vagueness(report.cause)}
    if one.to_at is None or other.to_at is None:
        return len(causes) > 1
    return len(causes) > 1 or abs(one.to_at - other.to_at) > apart


def order_reports(report: OutageReport) -> tuple[int, bool, str, str, bool]:
    """The order of reports: the first stands."""
    return (
        rank_vagueness(report.cause),
        not report.reason,
        report.reason,
        report.cause or "",
        bool(report.planned),
    )


def complete_fields(first: OutageReport, last: OutageReport) -> dict[str, Any]:
    """The fields of the one that stands, as far as the other one changes them."""
    ends = [end for end in (first.to_at, last.to_at) if end is not None]
    actions = [action for action in (first.action, last.action) if action is not None]
    return {
        "to_at": min(ends, default=None),
        "action": min(actions, default=None),
        "planned": last.planned if first.planned is None else first.planned,
    }


def describe_contradictions(number: int) -> str:
    """So many reports of one outage contradict each other, in words."""
    return (
        "outages whose end or cause another report contradicts (the earlier end and the first"
        f" cause in the alphabet stand): {number:,}"
    )
