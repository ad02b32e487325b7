"""The standings of nodes as a table: the grade, the figures it rests on, and why.

The bar is the node's shrunk rate with its interval on a logarithmic scale that all rows share;
the dashed line is the fleet's. A bar that lies right of it as a whole is a node that fails more.
"""

from collections.abc import Callable, Sequence
from typing import Final

from triage.domain.counts import count
from triage.fleet.render.charts.chart import Scale, make_decade_scale
from triage.fleet.render.charts.leaves import normalize_grade, render_grade_word
from triage.fleet.render.charts.table import render_details, render_left_out, render_scrolled
from triage.fleet.render.words import Wire, format_figure
from triage.render.pictures.markup import Html, join, make_element, trust_markup
from triage.render.words.clean import cut, format_one_line

_BAR_WIDTH, _BAR_HEIGHT = 150, 18
_MAX_REASONS: Final = 8
_MAX_PARTS: Final = 12
_FIGURES: Final = ("#Accused", "#Expected", "#Per 1,000 node-days")
_HEADS: Final = ("Node", "Standing", *_FIGURES, "Beside the fleet", "#Chance", "Where")


def list_graded_names(standings: Wire, grade: str, max_chars: int = 200) -> str:
    """The nodes of a grade, the worst first, as many as fit: ``n17, n423 and 9 more``."""
    names = [format_one_line(row["node"]) for row in standings["nodes"] if row["grade"] == grade]
    total = standings["counts"].get(grade, len(names))
    shown: list[str] = []
    for name in names:
        if shown and len(", ".join((*shown, name))) > max_chars:
            break
        shown.append(cut(name, max_chars))
    left = total - len(shown)
    return f"{', '.join(shown)}{f' and {left:,} more' if left > 0 else ''}"


def summarize_standings(standings: Wire) -> str:
    """How many nodes were tested, against which rate, in one sentence."""
    rate = standings["fleet_rate_per_1000_node_days"]
    if not standings["num_tested"] or rate is None:
        return "No run names its nodes: without exposure there are no standings."
    basis = standings.get("basis") or "interruptions"
    return (
        f"{count(standings['num_tested'], 'node')} held against {format_figure(rate)} {basis} per"
        f" 1,000 node-days, over {standings['window_days']:g} days, at a false-discovery rate of"
        f" {standings['false_discovery_rate']:.0%}.{_describe_past_calls(standings.get('walked'))}"
    )


def _describe_past_calls(walked: Wire | None) -> str:
    """How calls of the past came out, as a further sentence."""
    if walked is None:
        return ""
    return (
        f" Of {walked['calls']:,} nodes called lemons before, {walked['failed']:,} failed within"
        f" {walked['days']:g} days: {walked['precision']:.0%} (95 %: {walked['precision_low']:.0%}"
        f" to {walked['precision_high']:.0%})."
    )


def render_places_list(standings: Wire) -> Html:
    """The places that fail unlike the rest of their kind, the surest first."""
    found = [place for place in standings.get("places", ()) if place["found"]]
    if not found:
        return trust_markup("")
    shown = join(make_element("li", None, place["text"]) for place in found[:_MAX_PARTS])
    return make_element("ul", None, shown, render_left_out("li", len(found) - _MAX_PARTS))


def render_parts_list(standings: Wire) -> Html:
    """What is named again and again: leaf switches first, then parts of nodes."""
    parts = standings["parts"]
    if not parts:
        return trust_markup("")
    shown = join(make_element("li", None, part["text"]) for part in parts[:_MAX_PARTS])
    return make_element("ul", None, shown, render_left_out("li", len(parts) - _MAX_PARTS))


def as_table(
    rows: Sequence[Wire],
    fleet_rate: float | None,
    named: Callable[[str], Html] | None = None,
    *,
    folded: bool = False,
) -> Html:
    """One body a node: its figures, then its reasons.

    ``named`` makes of a node's name what stands in the table, a link where there are pages.
    ``folded`` reasons open at a press.
    """
    bounds = [row[key] for row in rows for key in ("rate_low", "rate_high") if row[key]]
    scale = make_decade_scale([*bounds, *((fleet_rate,) if fleet_rate else ())], 4, _BAR_WIDTH - 4)
    heads = join(
        make_element(
            "th", {"scope": "col", "class": "count" if word[0] == "#" else None}, word.lstrip("#")
        )
        for word in _HEADS
    )
    made = make_element(
        "table",
        {"class": "nodes"},
        make_element("caption", None, "Nodes by standing, the worst first"),
        make_element("thead", None, make_element("tr", None, heads)),
        join(_render_body(row, scale, fleet_rate, named, folded) for row in rows),
    )
    return render_scrolled(made, "Nodes by standing")


