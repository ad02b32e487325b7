"""How the figures of a fleet are worded: durations, shares, rates, each with its interval.

A figure is told with as many digits as its interval bears, and in the unit that people use for
it: minutes below an hour, days above two. What was never seen is a bound, not an infinity.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from triage.fleet.domain.cause import OutageCause, RepairAction
from triage.fleet.repairs.words import describe_repair_action, describe_repair_cause

Wire = Mapping[str, Any]
"""A fleet's report, its standings, its telemetry, or a row of them, as the service sends them."""
Estimate = Mapping[str, Any]
"""The wire form of an estimate: ``value``, ``low``, ``high``, ``n`` and ``unit``."""
NOTHING: Final = "unknown"
_MINUTE_H, _DAY_H = 1 / 60, 24.0
# From here on a time is told in days: "54 days" is read faster than "1,296 h".
_FROM_DAYS_H: Final = 72.0
_YEAR_H: Final = 8_760.0
_UNITS: Final = (
    (2 * _YEAR_H, _YEAR_H, "years"), (_FROM_DAYS_H, _DAY_H, "days"), (1.0, 1.0, "h"),
    (_MINUTE_H, _MINUTE_H, "min"), (0.0, 1 / 3600, "s"),
)  # fmt: skip

_MARKS: Final = ((_YEAR_H, _YEAR_H, "years"), (_DAY_H, _DAY_H, "days"), *_UNITS[2:4])


def format_utc_day(at: datetime | str, *, with_year: bool = True) -> str:
    """``1 Oct 2026``: the day in UTC of a time, or of one as the wire has it."""
    moment = (datetime.fromisoformat(at) if isinstance(at, str) else at).astimezone(UTC)
    return f"{moment.day} {moment:%b %Y}" if with_year else f"{moment.day} {moment:%b}"


def format_figure(value: float | None, digits: int = 2) -> str:
    """``3.1``, ``0.045``, ``1,296``: so many digits that count, and never an exponent."""
    if value is None:
        return NOTHING
    if value == 0:
        return "0"
    magnitude = abs(float(f"{value:.{digits}g}"))
    if magnitude >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    decimals = 0
    while magnitude < 10 ** (digits - 1) and decimals < 9:
        magnitude *= 10
        decimals += 1
    return f"{value:.{decimals}f}"


def _choose_unit(value_h: float) -> tuple[float, str]:
    """How many hours the unit has that a time is told in, and its word."""
    for least, unit_h, word in _UNITS:
        if abs(value_h) >= least:
            return unit_h, word
    return _UNITS[-1][1:]


def format_hours(value_h: float | None, digits: int = 2) -> str:
    """A time given in hours: ``3.1 h``, ``23 min``, ``54 days``."""
    if value_h is None:
        return NOTHING
    unit_h, word = _choose_unit(value_h)
    return f"{format_figure(value_h / unit_h, digits)} {word}"


def mark(value_h: float) -> str:
    """A time in hours as a scale writes it: ``1 h``, ``30 days``, ``1 year``."""
    for least, unit_h, word in _MARKS:
        if value_h >= least * 0.999:
            number = float(f"{value_h / unit_h:.3g}")
            return f"{number:g} {word.removesuffix('s') if number == 1 and len(word) > 1 else word}"
    return f"{value_h * 3600:.3g} s"


def format_seconds(value_s: float | None, digits: int = 2) -> str:
    """A time given in seconds."""
    return format_hours(None if value_s is None else value_s / 3600, digits)


def format_share(value: float | None) -> str:
    """A share as ``4.2 %``; what is not nothing is never told as ``0 %``."""
    if value is None:
        return NOTHING
    percent = 100 * value
    if 99.95 <= percent < 100:
        return "> 99.9 %"
    if 0 < percent < 0.05:
        return "< 0.1 %"
    return f"{percent:.0f} %" if percent in (0, 100) else f"{percent:.1f} %"


def format_per_cent(value: float) -> str:
    """A share as it is asked for: ``99 %``, ``99.9 %``."""
    return f"{100 * value:g} %"


