"""The standings of nodes as a table: the grade, the figures it rests on, and why.

The bar is the node's shrunk rate with its interval on a logarithmic scale that all rows share;
the dashed line is the fleet's. A bar that lies right of it as a whole is a node that fails more.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from triage.fleet.render.charts.grades import MEANING, WORDS, grade_word, swatch
from triage.fleet.render.charts.scale import Scale, decades
from triage.fleet.render.charts.table import details, scrolled
from triage.fleet.render.words import count, figure
from triage.render.pictures.markup import Html, constant, el, join
from triage.render.words.clean import cut, one_line

__all__ = ["GRADES", "as_table", "keys", "names_of", "parts_list", "said"]

Row = Mapping[str, Any]

GRADES: Final = WORDS
"""The grades, the worst first."""

_BAR_WIDTH, _BAR_HEIGHT = 150, 18
_MAX_REASONS: Final = 8
_MAX_PARTS: Final = 12
_HEADS: Final = (
    "Node", "Standing", "#Accused", "#Expected", "#Per 1,000 node-days", "Beside the fleet",
    "#Chance", "Where",
)  # fmt: skip


def names_of(standings: Row, grade: str, max_chars: int = 200) -> str:
    """The nodes of a grade, the worst first, as many as fit: ``n17, n423 and 9 more``."""
    names = [one_line(one["node"]) for one in standings["nodes"] if one["grade"] == grade]
    total = standings["counts"].get(grade, len(names))
    shown: list[str] = []
    for name in names:
        if shown and len(", ".join((*shown, name))) > max_chars:
            break
        shown.append(cut(name, max_chars))
    left = total - len(shown)
    return f"{', '.join(shown)}{f' and {left:,} more' if left > 0 else ''}"


def said(standings: Row) -> str:
    """What the test was, in one sentence."""
    rate = standings["fleet_rate_per_1000_node_days"]
    if not standings["num_tested"] or rate is None:
        return "No run names its nodes: without exposure there are no standings."
    return (
        f"{count(standings['num_tested'], 'node')} held against {figure(rate)} interruptions per"
        f" 1,000 node-days, over {standings['window_days']:g} days, at a false-discovery rate of"
        f" {standings['false_discovery_rate']:.0%}."
    )


def keys(standings: Row) -> Html:
    """The grades, what they mean, and how many nodes are of each."""
    counts = standings["counts"]
    return el(
        "ul",
        {"class": "keys"},
        join(
            el("li", None, swatch(grade), f" {grade}: {MEANING[grade]} ({counts[grade]:,})")
            for grade in WORDS
            if counts.get(grade)
        ),
    )


def parts_list(standings: Row) -> Html:
    """What is named again and again: leaf switches first, then parts of nodes."""
    parts = standings["parts"]
    if not parts:
        return constant("")
    shown = join(el("li", None, one["text"]) for one in parts[:_MAX_PARTS])
    left = len(parts) - _MAX_PARTS
    more = el("li", {"class": "soft"}, f"and {left:,} more; the JSON has all of them.")
    return el("ul", None, shown, more if left > 0 else None)


def as_table(
    rows: Sequence[Row],
    fleet_rate: float | None,
    named: Callable[[str], Html] | None = None,
    *,
    folded: bool = False,
) -> Html:
    """One body a node: its figures, then its reasons.

    ``named`` makes of a node's name what stands in the table, a link where there are pages.
    ``folded`` reasons open at a press.
    """
    bounds = [one[key] for one in rows for key in ("rate_low", "rate_high") if one[key]]
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
        join(_body(one, scale, fleet_rate, named, folded) for one in rows),
    )
    return scrolled(made, "Nodes by standing")


def _body(
    one: Row,
    scale: Scale,
    fleet_rate: float | None,
    named: Callable[[str], Html] | None,
    folded: bool,
) -> Html:
    where = [one["leaf_switch"]] if one["leaf_switch"] else []
    where += [f"rack {one['rack']}"] if one["rack"] else []
    reasons = join(el("li", None, reason) for reason in one["reasons"][:_MAX_REASONS])
    why = el("ul", None, reasons)
    return el(
        "tbody",
        {"class": constant(one["grade"] if one["grade"] in WORDS else "unknown")},
        el(
            "tr",
            None,
            el("th", {"scope": "row"}, named(one["node"]) if named else cut(one["node"], 80)),
            el("td", None, grade_word(one["grade"])),
            _figure("accused", f"{one['strikes']:,}"),
            _figure("expected", figure(one["expected"])),
            _figure("per 1,000 node-days", _rate(one)),
            el("td", {"class": "beside"}, _bar(one, scale, fleet_rate)),
            _figure("chance", _chance(one)),
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


def _rate(one: Row) -> str:
    rate = one["rate_per_1000_node_days"]
    if rate is None:
        return ""
    return f"{figure(rate)} ({figure(one['rate_low'])} to {figure(one['rate_high'])})"


def _chance(one: Row) -> str:
    """The false-discovery rate; so small a one that it says no more is told as a bound."""
    q = one["q_value"]
    if q is None:
        return ""
    return "< 0.001" if q < 0.001 else f"{q:.2g}"


def _bar(one: Row, scale: Scale, fleet_rate: float | None) -> Html:
    """Silent for who listens: the figures stand in the cell before it."""
    rate, low, high = (one[key] for key in ("rate_per_1000_node_days", "rate_low", "rate_high"))
    if rate is None or low is None or high is None:
        return constant("")
    y = _BAR_HEIGHT / 2
    fleet = scale.at(fleet_rate) if fleet_rate else None
    grade = one["grade"] if one["grade"] in WORDS else "unknown"
    return el(
        "svg",
        {"class": "chart", "width": _BAR_WIDTH, "height": _BAR_HEIGHT, "aria-hidden": "true"},
        el("path", {"class": "fleet", "d": f"M{fleet:g} 0V{_BAR_HEIGHT}"}) if fleet else None,
        el("path", {"class": "interval", "d": f"M{_at(scale, low):g} {y:g}H{_at(scale, high):g}"}),
        el("path", {"class": grade, "d": f"M{_at(scale, rate):g} {y - 6:g}l6 6l-6 6l-6 -6z"}),
    )


def _at(scale: Scale, value: float) -> float:
    return scale.at(max(value, scale.low))
