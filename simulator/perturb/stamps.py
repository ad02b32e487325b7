"""Printed times moved by a number of seconds, each in the form in which it stands.

Assumed is English month names. A time that is not understood stays as it is.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

SECOND_NS: Final = 1_000_000_000
_Move = Callable[["re.Match[str]", timedelta], str]

# 2026-02-02T20:01:01.767523+00:00, 2026/02/02 20:01:01
ISO: Final = re.compile(
    r"(?<!\d)(\d{4})([-/])(\d\d)[-/](\d\d)([T _])(\d\d):(\d\d):(\d\d)(?:([.,])(\d{1,9}))?"
)
# Wed May 27 01:17:13 2026
_CTIME: Final = re.compile(
    r"\b([A-Z][a-z]{2}) ([A-Z][a-z]{2}) ([ \d]\d) (\d\d:\d\d:\d\d) (\d{4})\b"
)
# May  3 04:41:30
_SYSLOG: Final = re.compile(
    r"(?<![A-Za-z] )\b([A-Z][a-z]{2}) ([ \d]\d) (\d\d:\d\d:\d\d)(?! \d{4}\b)"
)
# W0629 01:16:29.423000, E915 17:13:47.425860697
_GLOG: Final = re.compile(r"\b([EWIFC])(\d{3,4}) (\d\d:\d\d:\d\d)(?=[. ])")
# 07/10/2026 | 05:54:12
_AMERICAN: Final = re.compile(r"\b(\d\d)/(\d\d)/(\d{4})( \| | )(\d\d:\d\d:\d\d)\b")
_UPTIME: Final = re.compile(r"\[( *)(\d{1,9})\.(\d{6})\]")
_KMSG: Final = re.compile(r"^(\d{1,5},\d{1,19},)(\d{1,15})(?=,[^;,]{0,16}(?:,[^;]{0,200})?;)")
_REALTIME: Final = re.compile(r'(REALTIME_TIMESTAMP"\s*:\s*")(\d{16})(?=")')
_MONOTONIC: Final = re.compile(r'(MONOTONIC_TIMESTAMP"\s*:\s*")(\d{1,15})(?=")')
_AUDIT: Final = re.compile(r"(audit\()(\d{10})(?=\.\d{3}:)")
_MONTHS: Final = (
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
)
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def moved(text: str, by_ns: int, *, year: int = 2026) -> str:
    """All times in ``text``, since boot as well, later by ``by_ns``.

    ``year`` is that of times which print none.
    """
    text = moved_wall(text, by_ns, year=year)
    by = timedelta(microseconds=by_ns // 1000)
    for pattern, move in (
        (_UPTIME, _move_uptime),
        (_KMSG, _move_micros),
        (_MONOTONIC, _move_micros),
    ):
        text = pattern.sub(lambda match, move=move: move(match, by), text)  # type: ignore[misc]
    return text


def moved_wall(text: str, by_ns: int, *, year: int = 2026, epochs: bool = True) -> str:
    """The times of day alone; without ``epochs`` those alone that a zone changes."""
    by = timedelta(microseconds=by_ns // 1000)

    def using(move: _Move) -> Callable[["re.Match[str]"], str]:
        def moved_match(match: "re.Match[str]") -> str:
            try:
                return move(match, by)
            except (ValueError, OverflowError):
                return match[0]

        return moved_match

    def no_year(match: "re.Match[str]", by: timedelta) -> str:
        return _move_syslog(match, by, year)

    def no_year_glog(match: "re.Match[str]", by: timedelta) -> str:
        return _move_glog(match, by, year)

    wall: list[tuple[re.Pattern[str], _Move]] = [
        (ISO, _move_iso),
        (_CTIME, _move_ctime),
        (_SYSLOG, no_year),
        (_GLOG, no_year_glog),
        (_AMERICAN, _move_american),
    ]
    if epochs:
        wall += [(_REALTIME, _move_micros), (_AUDIT, _move_seconds)]
    for pattern, move in wall:
        text = pattern.sub(using(move), text)
    return text


def _move_iso(match: "re.Match[str]", by: timedelta) -> str:
    year, dash, month, day, gap, hour, minute, second, point, digits = match.groups()
    micros = int((digits or "").ljust(6, "0")[:6])
    at = _day_of(int(year), int(month), day, f"{hour}:{minute}:{second}") + by
    at += timedelta(microseconds=micros)
    fraction = ""
    if digits:
        fraction = point + (f"{at.microsecond:06d}" + digits[6:])[: len(digits)]
    return at.strftime(f"%Y{dash}%m{dash}%d{gap}%H:%M:%S") + fraction


def _move_ctime(match: "re.Match[str]", by: timedelta) -> str:
    at = _day_of(int(match[5]), _MONTHS.index(match[2]) + 1, match[3], match[4]) + by
    return f"{_DAYS[at.weekday()]} {_MONTHS[at.month - 1]} {at.day:2d} {at:%H:%M:%S} {at.year}"


def _move_syslog(match: "re.Match[str]", by: timedelta, year: int) -> str:
    at = _day_of(year, _MONTHS.index(match[1]) + 1, match[2], match[3]) + by
    day = f"{at.day:02d}" if match[2][0] == "0" else f"{at.day:2d}"
    return f"{_MONTHS[at.month - 1]} {day} {at:%H:%M:%S}"


def _move_glog(match: "re.Match[str]", by: timedelta, year: int) -> str:
    digits = match[2]
    at = _day_of(year, int(digits[:-2]), digits[-2:], match[3]) + by
    month = f"{at.month:02d}" if len(digits) == 4 else str(at.month)
    return f"{match[1]}{month}{at.day:02d} {at:%H:%M:%S}"


def _move_american(match: "re.Match[str]", by: timedelta) -> str:
    at = _day_of(int(match[3]), int(match[1]), match[2], match[5]) + by
    return f"{at:%m/%d/%Y}{match[4]}{at:%H:%M:%S}"


def _move_uptime(match: "re.Match[str]", by: timedelta) -> str:
    micros = int(match[2]) * 1_000_000 + int(match[3]) + round(by.total_seconds() * 1_000_000)
    whole, rest = divmod(max(micros, 0), 1_000_000)
    return f"[{whole:>{len(match[1]) + len(match[2])}d}.{rest:06d}]"


def _move_micros(match: "re.Match[str]", by: timedelta) -> str:
    return match[1] + str(max(int(match[2]) + round(by.total_seconds() * 1_000_000), 0))


def _move_seconds(match: "re.Match[str]", by: timedelta) -> str:
    return match[1] + str(int(match[2]) + round(by.total_seconds()))


def _day_of(year: int, month: int, day: str, clock: str) -> datetime:
    hour, minute, second = map(int, clock.split(":"))
    return datetime(year, month, int(day), hour, minute, second, tzinfo=UTC)
