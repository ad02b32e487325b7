"""The year of a time that is printed without one: the one that puts it behind the stop."""

from datetime import date
from functools import lru_cache
from typing import Final

DAY_NS: Final = 86_400_000_000_000
_EPOCH: Final = 719_163
# A log is collected some time after the stop; what lies further ahead is of the year before.
_AHEAD_DAYS: Final = 30


@lru_cache(maxsize=8192)
def _shift_days(day: int, anchor_day: int) -> int:
    """Days to add to ``day`` (reckoned in a leap year) so that it lies about ``anchor_day``."""
    printed = date.fromordinal(day + _EPOCH)
    year = date.fromordinal(anchor_day + _EPOCH).year
    # 29 February is in every fourth year, but for turns of a century.
    for candidate in range(year + 1, year - 9, -1):
        try:
            placed = date(candidate, printed.month, printed.day).toordinal() - _EPOCH
        except ValueError:
            continue
        if placed <= anchor_day + _AHEAD_DAYS:
            return placed - day
    return 0


def set_nearest_year(wall_ns: int, anchor_ns: int) -> int:
    """``wall_ns``, reckoned without a year, in the year that puts it nearest before the anchor."""
    return wall_ns + _shift_days(wall_ns // DAY_NS, anchor_ns // DAY_NS) * DAY_NS
