"""Runs as the record of a fleet counts them: each with an end, none before its start.

A job runs once at a time: where two runs of one job overlap, the earlier one ended when the
later one began, and nobody said so. A run of which no end is known counts until it was last
heard of, never until now: what nobody watches is no exposure.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from triage.domain.category import Category
from triage.fleet.domain.exposure import Ending, weigh_ending
from triage.fleet.store.record import RunRow

# A scheduler and a hook that tell of one run do not differ by more.
_SAME_START: Final = timedelta(minutes=1)
_CATEGORIES: Final = frozenset(str(one) for one in Category)
_ENDINGS: Final = frozenset(str(one) for one in Ending)


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


def build_attempts(rows: Sequence[RunRow], unnamed: int | None = None) -> tuple[list[Attempt], int]:
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


def _make_attempt(row: RunRow) -> Attempt:
    ending = _normalize_ending(row.ending)
    last = row.seen_at if row.ended_at is None else row.ended_at
    return Attempt(
        cluster=row.cluster,
        job_id=row.job_id,
        start=row.started_at,
        end=max(row.started_at, last),
        open=row.ended_at is None,
        ending=ending,
        cause=None if row.cause is None else find_category_cause(row.cause),
        num_nodes=row.num_nodes,
        num_gpus=row.num_gpus,
        spans=row.spans,
        interrupted=ending == Ending.UNEXPECTED,
        planned=ending == Ending.PLANNED,
    )


def _normalize_ending(ending: str) -> Ending:
    """The ending; what a later release wrote and this one does not know is unknown."""
    return Ending(ending) if ending in _ENDINGS else Ending.UNKNOWN


def find_category_cause(category: str | None) -> Category | None:
    """The cause that a category is; None where it says that there was none to be found."""
    if category is None or category not in _CATEGORIES:
        return None
    cause = Category(category)
    return None if cause in (Category.NONE, Category.STRAGGLER) else cause


def group_by_job(attempts: Iterable[Attempt]) -> dict[str, list[int]]:
    """Job number to the places of its runs, of all clusters."""
    found: dict[str, list[int]] = {}
    for place, one in enumerate(attempts):
        found.setdefault(one.job_id, []).append(place)
    return found
