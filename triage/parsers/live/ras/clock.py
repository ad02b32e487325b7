"""The time that RAS prints: of the node's own clock and zone, which it does not name."""

from datetime import UTC, datetime

from triage.domain.evidence import NO_STAMP, Stamp

__all__ = ["stamp_of"]

SECOND_NS = 1_000_000_000


def stamp_of(text: object) -> Stamp:
    """``2026-03-14 02:41:07`` as a stamp without a zone; none for anything else.

    >>> stamp_of("1970-01-01 00:00:01").wall_ns
    1000000000
    """
    if not isinstance(text, str) or len(text) > 40:
        return NO_STAMP
    try:
        moment = datetime.fromisoformat(text.strip()[:19]).replace(tzinfo=UTC)
    except ValueError:
        return NO_STAMP
    if not 1970 <= moment.year < 2200:
        return NO_STAMP
    return Stamp(wall_ns=int(moment.timestamp()) * SECOND_NS, error_ns=SECOND_NS)
