"""Printed times as numbers: dates with and without year or zone, epochs, seconds since boot.

A value that no clock can show (month 13, an uptime of 10^30 s) is no time at all.
"""

import re
from datetime import date
from functools import lru_cache
from typing import Final

from triage.domain.evidence import Stamp
from triage.domain.patterns import compile_re
from triage.domain.toml_tables import read_toml

SECOND_NS: Final = 1_000_000_000
MINUTE_NS: Final = 60 * SECOND_NS
DAY_NS: Final = 24 * 60 * MINUTE_NS
# The year in which times without a year are reckoned: a leap year, so that 29 February exists.
_NO_YEAR: Final = 2000
_FIRST_YEAR: Final = 1970
# Of the proleptic calendar, as ``date`` counts.
_EPOCH_DAY: Final = 719_163
_LAST_YEAR: Final = 2200
# Nothing stays up for thirty years; a larger number in brackets is an epoch, or nothing.
_LONGEST_UPTIME_S: Final = 1_000_000_000
_LAST_EPOCH_S: Final = 4_102_444_800

_NAMES: Final = read_toml("triage.parsers.logs", "time_names")


def _build_month_table() -> dict[str, int]:
    """Name without case and full stop -> month; letters lost in decoding are tolerated."""
    table: dict[str, int] = {}
    for number, names in enumerate(_NAMES["months"], start=1):
        for name in names:
            table.setdefault(name, number)
    lost: dict[str, set[int]] = {}
    for name, number in table.items():
        if not name.isascii() and name[0].isascii() and name[0].isalpha():
            for width in (1, 2):
                spelled = "".join(c if c.isascii() else "\ufffd" * width for c in name)
                lost.setdefault(spelled, set()).add(number)
    for spelled, numbers in lost.items():
        if len(numbers) == 1:
            table.setdefault(spelled, numbers.pop())
    return table


MONTHS: Final = _build_month_table()


@lru_cache(maxsize=4096)
def _compute_day_number(year: int, month: int, day: int) -> int | None:
    """Days since the epoch; None for a day that is in no calendar."""
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        return None
    try:
        return date(year, month, day).toordinal() - _EPOCH_DAY
    except ValueError:
        return None


_ZONES: Final[dict[str, int]] = _NAMES["zones"]
_NUMERIC_ZONE: Final = compile_re(
    r"(?:(?:UTC|GMT) ?)?([+-])(\d\d|(?<=[CT][+-])\d|(?<=[CT] [+-])\d)(?::?(\d\d))?", re.ASCII
)


@lru_cache(maxsize=512)
def parse_zone_s(text: str | None) -> int | None:
    """A printed zone (Z, +02:00, -0500, +08, UTC, UTC+2, PDT) in seconds; None for one that does
    not exist, or stands for several.
    """
    if text is None:
        return None
    text = text.strip()
    if text in _ZONES:
        return _ZONES[text] * 3600
    found = _NUMERIC_ZONE.fullmatch(text)
    if found is None:
        return None
    hours, minutes = int(found[2]), int(found[3] or 0)
    if hours > 14 or minutes % 15 or minutes > 45:
        return None
    return (-1 if found[1] == "-" else 1) * (hours * 3600 + minutes * 60)


# Where the head of a file says in which zone its times are: "(local time, UTC+2)", "times in CET".
_STATED_ZONE: Final = compile_re(
    r"(?<!\d )\b((?:UTC|GMT) ?[+-]\d{1,2}(?::?\d\d)?)\b"
    r"|(?i:\b(?:times?|time ?zone|tz|zeit(?:en|zone)?)\b)[^\n\d]{0,40}?"
    rf"\b({'|'.join(_ZONES)})\b(?! ?[+-]\d)"
)


def find_stated_zone(text: str) -> str | None:
    """The zone that ``text`` says the times of its file are in."""
    found = _STATED_ZONE.search(text)
    return None if found is None else found[1] or found[2]


def make_wall(
    year: int | None,
    month: int,
    day: int,
    clock: str,
    fraction: str | None = None,
    zone: str | None = None,
    error_ns: int = 0,
) -> Stamp | None:
    """A printed date and ``clock`` ("04:27:08" or "04:27") as a stamp."""
    days = _compute_day_number(_NO_YEAR if year is None else year, month, day)
    if days is None:
        return None
    parts = clock.split(":")
    hour, minute = int(parts[0]), int(parts[1])
    second = int(parts[2]) if len(parts) > 2 else 0
    if hour > 23 or minute > 59 or second > 60:
        return None
    ns = ((days * 24 + hour) * 60 + minute) * MINUTE_NS + second * SECOND_NS
    resolution = SECOND_NS if len(parts) > 2 else MINUTE_NS
    if fraction:
        digits = fraction[:9]
        resolution = 10 ** (9 - len(digits))
        ns += int(digits) * resolution
    return Stamp(
        wall_ns=ns,
        has_year=year is not None,
        zone_s=parse_zone_s(zone),
        error_ns=error_ns or resolution,
    )