def with_interval(estimate: Estimate | None, worded: Callable[[float], str] = format_figure) -> str:
    """An estimate with its interval: ``3.1 h (2.8 to 3.4)``; a bound where that is all there is.

    ``worded`` is for the figure and its bounds alike; the unit it writes stands once.
    """
    if estimate is None:
        return NOTHING
    value, low, high = (estimate.get(key) for key in ("value", "low", "high"))
    if value is None:
        if low:
            return f"more than {worded(low)}"
        return NOTHING if high is None else f"less than {worded(high)}"
    if low is None and high is None:
        return worded(value)
    bounds = [NOTHING if bound is None else _strip_unit(worded(bound)) for bound in (low, high)]
    if {*bounds} == {_strip_unit(worded(value))}:
        return worded(value)
    if low is None:
        return f"{worded(value)} (up to {bounds[1]})"
    return f"{worded(value)} ({bounds[0]} {'or more' if high is None else f'to {bounds[1]}'})"


def format_duration(estimate: Estimate | None, unit_h: float = 1.0) -> str:
    """An estimate of a time, one unit for all three; ``unit_h`` is what the estimate is in."""
    if estimate is None:
        return NOTHING
    known = [estimate[key] for key in ("value", "low", "high") if estimate.get(key) is not None]
    if not known:
        return NOTHING
    scale_h, word = _choose_unit(known[0] * unit_h)
    return with_interval(estimate, lambda time: f"{format_figure(time * unit_h / scale_h)} {word}")


def format_by_unit(estimate: Estimate | None) -> str:
    """An estimate in the words of its own unit: hours and seconds as times, shares in percent."""
    unit = "" if estimate is None else str(estimate.get("unit", ""))
    if unit == "h":
        return format_duration(estimate)
    if unit == "s":
        return format_duration(estimate, 1 / 3600)
    return with_interval(
        estimate, format_share if unit in ("share", "probability") else format_figure
    )


def _strip_unit(text: str) -> str:
    """A figure without its unit, which is the last word where it has no digit."""
    number, _, unit = text.rpartition(" ")
    return number if number and not any(map(str.isdigit, unit)) else text


def _format_bounds(estimate: Estimate) -> str:
    """The bounds of a share in percent, without its figure; empty where there are none."""
    low, high = estimate["low"], estimate["high"]
    return "" if low is None or high is None else f"{100 * low:.1f} to {100 * high:.1f}"


def format_node_rate(row: Wire, unit: str = "") -> str:
    """``3.1 (2.8 to 3.4)``: the rate of a node, its ``unit`` behind it; empty where unknown."""
    rate = row["rate_per_1000_node_days"]
    if rate is None:
        return ""
    low, high = format_figure(row["rate_low"]), format_figure(row["rate_high"])
    return f"{format_figure(rate)}{unit} ({low} to {high})"


FORMATS: Final[dict[str, Callable[..., str]]] = {
    "bounds": _format_bounds,
    "day": format_utc_day,
    "differs": lambda differs: "differs" if differs else "",
    "duration": format_duration,
    "duration_s": lambda estimate: format_duration(estimate, 1 / 3600),
    "figure": format_figure,
    "figure3": lambda value: format_figure(value, 3),
    "hours": format_hours,
    "interval": with_interval,
    "interval3": lambda estimate: with_interval(estimate, lambda one: format_figure(one, 3)),
    "interval_share": lambda estimate: with_interval(estimate, format_share),
    "mark": mark,
    "mark_d": lambda days: mark(days * _DAY_H),
    "mark_s": lambda seconds: mark(seconds / 3600),
    "of_100": lambda share: f"{100 * share:.0f}",
    "per_cent": format_per_cent,
    # A name of another release stands as it is.
    "repair_action": lambda name: (
        describe_repair_action(RepairAction(name)) if name in set(RepairAction) else name
    ),
    "repair_cause": lambda name: (
        describe_repair_cause(OutageCause(name)) if name in set(OutageCause) else name
    ),
    "seconds": format_seconds,
    "share": format_share,
    "short_day": lambda at: format_utc_day(at, with_year=False),
    "short_hours": lambda hours: format_hours(hours) if hours >= _MINUTE_H else "none",
    "some": lambda value: format_figure(value) if value else "",
    # Of too few returns nothing is told but that.
    "told_share": lambda share: (
        "cannot tell" if share["value"] is None else with_interval(share, format_share)
    ),
    "unit": format_by_unit,
    "whole": lambda estimate: with_interval(estimate, lambda value: f"{value:,.0f}"),
}
"""How a field is worded, by the names that tables and templates use."""
