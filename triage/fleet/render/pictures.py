"""The pictures of a fleet: what they show, worked out for ``charts.svg``.

Each is blank where there is too little to draw, and stands beside a table that says the same.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from triage.domain.counts import count
from triage.domain.hosts import make_natural_key
from triage.fleet.render.scales import (
    Scale,
    make_decade_scale,
    make_linear_scale,
    make_time_scale,
)
from triage.fleet.render.tables import Table, tabulate
from triage.fleet.render.texts import (
    GRADES,
    describe_reference_job,
    draw_markup,
    is_without_runs,
    select_cause_rows,
    write_sentences,
)
from triage.fleet.render.words import (
    Estimate,
    Wire,
    format_duration,
    format_hours,
    format_utc_day,
)
from triage.render.pictures.markup import Html, make_element
from triage.render.words.clean import cut, format_one_line
from triage.render.words.ranges import condense_names

_LEFT, _RIGHT, _TOP, _FLOOR = 64, 664, 30, 256
_MAX_DATES: Final = 8
_DAY_H: Final = 24.0
_POINTS: Final = 60
# The last gaps are so few that the tail of the curve is a step or two.
_TAIL: Final = 0.01
_FAR: Final = 4.0
"""Beyond this many times the range of sizes seen, a projection carries a warning."""

Point = tuple[float, float]


def draw_chart(macro: str, *values: object) -> Html:
    """A chart without the blanks that part its elements in the template."""
    drawn = draw_markup("charts.svg", macro, *values)
    return Html("".join(line.strip() for line in drawn.splitlines()))


def draw_causes(report: Wire) -> Html:
    """Bars of shares, ours filled with a whisker, Llama 3's outlined; blank without a cause."""
    if not report["mix"]["count"]:
        return Html()
    rows = select_cause_rows(report)
    ends = [row["share"]["high"] or 0.0 for row in rows] + [row["llama3_share"] for row in rows]
    [summary] = write_sentences("mix", report)
    return draw_chart("causes", rows, make_linear_scale(ends, 236, _RIGHT), summary)


def get_job_mtti(report: Wire, window: Wire) -> Estimate:
    """The MTTI in hours, of a job of the reference size where one is known.

    A record of jobs of many sizes has no other figure that can be compared over time.
    """
    reference = report["exposure"]["reference_gpus"]
    mine: Estimate = window["mtti"]
    if not reference or not window["gpu_hours"]:
        return mine
    between = window["gpu_hours_between"]
    keys = ("value", "low", "high")
    scaled = {key: None if between[key] is None else between[key] / reference for key in keys}
    return {**mine, **scaled}


