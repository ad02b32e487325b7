"""What fails: the fleet's counts beside those of the Llama 3 run, row by row.

Bars are shares, each with its exact interval; the outlined bar is Llama 3's. Their 419 are a
sample as ours are, so only what the test names is said to differ.
"""

from typing import Final

from triage.domain.llama3 import LLAMA3_UNEXPECTED
from triage.fleet.render.charts.chart import (
    RIGHT,
    Scale,
    draw_rect,
    draw_ticks_below,
    draw_words,
    make_chart_svg,
    make_linear_scale,
)
from triage.fleet.render.charts.table import Table, make_table
from triage.fleet.render.words import Wire, format_by_unit, format_figure, format_share
from triage.render.pictures.markup import Html, join, make_element, trust_markup

_ROW: Final = 24
_LEFT: Final = 236
_TOP: Final = 4
_FOOT: Final = 26
# More rows than this are not named in the sentence; picture and table mark them.
_MAX_NAMED: Final = 4


def select_shown_rows(report: Wire) -> list[Wire]:
    """The rows with a count on either side, the most frequent here first."""
    rows = [row for row in report["mix"]["rows"] if row["count"] or row["llama3_count"]]
    return sorted(rows, key=lambda row: (-row["count"], -row["llama3_count"]))


def summarize_causes(report: Wire) -> str:
    """Whether the mix differs, in one sentence."""
    mix = report["mix"]
    different = [row["row"] for row in select_shown_rows(report) if row["differs"]]
    if mix["p_value"] is None:
        return "Too few were triaged to tell whether the mix differs from Llama 3's."
    if different:
        left = len(different) - _MAX_NAMED
        more = f" and {left} more" if left > 0 else ""
        return f"Other than in the Llama 3 run: {', '.join(different[:_MAX_NAMED])}{more}."
    if mix["p_value"] < 0.05:
        return "The mix as a whole differs from Llama 3's, though no single row stands out."
    return "The mix does not differ from Llama 3's by more than chance."


def as_svg(report: Wire) -> Html:
    """Bars of shares, ours filled with a whisker, Llama 3's outlined; nothing without a cause."""
    rows = select_shown_rows(report)
    if not report["mix"]["count"]:
        return trust_markup("")
    ends = [row["share"]["high"] or 0.0 for row in rows] + [row["llama3_share"] for row in rows]
    scale = make_linear_scale(ends, _LEFT, RIGHT)
    floor = _TOP + _ROW * len(rows)
    return make_chart_svg(
        "Causes of interruptions, this fleet beside Llama 3",
        f"{summarize_causes(report)} Filled bars are this fleet with 95 % intervals, outlined"
        f" ones Llama 3.",
        draw_ticks_below(scale, lambda share: f"{100 * share:g} %", floor, _TOP),
        *(_draw_bars(row, _TOP + _ROW * place, scale) for place, row in enumerate(rows)),
        height=floor + _FOOT,
        name="causes",
    )


def _draw_bars(row: Wire, top: float, scale: Scale) -> Html:
    middle = top + _ROW / 2
    mine = row["share"]
    low, high = scale.at(mine["low"] or 0.0), scale.at(mine["high"] or 0.0)
    whisker = f"M{low:g} {middle - 3:g}H{high:g}M{low:g} {middle - 6:g}v6M{high:g} {middle - 6:g}v6"
    name = f"{row['row']} *" if row["differs"] else row["row"]
    return join(
        (
            draw_words(_LEFT - 10, middle + 4, name, "strong" if row["differs"] else "", "end"),
            draw_rect(_LEFT, top + 4, scale.at(mine["value"] or 0.0) - _LEFT, 10, "bar"),
            draw_rect(_LEFT, top + 15, scale.at(row["llama3_share"]) - _LEFT, 5, "bar theirs"),
            make_element("path", {"class": "whisker", "d": whisker}) if row["count"] else None,
        )
    )


def build_table(report: Wire) -> Table | None:
    """The counts, which shares are derived from."""
    rows = (
        (
            row["row"],
            row["parent"],
            f"{row['count']:,}",
            format_share(row["share"]["value"]),
            _format_interval(row["share"]),
            f"{row['llama3_count']:,}",
            format_share(row["llama3_share"]),
            make_element("span", {"class": "differs"}, "differs") if row["differs"] else "",
        )
        for row in select_shown_rows(report)
    )
    theirs = f"#Llama 3, of {LLAMA3_UNEXPECTED}"
    head = ("Cause", "Part", "#Here", "#Share", "#95 %", theirs, "#Their share", "")
    return make_table("Unexpected interruptions by cause", head, rows, name="causes")


def build_origin_table(report: Wire) -> Table | None:
    """Hardware, software, maintenance: what each has of the interruptions."""
    rows = (
        (row["origin"], format_by_unit(row["share"]), format_figure(row["rate"]["value"]))
        for row in report["origins"]
        if row["count"]
    )
    return make_table("By origin", ("Origin", "#Share", "#Per 1e6 GPU-h"), rows)


def _format_interval(estimate: Wire) -> str:
    low, high = estimate["low"], estimate["high"]
    if low is None or high is None:
        return ""
    return f"{100 * low:.1f} to {100 * high:.1f}"
