"""Moments: the time line in the words that text and table share.

All times are UTC and seconds from the stop; where the stop was not seen, from when
the job was given up. A time is only shown as uncertain when it may be off by more
than a second.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC

from triage.domain.category import Role
from triage.domain.report import Answer, Moment

MARKS = {"stop", "end"}
"""Kinds of moments that are of the job and not of a node."""

# Shown as it is below this: clocks of nodes seldom agree better.
_SURE_S = 1.0
# From here a tenth of a second says nothing any more.
_WHOLE_S = 100.0
_HOURS_S, _DAY_S = 7200.0, 86_400.0


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """One moment, ready to show. ``from_stop_s`` is None where either time is unknown.

    ``role`` is that of the suspect on its node, None for other nodes and for the job.
    """

    moment: Moment
    from_stop_s: float | None
    role: Role | None

    @property
    def day(self) -> str:
        """``2026-11-21``; empty where the time is unknown."""
        at = self.moment.at
        return "" if at is None else at.astimezone(UTC).strftime("%Y-%m-%d")

    @property
    def clock(self) -> str:
        """``03:04:15.123``; empty where the time is unknown."""
        at = self.moment.at
        if at is None:
            return ""
        return at.astimezone(UTC).time().isoformat(timespec="milliseconds")

    @property
    def where(self) -> str:
        """Node and rank, as far as they are known, not cleaned."""
        rank = None if self.moment.rank is None else f"rank {self.moment.rank}"
        return ", ".join(part for part in (self.moment.node, rank) if part)

    @property
    def what(self) -> str:
        """Family and category: ``xid, gpu_hbm``; nothing for a moment of the job."""
        if self.moment.kind in MARKS:
            return ""
        words = (self.moment.kind, str(self.moment.category or ""))
        return ", ".join(dict.fromkeys(word for word in words if word))

    @property
    def is_mark(self) -> bool:
        """Whether it is a moment of the job and not of a node."""
        return self.moment.kind in MARKS

    @property
    def offset(self) -> str:
        """``-0.4 s ± 60 s``: how long before or after the stop."""
        doubt = format_doubt(self.moment.error_s, "±")
        return " ".join(filter(None, (format_relative(self.from_stop_s), doubt)))

    def when(self, with_day: bool) -> str:
        """The time, ``with_day`` that of the day before it; ``undated`` where it is unknown."""
        return f"{self.day} {self.clock}" if self.clock and with_day else self.clock or "undated"


def build_timeline_rows(answer: Answer) -> tuple[TimelineRow, ...]:
    """The time line of ``answer``; empty when there is none."""
    moments = answer.timeline
    stops = [
        moment.at
        for kind in ("stop", "end")
        for moment in moments
        if moment.kind == kind and moment.at
    ]
    zero = stops[0] if stops else None
    roles: dict[str | None, Role] = {}
    for suspect in answer.suspects:
        roles.setdefault(suspect.node, suspect.role)
    return tuple(
        TimelineRow(
            moment,
            None if zero is None or moment.at is None else (moment.at - zero).total_seconds(),
            roles.get(moment.node) if moment.node is not None else None,
        )
        for moment in moments
    )


def list_days(shown: Sequence[TimelineRow]) -> tuple[str, ...]:
    """The days that the moments lie on, in order."""
    return tuple(sorted({line.day for line in shown if line.day}))


def format_relative(seconds: float | None) -> str:
    """``-0.4 s``, ``+600 s``, ``0 s``; nothing for None."""
    if seconds is None:
        return ""
    if abs(seconds) < 0.05:
        return "0 s"
    return f"{seconds:+,.1f} s" if abs(seconds) < _WHOLE_S else f"{seconds:+,.0f} s"


def format_doubt(error_s: float, sign: str) -> str:
    """``± 60 s`` with ``sign`` for its first character; nothing for a time that is sure."""
    if not error_s > _SURE_S:
        return ""
    if error_s >= _DAY_S:
        return f"{sign} a day or more"
    return f"{sign} {error_s:,.0f} s" if error_s < _HOURS_S else f"{sign} {error_s / 3600:.0f} h"
