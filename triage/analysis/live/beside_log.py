"""Looks beside the job's own log: which of the two tells of the later moment.

A log that moves up to its own end says nothing of the time after it. Looks that were taken before
its last line of progress are of a job that ran on; later ones decide, whatever the log says.

When looks were taken is in their content and the names of their files, else of folders. Most tools
print no time, and names hold that of the cluster, in no zone: it is that of the job's log, which
prints none either.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from triage.analysis.facts.stop import SECOND, is_failing
from triage.analysis.joining.claims import is_accusing, is_proven_by_records
from triage.analysis.live.case import LiveCase
from triage.analysis.live.communicators.rounds import are_looks_moving
from triage.analysis.live.gpus import GpuActivity, classify_activity
from triage.analysis.live.stacks.picture import StackPicture, split
from triage.analysis.live.stacks.program_points import PROGRAMS, get_bare_name
from triage.analysis.live.stacks.rank_stack import RankStack
from triage.analysis.progress.movement import USUAL_GAPS
from triage.analysis.waiting.case import Case
from triage.analysis.waiting.live import Live
from triage.domain.category import Category, Role, VerdictKind
from triage.domain.evidence import NO_STAMP, Evidence, Kind, Stamp, Trait
from triage.domain.finding import Finding
from triage.domain.live.look import Look, Tool
from triage.domain.progress import Health, JobProgress
from triage.parsers.live.file_names import stamp_of_name
from triage.parsers.logs.logset import LogFile, LogKind
from triage.parsers.logs.stamps import DAY_NS, SECOND_NS

# A time in another zone than that of the log may be hours off.
_NOT_A_ZONE_NS: Final = 20 * 60 * SECOND_NS
# What a job does behind the line that says that it is done: its last checkpoint, its export.
_AFTER_THE_END_S: Final = 900.0
# Lines of progress are written to a file some at a time.
_UNWRITTEN_S: Final = 60.0
# Of a job that moves, what one look shows at an unknown time is worth this.
_OF_A_MOMENT: Final = 0.35


class LooksTaken(StrEnum):
    """When looks were taken, seen from the last line of progress."""

    UNKNOWN = "unknown"
    WHILE_IT_MOVED = "while_it_moved"
    BEHIND_ITS_END = "behind_its_end"
    """At a job that may be on its way out, or may stand."""
    LATER = "later"


@dataclass(frozen=True, slots=True)
class LooksBesideLog:
    """``looks`` that the log does not show to be of a job that ran on, and when the last of them
    was taken (``moment``), ``later_s`` behind the last line of progress. ``notes`` are on those
    left out, and ``job_moves`` is whether the looks show that it ran on between two of them.
    """

    looks: tuple[Look, ...] = ()
    moment: LooksTaken = LooksTaken.UNKNOWN
    later_s: float = 0.0
    notes: tuple[str, ...] = ()
    job_moves: bool = False
    otherwise: "LooksBesideLog | None" = None
    """What is left of looks behind the end that show no stop."""

    @property
    def stand_later(self) -> bool:
        """Whether looks that were taken later do not show that the job moved then."""
        return self.moment is LooksTaken.LATER and not self.job_moves

    def decided(self, *, stopped: bool) -> "LooksBesideLog":
        """These, where looks behind the end of the job show that it ``stopped``, or do not."""
        return replace(self, moment=LooksTaken.LATER) if stopped else self.otherwise or self


NO_LOOKS: Final = LooksBesideLog()


def weigh_beside_log(
    looks: Sequence[Look], progress: JobProgress | None, files: Sequence[LogFile]
) -> LooksBesideLog:
    """``looks`` as the course of the job leaves them standing; all, where no clock tells."""
    every = LooksBesideLog(tuple(looks))
    undated = every
    if progress is not None and progress.health.well and progress.is_ended_by_count:
        # Where a count alone says that the job is done, they may be of a stop behind it.
        undated = replace(every, moment=LooksTaken.BEHIND_ITS_END, otherwise=every)
    last = progress.last if progress is not None else None
    if progress is None or last is None or last.at_ns is None:
        return undated
    clock = find_local_clock(files)
    moved_ns = max(last.at_ns, (progress.ended and progress.ended.at_ns) or 0)
    older, newer, latest_ns = [], [], None
    for look in looks:
        at_ns = clock.time_of(look)
        if at_ns is not None and at_ns - moved_ns < -_NOT_A_ZONE_NS and not clock.is_sure(look):
            at_ns = None  # it seems older than the last step by a clock of an unknown zone
        if at_ns is not None and at_ns <= moved_ns:
            older.append(look)
            continue
        newer.append(look)
        if at_ns is not None:
            latest_ns = max(latest_ns or at_ns, at_ns)
    later_s = 0.0 if latest_ns is None else (latest_ns - moved_ns) / SECOND_NS
    if not progress.health.well:
        stands = later_s and progress.health is not Health.SLOWED
        return LooksBesideLog(tuple(newer), LooksTaken.LATER, later_s) if stands else every
    if latest_ns is None and not older:
        return undated
    later = LooksBesideLog(
        tuple(newer), LooksTaken.UNKNOWN, later_s, notes=_note_older_looks(older)
    )
    # For so long a job went on behind its last line, where that is where its log was taken.
    pace_s = USUAL_GAPS * (progress.gap_s or 0.0) if progress.ended is None else _AFTER_THE_END_S
    if later_s <= pace_s:
        dated = [look for look in looks if clock.time_of(look) is not None]
        rest = tuple(look for look in looks if look not in dated)
        moved = LooksBesideLog(rest, LooksTaken.WHILE_IT_MOVED, notes=_note_older_looks(dated))
        if progress.ended is None or not later_s:
            return moved
        return replace(later, moment=LooksTaken.BEHIND_ITS_END, otherwise=moved)
    # The longest silence that the job's own pauses explain, or a buffer that was not written.
    if later_s > max(progress.pause_s or 0.0, _UNWRITTEN_S):
        return replace(later, moment=LooksTaken.LATER)
    return later


def _note_older_looks(older: Sequence[Look]) -> tuple[str, ...]:
    if not older:
        return ()
    more = f" and {len(older) - 1} more" if len(older) > 1 else ""
    return (f"{older[0].artifact}{more}: taken while the job still moved, by its log: not used",)


def select_left_standing(
    claims: Sequence[Finding], health: Health, moment: LooksTaken
) -> list[Finding]:
    """``claims`` beside a log that goes well to its end: that loses no rank, so that a missing file
    was not collected; and what looks show is of another moment, as far as it is.
    """
    kept = []
    over = health is Health.HEALTHY_END
    for claim in claims:
        if claim.is_gap:
            continue
        if not claim.of_looks or claim.late_ms is not None:
            kept.append(claim)
        elif moment is LooksTaken.LATER:
            # Processes that ended in order are gone, and are on their way to it in one look.
            if not over or not (claim.of_a_moment or claim.kind is VerdictKind.CRASH):
                kept.append(claim)
        elif moment is LooksTaken.UNKNOWN and not over:
            # A job that runs waits in each step too: it says nothing of a job that moves.
            all_wait = not (claim.ranks or claim.nodes) and claim.category is Category.NCCL_TIMEOUT
            if (claim.of_a_moment and all_wait) or claim.kind is VerdictKind.STRAGGLER:
                continue
            kept.append(_weaken_as_momentary(claim) if claim.of_a_moment else claim)
    return kept


def _weaken_as_momentary(claim: Finding) -> Finding:
    return replace(
        claim,
        kind=VerdictKind.INCONCLUSIVE,
        strength=min(claim.strength, _OF_A_MOMENT),
        role=Role.POSSIBLE,
        advice=claim.advice or "one look alone may be of a job that runs: take a second one",
    )


# Clocks of zones are ahead of UTC, or behind it, by less.
_MOST_AHEAD_NS: Final = 15 * 3600 * SECOND_NS
_LIVE_KINDS: Final = frozenset({LogKind.LIVE, LogKind.CHECKS, LogKind.TELEMETRY})


def with_times_of_folders(looks: Sequence[Look], files: Sequence[LogFile]) -> list[Look]:
    """``looks``, the undated ones with the time in the name of the innermost folder that has one.

    A folder in which logs lie too is that of a run: its name tells when that began.
    """
    logs = [file.artifact for file in files if file.kind not in _LIVE_KINDS]
    stamps = {"": NO_STAMP}

    def stamp_of(folder: str) -> Stamp:
        if folder not in stamps:
            above, _, name = folder.rpartition("/")
            of_a_run = any(log.startswith(f"{folder}/") for log in logs)
            own = NO_STAMP if of_a_run else stamp_of_name(name)
            stamps[folder] = stamp_of(above) if own == NO_STAMP else own
        return stamps[folder]

    return [
        look
        if look.stamp.wall_ns is not None
        else replace(look, stamp=stamp_of(look.artifact.rpartition("/")[0]))
        for look in looks
    ]


@dataclass(frozen=True, slots=True)
class LocalClock:
    """How far the clock of times without a zone is ahead of UTC.

    ``sure`` is whether the job's log prints no zone either: then both are of one clock.
    """

    ahead_ns: int = 0
    sure: bool = False

    def time_of(self, look: Look) -> int | None:
        """When a look was taken, in UTC; None where nothing says it, or where it shows no moment.

        GPUs are of a moment of the job only while they are busy.
        """
        if look.tool is Tool.INSPECTOR:
            return None  # it tells of many operations
        if look.gpus and not any(classify_activity(one) in _BUSY for one in look.gpus):
            return None
        sampled = [one.at_ns for one in look.gpus if one.at_ns is not None]
        if sampled:
            return max(sampled)
        at_ns = look.stamp.wall_ns
        if at_ns is None:
            return None
        zone_s = look.stamp.zone_s
        return at_ns - (self.ahead_ns if zone_s is None else zone_s * SECOND_NS)

    def is_sure(self, look: Look) -> bool:
        """Whether the zone of a look's time is known."""
        in_utc = look.stamp.zone_s is not None or any(one.at_ns is not None for one in look.gpus)
        return self.sure or in_utc