def make_uptime(seconds: str, fraction: str | None) -> Stamp | None:
    """Seconds since boot; so large a number that it must be an epoch is one."""
    if len(seconds) > 10:
        return None
    whole = int(seconds)
    digits = (fraction or "")[:9]
    resolution = 10 ** (9 - len(digits))
    ns = whole * SECOND_NS + (int(digits) * resolution if digits else 0)
    if whole < _LONGEST_UPTIME_S:
        return Stamp(uptime_ns=ns, error_ns=resolution)
    return Stamp(wall_ns=ns, zone_s=0, error_ns=resolution) if whole < _LAST_EPOCH_S else None


def make_epoch(value: float) -> Stamp | None:
    """An epoch in s, ms, us or ns, by its size."""
    for unit in (SECOND_NS, 1_000_000, 1_000, 1):
        if _LONGEST_UPTIME_S * SECOND_NS <= value * unit < _LAST_EPOCH_S * SECOND_NS:
            error = max(unit if isinstance(value, int) else unit // 1_000_000, 1)
            return Stamp(wall_ns=round(value * unit), zone_s=0, error_ns=error)
    return None


_PRINTED_ZONE: Final = (
    r"(?P<zone>Z| ?[+-]\d\d:?\d\d(?!\d)| (?:UTC|GMT) ?[+-]\d{1,2}(?::?\d\d)?(?!\w|:\d)"
    r"| (?:UTC|GMT|(?:[ECMP]|AK|AE|NZ)[SD]T|(?:CES?|WES?|EES?)T"
    r"|[BHIJK]ST|MSK|HKT|SGT|SAST|MES?Z)(?![\w-]))?"
)
DATED: Final = (
    r"(?P<year>\d{4})[-/](?P<month>\d{1,2})[-/](?P<day>\d{1,2})[T _](?P<clock>\d{1,2}:\d\d:\d\d)"
    r"(?:[.,](?P<fraction>\d{1,9})\d{0,9})?" + _PRINTED_ZONE
)
# Dates and times as people write them, and the tools that they read: 23.02.2026 07:24,
# 2026.10.14 15:49:42, 13/06/2026 01:34, Mar 3, 14:20 UTC, Wed, 18 Mar 2026 14:43:54 +0900.
WRITTEN_DAY: Final = (
    r"(?:[^\W\d]{2,12}\.?,? )?"
    r"(?:(?P<year>\d{4})(?P<mark>[-./])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})"
    r"|(?P<first>\d{1,2})(?P<mark2>[-./])(?P<second>\d{1,2})(?P=mark2)(?P<year2>\d{4}|\d\d)"
    r"|(?P<name>[^\W\d]{3,12})\.? {1,2}(?P<day2>\d{1,2})(?:st|nd|rd|th)?(?:,? (?P<year3>\d{4}))?"
    r"|(?P<day3>\d{1,2})(?:\.? |[/-])(?P<name2>[^\W\d]{3,12})(?:\.?,? |[/-])(?P<year4>\d{4}|\d\d))"
)
WRITTEN: Final = (
    WRITTEN_DAY + r"(?:,? {1,2}(?:at |- )?|T)"
    r"(?P<clock>\d{1,2}:\d\d(?::\d\d(?:[.,](?P<fraction>\d{1,9}))?)?)(?!\d|:\d)"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\b\.?)?"
    + _PRINTED_ZONE
    + r"(?(name)(?: (?P<year5>20\d\d)(?![\w.:-]))?)"
)
_TIME: Final = compile_re(r"\s*\[?" + DATED)
_WRITTEN: Final = compile_re(r"\s*" + WRITTEN)
_EPOCH: Final = compile_re(r"\d{10,19}(?:\.\d{1,9})?", re.ASCII)
_CTIME: Final = compile_re(
    r"\s*\[?(?:[^\W\d]{1,12}\.?,? )?([^\W\d]{3,12})\.? {1,2}(\d{1,2})(?: (\d{4}))?,? "
    r"(\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(?:(?: ([AP]M))?(?: ([A-Z]{3,5}))? (\d{4}))?"
)


