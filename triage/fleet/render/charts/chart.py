"""A chart as inline SVG: frame, grid, ticks, lines, bands; colours come from the style sheet.

Each chart has a title and a description, and stands beside a table that says the same. Places
are numbers of ours; only words come from the record, and ``el`` escapes them.
"""

from collections.abc import Callable, Sequence
from typing import Final

from triage.fleet.render.charts.scale import Scale
from triage.render.pictures.markup import Html, constant, el, join
from triage.render.words.clean import cut, one_line

WIDTH, HEIGHT = 680, 300
# The sides of the plot itself; above it stands the name of the upright scale.
LEFT, RIGHT, TOP = 64, WIDTH - 16, 30
BOTTOM: Final = 44
"""How much lies below the plot: words of the ticks, and the name of their scale."""
_MAX_WORD: Final = 60

HATCH: Final = constant(
    '<defs><pattern id="fleet-hatch" width="7" height="7" patternUnits="userSpaceOnUse">'
    '<path class="hatch-ground" d="M0 0h7v7h-7z"/>'
    '<path class="hatched" d="M-1 1L1 -1M0 7L7 0M6 8L8 6"/></pattern></defs>'
)
"""What lies beyond what the record can bear. A page may hold it once or many times: all alike."""

Point = tuple[float, float]


def framed(
    title: str,
    desc: str,
    *drawn: str | None,
    width: float = WIDTH,
    height: float = HEIGHT,
    name: str = "",
) -> Html:
    """The SVG element; ``name`` is a class beside ``chart``."""
    return el(
        "svg",
        {
            "class": f"chart {name}".strip(),
            "role": "img",
            "aria-label": title,
            "viewBox": f"0 0 {width:g} {height:g}",
            "width": width,
            "height": height,
        },
        el("title", None, title),
        el("desc", None, desc),
        *drawn,
    )


def ticks_below(
    scale: Scale, worded: Callable[[float], str], floor: float, top: float = TOP, name: str = ""
) -> Html:
    """Upright grid lines with their words under the floor, and the name of the scale."""
    marks = [
        join(
            (
                el("path", {"class": "tick", "d": f"M{scale.at(tick):g} {top:g}V{floor:g}"}),
                text(scale.at(tick), floor + 16, worded(tick), "soft", "middle"),
            )
        )
        for tick in scale.ticks
    ]
    middle = (scale.start + scale.end) / 2
    return join((*marks, text(middle, floor + 34, name, "name", "middle") if name else None))


def ticks_beside(scale: Scale, worded: Callable[[float], str], name: str) -> Html:
    """Level grid lines with their words on the left; the scale's name stands over them."""
    marks = [
        join(
            (
                el("path", {"class": "tick", "d": f"M{LEFT} {scale.at(tick):g}H{RIGHT}"}),
                text(LEFT - 8, scale.at(tick) + 4, worded(tick), "soft", "end"),
            )
        )
        for tick in scale.ticks
    ]
    return join((*marks, text(LEFT, scale.end - 8, name, "name")))


def level_line(y: float) -> Html:
    """The mean as a dotted line across the whole plot."""
    return line([(LEFT, y), (RIGHT, y)], "mean")


def dot(x: float, y: float, name: str = "dot") -> Html:
    """A round mark."""
    return el("circle", {"class": name, "cx": x, "cy": y, "r": 4})


def line(points: Sequence[Point], name: str) -> Html:
    """A line through the points; nothing for fewer than two."""
    if len(points) < 2:
        return constant("")
    drawn = "L".join(f"{x:g} {y:g}" for x, y in points)
    return el("path", {"class": f"line {name}", "d": f"M{drawn}"})


def area(lower: Sequence[Point], upper: Sequence[Point], name: str) -> Html:
    """The band between two lines, both from left to right."""
    if len(lower) < 2 or len(upper) < 2:
        return constant("")
    around = "L".join(f"{x:g} {y:g}" for x, y in (*upper, *reversed(lower)))
    return el("path", {"class": f"area {name}", "d": f"M{around}z"})


def rect(x: float, y: float, width: float, height: float, name: str) -> Html:
    """A box; one that would have no size is left out."""
    if width <= 0 or height <= 0:
        return constant("")
    return el("path", {"class": name, "d": f"M{x:g} {y:g}h{width:g}v{height:g}h-{width:g}z"})


def text(x: float, y: float, words: str, name: str = "", anchor: str = "start") -> Html:
    """Words at a place, cut where they would fill the picture."""
    shown = cut(one_line(words), _MAX_WORD)
    return el("text", {"class": name or None, "x": x, "y": y, "text-anchor": anchor}, shown)
