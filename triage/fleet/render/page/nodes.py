"""The standings of nodes as a table: the grade, the figures it rests on, and why.

The bar is the node's shrunk rate with its interval on a logarithmic scale that all rows share;
the dashed line is the fleet's. A bar that lies right of it as a whole is a node that fails more.
"""

from collections.abc import Callable, Sequence
from typing import Final

from triage.domain.counts import count
from triage.fleet.render.charts.chart import Scale, decades
from triage.fleet.render.charts.leaves import grade_word, known_grade
from triage.fleet.render.charts.table import details, left_out_of, scrolled
from triage.fleet.render.words import Wire, figure
from triage.render.pictures.markup import Html, constant, el, join
from triage.render.words.clean import cut, one_line

_BAR_WIDTH, _BAR_HEIGHT = 150, 18
_MAX_REASONS: Final = 8
_MAX_PARTS: Final = 12
_FIGURES: Final = ("#Accused", "#Expected", "#Per 1,000 node-days")
_HEADS: Final = ("Node", "Standing", *_FIGURES, "Beside the fleet", "#Chance", "Where")


def names_of(standings: Wire, grade: str, max_chars: int = 200) -> str:
    """The nodes of a grade, the worst first, as many as fit: ``n17, n423 and 9 more``."""
    names = [one_line(row["node"]) for row in standings["nodes"] if row["grade"] == grade]
    total = standings["counts"].get(grade, len(names))
    shown: list[str] = []
    for name in names:
        if shown and len(", ".join((*shown, name))) > max_chars:
            break
        shown.append(cut(name, max_chars))
    left = total - len(shown)
    return f"{', '.join(shown)}{f' and {left:,} more' if left > 0 else ''}"


def summary(standings: Wire) -> str:
    """How many nodes were tested, against which rate, in one sentence."""
    rate = standings["fleet_rate_per_1000_node_days"]
    if not standings["num_tested"] or rate is None:
        return "No run names its nodes: without exposure there are no standings."
    basis = standings.get("basis") or "interruptions"
    return (
        f"{count(standings['num_tested'], 'node')} held against {figure(rate)} {basis} per"
        f" 1,000 node-days, over {standings['window_days']:g} days, at a false-discovery rate of"
        f" {standings['false_discovery_rate']:.0%}.{_walked(standings.get('walked'))}"
    )


def _walked(walked: Wire | None) -> str:
    """How calls of the past came out, as a further sentence."""
    if walked is None:
        return ""
    return (
        f" Of {walked['calls']:,} nodes called lemons before, {walked['failed']:,} failed within"
        f" {walked['days']:g} days: {walked['precision']:.0%} (95 %: {walked['precision_low']:.0%}"
        f" to {walked['precision_high']:.0%})."
    )


def places_list(standings: Wire) -> Html:
    """The places that fail unlike the rest of their kind, the surest first."""
    found = [place for place in standings.get("places", ()) if place["found"]]
    if not found:
        return constant("")
    shown = join(el("li", None, place["text"]) for place in found[:_MAX_PARTS])
    return el("ul", None, shown, left_out_of("li", len(found) - _MAX_PARTS))


def parts_list(standings: Wire) -> Html:
    """What is named again and again: leaf switches first, then parts of nodes."""
    parts = standings["parts"]
    if not parts:
        return constant("")
    shown = join(el("li", None, part["text"]) for part in parts[:_MAX_PARTS])
    return el("ul", None, shown, left_out_of("li", len(parts) - _MAX_PARTS))


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
    scale = decades([*bounds, *((fleet_rate,) if fleet_rate else ())], 4, _BAR_WIDTH - 4)
    heads = join(
        el("th", {"scope": "col", "class": "count" if word[0] == "#" else None}, word.lstrip("#"))
        for word in _HEADS
    )
    made = el(
        "table",
        {"class": "nodes"},
        el("caption", None, "Nodes by standing, the worst first"),
        el("thead", None, el("tr", None, heads)),
        join(_body(row, scale, fleet_rate, named, folded) for row in rows),
    )
    return scrolled(made, "Nodes by standing")


def _body(
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
    reasons = join(el("li", None, reason) for reason in told[:_MAX_REASONS])
    why = el("ul", None, reasons)
    return el(
        "tbody",
        {"class": constant(known_grade(row["grade"]))},
        el(
            "tr",
            None,
            el("th", {"scope": "row"}, named(row["node"]) if named else cut(row["node"], 80)),
            el("td", None, grade_word(row["grade"])),
            _figure("accused", f"{row['strikes']:,}"),
            _figure("expected", figure(row["expected"])),
            _figure("per 1,000 node-days", rate_text(row)),
            el("td", {"class": "beside"}, _bar(row, scale, fleet_rate)),
            _figure("chance", _chance(row["q_value"])),
            el("td", {"class": "soft"}, cut(one_line(", ".join(where)), 60)),
        ),
        el(
            "tr",
            {"class": "reasons"},
            el("td", {"colspan": len(_HEADS)}, details("Why", why) if folded else why),
        )
        if reasons
        else None,
    )


def _figure(word: str, text: str) -> Html:
    """A cell of figures; the word stands before it where the heads have no room."""
    return el("td", {"class": "count", "data-word": word if text else None}, text or None)


def rate_text(row: Wire, unit: str = "") -> str:
    """``3.1 (2.8 to 3.4)``: the rate of a node, its ``unit`` behind it; empty where unknown."""
    rate = row["rate_per_1000_node_days"]
    if rate is None:
        return ""
    return f"{figure(rate)}{unit} ({figure(row['rate_low'])} to {figure(row['rate_high'])})"


def _chance(q: float | None) -> str:
    """The false-discovery rate; a very small one is given as a bound."""
    if q is None:
        return ""
    return "< 0.001" if q < 0.001 else f"{q:.2g}"


def _bar(row: Wire, scale: Scale, fleet_rate: float | None) -> Html:
    """A screen reader passes it over: the figures stand in the cell before it."""
    rate, low, high = (row[key] for key in ("rate_per_1000_node_days", "rate_low", "rate_high"))
    if rate is None or low is None or high is None:
        return constant("")
    y = _BAR_HEIGHT / 2
    fleet = scale.at(fleet_rate) if fleet_rate else None
    return el(
        "svg",
        {"class": "chart", "width": _BAR_WIDTH, "height": _BAR_HEIGHT, "aria-hidden": "true"},
        el("path", {"class": "fleet", "d": f"M{fleet:g} 0V{_BAR_HEIGHT}"}) if fleet else None,
        el("path", {"class": "interval", "d": f"M{_at(scale, low):g} {y:g}H{_at(scale, high):g}"}),
        el(
            "path",
            {
                "class": known_grade(row["grade"]),
                "d": f"M{_at(scale, rate):g} {y - 6:g}l6 6l-6 6l-6 -6z",
            },
        ),
    )


def _at(scale: Scale, value: float) -> float:
    return scale.at(max(value, scale.low))
