"""The course of a job from its logs, and the measure of its health.

The log that prints most of the training is the job's; others add the end, how far the logs
reach, and the times of single ranks.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np

from triage.analysis.progress.course import (
    SECOND,
    Course,
    StepTimes,
    make_progress_point,
    read_course,
)
from triage.analysis.progress.divergence import find_divergences
from triage.analysis.progress.levels import LEAST_CHANGE, estimate_noise
from triage.analysis.progress.movement import (
    find_reach_ns,
    is_off_by_a_zone,
    judge_movement,
)
from triage.analysis.progress.pace import (
    describe_step,
    estimate_step_s,
    find_pace_changes,
    format_seconds,
    step_times,
)
from triage.domain.progress import (
    Change,
    ChangeKind,
    Curve,
    Health,
    IdleGpus,
    JobProgress,
    SlowRank,
)
from triage.parsers.logs.logset import LogFile, LogKind
from triage.parsers.logs.progress.series import MarkKind, Quantity, Step

_TEXTS: Final = frozenset({LogKind.JOB, LogKind.KERNEL})
_CURVE_POINTS: Final = 240
# After its last step, a log without times may have this many times the usual lines between two.
_LINES_AFTER: Final = 4.0
_LEAST_LINES_AFTER: Final = 6
# A job that is silent for less than this at its end moved.
_UNSURE_S: Final = 60.0


def measure_progress(files: Iterable[LogFile], until_ns: int | None = None) -> JobProgress | None:
    """How the job moved, by all of its logs; None where none of them prints any progress.

    ``files`` are dated (``Dated.logs.files``); their ``progress`` was read by the reader of logs.
    ``until_ns`` is a moment at which the job is known to have been there still, beside what
    its logs say: its end by ``job.json``, the scheduler's, a watchdog's. The answer does not
    depend on the order of the files. The cost is linear in the sampled lines.
    """
    every = sorted(files, key=lambda file: file.artifact)
    ordered = [file for file in every if file.of_a_job]
    nodes = [file for file in every if file.kind in _TEXTS and not file.of_a_job]
    courses = [course for file in ordered if (course := read_course(file)) is not None]
    if not courses:
        return _make_begun_only(ordered, until_ns)
    course = max(courses, key=_rank_courses)
    times = step_times(course)
    moved = judge_movement(course, ordered, nodes, course.total, until_ns)
    changes = [*find_pace_changes(course, times), *find_divergences(course), *moved.changes]
    changes.sort(key=lambda change: (change.since.line, str(change.kind)))
    last, error = course.counted[-1].place.line, course.file.error_at_end
    apart = np.diff([line.place.line for line in course.counted])
    indices = np.maximum(np.diff([line.index for line in course.counted]), 1)
    return add_health(
        replace(
            moved,
            step_s=estimate_step_s(course, times),
            lines_after=max(0, course.file.lines - last),
            lines_between=float(np.median(apart / indices)) if len(apart) else 1.0,
            error_at_end=error if error is not None and error[0] > last else None,
            changes=tuple(changes),
            slow_ranks=_find_slow_ranks(ordered),
            curve=_make_curve(course, times),
        )
    )


def add_health(progress: JobProgress) -> JobProgress:
    """``progress`` with the health and the sentence that are its own."""
    health, said = judge_health(progress)
    return replace(progress, health=health, said=said)


def _rank_courses(course: Course) -> tuple[int, int, str]:
    """Of several logs, that with the longest course, and of equal ones the richest."""
    progress = course.file.progress
    values = max((len(line.values) for line in course.counted[:16]), default=0)
    return (
        len(set(course.at.tolist())),
        values * (progress.seen if progress else 0),
        course.file.artifact,
    )


def _make_begun_only(files: Sequence[LogFile], until_ns: int | None) -> JobProgress | None:
    """A job that says that it begins, or ends, and prints no step."""
    begun, ended, how = None, None, None
    for file in files:
        for mark in file.progress.marks if file.progress is not None else ():
            if mark.kind is MarkKind.BEGIN and begun is None:
                begun = make_progress_point(file, mark.places[0])
            if mark.kind is MarkKind.END and ended is None:
                ended, how = make_progress_point(file, mark.places[-1]), mark.text
    if begun is None and ended is None:
        return None
    reach, doing = find_reach_ns(files, until_ns), None if begun is None else "begin"
    return add_health(
        JobProgress(
            None, None, ended=ended, ended_how=how, until_ns=reach, doing=doing, doing_since=begun
        )
    )


def _make_curve(course: Course, times: StepTimes | None) -> Curve:
    """Some points of the course, to draw; those next to a change are not favoured."""
    count = len(course.counted)
    kept = np.unique(np.linspace(0, count - 1, min(count, _CURVE_POINTS)).astype(int)).tolist()
    step_time: dict[int, float] = {}
    if times is not None:
        step_time = dict(zip(times.places.tolist(), times.values.tolist(), strict=True))
    lines, values = course.get(Quantity.LOSS)
    orders = np.array([line.place.order for line in lines])
    losses: list[float | None] = []
    for place in kept:
        here = course.counted[place].place.order
        at = int(np.searchsorted(orders, here, side="right")) - 1 if len(orders) else -1
        value = float(values[at]) if at >= 0 else float("nan")
        losses.append(value if np.isfinite(value) else None)
    return Curve(
        step=tuple(int(course.at[place]) for place in kept),
        at_ns=tuple(course.counted[place].place.at_ns for place in kept),
        step_time=tuple(step_time.get(place) for place in kept),
        loss=tuple(losses),
        in_seconds=times is None or times.in_seconds,
    )


def judge_health(progress: JobProgress | None) -> tuple[Health, str]:
    """What the progress of a job says of its health, and the sentence to print.

    The gravest is told: diverged, stopped, slowed; then an orderly end, then progress up to the
    end of what was collected. Slow ranks are no change of the job and are not told here.
    ``UNKNOWN`` is not health: nothing says that the job moved at its end.
    """
    if progress is None:
        return Health.UNKNOWN, "No log prints any progress of the job."
    for change, health in (
        (progress.diverged, Health.DIVERGED),
        (progress.stopped, Health.STOPPED),
        (progress.slowed, Health.SLOWED),
    ):
        if change is not None:
            return health, _compose_sentence(change.text)
    if progress.ended is not None and progress.failed_behind:
        return Health.UNKNOWN, f"Its last step was done ({progress.ended_how}), and then it failed."
    if progress.ended is not None:
        error, end, last = progress.error_at_end, progress.ended, progress.last
        same = last is not None and end.artifact == last.artifact
        if error is not None and same and error[0] > end.line:
            said = f'({progress.ended_how}); then its log ends with "{error[1]}".'
            return Health.UNKNOWN, f"Its last step was done {said}"
        return Health.HEALTHY_END, f"The job ended in order: {progress.ended_how}."
    if progress.last is None:
        return Health.UNKNOWN, "The job began and no step of it was ever printed."
    step = describe_step(progress.last.step, progress.last.line - 1)
    if progress.first == progress.last:
        return Health.UNKNOWN, f"One line alone tells of its progress, {step}."
    unknown = _explain_unknown(progress, step)
    if unknown is not None:
        return Health.UNKNOWN, unknown
    if progress.silent_s is None or progress.gap_s is None:
        return Health.MOVING_TO_THE_END, f"The job moved up to the end of its log, {step}."
    return Health.MOVING_TO_THE_END, (
        f"The job moved up to the end of its log: {step}, a line of progress every"
        f" {format_seconds(progress.gap_s)}."
    )


def _explain_unknown(progress: JobProgress, step: str) -> str | None:
    """Why nothing says that the job still moved behind ``step``, its last; None where it did."""
    if progress.doing is not None:
        return f"The log ends in the {progress.doing} after {step}, whose end is not printed."
    if progress.traceback:
        return f"A traceback stands behind {step}, and no step behind that."
    if progress.error_at_end is not None:
        return f'Behind {step} its log ends with "{progress.error_at_end[1]}".'
    if progress.left_s is not None:
        return (
            f"The log of the job ends at {step} without saying why; the logs of its nodes go on for"
            f" {format_seconds(progress.left_s)}."
        )
    silent_s, pause_s = progress.silent_s, progress.pause_s
    if silent_s is not None and pause_s is not None and silent_s > max(pause_s, _UNSURE_S):
        return (
            f"The logs go on for {format_seconds(silent_s)} after {step}, longer than the job"
            f" was ever"
            " silent before, and not so long that it must have stopped."
        )
    if silent_s is None or progress.gap_s is None:
        room = max(_LEAST_LINES_AFTER, _LINES_AFTER * progress.lines_between)
        if progress.lines_after > room:
            return (
                f"The log goes on for {progress.lines_after} lines after {step}, and nothing tells"
                " for how long."
            )
    return None


def _compose_sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


# The assumption: all ranks do the same work. Then the middle one is the measure, and the
# spread of all is the noise. Ranks that do other work by design (the first and the last stage
# of a pipeline, the first rank of each group) have a pattern, and are not told. A time that
# holds the wait for others is alike on all ranks and tells nothing; the time that a rank
# computes tells it.

_LEAST_PEERS: Final = 4
_LEAST_LINES: Final = 3
_SIGMAS: Final = 5.0
# Noise of medians is never believed to be less.
_LEAST_NOISE: Final = 0.004
# More than this share are no exceptions: the work is not alike.
_MOST_SLOW: Final = 0.3
# At least this share of a rank's lines must lie above its peers.
_STEADY: Final = 0.8
_WORDS: Final = {
    Quantity.COMPUTE_S: "its own computing",
    Quantity.STEP_S: "its steps",
    Quantity.STEPS_PER_S: "its steps",
    Quantity.TOKENS_PER_S: "its tokens",
    Quantity.SAMPLES_PER_S: "its samples",
    Quantity.TFLOPS: "its operations",
}

_Seat = tuple[str | None, int | None, int | None]


def _find_slow_ranks(files: Iterable[LogFile]) -> tuple[SlowRank, ...]:
    """The slow ranks of all logs, slowest first; none where fewer than four print their times."""
    lines = [
        (_find_seat(file, line), file, line)
        for file in files
        if file.progress is not None
        for line in file.progress.steps
    ]
    for quantity in _WORDS:
        by_seat: dict[_Seat, list[tuple[LogFile, Step, float]]] = defaultdict(list)
        for seat, file, line in lines:
            value = line.values.get(quantity, 0.0)
            if seat is not None and 0 < value < float("inf"):
                time = (
                    value if str(quantity).endswith("_s") and "per" not in quantity else 1 / value
                )
                by_seat[seat].append((file, line, time))
        found = _find_slow_among(by_seat, quantity)
        if found is not None:
            return found
    return ()


def _find_seat(file: LogFile, line: Step) -> _Seat | None:
    """Who prints a line: its rank, else its place on its node; None where nothing tells."""
    node = line.node or file.node
    if line.rank is not None:
        return node, line.rank, None
    return None if None in (node, line.local_rank) else (node, None, line.local_rank)


def _find_slow_among(
    by_seat: dict[_Seat, list[tuple[LogFile, Step, float]]], quantity: Quantity
) -> tuple[SlowRank, ...] | None:
    """The slow ones among those who print one quantity; None where too few do."""
    full = {seat: some for seat, some in by_seat.items() if len(some) >= _LEAST_LINES}
    if len(full) < _LEAST_PEERS:
        return None
    middles = {seat: float(np.median([time for *_, time in some])) for seat, some in full.items()}
    values = np.array(list(middles.values()))
    usual = float(np.median(values))
    limit = usual * (
        1 + max(LEAST_CHANGE, _SIGMAS * max(estimate_noise(values / usual), _LEAST_NOISE))
    )
    slow = [
        seat
        for seat, middle in middles.items()
        if middle >= limit
        and np.mean([time > usual * (1 + LEAST_CHANGE / 2) for *_, time in full[seat]]) >= _STEADY
    ]
    if len(slow) > _MOST_SLOW * len(full) or _is_slow_by_design(slow, list(full)):
        return ()
    slow.sort(key=lambda seat: (-middles[seat], str(seat)))
    return tuple(
        SlowRank(
            rank=seat[1],
            node=seat[0],
            local_rank=seat[2],
            ratio=middles[seat] / usual,
            peers=len(full),
            example=make_progress_point(full[seat][-1][0], full[seat][-1][1].place),
            what=_WORDS[quantity],
        )
        for seat in slow
    )


def _is_slow_by_design(slow: list[_Seat], placement: list[_Seat]) -> bool:
    """Whether slow ranks lie as stages or members of groups do: they have more to do."""
    ranks = sorted(seat[1] for seat in slow if seat[1] is not None)
    every = [seat[1] for seat in placement if seat[1] is not None]
    if len(ranks) < 2 or len(ranks) != len(slow):
        return False
    gaps = {other - one for one, other in pairwise(ranks)}
    if len(gaps) > 1:
        return False
    if gaps == {1}:
        return ranks[0] == min(every) or ranks[-1] == max(every)
    return len(ranks) > 2


# GPUs that idle long behind the last step: the job does not run, whatever its log looks like. A log
# that moves up to its own end says nothing of the time behind it.


def beside_idle_gpus(progress: JobProgress | None, idle: IdleGpus | None) -> JobProgress | None:
    """``progress`` as stopped where the log moves to its end without saying that the job is done,
    and its GPUs idle from there on, for longer than any pause of it.
    """
    last = progress.last if progress is not None else None
    if progress is None or idle is None or last is None:
        return progress
    troubled = progress.traceback or progress.error_at_end is not None
    if progress.health is Health.UNKNOWN:
        if progress.ended is not None or troubled:
            return progress
    elif progress.health is not Health.MOVING_TO_THE_END:
        return progress
    since_ns = idle.since_ns if last.at_ns is None else max(idle.since_ns, last.at_ns)
    idle_s = (idle.until_ns - since_ns) / SECOND
    pause_s = progress.pause_s or 0.0
    if idle_s < max(_LEAST_IDLE_S, pause_s) or not _is_on_its_clock(progress, idle):
        return progress
    step = describe_step(last.step, last.line - 1)
    text = (
        f"the job stopped moving after {step}: its {idle.gpus} GPUs idle for"
        f" {format_seconds(idle_s)}"
    )
    stop = Change(ChangeKind.STOPPED, text, last, progress.gap_s, idle_s)
    return add_health(replace(progress, changes=(*progress.changes, stop)))


def _is_on_its_clock(progress: JobProgress, idle: IdleGpus) -> bool:
    """Whether GPUs idle behind the last step by the clock of the log: they work until then, or
    never where they were measured, which an unknown zone of the log does not explain.
    """
    last_ns = progress.last.at_ns if progress.last is not None else None
    if last_ns is None:
        return idle.busy_until_ns is not None  # it ran, and no log tells of a later time
    if idle.busy_until_ns is None:
        return not is_off_by_a_zone((idle.until_ns - last_ns) / SECOND)
    apart_s = (idle.busy_until_ns - last_ns) / SECOND
    return abs(apart_s) <= max(progress.pause_s or 0.0, _NEAR_S)


# GPUs of a job that runs idle for minutes, while it writes a checkpoint.
_LEAST_IDLE_S: Final = 900.0
# A sample stands for half a minute, and what was begun behind the last line goes on for a while.
_NEAR_S: Final = 300.0
