"""When the job stopped, as dumps, job logs and ``job.json`` tell it.

A stop begins when ranks begin to wait, or when the first process says that it fails; it ends when
the job is given up, often one watchdog timeout later. Without any sign of trouble a job is
healthy, whatever its kernels complain of.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import numpy as np

from triage.analysis.facts.stop import (
    AFTER_S,
    BEFORE_S,
    CLOCKS_APART_S,
    DAY_S,
    IN_FLIGHT_S,
    JOB_KINDS,
    NO_ZONE_NS,
    SECOND,
    STALE_S,
    TIMEOUT_S,
    Stop,
    is_failing,
)
from triage.analysis.waiting.case import Case
from triage.domain.category import Category
from triage.domain.evidence import Evidence, EvidenceRole, Kind, Trait
from triage.domain.job import Job
from triage.domain.progress import ProgressPoint

# A date known no better than this is a guess: of a zone, a year or a boot.
_GUESSED_NS: Final = 1800 * SECOND


# Schedulers say that a job began when its nodes begin to be prepared.
_BEGAN_SLACK_NS: Final = 60 * SECOND
_NOT_LOOKED: Final[Mapping[str, int]] = {}
# What is printed within this of the first failing line came with it.
_AT_ONCE_S: Final = 5


@dataclass(frozen=True, slots=True)
class DumpSigns:
    """What the dumps show of the stop; by default, that there are none.

    ``all_entered`` is whether all ranks are in an operation that does not end, ``ahead_ns`` how
    far the clock of a rank is ahead.
    """

    case: Case | None = None
    all_entered: bool = False
    ahead_ns: Callable[[int], int] = lambda _rank: 0


def find_stop(
    dumps: DumpSigns,
    evidence: Sequence[Evidence],
    facts: Job,
    at: datetime | None,
    moved: ProgressPoint | None = None,
    looked: Mapping[str, int] = _NOT_LOOKED,
) -> Stop:
    """The stop as dumps, job logs and ``job.json`` tell it, in that order of trust.

    ``moved`` is where the job last printed progress, ``looked`` per node when its processes were
    first seen there.
    """
    moved_ns = moved.at_ns if moved is not None else None
    stuck = find_wait_start_ns(dumps.case, dumps.ahead_ns)
    alive_ns = _last_record(dumps.case, dumps.ahead_ns)
    began, ended = _find_life(facts, evidence, stuck, alive_ns)
    failing = [
        row for row in evidence if is_failing(row) and not _is_before_the_job(row, alive_ns, began)
    ]
    printed = _list_failing_times(failing)
    # The newest time that tells of a failure, else of anything.
    failures = [*printed, *([stuck] if stuck is not None else [])]
    dated = failures or (row.at_ns for row in evidence if row.at_ns is not None)
    newest = max(dated, default=None)
    end = _find_stated_end_ns(facts, at, newest, printed)
    if end is not None:
        printed = [ns for ns in printed if ns >= end - 2 * STALE_S * SECOND]
    start, gave_up = _find_beginning(
        stuck, _list_watchdog_starts(failing), printed, failing, moved_ns
    )
    start_is_known = start is not None and start != gave_up
    if end is None and printed:
        end = printed[-1]
    if start is None and end is None:
        end = _last_record(dumps.case, dumps.ahead_ns)
    stop_ns = start if start is not None else end
    if began is not None and stop_ns is not None and stop_ns < began:
        began = None  # its clock is another one
    boots, loads = _collect_boots(evidence)
    error_ns = 0
    # When the job ran for certain, by the clock of any node: it moved or waited somewhat later.
    seen_ns = [moved_ns, start if start_is_known else None]
    alive = [ns - CLOCKS_APART_S * SECOND for ns in seen_ns if ns is not None]
    lived = max([*alive, *([began] if began is not None else [])], default=None)
    if start is None and end is None:
        # Without a job's own sign the last fault is asked about, but for what was before it.
        before = Stop(None, None, known=False, trouble=False, job_seen=False, boots=boots)
        before = replace(before, loads=loads, begun_ns=began, lived_ns=lived, looked=looked)
        roots = [
            row
            for row in evidence
            if row.role is EvidenceRole.ROOT and not before.is_of_another_life(row)
        ]
        start = max(_list_times([row for row in roots if row.is_firm] or roots), default=None)
        if start is None and looked:
            end = max(looked.values())
        # The job tells its failure without a clock ...
        moved_after = (
            start is not None and moved_ns is not None and (start < moved_ns - BEFORE_S * SECOND)
        )
        if failing and moved is not None and moved_after:
            # ... behind its last progress, in the zone of that, ...
            start, start_is_known = moved_ns, True
            error_ns = 0 if moved.in_zone else NO_ZONE_NS
        elif failing and start is not None and newest is not None:
            # ... or at the end of its logs: what a part did hours before an error of the program
            # is no cause of that, and of no other end a day before.
            raised = any(
                row.kind is Kind.PYTHON and row.role is EvidenceRole.ROOT for row in failing
            )
            if newest - start > (STALE_S if raised else DAY_S) * SECOND:
                start, end = None, newest
        elif (
            start is not None
            and moved is not None
            and (later := newest if moved_ns is None else moved_ns) is not None
            and later - start > DAY_S * SECOND
        ):
            # It moved on a later day than that of the last fault; without a clock, up to its logs.
            start, end = None, later
    if start is not None and start != stuck:
        errors = [row.error_ns for row in failing if row.at_ns is not None]
        error_ns = min(errors, default=error_ns)
    given_up = _find_first_timeout_ns(failing, start) or gave_up
    seen = stuck is not None or bool(failing)
    return Stop(
        start_ns=start,
        end_ns=end,
        known=start_is_known,
        trouble=seen
        or (facts.exit_code != 0 and (facts.exit_code, facts.failed_at) != (None, None)),
        ended_well=facts.exit_code == 0,
        job_seen=dumps.case is not None
        or any(row.kind in JOB_KINDS | _OF_A_JOB and row.family != _OF_TOOLS for row in evidence),
        error_ns=error_ns,
        seen=seen,
        given_up_ns=end if given_up is None and start_is_known else given_up,
        boots=boots,
        loads=loads,
        begun_ns=began,
        ended_ns=ended,
        lived_ns=lived,
        looked=looked,
        moved=moved is not None,
        moved_ns=moved_ns,
        given_up_lines=_find_first_watchdog_lines(evidence),
        after_s=IN_FLIGHT_S if dumps.all_entered and start == stuck else AFTER_S,
    )


def _list_failing_times(failing: Sequence[Evidence]) -> list[int]:
    """When lines say that the job fails, ascending; of those that leave it open where no other do.

    A complaint that needs another source does not say when it began, but CUDA's errors, which end
    their process. A scheduler that takes a job down in steps says why at the last of them.
    """
    roots = [row for row in failing if row.role is EvidenceRole.ROOT]
    reasons = {row.signature for row in roots if _is_taken_down(row)}
    telling = [
        row for row in roots if not row.weak or (row.kind is Kind.CUDA and not row.is_generic)
    ]
    telling += [
        row
        for row in failing
        if row.role is not EvidenceRole.ROOT
        and not (row.signature in reasons and _is_taken_down(row))
    ]
    return sorted(_list_times(telling) or _list_times(failing))


def _is_taken_down(row: Evidence) -> bool:
    """Whether a scheduler or a person takes the job down."""
    return row.category is Category.HOST_MAINTENANCE and Trait.ENDS_JOB in row.traits


def _find_life(
    facts: Job, evidence: Iterable[Evidence], stop_ns: int | None, recorded_ns: int | None
) -> tuple[int | None, int | None]:
    """Before and after when the job did not run, by ``started_at`` and ``failed_at``; None where
    its own lines or dumps are older or younger, as they are where its clock is of another zone.
    """
    if (facts.started_at_ns, facts.failed_at_ns) == (None, None):
        return None, None
    told = [
        row.end_ns or row.at_ns
        for row in evidence
        if row.at_ns is not None
        and row.error_ns < _GUESSED_NS
        and (row.kind in _OF_A_JOB or is_failing(row))
    ]
    newest = max([*told, *([stop_ns] if stop_ns is not None else [])], default=None)
    began, ended = facts.started_at_ns, facts.failed_at_ns
    if began is not None:
        began -= _BEGAN_SLACK_NS if facts.started_in_a_zone else NO_ZONE_NS
        began = None if newest is not None and newest < began else began
    if ended is not None:
        ended += CLOCKS_APART_S * SECOND if facts.failed_in_a_zone else NO_ZONE_NS
        ended = None if max(newest or 0, recorded_ns or 0) > ended else ended
    return began, ended


def _is_before_the_job(row: Evidence, alive_ns: int | None, began: int | None) -> bool:
    """Whether a row is of the time before the job began, for certain, or of a day on which the job
    of the dumps had not failed: they go on after.
    """
    if row.end_ns is None:
        return False
    if alive_ns is not None and alive_ns - row.end_ns > DAY_S * SECOND:
        return True
    return began is not None and row.error_ns < _GUESSED_NS and row.end_ns + row.error_ns < began


def _find_stated_end_ns(
    facts: Job, at: datetime | None, newest: int | None, printed: Sequence[int]
) -> int | None:
    """The end as ``--at`` or ``job.json`` tells it; None where the lines show that it is not that
    of this stop.
    """
    end = int(at.timestamp() * 1e9) if at is not None else facts.failed_at_ns
    if end is None or (newest is not None and end - newest > DAY_S * SECOND):
        return None  # nothing is told of a day before that: a wrong clock, or another job's end
    if printed and not any(ns >= end - 2 * STALE_S * SECOND for ns in printed):
        return None  # the lines are of another zone than job.json: their own clock is held to
    return end


def _find_beginning(
    stuck: int | None,
    waited: Sequence[int],
    printed: Sequence[int],
    failing: Sequence[Evidence],
    moved_ns: int | None,
) -> tuple[int | None, int | None]:
    """When the stop began, and when it was given up, where only that was told: then both are one
    where nothing says how long it had been waited for.
    """
    start = stuck
    if start is None and waited:
        start = int(np.median(waited))
    first = _find_last_burst_start(printed)
    if first is not None and (start is None or first < start):
        start = first if start is None or start - first < STALE_S * SECOND else start
    if start is None or stuck is not None or waited:
        return start, None
    at_once_ns = start + _AT_ONCE_S * SECOND
    if any(
        row.role is EvidenceRole.ROOT and row.at_ns is not None and row.at_ns <= at_once_ns
        for row in failing
    ):
        return start, None  # what failed first does not only follow
    if moved_ns is not None and start - TIMEOUT_S * SECOND <= moved_ns < start:
        return moved_ns, start
    return start, start


def _find_first_watchdog_lines(evidence: Iterable[Evidence]) -> dict[str, int]:
    """Artifact -> line of its first watchdog; not of a log whose parts stand one after another."""
    dated: dict[str, list[tuple[int, int, bool]]] = defaultdict(list)
    for row in evidence:
        if row.at_ns is not None and row.line is not None:
            dated[row.artifact].append((row.line, row.at_ns, Trait.TIMEOUT in row.traits))
    first_lines = {}
    for artifact, lines in dated.items():
        lines.sort()
        first = next(((line, at_ns) for line, at_ns, gave_up in lines if gave_up), None)
        if first is not None and all(
            at_ns >= first[1] - SECOND for line, at_ns, _ in lines if line > first[0]
        ):
            first_lines[artifact] = first[0]
    return first_lines


def _list_times(rows: Iterable[Evidence]) -> list[int]:
    """When rows were printed; by a guess only where no row has a date that is none."""
    dated = [(row.at_ns, row.error_ns) for row in rows if row.at_ns is not None]
    sure = [at_ns for at_ns, error_ns in dated if error_ns < _GUESSED_NS]
    return sure or [at_ns for at_ns, _ in dated]


def _find_first_timeout_ns(failing: Iterable[Evidence], start_ns: int | None) -> int | None:
    """When the first process gave up waiting; None where none says that it did."""
    times = [
        row.at_ns
        for row in failing
        if row.at_ns is not None
        and Trait.TIMEOUT in row.traits
        and row.error_ns < _GUESSED_NS
        and (start_ns is None or row.at_ns >= start_ns)
    ]
    return min(times, default=None)


def _collect_boots(
    evidence: Iterable[Evidence],
) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """Node -> when its logs say that it booted, and when its GPU driver was loaded, ascending."""
    boots: dict[str, set[int]] = defaultdict(set)
    loads: dict[str, set[int]] = defaultdict(set)
    for row in evidence:
        if row.kind is Kind.BOOT and row.node is not None and row.at_ns is not None:
            of_driver = row.family == "nvidia"  # prints as it is loaded
            (loads if of_driver else boots)[row.node].add(row.at_ns)
    return (
        {node: sorted(times) for node, times in boots.items()},
        {node: sorted(times) for node, times in loads.items()},
    )


# Lines that tell of a job, and of no failure.
_OF_A_JOB: Final = frozenset({Kind.PROGRESS, Kind.IDENTITY})
# Tools tell what devices are called where no job is.
_OF_TOOLS: Final = "hardware_names"


def find_wait_start_ns(case: Case | None, ahead_ns: Callable[[int], int]) -> int | None:
    """When the first ranks entered what they are stuck in; None where nobody is stuck."""
    if case is None or case.in_flight:
        return None
    snapshot = case.snapshot
    created = [
        (int(snapshot.digests[index].pending.created[0]), int(snapshot.ranks[index]))
        for index, stuck in enumerate(snapshot.stuck)
        if stuck is not None and len(snapshot.digests[index].pending)
    ]
    entered = [ns - ahead_ns(rank) for ns, rank in created if ns > 0]
    # Not the very first: one clock may be wrong.
    return int(np.quantile(entered, 0.1)) if entered else None


def _last_record(case: Case | None, ahead_ns: Callable[[int], int]) -> int | None:
    """When the job was last seen, where its dumps show no stop: the median of their ends."""
    if case is None:
        return None
    last = [
        digest.last_created_ns - ahead_ns(digest.rank)
        for digest in case.snapshot.digests
        if digest.last_created_ns and digest.rank is not None
    ]
    return int(np.median(last)) if last else None


def _list_watchdog_starts(rows: Sequence[Evidence]) -> list[int]:
    """Starts of the collectives that watchdogs gave up: printed time minus how long they ran.

    A watchdog without a time gave up before the next failing line of its log that has one.
    """
    dated: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for row in rows:
        if row.at_ns is not None and row.line is not None:
            dated[row.artifact].append((row.line, row.at_ns))
    for lines in dated.values():
        lines.sort()
    starts = []
    for row in rows:
        ran_ms = row.fields.get("ran_ms", "")
        if not ran_ms.isdecimal() or len(ran_ms) >= 12:
            continue
        at_ns = row.at_ns
        lines = dated.get(row.artifact, [])
        if at_ns is None and row.line is not None:
            behind = bisect_right(lines, (row.line, 0))
            at_ns = lines[behind][1] if behind < len(lines) else None
        if at_ns is not None:
            starts.append(at_ns - int(ran_ms) * 1_000_000)
    return starts


def _find_last_burst_start(printed: Sequence[int]) -> int | None:
    """The first failing line since the job last went on for an hour without one."""
    if not printed:
        return None
    first = printed[-1]
    for ns in reversed(printed):
        if first - ns > STALE_S * SECOND:
            break
        first = ns
    return first
