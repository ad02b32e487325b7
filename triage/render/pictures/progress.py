"""Progress picture: the time of a step, and the loss, over the course of a job.

Two panels over one axis: time where every point has one, else the step. What changed is a
line across both; the part in which the log went on without a step is hatched. Single values
far above the others are cut off at the upper edge, so that the level stays readable.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from triage.domain.progress import Change, ChangeKind, JobProgress, format_utc
from triage.render.pictures.markup import Html, draw

_LEFT, _RIGHT, _TOP = 76, 24, 20
_PLOT, _PANEL, _GAP, _FOOT = 760, 110, 26, 30
_LINE: Final = "#0969da"
_LOSS: Final = "#8250df"
# A curve has at least so many points.
_LEAST_POINTS: Final = 3
# The panel reaches at least this share of the level above and below it.
_SPAN: Final = 0.12
# The share of points that lie within the panel; higher ones stand at its edge.
_SHOWN: Final = 0.97

_Text = tuple[float, float, str, str]
"""Words of the picture: x, y, what they are, and which of their ends stands there."""
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
        return Html()
    curve = progress.curve
    axis, at = _make_axis(progress)
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
        return Html()
    floor = _TOP + len(panels) * (_PANEL + _GAP) - _GAP
    changes = (_place_change(one, progress, axis, floor) for one in progress.changes if one.lasting)
    return draw(
        "progress",
        progress.said,
        _LEFT + _PLOT + _RIGHT,
        floor + _FOOT,
        [
            _place_panel(name, colour, at, values, _TOP + index * (_PANEL + _GAP))
            for index, (name, colour, values) in enumerate(panels)
        ],
        list(filter(None, changes)),
        _draw_silence(progress, axis, floor),
        _list_ends(progress, axis, floor + 18),
    )


def _scale_to_middle(values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Values as multiples of the middle one."""
    known = sorted(value for value in values if value is not None)
    usual = known[len(known) // 2] if known else 1.0
    return tuple(None if value is None else value / usual for value in values)


def _make_axis(progress: JobProgress) -> tuple[_Axis, list[float]]:
    """The axis, and the place of each point on it."""
    curve = progress.curve
    values: Sequence[int] = [ns for ns in curve.at_ns if ns is not None]
    timed = len(values) == len(curve.at_ns) and values[-1] > values[0]
    reach = [*values, *([progress.until_ns] if progress.until_ns is not None else [])]
    if not timed:
        values = [step for step in curve.step if step is not None]
        if len(values) < len(curve.step) or len(set(values)) < 2:
            values = range(len(curve.step))
        reach = [*values]
    axis = _Axis(float(min(reach)), float(max(reach)), timed)
    return axis, [axis.x(float(value)) for value in values]


def _place_panel(
    name: str, colour: str, at: Sequence[float], values: Sequence[float | None], top: int
) -> dict[str, Any]:
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
    return {
        "colour": colour,
        "frame": f"M{_LEFT} {top}V{top + _PANEL}H{_LEFT + _PLOT}",
        "texts": [
            (4, top - 6, name, "start"),
            (_LEFT - 6, round(y(high) + 10, 1), _number(high), "end"),
            (_LEFT - 6, y(low), _number(low), "end"),
        ],
        "curve": Html(_draw_curve(at, points)),
        "above": [f"M{x - 3} {top + 5}l3 -5l3 5z" for x in above],
    }


def _draw_curve(at: Sequence[float], ys: Sequence[float | None]) -> str:
    """A path through the points; it breaks off where one is missing."""
    drawn = []
    pen = "M"
    for x, y in zip(at, ys, strict=True):
        if y is not None:
            drawn.append(f"{pen}{x} {y}")
        pen = "M" if y is None else "L"
    return "".join(drawn)


def _place_change(
    change: Change, progress: JobProgress, axis: _Axis, floor: int
) -> dict[str, Any] | None:
    """A line where something changed, and its word; None where nothing says where that is."""
    value = change.since.at_ns if axis.timed else change.since.step
    if value is None:
        return None
    x = axis.x(float(value))
    number = sum(
        1
        for other in progress.changes
        if other.lasting and (other.since.line, other.kind) < (change.since.line, change.kind)
    )
    side, anchor = (-5, "end") if x > _LEFT + _PLOT * 0.7 else (5, "start")
    return {
        "text": change.text,
        "path": f"M{x} {_TOP}V{floor}",
        "label": (x + side, _TOP + 12 + 14 * (number % 4), _WORDS[change.kind], anchor),
    }


def _draw_silence(progress: JobProgress, axis: _Axis, floor: int) -> str:
    """The part of the log in which no step was printed any more."""
    last = progress.last.at_ns if progress.last is not None else None
    if not axis.timed or not progress.stopped or progress.until_ns is None or last is None:
        return ""
    x, end = axis.x(float(last)), axis.x(float(progress.until_ns))
    return f"M{x} {_TOP}H{end}V{floor}H{x}z"


def _list_ends(progress: JobProgress, axis: _Axis, y: int) -> list[_Text]:
    """The words at both ends of the axis, and the steps between them."""
    if axis.timed:
        first, last = format_utc(int(axis.low)) or "", format_utc(int(axis.high)) or ""
        words = (f"{first[:19]}Z".replace("T", " "), f"{last[:19]}Z".replace("T", " "))
    else:
        words = (f"step {int(axis.low)}", f"step {int(axis.high)}")
    steps = [step for step in progress.curve.step if step is not None]
    between = f"steps {steps[0]} to {steps[-1]}"
    middle = [(_LEFT + _PLOT / 2, y, between, "middle")] if axis.timed and steps else []
    return [(_LEFT, y, words[0], "start"), *middle, (_LEFT + _PLOT, y, words[1], "end")]


def _number(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1e5 else f"{value:.1e}"


def as_table(progress: JobProgress | None) -> Html:
    """The changes and slow ranks as words; empty where there are none."""
    if progress is None or not (progress.changes or progress.slow_ranks):
        return Html()
    rows = [
        (
            format_utc(change.since.at_ns) or "",
            "" if change.since.step is None else str(change.since.step),
            f"{change.since.artifact}:{change.since.line}",
            f"{change.text[:1].upper()}{change.text[1:]}.",
        )
        for change in progress.changes
    ]
    rows += [
        (
            "",
            "",
            f"{slow.example.artifact}:{slow.example.line}",
            f"{_describe_who(slow.rank, slow.node)} takes {slow.ratio:.2f} times as long as"
            f" {slow.peers}"
            f" peers: {slow.what}.",
        )
        for slow in progress.slow_ranks[:16]
    ]
    return draw("changes", rows)


def _describe_who(rank: int | None, node: str | None) -> str:
    where = f" on {node}" if node else ""
    return f"Rank {rank}{where}" if rank is not None else f"A rank{where}"