def _render_body(
    row: Wire,
    scale: Scale,
    fleet_rate: float | None,
    named: Callable[[str], Html] | None,
    folded: bool,
) -> Html:
    where = [row["leaf_switch"]] if row["leaf_switch"] else []
    where += [f"rack {row['rack']}"] if row["rack"] else []
    probation = [f"On probation: {row['probation']['text']}"] if row.get("probation") else []
    told = [*probation, *row["reasons"]]
    reasons = join(make_element("li", None, reason) for reason in told[:_MAX_REASONS])
    why = make_element("ul", None, reasons)
    return make_element(
        "tbody",
        {"class": trust_markup(normalize_grade(row["grade"]))},
        make_element(
            "tr",
            None,
            make_element(
                "th", {"scope": "row"}, named(row["node"]) if named else cut(row["node"], 80)
            ),
            make_element("td", None, render_grade_word(row["grade"])),
            _render_figure("accused", f"{row['strikes']:,}"),
            _render_figure("expected", format_figure(row["expected"])),
            _render_figure("per 1,000 node-days", format_node_rate(row)),
            make_element("td", {"class": "beside"}, _draw_bar(row, scale, fleet_rate)),
            _render_figure("chance", _format_chance(row["q_value"])),
            make_element("td", {"class": "soft"}, cut(format_one_line(", ".join(where)), 60)),
        ),
        make_element(
            "tr",
            {"class": "reasons"},
            make_element(
                "td", {"colspan": len(_HEADS)}, render_details("Why", why) if folded else why
            ),
        )
        if reasons
        else None,
    )


def _render_figure(word: str, text: str) -> Html:
    """A cell of figures; the word stands before it where the heads have no room."""
    return make_element("td", {"class": "count", "data-word": word if text else None}, text or None)


def format_node_rate(row: Wire, unit: str = "") -> str:
    """``3.1 (2.8 to 3.4)``: the rate of a node, its ``unit`` behind it; empty where unknown."""
    rate = row["rate_per_1000_node_days"]
    if rate is None:
        return ""
    return (
        f"{format_figure(rate)}{unit} ({format_figure(row['rate_low'])} to"
        f" {format_figure(row['rate_high'])})"
    )


def _format_chance(q: float | None) -> str:
    """The false-discovery rate; a very small one is given as a bound."""
    if q is None:
        return ""
    return "< 0.001" if q < 0.001 else f"{q:.2g}"


def _draw_bar(row: Wire, scale: Scale, fleet_rate: float | None) -> Html:
    """A screen reader passes it over: the figures stand in the cell before it."""
    rate, low, high = (row[key] for key in ("rate_per_1000_node_days", "rate_low", "rate_high"))
    if rate is None or low is None or high is None:
        return trust_markup("")
    y = _BAR_HEIGHT / 2
    fleet = scale.at(fleet_rate) if fleet_rate else None
    return make_element(
        "svg",
        {"class": "chart", "width": _BAR_WIDTH, "height": _BAR_HEIGHT, "aria-hidden": "true"},
        make_element("path", {"class": "fleet", "d": f"M{fleet:g} 0V{_BAR_HEIGHT}"})
        if fleet
        else None,
        make_element(
            "path",
            {
                "class": "interval",
                "d": f"M{_locate_value(scale, low):g} {y:g}H{_locate_value(scale, high):g}",
            },
        ),
        make_element(
            "path",
            {
                "class": normalize_grade(row["grade"]),
                "d": f"M{_locate_value(scale, rate):g} {y - 6:g}l6 6l-6 6l-6 -6z",
            },
        ),
    )


def _locate_value(scale: Scale, value: float) -> float:
    return scale.at(max(value, scale.low))
