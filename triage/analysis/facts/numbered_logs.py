"""Logs whose names hold a number: which of them are of an attempt before the last one.

Most launchers open a log for each attempt and count them, or a scheduler numbers its jobs; ranks
and nodes are numbered as well. Such logs may print no time.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np

from triage.analysis.progress.course import Course
from triage.domain.arrays import F64
from triage.domain.patterns import compile_re
from triage.parsers.logs.logset import LogFile
from triage.parsers.logs.progress.series import Quantity

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
