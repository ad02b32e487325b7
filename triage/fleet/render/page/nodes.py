"""The standings of nodes as a table: the grade, the figures it rests on, and why.

The bar is the node's shrunk rate with its interval on a logarithmic scale that all rows share;
the dashed line is the fleet's. A bar that lies right of it as a whole is a node that fails more.
"""

from collections.abc import Sequence

from triage.domain.counts import count
from triage.fleet.render.charts.chart import Scale, make_decade_scale
from triage.fleet.render.charts.leaves import normalize_grade
from triage.fleet.render.words import Wire, format_figure
from triage.render.pictures.markup import Html, make_element, trust_markup
from triage.render.words.clean import cut, format_one_line

_BAR_WIDTH, _BAR_HEIGHT = 150, 18


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


def describe_where(row: Wire) -> str:
    """The leaf switch and the rack of a node, as far as an inventory names them."""
    where = [row["leaf_switch"]] if row["leaf_switch"] else []
    return ", ".join([*where, f"rack {row['rack']}"] if row["rack"] else where)


def format_node_rate(row: Wire, unit: str = "") -> str:
    """``3.1 (2.8 to 3.4)``: the rate of a node, its ``unit`` behind it; empty where unknown."""
    rate = row["rate_per_1000_node_days"]
    if rate is None:
        return ""
    return (
        f"{format_figure(rate)}{unit} ({format_figure(row['rate_low'])} to"
        f" {format_figure(row['rate_high'])})"
    )


def format_chance(q: float | None) -> str:
    """The false-discovery rate; a very small one is given as a bound."""
    if q is None:
        return ""
    return "< 0.001" if q < 0.001 else f"{q:.2g}"


def make_bar_scale(rows: Sequence[Wire], fleet_rate: float | None) -> Scale:
    """The scale that the bars of all rows share."""
    bounds = [row[key] for row in rows for key in ("rate_low", "rate_high") if row[key]]
    return make_decade_scale([*bounds, *((fleet_rate,) if fleet_rate else ())], 4, _BAR_WIDTH - 4)


def draw_bar(row: Wire, scale: Scale, fleet_rate: float | None) -> Html:
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
