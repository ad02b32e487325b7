"""Looks beside the job's own log: which of the two tells of the later moment.

A log that moves up to its own end says nothing of the time after it. Looks that were taken before
its last line of progress are of a job that ran on; later ones decide, whatever the log says.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from triage.analysis.live.look_times import find_local_clock
from triage.analysis.progress.movement import USUAL_GAPS
from triage.domain.category import Category, Role, VerdictKind
from triage.domain.finding import Finding
from triage.domain.live.look import Look
from triage.domain.progress import Health, JobProgress
from triage.parsers.logs.logset import LogFile
from triage.parsers.logs.stamps import SECOND_NS

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
        if self.otherwise is None:
            return self
        return replace(self, moment=LooksTaken.LATER) if stopped else self.otherwise


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
    """A claim that one look at a running job may show by chance."""
    return replace(
        claim,
        kind=VerdictKind.INCONCLUSIVE,
        strength=min(claim.strength, _OF_A_MOMENT),
        role=Role.POSSIBLE,
        advice=claim.advice or "one look alone may be of a job that runs: take a second one",
    )
