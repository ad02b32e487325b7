"""How the steps of a job ended: in order, with the end of what was collected, or long before it.

A stop is told by a clock alone: the logs reach further than the last step, by more than the
job was ever silent between two steps. A heartbeat is a sign of the clock, and of no step.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

import numpy as np

from triage.analysis.progress.course import SECOND, Course, make_progress_point
from triage.analysis.progress.pace import describe_step, format_seconds, print_gap_s
from triage.domain.progress import Change, ChangeKind, JobProgress, ProgressPoint
from triage.parsers.logs.logset import LogFile
from triage.parsers.logs.progress.series import Mark, MarkKind, Place

# How often its usual time, and its longest, a job may be silent before it is called stopped.
USUAL_GAPS: Final = 4.0
_LONGEST_GAPS: Final = 1.5
# No job is called stopped before that: where the log of its steps goes on, and where only
# another log does, which may be that of a launcher that takes the job down.
_LEAST_SILENT_S: Final = 90.0
_LEAST_SILENT_BESIDE_S: Final = 300.0
# The logs of nodes are collected a little after those of the job, which says nothing.
_LEAST_LEFT_S: Final = 180.0
# A clock without a zone is off by quarters of an hour.
_QUARTER_S: Final = 900.0
_NEAR_QUARTER_S: Final = 90.0
# A job that begins again so often without getting further than before gets nowhere.
_ATTEMPTS: Final = 3
# An evaluation or a checkpoint may take this long where none was seen before.
_LEAST_BREAK_S: Final = 900.0
_BREAKS: Final = {
    MarkKind.EVALUATION: MarkKind.EVALUATION_END,
    MarkKind.CHECKPOINT: MarkKind.CHECKPOINT_END,
}


def judge_movement(
    course: Course,
    files: Sequence[LogFile],
    nodes: Sequence[LogFile],
    total: int | None,
    until_ns: int | None,
) -> JobProgress:
    """How the steps of ``course`` ended, among all logs of the job; ``nodes`` are those of nodes.

    ``until_ns`` is a moment at which the job is known to have been there still. The changes are
    the stop, and nothing where nothing proves one.
    """
    step = float(course.at[-1])
    begun = make_progress_point(course.file, course.counted[0].place, course.at[0])
    last = make_progress_point(course.file, course.counted[-1].place, step)
    gap_s, longest_s = print_gap_s(course)
    ended, how = _find_orderly_end(course, files, total)
    reach = find_reach_ns(files, until_ns)
    silent_s, least_s = _measure_silence(course, files, reach)
    doing = _find_begun_after(course)
    pause_s = None if gap_s is None else max(USUAL_GAPS * gap_s, _LONGEST_GAPS * longest_s)
    stop = None
    if ended is None and silent_s is not None and gap_s is not None and pause_s is not None:
        allowed_s = max(pause_s, least_s if doing is None else max(least_s, _LEAST_BREAK_S))
        if silent_s > allowed_s:
            within = f" in its {doing[0].kind}" if doing is not None else ""
            text = (
                f"the job stopped moving{within} after"
                f" {describe_step(last.step, len(course.counted) - 1)}: its log goes on for"
                f" {format_seconds(silent_s)}, and a line of progress came every"
                f" {format_seconds(gap_s)}"
            )
            stop = Change(ChangeKind.STOPPED, text, last, gap_s, silent_s)
    if stop is None and ended is None:
        stop = _find_no_headway(course)
    return JobProgress(
        first=begun,
        last=last,
        total=total,
        ended=ended,
        ended_how=how,
        until_ns=reach,
        gap_s=gap_s,
        silent_s=silent_s,
        doing=None if doing is None else str(doing[0].kind),
        doing_since=None if doing is None else make_progress_point(course.file, doing[1], step),
        changes=(stop,) if stop is not None else (),
        pause_s=pause_s,
        left_s=_measure_left_over(reach, nodes, gap_s),
        traceback=_find_begun_after(course, (MarkKind.TRACEBACK,)) is not None,
    )


def _measure_silence(
    course: Course, files: Sequence[LogFile], reach: int | None
) -> tuple[float | None, float]:
    """(seconds from the last step to the end of the logs, the fewest of them that are a stop)."""
    if reach is None or course.counted[-1].place.at_ns is None:
        return None, _LEAST_SILENT_BESIDE_S
    newest = _find_latest_step_ns(course, files)
    own = find_reach_ns([file for file in files if file.progress is not None], None)
    goes_on = own is not None and (own - newest) / SECOND > _LEAST_SILENT_S
    least_s = _LEAST_SILENT_S if goes_on else _LEAST_SILENT_BESIDE_S
    return max(0.0, (reach - newest) / SECOND), least_s


def _measure_left_over(
    reach: int | None, nodes: Iterable[LogFile], gap_s: float | None
) -> float | None:
    """Seconds by which the logs of nodes outlive those of the job, where that means something."""
    ends = sorted(file.last_at_ns for file in nodes if file.last_at_ns is not None)
    if reach is None or not ends:
        return None
    left_s = (ends[len(ends) // 2] - reach) / SECOND
    if is_off_by_a_zone(left_s) or left_s < max(_LEAST_LEFT_S, USUAL_GAPS * (gap_s or 0.0)):
        return None
    return left_s


def is_off_by_a_zone(apart_s: float) -> bool:
    """Whether two times may be one that clocks of two zones tell."""
    return abs(apart_s - _QUARTER_S * round(apart_s / _QUARTER_S)) < _NEAR_QUARTER_S


def _find_no_headway(course: Course) -> Change | None:
    """A job that begins again and again and never gets further than it was."""
    if len({(line.rank, line.local_rank) for line in course.counted}) != 1 or len(course.at) < 4:
        return None
    falls = np.flatnonzero(np.diff(course.at) < 0) + 1
    starts = [0, *falls.tolist()]
    tops = [
        float(course.at[start:stop].max())
        for start, stop in zip(starts, [*starts[1:], len(course.at)], strict=True)
    ]
    # How many attempts have passed since one got further than all before it.
    stuck = len(tops) - 1 - tops.index(max(tops))
    if stuck < _ATTEMPTS - 1:
        return None
    where = make_progress_point(
        course.file, course.counted[starts[tops.index(max(tops))]].place, max(tops)
    )
    text = f"the job began again {len(falls)} times and never got past step {int(max(tops))}"
    return Change(ChangeKind.STOPPED, text, where)


def find_reach_ns(files: Sequence[LogFile], until_ns: int | None) -> int | None:
    """How far the collected logs of the job reach."""
    ends = [file.last_at_ns for file in files if file.of_a_job]
    return max((ns for ns in (*ends, until_ns) if ns is not None), default=None)


def _find_latest_step_ns(course: Course, files: Sequence[LogFile]) -> int:
    """The time of the newest step in any log: ranks may print into logs of their own."""
    mine = course.counted[-1].place.at_ns or 0
    others = [
        file.progress.steps[-1].place.at_ns
        for file in files
        if file.progress is not None and file.progress.steps
    ]
    return max(mine, *(ns for ns in others if ns is not None), 0)


def _find_orderly_end(
    course: Course, files: Sequence[LogFile], total: int | None
) -> tuple[ProgressPoint | None, str | None]:
    """The line that says that the job is done, and its words."""
    last = course.counted[-1]
    for file in files:
        if file.progress is None:
            continue
        for mark in file.progress.marks:
            if mark.kind is MarkKind.END and _is_behind(mark.places[-1], file, course):
                return make_progress_point(file, mark.places[-1]), mark.text
    if total is not None and total > 1:
        each = np.diff(course.at)
        each = each[each > 0]
        # Of a count that begins at zero the last one is one less; the last lines of a job that
        # prints every tenth step may lie nine before its end.
        shares = each / np.maximum(
            np.diff([place.index for place in course.counted])[np.diff(course.at) > 0], 1
        )
        between = float(np.median(shares)) if len(shares) else 1.0
        if total - course.at[-1] <= max(1.0, between - 1):
            return make_progress_point(
                course.file, last.place, course.at[-1]
            ), f"{int(course.at[-1])}/{total}"
    return None, None


def _is_behind(place: Place, file: LogFile, course: Course) -> bool:
    """Whether a line comes after the last step; of another log, by its time."""
    last = course.counted[-1].place
    if file.artifact == course.file.artifact:
        return place.order > last.order
    if place.at_ns is None or last.at_ns is None:
        # Of two logs without a clock: a log that ends with its end.
        steps = file.progress.steps if file.progress is not None else ()
        return not steps or place.order > steps[-1].place.order
    return place.at_ns >= last.at_ns - _LEAST_SILENT_S * SECOND


def _find_begun_after(
    course: Course, kinds: Collection[MarkKind] = tuple(_BREAKS)
) -> tuple[Mark, Place] | None:
    """What of ``kinds`` began after the last step, and whose end is not told."""
    last = course.counted[-1].place.order
    marks = course.file.progress.marks if course.file.progress is not None else ()
    begun = [
        (mark.places[-1], mark)
        for mark in marks
        if mark.kind in kinds and mark.places[-1].order > last
    ]
    if not begun:
        return None
    place, mark = max(begun, key=lambda pair: pair[0].order)
    over = any(
        other.kind is _BREAKS.get(mark.kind) and other.places[-1].order > place.order
        for other in marks
    )
    return None if over else (mark, place)
