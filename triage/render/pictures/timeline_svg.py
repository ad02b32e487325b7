"""Time line picture: one row a node, its first error left or right of the stop.

What decides lies within a second of the stop, what warned of it an hour before: the
scale is logarithmic on both sides of the stop. The table below it has the same rows.
"""

import math
from collections.abc import Mapping, Sequence

from triage.domain.category import Role
from triage.render.pictures.markup import (
    Attributes,
    Html,
    join,
    make_element,
    make_html_table,
    make_svg,
    trust_markup,
)
from triage.render.words.clean import format_one_line
from triage.render.words.moments import (
    MARKS,
    NEAREST_S,
    TICKS,
    TimelineRow,
    format_doubt,
    format_relative,
)

_LEFT, _RIGHT = 170, 190
_PLOT = 600
_ROW, _HEAD, _FOOT = 26, 22, 24
_NAME_CELLS, _WORD_CELLS = 22, 24
_MIN_GAP = 44
_ROLE_WORD = {Role.CULPRIT: "culprit", Role.POSSIBLE: "possible", Role.AFFECTED: "affected"}
# Colours for notebooks, where no style sheet comes along; the page's style sheet wins over them.
_PATH: Mapping[str, Attributes] = {
    "tick": {"stroke": "#d0d7de"},
    "lane": {"stroke": "#d0d7de"},
    "stop": {"stroke": "#1f2328", "stroke-width": 2},
    "end": {"stroke": "#57606a", "stroke-dasharray": "4 3"},
    "doubt": {"stroke": "#57606a", "stroke-width": 3, "stroke-opacity": 0.45},
    "culprit": {"fill": "#c4232f", "stroke": "#1f2328"},
    "possible": {"fill": "#fff3d1", "stroke": "#9a6700", "stroke-width": 2},
    "affected": {"fill": "#8fbfe8", "stroke": "#1f2328"},
    "other": {"fill": "#ffffff", "stroke": "#57606a"},
}
_FROM_THE_STOP = make_element("th", {"scope": "col", "class": "count"}, "From the stop")
_TABLE_HEAD = ("Time (UTC)", _FROM_THE_STOP, "Where", "Kind", "What it says")


class Axis:
    """Seconds from the stop -> x. Both sides are as long as their farthest moment needs."""

    def __init__(self, seconds: Sequence[float]) -> None:
        self.before = _reach(max((-second for second in seconds), default=0.0))
        self.after = _reach(max(seconds, default=0.0))
        self.unit = _PLOT / (self.before + self.after)

    def x(self, seconds: float) -> float:
        """The place of a time."""
        away = min(math.log1p(abs(seconds) / NEAREST_S), 100.0)
        away = min(away, self.before if seconds < 0 else self.after)
        return round(_LEFT + (self.before + math.copysign(away, seconds)) * self.unit, 1)

    def ticks(self) -> list[tuple[float, str]]:
        """Places and words of the marks on the axis; none lie on each other."""
        stop = self.x(0)
        marks = [(stop, "the stop")]
        for sign, side in ((-1, self.before), (1, self.after)):
            last = stop
            for seconds, word in TICKS:
                if math.log1p(seconds / NEAREST_S) > side + 1e-9:
                    break
                x = self.x(sign * seconds)
                gap = _MIN_GAP + 14 if last == stop else _MIN_GAP
                if abs(x - last) >= gap:
                    marks.append((x, f"{'-' if sign < 0 else '+'}{word}"))
                    last = x
        return sorted(marks)


def _reach(farthest: float) -> float:
    """Length of one side: to the first tick that is not passed, one second at the least."""
    for seconds, _ in TICKS[1:]:
        if farthest <= seconds:
            return math.log1p(seconds / NEAREST_S)
    return math.log1p(farthest / NEAREST_S)


def as_svg(shown: Sequence[TimelineRow]) -> Html:
    """The picture; nothing without a moment of a node that can be placed beside the stop."""
    rows = [
        line for line in shown if line.moment.kind not in MARKS and line.from_stop_s is not None
    ]
    if not rows:
        return trust_markup("")
    axis = Axis([line.from_stop_s for line in shown if line.from_stop_s is not None])
    width, floor = _LEFT + _PLOT + _RIGHT, _HEAD + _ROW * len(rows)
    title = f"Time line: the first error of {len(rows)} nodes beside the stop"
    return make_svg(
        "moments",
        title,
        "Left of the line is before the stop; steps of the scale grow tenfold.",
        (width, floor + _FOOT),
        join(_draw_tick(x, word, floor) for x, word in axis.ticks()),
        join(_draw_ends(shown, axis, floor)),
        join(_draw_row(line, _HEAD + _ROW * index, axis) for index, line in enumerate(rows)),
    )


