"""The time of a step over a job: how long, when it became slower, and single slow steps.

What a job prints of its own step time is believed first, then a rate, then the times of its
lines. Steps of a larger batch take longer and are no slower: where the batch is printed,
time is that of one sample.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from triage.analysis.progress.course import SECOND, Course, StepTimes, make_progress_point
from triage.analysis.progress.levels import LEAST_CHANGE, Level, find_levels
from triage.domain.arrays import F64, I64
from triage.domain.progress import Change, ChangeKind
from triage.parsers.logs.progress.series import MarkKind, Quantity, Step

_RATES: Final = (
    Quantity.TOKENS_PER_S,
    Quantity.SAMPLES_PER_S,
    Quantity.TFLOPS,
    Quantity.STEPS_PER_S,
    Quantity.MFU,
)
_LEAST_POINTS: Final = 10
# A step that takes this many times the usual is a spike.
_SPIKE: Final = 1.5
_LEAST_SPIKES: Final = 5
# Spikes that cost less of a job's time are told by nobody.
_LEAST_COST: Final = 0.05
# So much time is lost by spikes that were there from the start: then it is slow whatever its pace.
_GREAT_COST: Final = 0.20
# Spikes at equal distances are checkpoints or evaluations.
_REGULAR: Final = 0.7
# That spikes began in the course of the job, and were not there at the same rate from the start.
_BEGAN: Final = 0.01


def step_times(course: Course) -> StepTimes | None:
    """The time of a step at the lines that tell it; None where nothing does."""
    lines, values = course.get(Quantity.STEP_S)
    if len(lines) >= 3 and not _is_running_total(values):
        batch = np.array([line.values.get(Quantity.BATCH, np.nan) for line in lines])
        if np.isfinite(batch).all() and (batch > 0).all():
            values = values * (batch[-1] / batch)  # as for the last one
        return _select_usable(course, lines, values, in_seconds=True)
    for quantity in _RATES:
        lines, values = course.get(quantity)
        if len(lines) >= 3 and (values > 0).sum() * 2 > len(values):
            rates = np.where(values > 0, values, np.nan)
            return _select_usable(
                course, lines, 1 / rates, in_seconds=quantity is Quantity.STEPS_PER_S
            )
    places = np.flatnonzero(np.isfinite(course.ns))
    if len(places) < 3:
        return None
    steps, ns = course.at[places], course.ns[places]
    moved = np.diff(steps) > 0
    if moved.sum() < 3:
        return None
    values = np.diff(ns)[moved] / SECOND / np.diff(steps)[moved]
    kept = values > 0
    return StepTimes(places[1:][moved][kept], values[kept], in_seconds=True)


def _is_running_total(values: F64) -> bool:
    """Whether a "time" is that since the start of the job."""
    if len(values) < 5:
        return False
    grown = np.diff(values)
    return bool((grown >= 0).mean() > 0.95 and values[-1] > 3 * max(values[0], 1e-9))


def _select_usable(
    course: Course, lines: Sequence[Step], values: F64, *, in_seconds: bool
) -> StepTimes:
    """Times at their lines, without those that are none. The place is that of the counted line
    at or before it.
    """
    orders = np.array([line.place.order for line in course.counted])
    mine = np.array([line.place.order for line in lines])
    places = np.clip(np.searchsorted(orders, mine, side="right") - 1, 0, None)
    kept = np.isfinite(values) & (values > 0)
    return StepTimes(places[kept].astype(np.int64), values[kept], in_seconds)


def estimate_step_s(course: Course, times: StepTimes | None) -> float | None:
    """The usual time of a step, in seconds."""
    if times is not None and times.in_seconds and len(times.values):
        return float(np.median(times.values[-256:]))
    known = np.isfinite(course.ns)
    steps, ns = np.diff(course.at[known]), np.diff(course.ns[known])
    slopes = ns[steps > 0] / SECOND / steps[steps > 0]
    slopes = slopes[slopes >= 0]
    return float(np.median(slopes)) if len(slopes) else None


def print_gap_s(course: Course) -> tuple[float | None, float]:
    """(usual seconds between two lines of progress, the longest time between two of them).

    Of a sample, the time between two lines is shared by those that lie between.
    """
    known = [k for k, ns in enumerate(course.ns) if np.isfinite(ns)]
    gaps, longest = [], 0.0
    for one, other in pairwise(known):
        apart = course.counted[other].index - course.counted[one].index
        took = (course.ns[other] - course.ns[one]) / SECOND
        if took < 0:
            continue
        # Lines of another wording count for themselves.
        gaps.append(took / max(apart, 1))
        longest = max(longest, took if apart <= 1 else took / apart)
    return (float(np.median(gaps)), longest) if gaps else (None, 0.0)


def find_pace_changes(course: Course, times: StepTimes | None) -> list[Change]:
    """That the job became slower for good, and that single steps are slow."""
    if times is None or len(times.values) < _LEAST_POINTS:
        return []
    levels = find_levels(times.values)
    found = _find_slower_level(course, times, levels)
    spikes = _find_spikes(course, times, levels)
    return [*([found] if found else []), *([spikes] if spikes else [])]


def _find_slower_level(course: Course, times: StepTimes, levels: Sequence[Level]) -> Change | None:
    """A lasting change to a slower level than the job once kept."""
    last = levels[-1]
    before = [level for level in levels[:-1] if level.points >= min(10, max(5, last.points // 10))]
    if not before:
        return None
    base = min(before, key=lambda level: level.middle)
    if last.middle < base.middle * (1 + LEAST_CHANGE):
        return None
    first = len(levels) - 1
    while first > levels.index(base) + 1 and levels[first - 1].middle > base.middle * (
        1 + LEAST_CHANGE
    ):
        first -= 1
    if _is_contradicted_by_rate(course, times, levels[first].start):
        return None
    place = int(times.places[levels[first].start])
    ratio = last.middle / base.middle - 1
    if times.in_seconds:
        change = f"{format_seconds(base.middle)} -> {format_seconds(last.middle)}"
    else:
        change = f"throughput down {1 - 1 / (1 + ratio):.1%}"
    since = make_progress_point(course.file, course.counted[place].place, course.at[place])
    return Change(
        ChangeKind.SLOWER,
        f"a step takes {ratio:.1%} longer ({change}) since {describe_step(since.step, place)}",
        since,
        base.middle,
        last.middle,
    )


def _is_contradicted_by_rate(course: Course, times: StepTimes, cut: int) -> bool:
    """Whether a printed rate says that nothing became slower: steps grew, and do more."""
    lines, printed = course.get(Quantity.STEP_S)
    if not lines or _is_running_total(printed):
        return False
    at = course.counted[int(times.places[cut])].place.order
    for quantity in (Quantity.TOKENS_PER_S, Quantity.SAMPLES_PER_S, Quantity.TFLOPS):
        some, values = course.get(quantity)
        behind = np.array([line.place.order >= at for line in some], dtype=bool)
        if behind.sum() >= 3 and (~behind).sum() >= 3:
            before, after = np.median(values[~behind]), np.median(values[behind])
            return bool(after > before * 0.98)
    return False


def _find_spikes(course: Course, times: StepTimes, levels: Sequence[Level]) -> Change | None:
    """Single steps that take far longer than the others, at no equal distances."""
    usual = np.concatenate([np.full(level.points, level.middle) for level in levels])
    noise = np.concatenate([np.full(level.points, level.noise) for level in levels])
    # The first steps of a job compile and fill their caches.
    warm = max(2, len(usual) // 50)
    high = (times.values > _SPIKE * usual) & (times.values > usual + 6 * noise)
    high[:warm] = False
    spikes = np.flatnonzero(high)
    if len(spikes) < _LEAST_SPIKES or len(spikes) * 2 > len(usual):
        return None
    if _is_regular(course.at[times.places[spikes]]) or _is_at_checkpoints(course, times, spikes):
        return None
    begun = int(spikes[0])
    lost = float((times.values[spikes] - usual[spikes]).sum())
    cost = lost / float(times.values[begun:].sum())
    overall = lost / float(times.values.sum())
    if cost < _LEAST_COST:
        return None
    share = len(spikes) / max(len(usual) - begun, 1)
    started = (1 - share) ** (begun - warm) < _BEGAN
    place = int(times.places[begun])
    since = make_progress_point(course.file, course.counted[place].place, course.at[place])
    factor = float(np.median(times.values[spikes] / usual[spikes]))
    waits = " waiting for data" if _is_waiting_for_data(course, times, spikes) else ""
    when = f"since {describe_step(since.step, place)}" if started else "from the start"
    return Change(
        ChangeKind.SPIKES,
        f"one step in {round(1 / share)} takes {factor:.1f} times as long{waits} {when},"
        f" which costs {cost:.0%} of the time",
        since,
        float(np.median(usual)),
        float(np.median(times.values[spikes])),
        lasting=started or overall >= _GREAT_COST,
    )


def _is_regular(steps: F64) -> bool:
    """Whether spikes stand at multiples of one distance, as checkpoints do."""
    gaps = np.diff(np.unique(steps))
    if len(gaps) < _LEAST_SPIKES - 2:
        return False
    for distance in np.unique(gaps)[:8]:
        off = np.abs(gaps / distance - np.round(gaps / distance))
        # Every number is a multiple of a small one: most gaps must be the distance itself.
        itself = np.abs(gaps - distance) <= 0.02 * distance
        if (off <= 0.02).mean() >= _REGULAR and itself.mean() >= 0.5:
            return True
    return False


def _is_at_checkpoints(course: Course, times: StepTimes, spikes: I64) -> bool:
    """Whether most spikes have a checkpoint or an evaluation just before them."""
    kinds = (
        MarkKind.CHECKPOINT,
        MarkKind.CHECKPOINT_END,
        MarkKind.EVALUATION,
        MarkKind.EVALUATION_END,
    )
    progress = course.file.progress
    orders = sorted(
        place.order
        for mark in (progress.marks if progress else ())
        if mark.kind in kinds
        for place in mark.places
    )
    if not orders:
        return False
    explained = 0
    for spike in spikes.tolist():
        place = int(times.places[spike])
        here = course.counted[place].place.order
        before = course.counted[place - 1].place.order if place else 0
        explained += any(before < order <= here + 1 for order in orders)
    return explained * 10 >= 7 * len(spikes)


def _is_waiting_for_data(course: Course, times: StepTimes, spikes: I64) -> bool:
    """Whether the wait for data makes up most of what slow steps take longer."""
    lines, waits = course.get(Quantity.DATA_S)
    if len(lines) != len(course.counted) or len(times.values) != len(lines):
        return False
    high = np.zeros(len(lines), dtype=bool)
    high[spikes] = True
    more = np.median(times.values[high]) - np.median(times.values[~high])
    return bool(np.median(waits[high]) - np.median(waits[~high]) > more / 2)


def format_seconds(value: float) -> str:
    """A duration as people say it."""
    if value < 0.9995:
        return f"{value * 1000:.3g} ms"
    return f"{value:.3g} s" if value < 600 else f"{value / 60:.3g} min"


def describe_step(step: int | None, place: int) -> str:
    """A step's number, or the place of a line of progress that has none, in words."""
    return f"step {step}" if step is not None else f"the {place + 1}th line of progress"