_BUSY: Final = frozenset({GpuActivity.SPINS, GpuActivity.WORKS})


def find_local_clock(files: Sequence[LogFile]) -> LocalClock:
    """The clock of times without a zone, by the job logs; UTC where these do not tell."""
    printed: list[int] = []
    for file in sorted(files, key=lambda one: one.artifact):
        stamp, at_ns = file.last_stamp, file.last_at_ns
        if file.kind is not LogKind.JOB or stamp.wall_ns is None or at_ns is None:
            continue
        if stamp.zone_s is None:
            ahead_ns = stamp.wall_ns - at_ns
            if not stamp.has_year:
                ahead_ns = (ahead_ns + DAY_NS // 2) % DAY_NS - DAY_NS // 2
            if abs(ahead_ns) < _MOST_AHEAD_NS:
                return LocalClock(ahead_ns, sure=True)
        else:
            printed.append(stamp.zone_s * SECOND_NS)
    return LocalClock(printed[0] if printed else 0)


# Looks soon behind the end of a job: whether they show that it stands all the same. "Training
# completed" is what one rank says, and the bar of an epoch is full before its evaluation. What
# follows in order is a last checkpoint, an export or an upload, for which the other ranks wait in
# a barrier, and the end of the processes. Anything else that two looks show alike is a stop.

_ENDS: Final = PROGRAMS["ends"]
_ENDING: Final = frozenset({"finalize", "abort"})
_OF_STACKS: Final = "stacks."
_OF_COUNTERS: Final = "ras."
# What only counts operations does not tell a barrier from a step, nor what is done meanwhile.
_BY_COUNTERS: Final = 0.5


def stops_behind_the_end(case: LiveCase, claims: Iterable[Finding]) -> list[Finding]:
    """Of ``claims`` of looks those of a job that stands behind its end; none where what they show
    is how jobs end, or is of other processes than the job's.
    """
    standing = [
        one
        for one in claims
        if one.kind is VerdictKind.HANG
        and not one.of_a_moment
        and one.detector.startswith((_OF_STACKS, _OF_COUNTERS))
    ]
    if not standing or are_looks_moving(case):
        return []
    # The job's log numbers its processes, and none of those that were looked at is one.
    own = {pid for _, pid in case.fleet.rank_by_pid}
    seen = {process.pid for look in case.looks for process in look.list_processes()} - {None}
    if own and seen and not own & seen:
        return []
    communicators = (one for look in case.looks for one in look.communicators)
    if any(member.status in _ENDING for one in communicators for member in one.ranks):
        return []
    if not case.picture.telling:
        return [
            replace(one, role=Role.POSSIBLE, strength=min(one.strength, _BY_COUNTERS))
            for one in standing
        ]
    if _ends_in_order(case.picture):
        return []
    return [one for one in standing if one.detector.startswith(_OF_STACKS)]


def _ends_in_order(picture: StackPicture) -> bool:
    waiting, outside = split(picture)
    if outside:
        return any(_stands_in(one.example, _ENDS["leaves"]) for one in outside)
    return all(_stands_in(one, _ENDS["meets"]) for one in waiting)


def _stands_in(stack: RankStack, names: Collection[str]) -> bool:
    """Whether it is at a point of the end, or a frame is in a function of one of these names."""
    return stack.point in _ENDS["points"] or any(
        get_bare_name(frame) in names for frame in stack.frames
    )


# Claims of looks beside those of the dumps: two sources of one hang.
#
# Dumps say what a rank issued, in order; a look says where it stands at one moment. Where both
# name a rank they are two witnesses. Where the dumps prove another one, the look may be of another
# moment. Where dumps leave open whether the job still ran, its logs say so.

# What a look is worth against a record that proves another place.
_AGAINST_PROOF: Final = 0.4


def weigh_beside_dumps(of_looks: Sequence[Finding], of_dumps: Sequence[Finding]) -> list[Finding]:
    """``of_looks``, as far as the claims of the dumps leave them standing."""
    named = {rank for claim in of_dumps if is_accusing(claim) for rank in claim.ranks}
    proven = {rank for claim in of_dumps if is_proven_by_records(claim) for rank in claim.ranks}
    return [
        replace(claim, strength=min(claim.strength, _AGAINST_PROOF), role=Role.POSSIBLE)
        if proven and claim.ranks and proven.isdisjoint(claim.ranks)
        else claim
        for claim in of_looks
        if claim.ranks or claim.nodes or not named
    ]


# Dumps that do not prove it leave the question to the logs: a watchdog that gave up is of a
# job that stood still, and progress behind the last record is of one that went on.

_GAVE_UP: Final = "c10d.watchdog_timeout"
# Progress printed this long after the last entry of any dump: the job went on behind them.
_GOES_ON_NS: Final = 20 * SECOND


def _list_own_timeouts(evidence: Iterable[Evidence]) -> dict[int, frozenset[int]]:
    """Rank -> the numbers of the operations in which its own watchdog gave up."""
    numbers: dict[int, set[int]] = defaultdict(set)
    for row in evidence:
        number = row.fields.get("seq_id", "")
        if row.signature == _GAVE_UP and row.rank is not None and Trait.OUTLIVED not in row.traits:
            numbers[row.rank] |= {int(number)} if number.isdecimal() and len(number) < 12 else set()
    return {rank: frozenset(its) for rank, its in numbers.items()}


def with_logs(case: Case, evidence: Sequence[Evidence]) -> Case:
    """``case`` as its logs correct it; the same where they say nothing of it."""
    case = replace(case, gave_up_in=_list_own_timeouts(evidence))
    if case.live.proved and not case.live.by_age:
        return case
    last_ns = max((digest.last_created_ns or 0 for digest in case.snapshot.digests), default=0)
    # A watchdog gave up, and not before the last record.
    given_up = any(
        Trait.TIMEOUT in row.traits and (row.at_ns is None or row.at_ns >= last_ns)
        for row in evidence
    )
    if case.in_flight and given_up:
        return replace(case, live=Live(0.0, ("the watchdogs of the job gave up",)))
    # The job prints progress well behind the last record, and no failing line.
    goes_on = any(
        row.kind is Kind.PROGRESS and (row.last_at_ns or row.at_ns or 0) > last_ns + _GOES_ON_NS
        for row in evidence
    )
    if last_ns and goes_on and not any(is_failing(row) for row in evidence):
        return replace(case, live=Live(1.0, ("its log goes on behind the dumps",)))
    return case