def _draw_tick(x: float, word: str, floor: int) -> Html:
    is_stop = word == "the stop"
    mark = _draw_path("stop" if is_stop else "tick", f"M{x} {_HEAD}V{floor}")
    return join((mark, _draw_text(x, floor + 16, word, "stop" if is_stop else "soft", "middle")))


def _draw_ends(shown: Sequence[TimelineRow], axis: Axis, floor: int) -> list[Html]:
    """A broken line where the job was given up, unless that is the stop itself."""
    drawn = []
    for line in shown:
        seconds = line.from_stop_s
        if line.moment.kind == "end" and seconds:
            x = axis.x(seconds)
            drawn.append(_draw_path("end", f"M{x} {_HEAD}V{floor}"))
            anchor = "end" if x > _LEFT + _PLOT - 60 else "middle"
            drawn.append(_draw_text(x, _HEAD - 7, "given up", "soft", anchor))
    return drawn


def _draw_row(line: TimelineRow, top: int, axis: Axis) -> Html:
    seconds = line.from_stop_s or 0.0
    x, y = axis.x(seconds), top + _ROW // 2
    role = _ROLE_WORD[line.role] if line.role is not None else "other"
    error = line.moment.error_s
    span = None
    if format_doubt(error, ""):
        low, high = axis.x(seconds - error), axis.x(seconds + error)
        span = _draw_path("doubt", f"M{low} {y}H{high}")
    tip = ": ".join(
        filter(
            None, (line.where, _format_offset(line), line.what, format_one_line(line.moment.text))
        )
    )
    return make_element(
        "g",
        {"class": f"moment {role}"},
        make_element("title", None, format_one_line(tip, 300)),
        _draw_path("lane", f"M{_LEFT} {y}H{_LEFT + _PLOT}"),
        span,
        make_element("path", {"class": "mark", "d": _draw_shape(x, y, role), **_PATH[role]}),
        _draw_text(
            _LEFT - 14, y + 4, format_one_line(line.moment.node or "?", _NAME_CELLS), "name", "end"
        ),
        _draw_text(
            _LEFT + _PLOT + 14, y + 4, format_one_line(line.what, _WORD_CELLS), "what", "start"
        ),
    )


def _draw_shape(x: float, y: int, role: str) -> str:
    """A culprit is a diamond, a possible one a square, the others are circles."""
    if role == "culprit":
        return f"M{x - 8} {y}l8 -8l8 8l-8 8z"
    if role == "possible":
        return f"M{x - 6} {y - 6}h12v12h-12z"
    return f"M{x - 5} {y}a5 5 0 1 1 10 0a5 5 0 1 1 -10 0z"


def _draw_text(x: float, y: int, words: str, name: str, anchor: str) -> Html:
    ink = "#57606a" if name == "soft" else "#1f2328"
    return make_element(
        "text", {"class": name, "x": x, "y": y, "text-anchor": anchor, "fill": ink}, words
    )


def _draw_path(name: str, drawn: str) -> Html:
    return make_element("path", {"class": name, "d": drawn, **_PATH[name]})


def as_table(shown: Sequence[TimelineRow], *, with_day: bool) -> Html:
    """The same rows as words."""
    rows = (
        make_element(
            "tr",
            {"class": line.moment.kind if line.moment.kind in MARKS else str(line.role or "other")},
            make_element("td", {"class": "short mono"}, _format_when(line, with_day=with_day)),
            make_element("td", {"class": "short count"}, _format_offset(line)),
            make_element("th", {"scope": "row"}, line.where)
            if line.where
            else make_element("td", None),
            make_element("td", {"class": "short"}, line.what),
            make_element("td", None, line.moment.text),
        )
        for line in shown
    )
    return make_html_table(_TABLE_HEAD, rows, name="moments")


def _format_when(line: TimelineRow, *, with_day: bool) -> str:
    if not line.clock:
        return "undated"
    return f"{line.day} {line.clock}" if with_day else line.clock


def _format_offset(line: TimelineRow) -> str:
    """``-0.4 s ± 60 s``."""
    return " ".join(
        filter(None, (format_relative(line.from_stop_s), format_doubt(line.moment.error_s, "±")))
    )
