"""Training that went astray: a loss that is no number, explodes or stays high; updates left out.

What came back is no divergence. A loss is held against its own past alone.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from triage.analysis.progress.course import Course, make_progress_point
from triage.analysis.progress.levels import estimate_noise
from triage.analysis.progress.pace import describe_step
from triage.domain.arrays import Flags
from triage.domain.progress import Change, ChangeKind, ProgressPoint
from triage.parsers.logs.progress.series import MarkKind, Quantity, Step

_LEAST_POINTS: Final = 10
# The last level of the loss over its best one.
_EXPLODED: Final = 1.25
_ROSE: Final = 1.08
# A loss that jumped so high and stayed above its past has diverged, however far it came back.
_JUMPED: Final = 1.5
_SIGMAS: Final = 6.0
# At least this many values make an explosion, and twice as many a rise.
_LEAST_BEHIND: Final = 3
# A loss scale collapsed where it halved this often without a rise, and was still falling.
_HALVINGS: Final = 8
_LEAST_FALLS: Final = 5
# At least this many steps in a row were left out, up to the end.
_LEFT_OUT: Final = 8
_MOST_LEFT_OUT: Final = 0.8
# Scaled gradients are infinite now and then: that is how the scale is found.
_BAD_NORMS: Final = 3


def find_divergences(course: Course) -> list[Change]:
    """What went astray and did not come back, by quantity."""
    found = [
        _find_nan_to_the_end(course, Quantity.LOSS, ChangeKind.LOSS_NOT_A_NUMBER, "the loss", 1),
        _find_nan_to_the_end(
            course, Quantity.GRAD_NORM, ChangeKind.GRADIENT_NOT_A_NUMBER, "the gradient", _BAD_NORMS
        ),
        _find_risen_loss(course),
        _scale_fell(course),
        _find_skipped_updates(course),
    ]
    return [one for one in found if one is not None]


def _point(course: Course, line: Step) -> ProgressPoint:
    """A line of progress with its step, or that of the counted line before it."""
    orders = [line.place.order for line in course.counted]
    place = max(int(np.searchsorted(orders, line.place.order, side="right")) - 1, 0)
    return make_progress_point(
        course.file, line.place, course.at[place] if len(course.at) else None
    )


def _describe_since(where: ProgressPoint) -> str:
    return (
        describe_step(where.step, where.line - 1)
        if where.step is not None
        else f"line {where.line}"
    )


def _find_nan_to_the_end(
    course: Course, quantity: Quantity, kind: ChangeKind, name: str, least: int
) -> Change | None:
    """NaN or infinity up to the end."""
    lines, values = course.get(quantity)
    bad = ~np.isfinite(values)
    if quantity is Quantity.LOSS:
        lines, bad = _with_missing(course, lines, bad)
    if not len(bad) or not bad.any():
        return None
    good = np.flatnonzero(~bad)
    first = int(good[-1]) + 1 if len(good) else 0
    if len(bad) - first >= least:
        since = _point(course, lines[first])
        start = "from the first step on" if not len(good) else f"since {_describe_since(since)}"
        return Change(kind, f"{name} is not a number {start}", since)
    once = _point(course, lines[int(np.flatnonzero(bad)[0])])
    text = f"{name} was not a number at {_describe_since(once)}, and came back"
    return Change(kind, text, once, lasting=False)


def _with_missing(course: Course, lines: list[Step], bad: Flags) -> tuple[list[Step], Flags]:
    """Lines that count steps without a number as not a number: some trainers leave the loss out."""
    nan = [
        line
        for line in course.counted
        if Quantity.LOSS not in line.values and line.values.get(Quantity.NAN_STEPS, 0) > 0
    ]
    if not nan:
        return lines, bad
    both = sorted(
        [*zip(lines, bad.tolist(), strict=True), *((one, True) for one in nan)],
        key=lambda pair: pair[0].place.order,
    )
    return [one for one, _ in both], np.array([flag for _, flag in both])


def _find_risen_loss(course: Course) -> Change | None:
    """A loss whose last level lies above its best one, far beyond its noise."""
    lines, values = course.get(Quantity.LOSS)
    kept = np.flatnonzero(np.isfinite(values))
    values = values[kept]
    if len(values) < _LEAST_POINTS or (values <= 0).any():
        return None
    width = min(max(4, len(values) // 20), 32)
    middles = np.array([np.median(values[k : k + width]) for k in range(len(values) - width + 1)])
    best = int(np.argmin(middles))
    low = float(middles[best])
    noise = estimate_noise(values[best : best + width])
    noise = max(noise, estimate_noise(np.diff(values)) / np.sqrt(2), 1e-3 * low)
    below = np.flatnonzero(values <= low + _SIGMAS / 2 * noise)
    first = int(below[-1]) + 1
    behind = len(values) - first
    if behind < _LEAST_BEHIND:
        return None
    last = float(np.median(values[first:][-width:]))
    # A few values at the end tell of an explosion alone.
    if last < 2 * low and behind < max(2 * _LEAST_BEHIND, len(values) // 20):
        return None
    if last < low * _ROSE or last - low < _SIGMAS * noise:
        return None
    since = _point(course, lines[int(kept[first])])
    highest = float(values[first:].max())
    exploded = last >= low * _EXPLODED or highest >= low * _JUMPED
    kind = ChangeKind.LOSS_EXPLODED if exploded else ChangeKind.LOSS_ROSE
    via = f" by way of {highest:.3g}" if highest > 1.2 * last else ""
    text = f"the loss rose from {low:.4g} to {last:.4g}{via} since {_describe_since(since)}"
    return Change(kind, f"{text} and stayed there", since, low, last)


def _scale_fell(course: Course) -> Change | None:
    """A loss scale that only falls up to the end."""
    lines, values = course.get(Quantity.LOSS_SCALE)
    if len(values) < _LEAST_FALLS or not np.isfinite(values).all() or (values <= 0).any():
        return None
    first = len(values) - 1
    while first > 0 and values[first - 1] >= values[first]:
        first -= 1
    falls = np.flatnonzero(np.diff(values[first:]) < 0) + first
    if len(falls) < _LEAST_FALLS or values[first] < values[-1] * 2**_HALVINGS:
        return None
    if len(values) - 2 - int(falls[-1]) > 3 and not _is_overflowing_to_the_end(course):
        return None
    since = _point(course, lines[int(falls[0]) + 1])
    text = (
        f"the loss scale fell from {values[first]:g} to {values[-1]:g} since"
        f" {_describe_since(since)}:"
        " one overflow after another"
    )
    return Change(ChangeKind.LOSS_SCALE_COLLAPSED, text, since, values[first], values[-1])


def _is_overflowing_to_the_end(course: Course) -> bool:
    """Whether lines of overflow stand behind the last lines of progress."""
    if len(course.counted) < 3:
        return False
    near_end = course.counted[-3].place.order
    progress = course.file.progress
    return any(
        mark.kind is MarkKind.OVERFLOW and mark.places[-1].order > near_end
        for mark in (progress.marks if progress else ())
    )


def _find_skipped_updates(course: Course) -> Change | None:
    """Steps whose updates are all left out up to the end."""
    progress = course.file.progress
    lines = [
        line for line in (progress.steps if progress else ()) if Quantity.SKIPPED in line.values
    ]
    found = None
    for counter in sorted({line.counter for line in lines}):
        mine = [line for line in lines if line.counter == counter and Quantity.STEP in line.values]
        found = found or _find_skipped_in(course, mine)
    return found or _find_lone_overflow(course)


def _find_skipped_in(course: Course, lines: Sequence[Step]) -> Change | None:
    if len(lines) < 3:
        return None
    steps = np.array([line.values[Quantity.STEP] for line in lines])
    skipped = np.array([line.values[Quantity.SKIPPED] for line in lines])
    index = np.array([line.index for line in lines], dtype=float)
    apart = np.diff(steps)
    each = np.median((apart / np.maximum(np.diff(index), 1))[apart > 0]) if (apart > 0).any() else 0
    if each <= 0:
        return None
    for share in (
        np.diff(skipped) / np.where(apart > 0, apart, np.nan),  # counted since the start
        skipped[1:] / each,  # counted since the line before
    ):
        some = (share >= _MOST_LEFT_OUT) & (share <= 1.05)
        first = len(some)
        while first > 0 and some[first - 1]:
            first -= 1
        # The steps that the lines stand for: those between the first of them and the last.
        if first < len(some) and steps[-1] - steps[first] >= _LEFT_OUT and len(some) - first >= 3:
            since = _point(course, lines[first + 1])
            count = int(steps[-1] - steps[first])
            text = (
                f"every update is left out since {_describe_since(since)}: {count} steps up"
                f" to the end"
            )
            return Change(ChangeKind.EVERY_STEP_SKIPPED, text, since)
    return None


def _find_lone_overflow(course: Course) -> Change | None:
    """Nothing but overflows behind the last step."""
    if not course.counted:
        return None
    last = course.counted[-1].place.order
    progress = course.file.progress
    for mark in progress.marks if progress else ():
        behind = [place for place in mark.places if place.order > last]
        if mark.kind is MarkKind.OVERFLOW and len(behind) >= _LEFT_OUT:
            since = make_progress_point(course.file, behind[0], course.at[-1])
            text = (
                f"nothing but overflows follow {describe_step(since.step, len(course.counted) - 1)}"
            )
            return Change(ChangeKind.EVERY_STEP_SKIPPED, text, since)
    return None
