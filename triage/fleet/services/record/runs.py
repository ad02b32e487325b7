"""Runs and stops as the record of a fleet counts them: each run with an end, each stop once.

A job runs once at a time: where two runs of one job overlap, the earlier one ended when the
later one began, and nobody said so. A run of which no end is known counts until it was last
heard of, never until now: what nobody watches is no exposure.

The incidents of a run that lie close together tell of one stop. The last of them is the end of
the run where the run ended about then; those before it are stops after which the job went on
in the same run. A run that ended badly and has no incident is a stop that nobody triaged.
A straggler and a healthy job are no interruption.

Planned and unexpected are never mixed. A scheduler calls a job that was cancelled, preempted or
out of time planned; where the triage of it found what had stopped it before, it was not.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, Final

from sqlalchemy import Row

from triage.domain.category import Category, VerdictKind
from triage.fleet.domain.exposure import Ending, weigh_ending
from triage.fleet.store.record import StopRow

# A scheduler and a hook that tell of one run do not differ by more.
_SAME_START: Final = timedelta(minutes=1)
_CATEGORIES: Final = frozenset(str(one) for one in Category)
_ENDINGS: Final = frozenset(str(one) for one in Ending)


# Two reports of one failure, by an alert and by an epilogue, are not further apart.
_SAME_STOP: Final = timedelta(minutes=10)
# From a stop to the end of its run: watchdogs wait half an hour, schedulers clean up.
_ENDING_WITHIN: Final = timedelta(hours=2)
# An incident of which only its first upload is dated.
UNDATED_WITHIN: Final = timedelta(days=1)
CLOCKS_APART: Final = timedelta(minutes=5)
_NO_INTERRUPTION: Final = (VerdictKind.HEALTHY, VerdictKind.STRAGGLER)
_PERSON_SAYS_NOTHING: Final = (Category.NONE, Category.STRAGGLER)
# What a planned end is called when it is looked at after all.
_STILL_PLANNED: Final = (None, Category.HOST_MAINTENANCE)


@dataclass(slots=True)
class Attempt:
    """A run with an end; ``open`` where the end is only when it was last heard of.

    ``interrupted`` and ``planned`` are what its source says, until its incidents say more.
    """

    cluster: int
    job_id: str
    start: datetime
    end: datetime
    open: bool
    ending: Ending
    cause: Category | None
    num_nodes: int
    num_gpus: int
    spans: bytes | None
    interrupted: bool = False
    planned: bool = False


def build_attempts(
    rows: Sequence[Row[Any]], unnamed: int | None = None
) -> tuple[list[Attempt], int]:
    """The runs, by job and start, and how many were cut where the next one of the job began.

    A run of the cluster that nobody named (``unnamed``) is of the one that names this job.
    """
    of_jobs: dict[str, list[Attempt]] = {}
    for row in rows:
        of_jobs.setdefault(row.job_id, []).append(_make_attempt(row))
    found: list[Attempt] = []
    num_cut = 0
    for job_id in sorted(of_jobs):
        for of_job in _separate_clusters(of_jobs[job_id], unnamed):
            once = _merge_told_twice(of_job)
            num_cut += sum([_was_cut(*two) for two in pairwise(once)])
            found += once
    return found, num_cut


def _separate_clusters(of_job: list[Attempt], unnamed: int | None) -> list[list[Attempt]]:
    """The runs of one job number, those of each cluster by start."""
    named = {run.cluster for run in of_job} - {unnamed}
    if len(named) == 1:
        only = next(iter(named))
        for run in of_job:
            run.cluster = only
    found: dict[int, list[Attempt]] = {}
    for run in sorted(of_job, key=lambda run: (run.cluster, run.start, run.end)):
        found.setdefault(run.cluster, []).append(run)
    return list(found.values())


def _merge_told_twice(of_job: Sequence[Attempt]) -> list[Attempt]:
    """Without those that tell of the same run by another clock."""
    found: list[Attempt] = []
    for run in of_job:
        last = found[-1] if found else None
        apart = None if last is None else run.start - last.start
        if (
            last is None
            or apart is None
            or (apart and last.end <= run.start)
            or apart > _SAME_START
        ):
            found.append(run)
        else:
            found[-1] = _merge_two(last, run)
    return found


def _merge_two(one: Attempt, other: Attempt) -> Attempt:
    """One run that two have told: who knows more of its end, and who knows more of its nodes."""
    first, second = sorted(
        (one, other), key=lambda run: (weigh_ending(run.ending), not run.open), reverse=True
    )
    first.start = min(one.start, other.start)
    first.end = max(first.start, first.end)
    first.num_nodes = max(one.num_nodes, other.num_nodes)
    first.num_gpus = max(one.num_gpus, other.num_gpus)
    first.spans = first.spans or second.spans
    first.cause = first.cause or second.cause
    return first


def _was_cut(earlier: Attempt, later: Attempt) -> bool:
    """End a run where the next one of its job begins; whether it was said to last longer."""
    too_long = not earlier.open and earlier.end > later.start
    if earlier.open or too_long:
        earlier.end = min(earlier.end, later.start)
        earlier.open = False
    return too_long


def _make_attempt(row: Row[Any]) -> Attempt:
    # What a later release wrote and this one does not know is unknown.
    ending = Ending(row.ending) if row.ending in _ENDINGS else Ending.UNKNOWN
    last = row.seen_at if row.ended_at is None else row.ended_at
    return Attempt(
        cluster=row.cluster_id,
        job_id=row.job_id,
        start=row.started_at,
        end=max(row.started_at, last),
        open=row.ended_at is None,
        ending=ending,
        cause=None if row.cause is None else _find_category_cause(row.cause),
        num_nodes=row.num_nodes,
        num_gpus=row.num_gpus,
        spans=row.spans,
        interrupted=ending == Ending.UNEXPECTED,
        planned=ending == Ending.PLANNED,
    )


def _find_category_cause(category: str | None) -> Category | None:
    """The cause that a category is; None where it says that there was none to be found."""
    if category is None or category not in _CATEGORIES:
        return None
    cause = Category(category)
    return None if cause in (Category.NONE, Category.STRAGGLER) else cause


def _group_by_job(attempts: Iterable[Attempt]) -> dict[str, list[int]]:
    """Job number to the places of its runs, of all clusters."""
    found: dict[str, list[int]] = {}
    for place, one in enumerate(attempts):
        found.setdefault(one.job_id, []).append(place)
    return found


@dataclass(slots=True)
class Stop:
    """One interruption. ``run`` is the place of its run; ``also`` are incidents that tell of it
    too, whose suspects do not count a second time.
    """

    at: datetime
    cause: Category | None
    resolved: bool
    planned: bool = False
    run: int | None = None
    incident_id: str | None = None
    dated: bool = True
    also: int = 0


def build_stops(
    rows: Sequence[StopRow], attempts: Sequence[Attempt], unnamed: int | None = None
) -> list[Stop]:
    """All stops, by time. Marks each run that an incident shows to have been interrupted.

    ``unnamed`` is the cluster that nobody named: what is of it can be of any.
    """
    places = _group_by_job(attempts)
    of_run: dict[int, list[Stop]] = {}
    found: list[Stop] = []
    for row in rows:
        if not _is_interruption(row):
            continue
        stop = _make_stop(row)
        stop.run = _find_run(row, stop, attempts, places.get(row.job_id, []), unnamed)
        if stop.run is None:
            found.append(stop)
        else:
            of_run.setdefault(stop.run, []).append(stop)
    for place, run in enumerate(attempts):
        found += _list_run_stops(place, run, of_run.get(place, []))
    return sorted(found, key=lambda stop: (stop.at, stop.incident_id or ""))


def _list_run_stops(place: int, run: Attempt, told: list[Stop]) -> list[Stop]:
    for stop in told:
        if not stop.dated:
            stop.at = min(stop.at, run.end)
    groups = _merge_close_stops(told)
    last = groups[-1] if groups else None
    if last is not None and _select_ends(run, last):
        if run.open:
            run.end, run.open = max(run.start, min(run.end, last.at)), False
        run.planned = run.planned and last.cause in _STILL_PLANNED
        run.interrupted = not run.planned
        last.planned = run.planned
        if last.cause is None:
            last.cause = run.cause
    elif run.interrupted or run.planned:
        groups.append(Stop(run.end, run.cause, resolved=False, planned=run.planned, run=place))
    return groups


def _merge_close_stops(told: list[Stop]) -> list[Stop]:
    """One stop for those that lie close together: the best founded of them, at the first time."""
    groups: list[list[Stop]] = []
    for stop in sorted(told, key=lambda stop: (stop.at, stop.incident_id or "")):
        if groups and stop.at - groups[-1][-1].at <= _SAME_STOP:
            groups[-1].append(stop)
        else:
            groups.append([stop])
    found = []
    for group in groups:
        best = min(group, key=lambda stop: (not stop.resolved, stop.cause is None))
        best.also = len(group) - 1
        found.append(best)
    return found


def _select_ends(run: Attempt, stop: Stop) -> bool:
    """Whether this stop is how the run ended."""
    if run.open:
        # Said to run on after the stop: the job was restarted in place.
        return run.end - stop.at <= _SAME_STOP
    return not stop.dated or run.end - stop.at <= _ENDING_WITHIN


def _find_run(
    row: StopRow,
    stop: Stop,
    attempts: Sequence[Attempt],
    places: Sequence[int],
    unnamed: int | None,
) -> int | None:
    """The run that was going on when it stopped; of the same cluster where both name one."""
    found: tuple[bool, datetime, int] | None = None
    for place in places:
        run = attempts[place]
        if run.cluster != row.cluster and unnamed not in (run.cluster, row.cluster):
            continue
        late = _ENDING_WITHIN if stop.dated else UNDATED_WITHIN
        if run.start > stop.at + CLOCKS_APART or (stop.at > run.end + late and not run.open):
            continue
        candidate = (run.cluster == row.cluster, run.start, place)
        found = candidate if found is None else max(found, candidate)
    return None if found is None else found[2]


def _is_interruption(row: StopRow) -> bool:
    if row.resolved_as is not None:
        return row.resolved_as not in _PERSON_SAYS_NOTHING
    return _get_kind(row) not in _NO_INTERRUPTION


def is_slow(row: StopRow) -> bool:
    """Whether a node was slow and nothing stopped."""
    said = row.resolved_as
    return said == Category.STRAGGLER or (said is None and _get_kind(row) == VerdictKind.STRAGGLER)


def _get_kind(row: StopRow) -> str:
    return str((row.verdict or {}).get("kind") or "")


def _make_stop(row: StopRow) -> Stop:
    verdict = row.verdict or {}
    resolved = row.resolved_as is not None
    said = row.resolved_as if resolved else verdict.get("category")
    at = _parse_time(row.key) or _parse_time(verdict.get("at"))
    return Stop(
        at=at or row.created_at,
        cause=_find_category_cause(said if isinstance(said, str) else None),
        resolved=resolved,
        incident_id=row.incident_id,
        dated=at is not None,
    )


def _parse_time(text: object) -> datetime | None:
    """The time that a key or a verdict holds; None for ``open`` and for ids."""
    if not isinstance(text, str) or not text[:1].isdigit():
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
