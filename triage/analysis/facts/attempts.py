"""Where the last attempt of a job begins in a log that holds several.

A launcher starts its workers again into the same log, and a scheduler puts a job back into its
queue whose output is appended. What ended the attempts before is over when the next one runs: only
the last one is judged. An attempt that never got so far as to meet or to step is judged together
with the one before it.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from triage.analysis.facts.stop import FAILING, SECOND
from triage.analysis.placement.gpu_names import JOINED
from triage.analysis.progress.course import Course
from triage.domain.evidence import Evidence, Kind
from triage.parsers.logs.logset import LogFile
from triage.parsers.logs.progress.series import MarkKind

# A count that goes back by less than this many prints is another rank's line, printed late.
_LEAST_FALL: Final = 2
# Who says that a whole group of workers ended.
_LAUNCHERS: Final = frozenset({Kind.ELASTIC, Kind.SCHEDULER})
# So large a share of the processes that joined is new where the job began again.
_MOST_NEW: Final = 0.5


@dataclass(frozen=True, slots=True)
class AttemptStart:
    """The line at which the last attempt of a log begins, and its time where a clock tells it."""

    line: int
    at_ns: int | None

    def is_before(self, row: Evidence) -> bool:
        """Whether a row of the same log is of an earlier attempt: by the clock that both print,
        else by its place.
        """
        above = row.line is not None and row.line <= self.line
        if row.stamp.wall_ns is not None and row.at_ns is not None and self.at_ns is not None:
            # Within a second of it the place decides.
            return row.at_ns < self.at_ns + (SECOND if above else -SECOND)
        return above


def last_attempts(
    rows_of: Mapping[str, Sequence[Evidence]],
    files: Iterable[LogFile],
    courses: Mapping[str, Course],
) -> dict[str, AttemptStart]:
    """Artifact -> where its last attempt begins, for logs that hold more than one.

    ``rows_of`` are the rows of each artifact in the order of their lines.
    """
    starts = {}
    for file in files:
        rows = rows_of.get(file.artifact, ())
        course = courses.get(file.artifact)
        begun = _find_beginnings(file, rows, course)
        if not begun:
            continue
        found = [start for start in _find_candidates(file, rows, course) if start.line < begun[-1]]
        if found:
            starts[file.artifact] = max(found, key=lambda start: start.line)
    return starts


def _find_beginnings(file: LogFile, rows: Iterable[Evidence], course: Course | None) -> list[int]:
    """The lines, ascending, that only an attempt prints that has begun: steps, and ranks that
    have met.
    """
    lines = [step.place.line for step in course.counted] if course is not None else []
    lines += [row.line for row in rows if row.signature == JOINED and row.line is not None]
    for mark in file.progress.marks if file.progress is not None else ():
        if mark.kind is MarkKind.BEGIN:
            lines += [place.line for place in mark.places]
    return sorted(lines)


def _find_candidates(
    file: LogFile, rows: Sequence[Evidence], course: Course | None
) -> Iterator[AttemptStart]:
    """Where an attempt ends and another may begin."""
    marks = file.progress.marks if file.progress is not None else ()
    for mark in marks:
        if mark.kind is MarkKind.RESTART:
            yield from (AttemptStart(place.line, place.at_ns) for place in mark.places)
    yield from find_new_processes(rows)
    if course is None:
        return
    failed = sorted(row.line for row in rows if row.role in FAILING and row.line is not None)
    steps = [step.place.line for step in course.counted]
    for mark in marks:
        for place in mark.places if mark.kind is MarkKind.BEGIN else ():
            before = bisect_right(steps, place.line - 1)
            if before and _is_between(failed, steps[before - 1], place.line):
                yield AttemptStart(place.line - 1, place.at_ns)
    launched = sorted(row.line for row in rows if row.kind in _LAUNCHERS and row.line is not None)
    yield from _find_step_falls(course, failed, launched)


def _is_between(lines: Sequence[int], first: int, last: int) -> bool:
    """Whether one of sorted ``lines`` stands behind ``first`` and before ``last``."""
    place = bisect_right(lines, first)
    return place < len(lines) and lines[place] < last


def _find_step_falls(
    course: Course, failed: Sequence[int], launched: Sequence[int]
) -> Iterator[AttemptStart]:
    """Where the count of steps goes back behind a line that fails.

    What a process held back in its buffer goes back, too: so a clock must go on, or a launcher
    must have said between that the workers ended.
    """
    rises = np.diff(course.at)
    each = float(np.median(rises[rises > 0])) if (rises > 0).any() else 1.0
    seats = defaultdict(list)
    for place, step in enumerate(course.counted):
        seats[step.rank, step.local_rank, step.node].append(place)
    for places in seats.values():
        for one, other in pairwise(places):
            if course.at[one] - course.at[other] < _LEAST_FALL * each:
                continue
            first, last = course.counted[one].place, course.counted[other].place
            goes_on = (
                first.at_ns is not None and last.at_ns is not None and last.at_ns > first.at_ns
            )
            if _is_between(failed, first.line, last.line) and (
                goes_on or _is_between(launched, first.line, last.line)
            ):
                yield AttemptStart(last.line - 1, last.at_ns)


def find_new_processes(rows: Iterable[Evidence]) -> Iterator[AttemptStart]:
    """Where most GPUs are joined by another process than before, which is not heard of again."""
    joined = [
        row
        for row in rows
        if row.signature == JOINED and row.pid is not None and row.line is not None
    ]
    # What each process of a seat printed first and last; last is the one that was heard last.
    spans: dict[object, dict[int, tuple[int, int]]] = defaultdict(dict)
    for row in joined:
        pid, line = row.pid or 0, row.line or 0
        # The GPU that a process joins with, as NCCL names it.
        seat = row.node, row.gpu or row.cuda_device or row.local_rank
        first, last = spans[seat].pop(pid, (line, line))
        spans[seat][pid] = min(first, line), max(last, line)
    if not spans:
        return
    first_new, heard_before = {}, {}
    for seat, lines in spans.items():
        *before, newest = lines.values()
        if before:
            first_new[seat] = newest[0]
            heard_before[seat] = max(last for _, last in before)
    moved = [seat for seat, line in heard_before.items() if line < first_new[seat]]
    if not moved or len(moved) < _MOST_NEW * len(spans):
        return
    line = min(first_new[seat] for seat in moved)
    at_ns = next((row.at_ns for row in joined if row.line == line), None)
    yield AttemptStart(line - 1, at_ns)
