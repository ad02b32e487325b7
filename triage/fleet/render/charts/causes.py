"""What fails: the fleet's counts beside those of the Llama 3 run, row by row.

Bars are shares, each with its exact interval; the outlined bar is Llama 3's. Their 419 are a
sample as ours are, so only what the test names is said to differ.
"""

from collections.abc import Mapping
from typing import Any, Final

from triage.domain.llama3 import LLAMA3_UNEXPECTED
from triage.fleet.render.charts.chart import framed, rect, text
from triage.fleet.render.charts.scale import Scale, linear
from triage.fleet.render.charts.table import table
from triage.fleet.render.words import count, share
from triage.render.pictures.markup import Html, constant, el, join

__all__ = ["as_svg", "as_table", "said", "shown_rows"]

Report = Mapping[str, Any]

_ROW: Final = 24
_LEFT: Final = 236
_WIDTH: Final = 680
_FOOT: Final = 26
# More rows than this are told by their marks in picture and table.
_MAX_NAMED: Final = 4


def shown_rows(report: Report) -> list[Mapping[str, Any]]:
    """The rows with a count on either side, the most frequent here first."""
    rows = [one for one in report["mix"]["rows"] if one["count"] or one["llama3_count"]]
    return sorted(rows, key=lambda one: (-one["count"], -one["llama3_count"]))


def said(report: Report) -> str:
    """Whether the mix differs, in one sentence."""
    mix = report["mix"]
    different = [one["row"] for one in shown_rows(report) if one["differs"]]
    if mix["p_value"] is None:
        return "Too few were triaged to tell whether the mix differs from Llama 3's."
    if different:
        left = len(different) - _MAX_NAMED
        more = f" and {left} more" if left > 0 else ""
        return f"Other than in the Llama 3 run: {', '.join(different[:_MAX_NAMED])}{more}."
    if mix["p_value"] < 0.05:
        return "The mix as a whole differs from Llama 3's, though no single row stands out."
    return "The mix does not differ from Llama 3's by more than chance."


def as_svg(report: Report) -> Html:
    """Bars of shares, ours filled with a whisker, Llama 3's outlined; nothing without a cause."""
    rows = shown_rows(report)
    if not report["mix"]["count"]:
        return constant("")
    ends = [one["share"]["high"] or 0.0 for one in rows] + [one["llama3_share"] for one in rows]
    scale = linear(ends, _LEFT, _WIDTH - 16)
    floor = 4 + _ROW * len(rows)
    drawn = [
        join(
            (
                el("path", {"class": "tick", "d": f"M{scale.at(one):g} 4V{floor}"}),
                text(scale.at(one), floor + 16, f"{100 * one:g} %", "soft", "middle"),
            )
        )
        for one in scale.ticks
    ]
    drawn += [_bars(one, 4 + _ROW * place, scale) for place, one in enumerate(rows)]
    return framed(
        "Causes of interruptions, this fleet beside Llama 3",
        f"{said(report)} Filled bars are this fleet with 95 % intervals, outlined ones Llama 3.",
        join(drawn),
        width=_WIDTH,
        height=floor + _FOOT,
        name="causes",
    )


def _bars(row: Mapping[str, Any], top: float, scale: Scale) -> Html:
    middle = top + _ROW / 2
    mine = row["share"]
    low, high = scale.at(mine["low"] or 0.0), scale.at(mine["high"] or 0.0)
    whisker = f"M{low:g} {middle - 3:g}H{high:g}M{low:g} {middle - 6:g}v6M{high:g} {middle - 6:g}v6"
    name = f"{row['row']} *" if row["differs"] else row["row"]
    return join(
        (
            text(_LEFT - 10, middle + 4, name, "strong" if row["differs"] else "", "end"),
            rect(_LEFT, top + 4, scale.at(mine["value"] or 0.0) - _LEFT, 10, "bar"),
            rect(_LEFT, top + 15, scale.at(row["llama3_share"]) - _LEFT, 5, "bar theirs"),
            el("path", {"class": "whisker", "d": whisker}) if row["count"] else None,
        )
    )


def as_table(report: Report) -> Html:
    """The counts, which shares are derived from."""
    mix = report["mix"]
    rows = (
        (
            one["row"],
            one["parent"],
            f"{one['count']:,}",
            share(one["share"]["value"]),
            _interval(one["share"]),
            f"{one['llama3_count']:,}",
            share(one["llama3_share"]),
            el("span", {"class": "differs"}, "differs") if one["differs"] else "",
        )
        for one in shown_rows(report)
    )
    head = (
        "Cause", "Part", "#Here", "#Share", "#95 %", f"#Llama 3, of {LLAMA3_UNEXPECTED}",
        "#Their share", "",
    )  # fmt: skip
    made = table("Unexpected interruptions by cause", head, rows, name="causes")
    without = mix["without_row"]
    if not without:
        return made
    more = f"{count(without, 'interruption')} more without a cause that the table has a row for."
    return join((made, el("p", {"class": "soft"}, more)))


def _interval(estimate: Mapping[str, Any]) -> str:
    low, high = estimate["low"], estimate["high"]
    if low is None or high is None:
        return ""
    return f"{100 * low:.1f} to {100 * high:.1f}"
