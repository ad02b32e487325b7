"""Progress picture: the time of a step, and the loss, over the course of a job.

Two panels over one axis: time where every point has one, else the step. What changed is a
line across both; the part in which the log went on without a step is hatched. Single values
far above the others are cut off at the upper edge, so that the level stays readable.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from triage.domain.progress import Change, ChangeKind, JobProgress, format_utc
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

_LEFT, _RIGHT, _TOP = 76, 24, 20
_PLOT, _PANEL, _GAP, _FOOT = 760, 110, 26, 30
_BAD: Final = "#c4232f"
_LINE: Final = "#0969da"
_LOSS: Final = "#8250df"
# A curve has at least so many points.
_LEAST_POINTS: Final = 3
# The panel reaches at least this share of the level above and below it.
_SPAN: Final = 0.12
# The share of points that lie within the panel; higher ones stand at its edge.
_SHOWN: Final = 0.97
_STROKE: Final[Attributes] = {"stroke-width": 1.5, "stroke-linejoin": "round"}
_WORDS: Final = {
    ChangeKind.STOPPED: "stopped",
    ChangeKind.SLOWER: "slower",
    ChangeKind.SPIKES: "slow steps",
    ChangeKind.LOSS_NOT_A_NUMBER: "loss not a number",
    ChangeKind.LOSS_EXPLODED: "loss exploded",
    ChangeKind.LOSS_ROSE: "loss rose",
    ChangeKind.GRADIENT_NOT_A_NUMBER: "gradient not a number",
    ChangeKind.LOSS_SCALE_COLLAPSED: "loss scale fell",
    ChangeKind.EVERY_STEP_SKIPPED: "updates left out",
}


@dataclass(frozen=True, slots=True)
class _Axis:
    """Times or steps -> x."""

    low: float
    high: float
    timed: bool

    def x(self, value: float) -> float:
        """The place of a time or step, within the plot."""
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return round(_LEFT + _PLOT * min(max(share, 0.0), 1.0), 1)


def as_svg(progress: JobProgress | None) -> Html:
    """The picture; nothing where there is no curve to draw."""
    if progress is None or len(progress.curve.step) < _LEAST_POINTS:
        return trust_markup("")
    curve = progress.curve
    axis = _make_axis(progress)
    at = _compute_positions(progress, axis)
    times = curve.step_time if curve.in_seconds else _scale_to_middle(curve.step_time)
    unit = "step time (s)" if curve.in_seconds else "step time (usual = 1)"
    panels = [
        (name, colour, values)
        for name, colour, values in (
            (unit, _LINE, times),
            ("loss", _LOSS, curve.loss),
        )
        if sum(value is not None for value in values) >= _LEAST_POINTS
    ]
    if not panels:
        return trust_markup("")
    floor = _TOP + len(panels) * (_PANEL + _GAP) - _GAP
    size = (_LEFT + _PLOT + _RIGHT, floor + _FOOT)
    title = "Step time and loss over the course of the job"
    return make_svg(
        "progress",
        title,
        progress.said,
        size,
        _draw_silence(progress, axis, floor),
        join(
            _draw_panel(name, colour, at, values, _TOP + index * (_PANEL + _GAP))
            for index, (name, colour, values) in enumerate(panels)
        ),
        join(
            _change(change, progress, axis, floor) for change in progress.changes if change.lasting
        ),
        _draw_ends(progress, axis, floor),
    )


def _scale_to_middle(values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Values as multiples of the middle one."""
    known = sorted(value for value in values if value is not None)
    usual = known[len(known) // 2] if known else 1.0
    return tuple(None if value is None else value / usual for value in values)


def _make_axis(progress: JobProgress) -> _Axis:
    curve = progress.curve
    times = [ns for ns in curve.at_ns if ns is not None]
    if len(times) == len(curve.at_ns) and times[-1] > times[0]:
        reach = [*times, *([progress.until_ns] if progress.until_ns is not None else [])]
        return _Axis(float(min(reach)), float(max(reach)), timed=True)
    steps = [step for step in curve.step if step is not None]
    if len(steps) == len(curve.step) and len(set(steps)) > 1:
        return _Axis(float(min(steps)), float(max(steps)), timed=False)
    return _Axis(0.0, float(len(curve.step) - 1), timed=False)


def _compute_positions(progress: JobProgress, axis: _Axis) -> list[float]:
    curve = progress.curve
    if axis.timed:
        return [axis.x(float(ns or 0)) for ns in curve.at_ns]
    if all(step is not None for step in curve.step) and len(set(curve.step)) > 1:
        return [axis.x(float(step or 0)) for step in curve.step]
    return [axis.x(float(index)) for index in range(len(curve.step))]


def _draw_panel(
    name: str, colour: str, at: Sequence[float], values: Sequence[float | None], top: int
) -> Html:
    """One curve with its scale; the highest few points are cut off at the edge."""
    known = sorted(value for value in values if value is not None)
    highest = known[min(len(known) - 1, int(len(known) * _SHOWN))]
    middle = known[len(known) // 2]
    # The noise of an even series is no mountain: a scale spans a good part of its level.
    least = abs(middle) * _SPAN or 1.0
    low, high = min(known[0], middle - least), max(highest * 1.02, middle + least)

    def y(value: float) -> float:
        share = min(max((value - low) / (high - low), 0.0), 1.0)
        return round(top + _PANEL * (1 - share), 1)

    points = [None if value is None else y(value) for value in values]
    above = [x for x, value in zip(at, values, strict=True) if value is not None and value > high]
    frame = f"M{_LEFT} {top}V{top + _PANEL}H{_LEFT + _PLOT}"
    ink: Attributes = {"fill": "none", "stroke": "currentColor", "stroke-opacity": 0.35}
    return join(
        (
            make_element("path", {"d": frame, **ink}),
            _draw_text(_LEFT - 6, top - 6, name, "start", dx=-_LEFT + 10),
            _draw_text(_LEFT - 6, y(high) + 10, _number(high), "end"),
            _draw_text(_LEFT - 6, y(low), _number(low), "end"),
            make_element(
                "path", {"d": _draw_curve(at, points), "fill": "none", "stroke": colour, **_STROKE}
            ),
            join(
                make_element("path", {"d": f"M{x - 3} {top + 5}l3 -5l3 5z", "fill": colour})
                for x in above
            ),
        )
    )


def _draw_curve(at: Sequence[float], ys: Sequence[float | None]) -> str:
    """A path through the points; it breaks off where one is missing."""
    drawn = []
    pen = "M"
    for x, y in zip(at, ys, strict=True):
        if y is not None:
            drawn.append(f"{pen}{x} {y}")
        pen = "M" if y is None else "L"
    return "".join(drawn)


def _change(change: Change, progress: JobProgress, axis: _Axis, floor: int) -> Html:
    """A line where something changed, and its word."""
    value = change.since.at_ns if axis.timed else change.since.step
    if value is None:
        return trust_markup("")
    x = axis.x(float(value))
    number = sum(
        1
        for other in progress.changes
        if other.lasting and (other.since.line, other.kind) < (change.since.line, change.kind)
    )
    anchor = "end" if x > _LEFT + _PLOT * 0.7 else "start"
    stroke: Attributes = {
        "fill": "none",
        "stroke": _BAD,
        "stroke-width": 1.5,
        "stroke-dasharray": "5 4",
    }
    return make_element(
        "g",
        {"class": "change"},
        make_element("title", None, format_one_line(change.text, 300)),
        make_element("path", {"d": f"M{x} {_TOP}V{floor}", **stroke}),
        _draw_text(
            x + (-5 if anchor == "end" else 5),
            _TOP + 12 + 14 * (number % 4),
            _WORDS[change.kind],
            anchor,
            fill=_BAD,
        ),
    )


def _draw_silence(progress: JobProgress, axis: _Axis, floor: int) -> Html:
    """The part of the log in which no step was printed any more."""
    stop = progress.stopped
    if not axis.timed or stop is None or progress.until_ns is None:
        return trust_markup("")
    last = progress.last.at_ns if progress.last is not None else None
    if last is None:
        return trust_markup("")
    x, end = axis.x(float(last)), axis.x(float(progress.until_ns))
    return make_element(
        "path",
        {
            "class": "silence",
            "d": f"M{x} {_TOP}H{end}V{floor}H{x}z",
            "fill": _BAD,
            "fill-opacity": 0.12,
        },
    )


def _draw_ends(progress: JobProgress, axis: _Axis, floor: int) -> Html:
    """The words at both ends of the axis, and the steps between them."""
    if axis.timed:
        first, last = format_utc(int(axis.low)) or "", format_utc(int(axis.high)) or ""
        words = (f"{first[:19]}Z".replace("T", " "), f"{last[:19]}Z".replace("T", " "))
    else:
        words = (f"step {int(axis.low)}", f"step {int(axis.high)}")
    steps = [step for step in progress.curve.step if step is not None]
    middle = f"steps {steps[0]} to {steps[-1]}" if axis.timed and steps else ""
    y = floor + 18
    return join(
        (
            _draw_text(_LEFT, y, words[0], "start"),
            _draw_text(_LEFT + _PLOT / 2, y, middle, "middle") if middle else None,
            _draw_text(_LEFT + _PLOT, y, words[1], "end"),
        )
    )


def _draw_text(
    x: float, y: float, words: str, anchor: str, *, dx: float = 0, fill: str = "currentColor"
) -> Html:
    return make_element(
        "text", {"x": x + dx, "y": round(y, 1), "text-anchor": anchor, "fill": fill}, words
    )


def _number(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1e5 else f"{value:.1e}"


def as_table(progress: JobProgress | None) -> Html:
    """The changes and slow ranks as words; empty where there are none."""
    if progress is None or not (progress.changes or progress.slow_ranks):
        return trust_markup("")
    rows = [
        _render_row(
            format_utc(change.since.at_ns) or "",
            "" if change.since.step is None else str(change.since.step),
            f"{change.since.artifact}:{change.since.line}",
            f"{change.text[:1].upper()}{change.text[1:]}.",
        )
        for change in progress.changes
    ]
    rows += [
        _render_row(
            "",
            "",
            f"{slow.example.artifact}:{slow.example.line}",
            f"{_describe_who(slow.rank, slow.node)} takes {slow.ratio:.2f} times as long as"
            f" {slow.peers}"
            f" peers: {slow.what}.",
        )
        for slow in progress.slow_ranks[:16]
    ]
    return make_html_table(("Time (UTC)", "Step", "Where", "What changed"), rows, name="progress")


def _render_row(at: str, step: str, place: str, text: str) -> Html:
    return make_element(
        "tr",
        None,
        make_element("td", {"class": "short mono"}, at),
        make_element("td", {"class": "count"}, step),
        make_element("td", {"class": "mono"}, place),
        make_element("td", None, text),
    )


def _describe_who(rank: int | None, node: str | None) -> str:
    where = f" on {node}" if node else ""
    return f"Rank {rank}{where}" if rank is not None else f"A rank{where}"