def make_dated(match: "re.Match[str]") -> Stamp | None:
    """The stamp of a match of :data:`DATED`."""
    year, month, day = (int(match[name]) for name in ("year", "month", "day"))
    return make_wall(year, month, day, match["clock"], match["fraction"], match["zone"])


def make_written(match: "re.Match[str]") -> Stamp | None:
    """The stamp of a match of :data:`WRITTEN`; None for a month of no known language.

    The day stands first before full stops and hyphens, the month before slashes, where there is
    such a month.
    """
    named = (match[name] for name in ("year", "year2", "year3", "year4", "year5"))
    year = next((int(one) for one in named if one is not None), None)
    if match["first"] is not None:
        pair = int(match["first"]), int(match["second"])
        day_first = match["mark2"] != "/"
        day, month = pair if (day_first and pair[1] <= 12) or pair[0] > 12 else pair[::-1]
    elif match["month"] is not None:
        month, day = int(match["month"]), int(match["day"])
    else:
        month = MONTHS.get((match["name"] or match["name2"]).casefold(), 0)
        day = int(match["day2"] or match["day3"])
    clock = match["clock"].partition(".")[0].partition(",")[0]
    if match["half"] is not None:
        hour, _, rest = clock.partition(":")
        clock = f"{int(hour) % 12 + 12 * (match['half'] in 'Pp')}:{rest}"
    if year is not None and year < 100:
        year += 2000
    return make_wall(year, month, day, clock, match["fraction"], match["zone"])


def read_time(text: str) -> Stamp | None:
    """A time that stands alone in ``text``.

    "2026-01-09_11:39:43", "Aug 10 15:36:05 2026", "23.02.2026 07:24", an epoch of ten digits and
    more.
    """
    if _EPOCH.fullmatch(text) is not None:
        return make_epoch(float(text) if "." in text else int(text))
    found = _TIME.match(text)
    if found is not None:
        return make_dated(found)
    found = _CTIME.match(text)
    if found is None:
        found = _WRITTEN.match(text)
        return None if found is None else make_written(found)
    month = MONTHS.get(found[1].casefold())
    if month is None:
        return None
    year = found[3] or found[8]
    hour = int(found[4][:2])
    if found[6] is not None:  # Tue 10 Mar 2026 08:46:54 PM UTC
        hour = hour % 12 + 12 * (found[6] == "PM")
    clock = f"{hour:02d}{found[4][2:]}"
    return make_wall(int(year) if year else None, month, int(found[2]), clock, found[5], found[7])


def combine_stamps(old: Stamp, new: Stamp) -> Stamp:
    """Both clocks of one line in one stamp: the fuller wall time, the first uptime."""
    if old.wall_ns is None and old.uptime_ns is None:
        return new
    up = old.uptime_ns if old.uptime_ns is not None else new.uptime_ns
    keep = old
    if new.wall_ns is not None and (
        old.wall_ns is None or _measure_fullness(new) > _measure_fullness(old)
    ):
        keep = new
    if keep.uptime_ns == up:
        return keep
    return Stamp(keep.wall_ns, up, keep.has_year, keep.zone_s, keep.error_ns)


def _measure_fullness(stamp: Stamp) -> int:
    """How much of a wall time is printed."""
    return 2 * stamp.has_year + (stamp.zone_s is not None)


# The year of a time that is printed without one is that which puts it behind the stop: a log is
# collected some time after it, and what lies further ahead is of the year before.
_AHEAD_DAYS: Final = 30


@lru_cache(maxsize=8192)
def _shift_days(day: int, anchor_day: int) -> int:
    """Days to add to ``day`` (reckoned in a leap year) so that it lies about ``anchor_day``."""
    printed = date.fromordinal(day + _EPOCH_DAY)
    year = date.fromordinal(anchor_day + _EPOCH_DAY).year
    # 29 February is in every fourth year, but for turns of a century.
    for candidate in range(year + 1, year - 9, -1):
        try:
            placed = date(candidate, printed.month, printed.day).toordinal() - _EPOCH_DAY
        except ValueError:
            continue
        if placed <= anchor_day + _AHEAD_DAYS:
            return placed - day
    return 0


def set_nearest_year(wall_ns: int, anchor_ns: int) -> int:
    """``wall_ns``, reckoned without a year, in the year that puts it nearest before the anchor."""
    return wall_ns + _shift_days(wall_ns // DAY_NS, anchor_ns // DAY_NS) * DAY_NS
