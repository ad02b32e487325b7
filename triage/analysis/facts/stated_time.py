"""When the stop was, as it may be stated: with a zone, without one, or not at all.

A time whose zone nobody knows is the local time of its log, and no moment in UTC. Without a year
it is no time: a year that is made up sends whoever reads it to the wrong day.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from triage.analysis.facts.stop import DAY_S, NO_ZONE_NS, SECOND, Stop
from triage.domain.evidence import Evidence

_NO_YEAR_NS: Final = 300 * DAY_S * SECOND
# Ends are reported a little before the last line is written.
_SLACK_NS: Final = 60 * SECOND


def state_time(
    at: datetime | None, rows: Iterable[Evidence], stop: Stop, failed_at_ns: int | None
) -> tuple[datetime | None, tuple[str, ...]]:
    """``at`` without its zone where that is not known, None where its year is not, and why."""
    if at is None:
        return None, ()
    ns = int(at.timestamp() * 1000) * 1_000_000
    errors = [
        row.error_ns
        for row in rows
        if row.at_ns is not None and 0 <= row.at_ns - ns < 2_000_000 and row.line is not None
    ]
    begins = stop.start_ns if stop.start_ns is not None else stop.end_ns
    if not errors and begins is not None and abs(begins - ns) < 2_000_000:
        errors = [stop.error_ns]
    error_ns = min(errors, default=0)
    if error_ns >= _NO_YEAR_NS:
        day = f"{at:%d %B %H:%M:%S}"
        return None, (f"the stop is of {day} by its log, in a year that no line tells",)
    if error_ns >= NO_ZONE_NS:
        return at.replace(tzinfo=None), (
            "the time of the stop is that of its log, whose zone nothing tells",
        )
    if failed_at_ns is not None and ns > failed_at_ns + _SLACK_NS:
        late_s = (ns - failed_at_ns) // SECOND
        return at, (f"the logs date the stop {late_s} s behind failed_at of job.json",)
    return at, ()