def draw_over_time(report: Wire) -> Html:
    """MTTI by window; blank for fewer than two windows, or without one interruption."""
    windows = report["over_time"]
    mttis = [get_job_mtti(report, window) for window in windows]
    known = [mtti[key] for mtti in mttis for key in ("value", "low", "high") if mtti[key]]
    if len(windows) < 2 or not known or is_without_runs(report):
        return Html()
    y = make_time_scale(known, _FLOOR, _TOP)
    starts, ends = (
        [datetime.fromisoformat(window[key]).timestamp() for window in windows]
        for key in ("from", "to")
    )
    x = Scale(starts[0], ends[-1], _LEFT, _RIGHT, ())
    bands = [(x.at(s), x.at(e), mtti) for s, e, mtti in zip(starts, ends, mttis, strict=True)]
    through = [
        ((left + right) / 2, y.at(one["value"])) for left, right, one in bands if one["value"]
    ]
    skip = -(-len(windows) // _MAX_DATES)
    dates = [
        (x.at(start), format_utc_day(window["from"], with_year=not place))
        for place, (start, window) in enumerate(zip(starts[::skip], windows[::skip], strict=True))
    ]
    mean = report["reference_mtti"]["value"]
    job = describe_reference_job(report)
    return draw_chart("over_time", job, bands, dates, through, x, y, mean)


def tabulate_windows(report: Wire, name: str, windows: Iterable[Wire]) -> Table | None:
    """Windows as rows of the table of this name."""
    rows = [
        {
            **row,
            "job_mtti": get_job_mtti(report, row),
            "exposed": f"{row['gpu_hours']:,.0f}"
            if row["gpu_hours"]
            else f"{row['job_hours']:,.0f} job-h",
        }
        for row in windows
    ]
    return tabulate(name, rows, job=describe_reference_job(report))


def draw_projection(report: Wire) -> Html:
    """MTTI by size of job; blank where the record knows no GPU-hours."""
    rows = [row for row in report["projection"] if row["mtti"]["value"]]
    if len(rows) < 2:
        return Html()
    x = make_decade_scale([row["num_gpus"] for row in rows], _LEFT, _RIGHT)
    bounds = [row["mtti"][key] or 0.0 for row in rows for key in ("low", "high")]
    y = make_time_scale(bounds, _FLOOR + 60, _TOP)
    curve, low, high = (
        [(x.at(row["num_gpus"]), y.at(row["mtti"][key] or row["mtti"]["value"])) for row in rows]
        for key in ("value", "low", "high")
    )
    fixed = [
        (x.at(row["num_gpus"]), y.at(row["software_fixed"]))
        for row in rows
        if row["software_fixed"]
    ]
    sizes = [
        (x.at(row["gpu_hours"] / row["job_hours"]), row["mtti"])
        for row in report["by_size"]
        if row["mtti"]["value"] and row["job_hours"]
    ]
    first, last, seen = rows[0], rows[-1], report["exposure"]["seen_gpus"]
    desc = (
        f"{f'Measured between {seen[0]:,} and {seen[1]:,} GPUs. ' if seen else ''}"
        f"From {format_hours(first['mtti']['value'])} at {count(first['num_gpus'], 'GPU')} to"
        f" {format_hours(last['mtti']['value'])} at {count(last['num_gpus'], 'GPU')}."
    )
    ranges = _place_ranges(x, *seen) if seen else None
    asked = _place_reference(report, x, y)
    return draw_chart("projection", desc, x, y, ranges, low, high, fixed, curve, sizes, asked)


def _place_ranges(x: Scale, least: int, most: int) -> tuple[float, float, float, float]:
    """The measured range, and where what is far from it ends and begins."""
    left, right = x.at(least), x.at(most)
    if right - left < 3:
        left, right = left - 1.5, right + 1.5
    return left, right, x.at(least / _FAR), x.at(most * _FAR)


def _place_reference(report: Wire, x: Scale, y: Scale) -> tuple[float, float, str] | None:
    """The job that is asked for: where it stands on the line, and its words."""
    size, mtti = report["exposure"]["reference_gpus"], report["reference_mtti"]["value"]
    if not size or not mtti or not x.low <= size <= x.high:
        return None
    return x.at(size), y.at(mtti), f"{size:,} GPUs: {format_hours(mtti)}"


def list_shared_warnings(report: Wire) -> list[str]:
    """The warnings that hold for every size; picture and table show the range."""
    every = [row["warnings"] for row in report["projection"]]
    return [text for text in every[0] if all(text in of_size for of_size in every)] if every else []


def tabulate_projection(report: Wire) -> Table | None:
    """Sizes as rows, with what speaks against each figure."""
    shared = set(list_shared_warnings(report))
    rows = report["projection"]
    own = ("; ".join(text for text in row["warnings"] if text not in shared) for row in rows)
    return tabulate(
        "projection", ({**row, "beware": text} for row, text in zip(rows, own, strict=True))
    )


def draw_lifetime(report: Wire) -> Html:
    """The survival curve of the times between stops; blank without at least two."""
    curve = report["gaps"]["curve"]
    times, alive = curve["times"], curve["alive"]
    shown = max(2, sum(share >= _TAIL for share in alive))
    if len(times) < 2:
        return Html()
    last = times[:shown][-1]
    unit_h, word = (_DAY_H, "days") if last > 4 * _DAY_H else (1.0, "hours")
    x = make_linear_scale([0.0, last / unit_h], _LEFT, _RIGHT)
    y = Scale(0.0, 1.0, _FLOOR, _TOP, (0.0, 0.25, 0.5, 0.75, 1.0))
    low, high, middle = (
        _place_steps([time / unit_h for time in times[:shown]], curve[key][:shown], x, y)
        for key in ("low", "high", "alive")
    )
    median = format_duration(curve["median"])
    steady = _place_steady(report, unit_h, x, y)
    return draw_chart("lifetime", median, x, y, word, low, high, steady, middle)


def _place_steps(
    times: Sequence[float], heights: Sequence[float | None], x: Scale, y: Scale
) -> list[Point]:
    """A line that starts at 1, is level until each time, then steps down."""
    points, height = [(x.at(0.0), y.at(1.0))], 1.0
    for time, value in zip(times, heights, strict=True):
        points.append((x.at(time), y.at(height)))
        height = height if value is None else value
        points.append((x.at(time), y.at(height)))
    return points


def _place_steady(report: Wire, unit_h: float, x: Scale, y: Scale) -> list[Point]:
    """exp(-t / mean), the survival curve of gaps at one steady rate."""
    mean = report["rates"]["calendar_mtti"]["value"]
    if not mean:
        return []
    times = (x.high * place / _POINTS for place in range(_POINTS + 1))
    return [(x.at(time), y.at(math.exp(-time * unit_h / mean))) for time in times]


def tabulate_gaps(report: Wire) -> Table | None:
    """Times by the share of gaps that last longer."""
    curve = report["gaps"]["curve"]
    rows = []
    for wanted in (0.9, 0.75, 0.5, 0.25, 0.1, 0.05):
        points = zip(curve["times"], curve["alive"], strict=True)
        time = next((time for time, share in points if share <= wanted), None)
        if time is not None:
            rows.append({"share": f"{100 * wanted:g} %", "hours": time})
    return tabulate("gaps", rows)


# The leaf-switch map. What is accused node after node may be the switch above them: one bad square
# is a node, a box of them is a switch.

MAX_NODES: Final = 20_000
"""More squares than this are no picture."""
_WIDTH: Final = 1000
_PITCH: Final = 13
_PAD, _HEAD, _GAP = 6, 18, 12
_MAX_WIDE: Final = 16
_MAX_TIP, _MAX_NAMES = 300, 120
_MAX_ROWS: Final = 40


@dataclass(frozen=True, slots=True)
class Leaf:
    """One switch: its nodes as (name, grade) in order, and why it is accused, if it is.

    ``name`` is None for the nodes that no inventory puts anywhere.
    """

    name: str | None
    nodes: tuple[tuple[str, str], ...]
    accused: str | None = None

    def num(self, grade: str) -> int:
        """How many of its nodes are of this grade."""
        return sum(of_node == grade for _, of_node in self.nodes)

    @property
    def label(self) -> str:
        """Its name, or that no inventory gives one."""
        return self.name or "no leaf known"

    @property
    def names(self) -> str:
        """``lemon n3, n7; watch n9``."""
        parts = []
        for grade in ("lemon", "watch"):
            names = [
                format_one_line(name) for name, of_node in self.nodes if of_node == grade and name
            ]
            if names:
                parts.append(f"{grade} {condense_names(names, max_chars=_MAX_NAMES)}")
        return "; ".join(parts)

    @property
    def tip(self) -> str:
        """What is shown under the pointer."""
        words = [f"{self.label}: {count(len(self.nodes), 'node')}", self.names, self.accused]
        return cut(format_one_line("; ".join(filter(None, words))), _MAX_TIP)


def group_by_leaf(standings: Wire) -> tuple[Leaf, ...]:
    """The leaves of ``triage.standings/1`` by name; those of no leaf last.

    Nodes that ``standings`` does not list have no name; the counts of their leaf give them.
    Empty where no node has a leaf: then there is nothing to draw.
    """
    parts = standings["parts"]
    accused = {part["name"]: part["text"] for part in parts if part["kind"] == "leaf_switch"}
    nodes: dict[str | None, list[tuple[str, str]]] = {
        leaf["leaf_switch"]: [] for leaf in standings["leaves"]
    }
    for row in standings["nodes"]:
        if row["leaf_switch"] in nodes:
            nodes[row["leaf_switch"]].append((row["node"], row["grade"]))
    for leaf in standings["leaves"]:
        of_leaf = nodes[leaf["leaf_switch"]]
        of_leaf.sort(key=lambda node: make_natural_key(node[0]))
        listed = Counter(grade for _, grade in of_leaf)
        for grade, number in leaf["counts"].items():
            of_leaf += [("", grade)] * (number - listed[grade])
    order = sorted(nodes, key=lambda name: (name is None, make_natural_key(name or "")))
    return tuple(
        Leaf(name, tuple(nodes[name]), accused.get(name) if name else None) for name in order
    )


def count_grades(leaves: Sequence[Leaf]) -> Counter[str]:
    """How many nodes are of each grade."""
    return Counter(grade for leaf in leaves for _, grade in leaf.nodes)


def draw_leaves(leaves: Sequence[Leaf]) -> Html:
    """The map; a sentence instead where it would hold too many squares."""
    total = sum(len(leaf.nodes) for leaf in leaves)
    if total > MAX_NODES:
        text = f"{count(total, 'node')} are too many to draw; the table has them."
        return make_element("p", None, text)
    if not leaves:
        return Html()
    wide = min(_MAX_WIDE, max(4, -(-max(len(leaf.nodes) for leaf in leaves) // 4)))
    box = 2 * _PAD + wide * _PITCH
    across = max(1, (_WIDTH + _GAP) // (box + _GAP))
    boxes, top = [], 2.0
    for first in range(0, len(leaves), across):
        row = leaves[first : first + across]
        height = max(-(-len(leaf.nodes) // wide) for leaf in row) * _PITCH + 2 * _PAD
        for place, leaf in enumerate(row):
            left = 2.0 + place * (box + _GAP)
            boxes.append((leaf, left, top, box, height, _place_nodes(leaf, left, top, wide)))
        top += height + _HEAD + _GAP
    named = sum(leaf.name is not None for leaf in leaves)
    outlined = sum(leaf.accused is not None for leaf in leaves)
    counts = count_grades(leaves)
    of_grades = ", ".join(f"{counts[grade]:,} {grade}" for grade in GRADES if counts[grade])
    return draw_chart(
        "leaves",
        f"{count(total, 'node')} behind {count(named, 'leaf switch', 'leaf switches')}",
        f"{of_grades}. {count(outlined, 'box', 'boxes')} outlined: the switch is accused.",
        boxes,
        min(across, len(leaves)) * (box + _GAP) - _GAP + 4,
        top,
    )


def _place_nodes(leaf: Leaf, left: float, top: float, wide: int) -> dict[str, list[Point]]:
    """The corners of the squares in a box, by grade."""
    corners: dict[str, list[Point]] = {}
    for place, (_, grade) in enumerate(leaf.nodes):
        row, column = divmod(place, wide)
        corner = (left + _PAD + column * _PITCH, top + _HEAD + _PAD + row * _PITCH)
        corners.setdefault(grade, []).append(corner)
    return corners


def tabulate_leaves(leaves: Sequence[Leaf]) -> Table | None:
    """The leaves that stand out, or have nodes that do; accused ones first."""
    shown = [leaf for leaf in leaves if leaf.accused or leaf.num("lemon") or leaf.num("watch")]
    shown.sort(key=lambda leaf: (leaf.accused is None, -leaf.num("lemon"), -leaf.num("watch")))
    rows = (
        {
            "label": leaf.label,
            "num_nodes": len(leaf.nodes),
            "lemons": leaf.num("lemon"),
            "watched": leaf.num("watch"),
            "switch": "itself accused" if leaf.accused else "",
            "names": leaf.names,
        }
        for leaf in shown
    )
    return tabulate("leaves", rows, most=_MAX_ROWS)


def make_bar_scale(rows: Sequence[Wire], fleet_rate: float | None) -> Scale:
    """The scale that the bars of rates of all nodes share."""
    bounds = [row[key] for row in rows for key in ("rate_low", "rate_high") if row[key]]
    return make_decade_scale([*bounds, *((fleet_rate,) if fleet_rate else ())], 4, 146)
