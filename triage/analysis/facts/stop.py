"""When the job stopped, and whether it did: what every other time is held against.

A stop begins when ranks begin to wait, or when the first process says that it
fails; it ends when the job is given up, often one watchdog timeout later.
Without any sign of trouble a job is healthy, whatever its kernels complain of.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from triage.domain.category import Category
from triage.domain.evidence import (
    BY_PEOPLE,
    ECHO,
    KERNEL_KINDS,
    LASTING,
    Evidence,
    EvidenceRole,
    Kind,
    Trait,
)
from triage.domain.patterns import compile_re

SECOND: Final = 1_000_000_000
# A root is printed at most this long before the stop that it causes ...
BEFORE_S: Final = 90
# ... or after it ...
AFTER_S: Final = 15
# ... by a clock that is known to this; one that is known worse may be hours off.
MOST_SLACK_S: Final = 300
# Clocks of two nodes that nothing compares may be so far apart.
CLOCKS_APART_S: Final = 900
# What the time of a line is off by at most that prints no zone.
NO_ZONE_NS: Final = 14 * 3600 * SECOND
# An operation is issued before it runs, often by a step: what breaks it comes behind its issue.
IN_FLIGHT_S: Final = 60
# ... an ailing part may say so this long before; what is older belongs to another day's trouble.
STALE_S: Final = 3600
DAY_S: Final = 86_400
# For this long a machine prints what it is, not what broke: until its last daemon has started.
_BOOT_S: Final = 300
# How long a job may have waited before its end, where only the end is known: a watchdog gives up
# after half an hour at most, and the end is reported soon after that.
TIMEOUT_S: Final = 2400
# Lines of these kinds are printed by processes that fail, not by machines that ail.
JOB_KINDS: Final = frozenset(
    {Kind.NCCL, Kind.CUDA, Kind.PYTHON, Kind.ELASTIC, Kind.SCHEDULER, Kind.NUMERICS, Kind.DATA}
)
_JOB_FAMILIES: Final = frozenset({"storage", "gpu_tool"})
# A monitor of temperatures looks every few minutes; an end is announced minutes ahead.
_LASTING_S: Final = 900
FAILING: Final = frozenset({EvidenceRole.ROOT, EvidenceRole.CONSEQUENCE})


class When(StrEnum):
    """Where a time lies, seen from the stop."""

    AT = "at"
    BEFORE = "before"
    STALE = "stale"
    AFTER = "after"
    UNDATED = "undated"
    TEARDOWN = "teardown"
    """After the job was given up: what then fails, fails because of that."""
    BOOT = "boot"
    """While its machine started, at another time than that of the stop."""


NEAREST_FIRST: Final = (
    When.AT,
    When.AFTER,
    When.UNDATED,
    When.BEFORE,
    When.TEARDOWN,
    When.BOOT,
    When.STALE,
)
# What is of another time ...
EARLIER: Final = frozenset({When.BEFORE, When.STALE, When.BOOT})
# ... and what is not.
ABOUT_THE_STOP: Final = frozenset({When.AT, When.AFTER, When.UNDATED})


@dataclass(frozen=True, slots=True)
class Stop:
    """The stop in ns since the epoch; None where nothing says it.

    ``start_ns`` is when ranks began to wait or to fail, ``end_ns`` when the job was
    given up. ``known`` is whether the start was seen and not only guessed from the end.
    ``trouble`` is whether anything says that the job did not go well.
    """

    start_ns: int | None
    end_ns: int | None
    known: bool
    trouble: bool
    job_seen: bool
    error_ns: int = 0
    """How far the start may be off: hours, where the zone of the lines that tell it is unknown."""
    seen: bool = True
    """Whether dumps or lines show the trouble; else ``job.json`` alone speaks of it."""
    given_up_ns: int | None = None
    """When the first process gave up waiting, or the job was ended: teardown begins here."""
    boots: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Node -> its boots that logs date, ascending."""
    given_up_lines: Mapping[str, int] = field(default_factory=dict)
    """Artifact -> the line of its first watchdog, where its lines stand in the order of time."""
    after_s: int = AFTER_S
    """How long behind the start a cause may still be told."""
    begun_ns: int | None = None
    """Before this the job did not run, where ``job.json`` says when it began."""
    loads: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Node -> when its GPU driver was loaded, ascending."""
    ended_well: bool = False
    """Whether ``job.json`` or the scheduler says that the job ended with exit code 0."""
    ended_ns: int | None = None
    """After this the job did not run, where ``job.json`` says when it failed."""
    lived_ns: int | None = None
    """At this time the job ran: where nothing else tells, long enough before its stop."""
    looked: Mapping[str, int] = field(default_factory=dict)
    """Node -> when processes of the job were first seen on it."""
    moved_ns: int | None = None
    """When the job printed its last progress."""
    moved: bool = False
    """Whether the job printed progress."""

    @property
    def machines_alone(self) -> bool:
        """Whether nothing of a job was brought: then logs are asked what ails their machines."""
        return not (self.trouble or self.job_seen or self.moved or self.looked or self.ended_well)

    def when(self, at_ns: int | None, error_ns: int = 0, before_s: int = BEFORE_S) -> When:
        """Where ``at_ns``, known to ``error_ns``, lies; at the stop from ``before_s`` on."""
        if at_ns is None or (self.start_ns is None and self.end_ns is None):
            return When.UNDATED
        early = self.start_ns if self.start_ns is not None else self.end_ns
        late = self.end_ns if self.end_ns is not None else self.start_ns
        if early is None or late is None:
            return When.UNDATED
        slack = self._measure_slack_ns(error_ns)
        before = before_s if self.known else TIMEOUT_S
        if not self.known and self.moved_ns is not None and self.moved_ns < early:
            # It had not stopped when it moved.
            moved_s = (early - self.moved_ns) // SECOND
            before = min(before, before_s + CLOCKS_APART_S + moved_s)
        if at_ns > early + self.after_s * SECOND + slack:
            given_up = self.given_up_ns
            if given_up is not None and at_ns > given_up + AFTER_S * SECOND + slack:
                return When.TEARDOWN
            return When.AFTER
        if at_ns >= early - before * SECOND - slack:
            return When.AT
        return When.BEFORE if at_ns >= early - STALE_S * SECOND - slack else When.STALE

    def _measure_slack_ns(self, error_ns: int) -> int:
        """How far a time that is known to ``error_ns`` may lie from where it seems to."""
        if min(error_ns, self.error_ns) >= NO_ZONE_NS:
            # Neither prints its zone, so they are of one: what is unknown of both is the same.
            error_ns -= NO_ZONE_NS
        return min(error_ns, MOST_SLACK_S * SECOND)

    def _is_of_its_end(self, row: Evidence) -> bool:
        """Whether a row tells what ends bring about, and the job was given up before it."""
        if row.category not in OF_AN_END or row.at_ns is None:
            return False
        ends = [ns for ns in (self.given_up_ns, self.end_ns) if ns is not None]
        first = min(ends, default=None)
        if first is None or (self.start_ns is not None and first <= self.start_ns):
            return False
        return row.at_ns - self._measure_slack_ns(row.error_ns) > first + _ROUNDED_S * SECOND

    def of(self, row: Evidence) -> When:
        """Where a row of evidence lies; a flood that lasts into the stop is not of another day."""
        if Trait.OUTLIVED in row.traits:
            return When.BEFORE
        if Trait.FOUND_OUT in row.traits:
            return When.UNDATED
        if self.is_of_another_life(row):
            return When.STALE
        if self._is_of_its_end(row):
            return When.TEARDOWN
        first = self.when(row.at_ns, row.error_ns)
        at_ns = row.at_ns
        if first is When.AFTER and self.ended_ns is not None and at_ns is not None:
            # The job had ended, for certain.
            first = When.TEARDOWN if at_ns - row.error_ns > self.ended_ns else first
        if first in _MAY_BE_A_BOOT and self.while_it_boots(row):
            return When.BOOT
        if first is When.UNDATED and row.category in OF_AN_END:
            # Its log tells before it that a rank gave up waiting.
            gave_up = self.given_up_lines.get(row.artifact)
            if gave_up is not None and (row.line or 0) > gave_up:
                return When.TEARDOWN
        age_s = _read_seconds(row, "age_s")
        if first is When.UNDATED and age_s is not None and age_s > STALE_S:
            return When.STALE if age_s > DAY_S else When.BEFORE
        if is_condition(row) and self.when(row.last_at_ns, row.error_ns, _LASTING_S) is When.AT:
            return When.AT
        if first in (When.STALE, When.BEFORE) and row.last_at_ns is not None:
            # What goes on up to the stop is of the stop; what began days ago is its habit.
            last = self.when(row.last_at_ns, row.error_ns)
            if first is When.BEFORE:
                return When.AT if last is When.AT else first
            return first if last is When.STALE else When.BEFORE
        return When.AFTER if first is When.TEARDOWN and self.is_found_late(row) else first

    def is_of_another_life(self, row: Evidence) -> bool:
        """Whether a row is of a time before the job began, or before its machine, or the driver of
        its GPU, was started again and the job ran after that.
        """
        if row.end_ns is None:
            return False
        at_ns = row.end_ns + row.error_ns
        # Without a zone it is hours off at most; what is known worse may be of any year.
        is_dated = row.error_ns < DAY_S * SECOND
        if self.begun_ns is not None and is_dated and at_ns < self.begun_ns:
            return True
        if row.error_ns > MOST_SLACK_S * SECOND:
            return False
        if row.kind not in KERNEL_KINDS:
            return False
        seen_ns = self.looked.get(row.node or "")
        if seen_ns is not None and at_ns < seen_ns - DAY_S * SECOND:
            return True  # a process that it took with it would not be there a day later
        lived_ns = max((ns for ns in (self.lived_ns, seen_ns) if ns is not None), default=None)
        if lived_ns is None:
            return False
        starts = [*self.boots.get(row.node or "", ())]
        if row.kind in _OF_THE_DRIVER:
            starts += self.loads.get(row.node or "", ())
        # Kernels tell of what went before while they start.
        return any(at_ns < ns - _BOOT_S * SECOND < ns <= lived_ns for ns in starts)

    def is_found_late(self, row: Evidence) -> bool:
        """Whether a test or a watch found behind the end of the job what was wrong at the stop."""
        if row.category is Category.SDC:
            return True
        tells_later = Trait.OF_A_REPORT in row.traits or is_of_a_health_check(row)
        tells_later = tells_later or ECHO in row.fields
        # A machine that went down tells of its processor or memory once it is up again.
        tells_later = tells_later or (
            row.category in _FOUND_AT_BOOT and row.is_firm and not row.is_mild
        )
        if not tells_later or row.at_ns is None:
            return False
        end_ns = self.given_up_ns
        return end_ns is None or row.at_ns - end_ns <= TIMEOUT_S * SECOND

    def while_it_boots(self, row: Evidence) -> bool:
        """Whether a row is of the minutes in which its machine started, beside those of a job."""
        if self.machines_alone:
            return False
        uptime = row.stamp.uptime_ns
        if uptime is not None and uptime < _BOOT_S * SECOND:
            return True
        if row.at_ns is None:
            return False
        for starts in (self.boots.get(row.node or "", ()), self.loads.get(row.node or "", ())):
            last = bisect_right(starts, row.at_ns)
            if last > 0 and row.at_ns - starts[last - 1] < _BOOT_S * SECOND:
                return True
        return False


def is_at_end_of_boot_log(row: Evidence) -> bool:
    """Whether it counts from boot alone, and stands in the last minutes of a log of days.

    A log is taken soon after a stop: an error of another day is there by rare chance.
    """
    age_s, log_s = _read_seconds(row, "age_s"), _read_seconds(row, "log_s")
    return age_s is not None and log_s is not None and age_s <= TIMEOUT_S and log_s >= DAY_S


def _read_seconds(row: Evidence, name: str) -> int | None:
    """A field of a row that counts seconds."""
    text = row.fields.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else None


# What a driver that is loaded anew begins afresh with.
_OF_THE_DRIVER: Final = frozenset({Kind.XID, Kind.SXID, Kind.GPU, Kind.ECC})
_FOUND_AT_BOOT: Final = frozenset({Category.CPU, Category.HOST_MEMORY})
# What the end of a job itself brings about: memory runs out while processes tell what they did, and
# libraries crash in processes that are aborted ("munmap_chunk(): invalid pointer").
OF_AN_END: Final = frozenset({Category.GPU_OOM, Category.HOST_OOM, Category.SOFTWARE_FRAMEWORK})
# Ends are told to the second, by another clock than the one that dates what follows.
_ROUNDED_S: Final = 2
# Lines at the stop or after it count for the job, also where a machine restarts.
_MAY_BE_A_BOOT: Final = frozenset({When.BEFORE, When.STALE, When.UNDATED})


def is_condition(row: Evidence) -> bool:
    """Whether it tells of a condition that lasts, rather than of a moment."""
    return LASTING in row.fields or row.kind is Kind.THERMAL


# What is no sign that the job failed: others' processes, and what was printed when all was over, or
# when it went on.
_NO_FAILURE: Final = frozenset({Trait.NOT_THE_JOB, Trait.TEARDOWN, Trait.OUTLIVED})


def is_failing(row: Evidence) -> bool:
    """Whether a process of the job says that it failed, or was made to.

    What is flushed when a process goes is of its end, whenever that comes; a notice of what
    will end a node comes before it.
    """
    # The last line of a traceback, unless somebody says that it is tried again.
    raised = row.family in _JOB_FAMILIES and _RAISED.match(row.text) is not None
    speaks = row.kind in JOB_KINDS or raised
    speaks &= BY_PEOPLE not in row.fields  # they quote what a process said, hours later
    fails = row.role in FAILING and speaks and LASTING not in row.fields
    return fails and row.traits.isdisjoint(_NO_FAILURE)


# OSError: [Errno 28] No space left on device; botocore.exceptions.ClientError: An error occurred
_RAISED: Final = compile_re(
    r"(?:[A-Za-z_]\w*\.){0,8}[A-Z]\w{0,60}(?:Error|Exception)\b(?!.*\bretry)"
)


# nhc[812]: ERROR:  nhc:  Health check failed:  check_gpu_health:  GPU 0000:90:00.0: ...
_HEALTH_CHECK: Final = compile_re(
    r"\bhealth[ _-]?check\w* failed\b|\bcheck_\w{0,30}gpu\w{0,30}:", re.IGNORECASE
)


def is_of_a_health_check(row: Evidence) -> bool:
    """Whether a health check found it, in whatever words."""
    return _HEALTH_CHECK.search(row.text) is not None


def is_at_own_stop(row: Evidence, when: When) -> bool:
    """Whether a row shows at the stop, or while ranks waited.

    What a process prints without a time is of its own end.
    """
    return when in (When.AT, When.AFTER) or (when is When.UNDATED and is_by_process(row))


def is_by_process(row: Evidence) -> bool:
    """Whether a process of the job says it, rather than the machine below it."""
    return row.kind in JOB_KINDS or row.family in _JOB_FAMILIES


# A time whose zone nobody knows is the local time of its log, and no moment in UTC. Without a year
# it is no time: a year that is made up sends whoever reads it to the wrong day.

_NO_YEAR_NS: Final = 300 * DAY_S * SECOND
# Ends are reported a little before the last line is written.
_SLACK_NS: Final = 60 * SECOND


def state_time(
    at: datetime | None, rows: Iterable[Evidence], stop: Stop, failed_at_ns: int | None
) -> tuple[datetime | None, tuple[str, ...]]:
    """``at`` without its zone where that is not known, None where its year is not, and why."""
    if at is None:
        return None, ()
    ns = int(at.timestamp() * 1000) * 1_000_000
    errors = [
        row.error_ns
        for row in rows
        if row.at_ns is not None and 0 <= row.at_ns - ns < 2_000_000 and row.line is not None
    ]
    begins = stop.start_ns if stop.start_ns is not None else stop.end_ns
    if not errors and begins is not None and abs(begins - ns) < 2_000_000:
        errors = [stop.error_ns]
    error_ns = min(errors, default=0)
    if error_ns >= _NO_YEAR_NS:
        day = f"{at:%d %B %H:%M:%S}"
        return None, (f"the stop is of {day} by its log, in a year that no line tells",)
    if error_ns >= NO_ZONE_NS:
        return at.replace(tzinfo=None), (
            "the time of the stop is that of its log, whose zone nothing tells",
        )
    if failed_at_ns is not None and ns > failed_at_ns + _SLACK_NS:
        late_s = (ns - failed_at_ns) // SECOND
        return at, (f"the logs date the stop {late_s} s behind failed_at of job.json",)
    return at, ()
