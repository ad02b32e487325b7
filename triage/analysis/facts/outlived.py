"""What the job outlived did not stop it: lines with more than one step of the same job behind them.

A process that raised an error has ended, or it has handled it: steps behind the line show which.
A part that ailed may ail again, so what a line says of one stays a possible cause, of a time before
the stop. The same holds for what ended an earlier attempt in the same log.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, cast

import numpy as np

from triage.analysis.facts.attempts import (
    MORE_THAN_ONE,
    AttemptStart,
    earlier_by_number,
    has_begun,
    last_attempts,
)
from triage.analysis.facts.stop import (
    AFTER_S,
    CLOCKS_APART_S,
    FAILING,
    MOST_SLACK_S,
    SECOND,
    is_by_process,
    is_condition,
)
from triage.analysis.progress.course import Course, read_course
from triage.domain.arrays import F64
from triage.domain.category import HARDWARE, SOFTWARE, Category
from triage.domain.evidence import KERNEL_KINDS, Evidence, EvidenceRole, Kind, Trait
from triage.parsers.logs.logset import LogFile, LogKind

# Xids that tell what a process did, or what became of it.
OF_A_PROCESS: Final = frozenset({13, 31, 32, 43, 45, 68, 69})
# Where of a log only every so many lines are known, this many lines of progress fit behind it.
_SURELY_MANY: Final = 64.0
# What a process that goes on has got over; parts that ailed, and servers, may do so again.
_GOT_OVER: Final = SOFTWARE | {
    Category.GPU_OOM,
    Category.NUMERICAL,
    Category.DEPENDENCY,
    Category.NCCL_TIMEOUT,
}
# What tells of an end to come, and what is no less true because the job went on for a while.
_NOT_OVER: Final = frozenset({Category.HOST_MAINTENANCE, Category.SDC, Category.STRAGGLER})
# What lines about the end of an attempt ask of the joining.
_OF_AN_END: Final = frozenset(
    {Trait.TIMEOUT, Trait.ENDS_JOB, Trait.RENDEZVOUS, Trait.ROOT_WHEN_ALONE}
)
_SHOWN_CHARACTERS: Final = 90


@dataclass(frozen=True, slots=True)
class Track:
    """The steps of one log: their lines, numbers and times (NaN where none is printed).

    A run is a stretch of lines with one number, as many ranks print it. For each line: where its
    run ends, and the newest time up to it, from it to the end of its run, and from it on.
    """

    course: Course
    lines: Sequence[int]
    run_ends: Sequence[int]
    heard_ns: Sequence[float]
    newest_of_run_ns: Sequence[float]
    newest_behind_ns: Sequence[float]
    num_dated: int
    """Behind so many lines no clock dates one."""
    only_ends_behind: bool
    """Whether nothing fails behind the last of them but that processes ended."""

    @classmethod
    def read(cls, course: Course, beside: Sequence[Evidence]) -> "Track":
        """The steps of one log, of which ``beside`` are the rows by line; what bears no time may
        be the newest.
        """
        newest = np.where(np.isnan(course.ns), np.inf, course.ns)
        last = course.counted[-1].place.line
        failing = [row for row in beside if row.role in FAILING and (row.line or 0) >= last]
        bounds = [0, *(np.flatnonzero(np.diff(course.at)) + 1).tolist(), len(course.at)]
        ends: list[int] = []
        of_run: list[float] = []
        for first, end in pairwise(bounds):
            ends += [end] * (end - first)
            of_run += _compute_running_latest(newest[first:end])
        return cls(
            course,
            [step.place.line for step in course.counted],
            ends,
            np.fmax.accumulate(course.ns).tolist(),
            of_run,
            _compute_running_latest(newest),
            int(np.flatnonzero(~np.isnan(course.ns)).max(initial=-1)) + 1,
            bool(failing) and all(row.kind is Kind.ELASTIC for row in failing),
        )

    def goes_on_behind(self, row: Evidence) -> bool:
        """Whether more than one step of this log stands behind a row of it.

        What stands behind it and was printed earlier was held back in a buffer.
        """
        line = row.line or 0
        place = bisect_right(self.lines, line)
        # No earlier than this it was printed: by its own clock, else by what is above it.
        heard = self.heard_ns[place - 1] if place else np.nan
        if row.stamp.wall_ns is not None and row.at_ns is not None:
            heard = row.at_ns
        since = -np.inf if np.isnan(heard) else heard - SECOND
        at = self.course.at
        before = float(at[place - 1]) if place else None
        steps: set[float | None] = set()
        behind = place
        while behind < len(self.lines) and self.newest_behind_ns[behind] >= since:
            if self.newest_of_run_ns[behind] >= since:
                steps.add(float(at[behind]))
                if len(steps - {before}) >= MORE_THAN_ONE:
                    return True
            behind = self.run_ends[behind]
        if len(self.lines) < 2 or not steps - {before}:
            return False
        first, last = self.course.counted[place - 1 if place else 0], self.course.counted[-1]
        lines = last.place.line - first.place.line
        share = (last.index - first.index) / lines if lines > 0 else 0.0
        return (last.place.line - line) * share >= _SURELY_MANY

    def last_but_one(self, start: AttemptStart | None) -> int | None:
        """When the step before the last one was printed, in the last attempt."""
        first = 0 if start is None else bisect_right(self.lines, start.line)
        at, ns = self.course.at[first:], self.course.ns[first:]
        if not len(at) or np.isnan(ns).any():
            return None
        earlier = ns[at != at[-1]]
        return int(earlier.max()) if len(earlier) else None


def _compute_running_latest(times: F64) -> list[float]:
    """For each of some times the latest from there on."""
    return cast(list[float], np.maximum.accumulate(times[::-1])[::-1].tolist())


def mark_outlived(
    rows: Sequence[Evidence],
    files: Iterable[LogFile],
    *,
    ended_well: bool = False,
    job_id: str | None = None,
) -> tuple[list[Evidence], list[str]]:
    """``rows`` in their order, those that the job outlived as that, and a note of them. A job that
    ``ended_well``, with exit code 0, outlived all that its processes said. ``job_id`` is its number
    where ``job.json`` gives it.

    An outlived row carries :attr:`Trait.OUTLIVED`. What a process got over is noise.
    """
    files = list(files)
    logs = [file for file in files if file.kind is LogKind.JOB and file.progress is not None]
    courses = {file.artifact: course for file in logs if (course := read_course(file)) is not None}
    rows_of: dict[str, list[Evidence]] = defaultdict(list)
    for row in rows:
        rows_of[row.artifact].append(row)
    for own in rows_of.values():
        own.sort(key=lambda row: row.line or 0)
    starts = last_attempts(rows_of, logs, courses)
    tracks = {name: Track.read(course, rows_of[name]) for name, course in courses.items()}
    earlier, begun_ns = _find_earlier_logs(files, courses, job_id)
    clock = _Clock.of(tracks, starts, {file.artifact: file.node for file in logs}, begun_ns)
    kept, told_steps, told_attempts, told_well = [], [], [], []
    for row in rows:
        if not _may_be_outlived(row):
            kept.append(row)
            continue
        start, track = starts.get(row.artifact), tracks.get(row.artifact)
        # What was said again is judged by when it was said last.
        last = move_to_last_line(row)
        is_before = row.artifact in earlier or (start is not None and start.is_before(last))
        if is_before or clock.is_well_before(row, clock.begun_ns):
            told_attempts.append(row)
            kept.append(_mark_row_outlived(row))
        elif ended_well:
            told_well.append(row)
            kept.append(_mark_row_outlived(row))
        elif not _is_to_come(row) and (
            _did_go_on_after(last, track)
            or clock.is_well_before(row, clock.moved_ns)
            or (Trait.AT_START in row.traits and clock.moved_ns is not None)
        ):
            told_steps.append(row)
            kept.append(_mark_row_outlived(row))
        elif last is not row and (
            (start is not None and start.is_before(row)) or _did_go_on_after(row, track)
        ):
            kept.append(last)
        else:
            kept.append(row)
    notes = [
        *_list_notes(
            told_attempts, "of an earlier attempt of the job: only the last one is judged"
        ),
        *_list_notes(told_steps, "not why it stopped: the job went on for more than one step"),
        *_list_notes(told_well, "held against nobody: the job ended with exit code 0"),
    ]
    if clock.begun_ns is None and clock.moved_ns is None:
        kept = _with_faults_behind(kept, told_attempts)
    return _with_habits(kept, rows), notes


def _with_faults_behind(kept: Iterable[Evidence], told: Iterable[Evidence]) -> list[Evidence]:
    """``kept``, what a machine says of the fault that ended an earlier attempt as outlived, too.

    Where no clock dates the last attempt, a fault is that one if processes of an earlier attempt
    met it on the same node (``told``), and none of the last one says so.
    """
    kept = list(kept)
    broke = {row.node for row in told if row.category in HARDWARE and row.node is not None}
    broke -= {
        row.node
        for row in kept
        if row.category in HARDWARE and is_by_process(row) and Trait.OUTLIVED not in row.traits
    }
    return [
        replace(row, traits=row.traits | {Trait.OUTLIVED})
        if row.node in broke and row.kind in KERNEL_KINDS and row.category in HARDWARE
        else row
        for row in kept
    ]


def _find_earlier_logs(
    files: Sequence[LogFile], courses: Mapping[str, Course], job_id: str | None
) -> tuple[frozenset[str], int | None]:
    """The logs that end before another one that prints steps begins, and when that begins: each
    attempt may have a log of its own. Those of the ranks of one attempt overlap. So are logs, dated
    or not, whose names count attempts.
    """
    begins = [
        file.first_at_ns
        for file in files
        if file.first_at_ns is not None and has_begun(courses.get(file.artifact))
    ]
    last = max(begins, default=0)
    earlier = {
        file.artifact for file in files if file.of_a_job and (file.last_at_ns or last) < last
    }
    before = earlier_by_number([file for file in files if file.of_a_job], courses, job_id)
    return frozenset(earlier | before), last if earlier else None


@dataclass(frozen=True, slots=True)
class _Clock:
    """What the clocks of all logs tell of lines in logs that print no steps.

    ``moved_ns`` is when the job printed the last step but one, on ``node``; ``begun_ns`` when its
    last attempt began.
    """

    moved_ns: int | None
    begun_ns: int | None
    node: str | None
    zoned: bool

    @classmethod
    def of(
        cls,
        tracks: Mapping[str, Track],
        starts: Mapping[str, AttemptStart],
        nodes: Mapping[str, str | None],
        begun_ns: int | None,
    ) -> "_Clock":
        """By the log that moved last; ``begun_ns`` is when the log of a later attempt begins."""
        moved = [
            (ns, name)
            for name, track in tracks.items()
            if (ns := track.last_but_one(starts.get(name))) is not None
        ]
        begins = [one.at_ns for one in starts.values() if one.at_ns is not None]
        begun = max([*begins, *([begun_ns] if begun_ns is not None else [])], default=None)
        if not moved:
            return cls(None, begun, None, zoned=False)
        ns, name = max(moved)
        zoned = tracks[name].course.counted[-1].place.stamp.zone_s is not None
        return cls(ns, begun, nodes[name], zoned)

    def is_well_before(self, row: Evidence, ns: int | None) -> bool:
        """Whether a row is well before a time, as far as clocks of two places tell."""
        if ns is None or row.at_ns is None or row.stamp.wall_ns is None:
            return False
        # Two clocks without a zone are of one zone; else what is not known may be hours.
        alike = not self.zoned and row.stamp.zone_s is None
        if not alike and row.error_ns > MOST_SLACK_S * SECOND:
            return False
        same = row.node is not None and row.node == self.node
        least_s = AFTER_S if same else CLOCKS_APART_S
        return (row.last_at_ns or row.at_ns) < ns - least_s * SECOND


def move_to_last_line(row: Evidence) -> Evidence:
    """A row of several lines as that of the last one; the same where it stands for one."""
    if row.last_line == row.line:
        return row
    return replace(row, line=row.last_line, stamp=row.last_stamp, at_ns=row.end_ns)


def _may_be_outlived(row: Evidence) -> bool:
    """Whether it tells of a moment in the life of a process."""
    # What a tool reports of a part is the state of it, whatever the job did meanwhile.
    if row.role not in FAILING or is_condition(row) or Trait.OF_A_REPORT in row.traits:
        return False
    return is_by_process(row) or (row.kind is Kind.XID and row.code in OF_A_PROCESS)


def _is_to_come(row: Evidence) -> bool:
    """Whether it may be true of a later time too; a node that goes away goes when it is said."""
    return row.category in _NOT_OVER and Trait.ROOT_WHEN_ALONE not in row.traits


def _did_go_on_after(row: Evidence, track: Track | None) -> bool:
    """Whether its own log goes on behind a row."""
    if track is None or row.line is None or not track.goes_on_behind(row):
        return False
    # The steps behind an exception may have waited in the buffer of the process that it ended: no
    # clock dates them, and behind them stands nothing but that processes ended.
    is_exception = row.kind in (Kind.PYTHON, Kind.CUDA) and row.role is EvidenceRole.ROOT
    flushed = track.only_ends_behind and bisect_right(track.lines, row.line) >= track.num_dated
    return not (is_exception and flushed)


def _mark_row_outlived(row: Evidence) -> Evidence:
    """The row as one of a time that the job outlived."""
    traits = (row.traits - _OF_AN_END) | {Trait.OUTLIVED}
    is_over = row.role is EvidenceRole.CONSEQUENCE or row.category in _GOT_OVER
    role = EvidenceRole.NOISE if is_over or row.kind is Kind.XID else row.role
    return replace(row, traits=traits, role=role)


def _with_habits(kept: Sequence[Evidence], rows: Sequence[Evidence]) -> list[Evidence]:
    """``kept``, what was made of ``rows``; what one place of a chip said on other days, and says
    again in what the job did not outlive, stays the history of that chip.
    """
    last: dict[tuple[object, ...], int] = {}
    for row in kept:
        if row.at_ns is not None and Trait.OUTLIVED not in row.traits:
            spot = _get_chip_spot(row)
            if spot is not None:
                last[spot] = max(last.get(spot, row.at_ns), row.at_ns)
    whole = []
    for row, before in zip(kept, rows, strict=True):
        spot = _get_chip_spot(row) if Trait.OUTLIVED in row.traits else None
        if spot in last and row.at_ns is not None and last[spot] - row.at_ns > RUNS_APART_NS:
            row = replace(row, role=before.role)
        whole.append(row)
    return whole


def _get_chip_spot(row: Evidence) -> tuple[object, ...] | None:
    """The node, the GPU and the place on it that a program's fault names."""
    if row.kind is not Kind.XID or row.code not in APPLICATION_XIDS or row.gpu is None:
        return None
    place = parse_chip_place(row)
    return None if place is None else (row.node, row.gpu, row.code, place)


def _list_notes(rows: Sequence[Evidence], why: str) -> list[str]:
    """What is not held against anybody; errors alone are named."""
    no_error = (None, Category.NONE, Category.NCCL_TIMEOUT)
    named = [row for row in rows if row.role is EvidenceRole.ROOT or row.category not in no_error]
    if not named:
        return []
    first = named[0]
    text = first.text.strip()
    text = text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "..."
    more = f" and {len(named) - 1} more" if len(named) > 1 else ""
    return [f'{first.artifact}: line {first.line} ("{text}"){more}: {why}']


# What bad code and a bad chip print alike.
APPLICATION_XIDS: Final = frozenset({13, 31, 32, 68, 69})
# Faults further apart than this are not of one run of one program.
RUNS_APART_NS: Final = 6 * 3600 * SECOND


def parse_chip_place(row: Evidence) -> str | None:
    """``GPC 7, TPC 7``: where on the chip a fault was, as far as the line says it."""
    place = row.fields.get("place", "")
    return ", ".join(place.split(", ")[:2]) or None
