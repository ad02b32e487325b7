"""Where the last attempt of a job begins in a log that holds several.

A launcher starts its workers again into the same log, and a scheduler puts a job back into its
queue whose output is appended. What ended the attempts before is over when the next one runs: only
the last one is judged. An attempt that never got so far as to meet or to step is judged together
with the one before it.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np

from triage.analysis.facts.stop import FAILING, SECOND
from triage.analysis.placement.gpu_names import JOINED
from triage.analysis.progress.course import Course
from triage.domain.arrays import F64
from triage.domain.evidence import Evidence, Kind
from triage.domain.patterns import compile_re
from triage.parsers.logs.logset import LogFile
from triage.parsers.logs.progress.series import MarkKind, Quantity

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
        own = spans[row.node, row.gpu or row.cuda_device or row.local_rank]
        first, last = own.pop(pid, (line, line))
        own[pid] = min(first, line), max(last, line)
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


# Logs whose names hold a number may be of an attempt before the last one. Most launchers open a log
# for each attempt and count them, or a scheduler numbers its jobs; ranks and nodes are numbered as
# well. Such logs may print no time.

# So many steps behind a line: one may have been under way, or wait in a buffer.
MORE_THAN_ONE: Final = 2
_NUMBER: Final = compile_re(r"\d{1,12}")
# "attempt_0/3/stderr.log", as torchrun names them, "train-restart1.log"
_COUNTED: Final = compile_re(r"(?i)(?<![a-z])(?:attempt|restart|retry|try)[_.-]?$")
# slurm-4711.out
_SUBMITTED: Final = compile_re(r"(?:^|/)slurm-$")
# What a launcher appends to the name of a folder of its own.
_OF_CHANCE: Final = compile_re(r"_[a-z0-9_]{8}/(?=[^/]*$)")


def has_begun(course: Course | None) -> bool:
    """Whether a log prints more than one step."""
    return course is not None and len(course.counted) >= MORE_THAN_ONE


@dataclass(frozen=True, slots=True)
class _Counter:
    """One number in the name of a log. Logs of one ``scope``, the text before it, may be counted
    by it; those of one ``rest`` too are the same log of other attempts, or of other ranks.
    """

    scope: str
    rest: str
    number: int


def earlier_by_number(
    files: Sequence[LogFile], courses: Mapping[str, Course], job_id: str | None
) -> set[str]:
    """The logs that a number in their name puts before the last attempt.

    The word before a number may say that it counts attempts, and the number of a job does. Else
    the steps tell: those of the later log go on where those of the earlier one end, and ranks
    begin alike.
    """
    counters = _in_one_scope(
        files,
        {
            name: tuple(
                _Counter(name[: found.start()], name[found.end() :], int(found[0]))
                for found in _NUMBER.finditer(name)
            )
            for name in (file.artifact for file in files)
        },
    )
    submitted = {
        str(one.number)
        for own in counters.values()
        for one in own
        if _SUBMITTED.search(one.scope) is not None
    }
    last_job = job_id if job_id in submitted else None
    newest: dict[str, int] = {}
    alike: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    for name, own in counters.items():
        for one in own if has_begun(courses.get(name)) else ():
            # Where ``job.json`` names one of the jobs that logs are of, no number above it counts.
            of_a_job = _SUBMITTED.search(one.scope) is not None
            counts = _COUNTED.search(one.scope) is not None
            if last_job in (None, str(one.number)) if of_a_job else counts:
                newest[one.scope] = max(one.number, newest.get(one.scope, 0))
            alike[one.scope, one.rest].append((one.number, name))
    for (scope, _), logs in alike.items():
        for (_, first), (number, second) in pairwise(sorted(logs)):
            if _is_continued(courses[first], courses[second]):
                newest[scope] = max(number, newest.get(scope, 0))
    return {
        name
        for name, own in counters.items()
        if any(one.number < newest.get(one.scope, 0) for one in own)
    }


def _in_one_scope(
    files: Sequence[LogFile], counters: Mapping[str, tuple[_Counter, ...]]
) -> dict[str, tuple[_Counter, ...]]:
    """The counters of attempts with one scope for all nodes: each agent of torchrun makes a folder
    of its own, with a name of chance. Not where a node has several: attempts count anew in each.
    """
    folders: dict[tuple[str, str], set[str]] = defaultdict(set)
    scopes: dict[str, str] = {}
    for file in files:
        for one in counters[file.artifact]:
            if _COUNTED.search(one.scope) is not None:
                parts = [part for part in one.scope.split("/") if part != file.node]
                scopes[one.scope] = scope = _OF_CHANCE.sub("/", "/".join(parts))
                folders[scope, file.node or ""].add(one.scope)
    several = {scope for (scope, _), own in folders.items() if len(own) > 1}
    return {
        name: tuple(
            replace(one, scope=scopes[one.scope])
            if scopes.get(one.scope, one.scope) not in several and one.scope in scopes
            else one
            for one in own
        )
        for name, own in counters.items()
    }


def _is_continued(first: Course, second: Course) -> bool:
    """Whether the steps of one log go on where those of another end: from its last checkpoint on,
    which lies in its second half, or from its first step behind it, for more than one step.
    """
    one, other = _steps_or_epochs(first), _steps_or_epochs(second)
    if one is None or other is None:
        return False
    rises = np.diff(one)
    each = float(np.median(rises[rises > 0])) if (rises > 0).any() else 0.0
    begun, ended = float(one[0]), float(one.max())
    resumed = float(other[0])
    return (
        each > 0
        and max(begun + each, (begun + ended) / 2) <= resumed <= ended + 2 * each
        and len(np.unique(other[other > ended])) >= MORE_THAN_ONE
    )


def _steps_or_epochs(course: Course) -> F64 | None:
    """The step of each line, else the epoch; None where the lines count neither."""
    for quantity in (Quantity.STEP, Quantity.EPOCH):
        if all(quantity in line.values for line in course.counted):
            has_steps = quantity is Quantity.STEP
            return (
                course.at if has_steps else np.array([x.values[quantity] for x in course.counted])
            )
    return None
