"""Times from outside: RFC 3339, or, from hooks, seconds since the epoch."""

import re
from datetime import UTC, datetime
from typing import Final

from triage.domain.patterns import compile_re

_FIRST: Final = datetime.min.replace(tzinfo=UTC)
_LAST: Final = datetime.max.replace(tzinfo=UTC)
# 2026-11-21T03:14:15.926535897Z
_RFC3339: Final = compile_re(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d):(\d\d)(?:\.(\d{1,30}))?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
_SECONDS: Final = compile_re(r"\d{9,11}(?:\.\d{1,9})?", re.ASCII)
# What `date +%Y-%m-%dT%H:%M:%S%z` prints, and every other script holds.
_ZONE_WITHOUT_COLON: Final = compile_re(r"([+-]\d\d)(\d\d)$", re.ASCII)
_LEAP_SECOND: Final = "60"


def parse_rfc3339(text: str) -> datetime | None:
    """The time in UTC, to the microsecond; None for what is no time with a zone.

    A leap second is the second before it. What lies before the year 1, or in UTC after
    9999, is the first or last time that can be reckoned with.
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        return None
    day, minute, second, fraction, zone = match.groups()
    second = "59" if second == _LEAP_SECOND else second
    zone = "+00:00" if zone in "Zz" else zone
    before_all = day.startswith("0000")
    if before_all:
        day = "0004" + day[4:]
    try:
        at = datetime.fromisoformat(f"{day}T{minute}:{second}.{(fraction or '0')[:6]:0<6}{zone}")
    except ValueError:
        return None
    try:
        return _FIRST if before_all else at.astimezone(UTC)
    except OverflowError:
        return _FIRST if at.year == 1 else _LAST


def parse_moment(value: object) -> datetime | None:
    """A time as hooks say it; None for what is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float) or (isinstance(value, str) and _SECONDS.fullmatch(value)):
        try:
            return datetime.fromtimestamp(float(value), UTC)
        except (ValueError, OverflowError, OSError):
            return None
    if not isinstance(value, str):
        return None
    return parse_rfc3339(_ZONE_WITHOUT_COLON.sub(r"\1:\2", value.strip()))
