"""What our own record knows of earlier starts of a job that stopped: how each ended, how soon.

A start ran no longer than from the beginning of its run, and no longer than from the failure
before it. Failures are timed by two clocks, that of whoever reports them and ours; the longer of
the two times between two failures is taken, so that neither a wrong clock nor old incidents that
are read in at once make a start look short. Where the clocks contradict each other, nothing is
known.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy.orm import Session

from triage.domain.category import Category, VerdictKind
from triage.domain.job import make_job
from triage.domain.restart import EarlierEnd, EarlierStarts
from triage.store.incidents.starts import FailureOfJob, list_failures_of_job, list_run_starts

# An older failure is of another day's work, or of another job under a number used again.
_WITHIN: Final = timedelta(days=14)
# Two reports of one failure are not further apart; no start of a job is as short.
_SAME_FAILURE_S: Final = 30.0
_NO_FAILURE: Final = (VerdictKind.HEALTHY, VerdictKind.STRAGGLER)


def find_earlier_starts(
    session: Session, incident_id: str, facts: Mapping[str, Any], *, with_record: bool
) -> EarlierStarts:
    """What is known before the first answer of an incident; ``facts`` are the incident's.

    An incident that was answered before is told nothing of the record: it is part of it.
    """
    job = make_job(dict(facts))
    if not with_record:
        return job.starts
    failures = list_failures_of_job(session, incident_id)
    found = count_starts(failures, list_run_starts(session, incident_id))
    return EarlierStarts(job.restarts, _find_shortest(job.ran_s, found.ran_s), found.ends)


def count_starts(failures: Sequence[FailureOfJob], began: Sequence[datetime]) -> EarlierStarts:
    """The ends before the newest of ``failures``, which are newest first, and how long it ran.

    ``began`` is when runs of the job began, newest first.
    """
    counted: list[FailureOfJob] = []
    for failure in failures:
        if counted and not _is_own_end(failure, counted[0], counted[-1]):
            continue
        counted.append(failure)
    before = [*counted[1:], None]
    lengths = [
        _find_shortest(
            _measure_run_s(one, began), None if last is None else _measure_gap_s(last, one)
        )
        for one, last in zip(counted, before, strict=False)
    ]
    ends = [
        EarlierEnd(_get_category(one), one.nodes, length)
        for one, length in zip(counted[1:], lengths[1:], strict=True)
    ]
    return EarlierStarts(ran_s=lengths[0] if lengths else None, ends=tuple(ends))


def _is_own_end(failure: FailureOfJob, newest: FailureOfJob, later: FailureOfJob) -> bool:
    """Whether it is an end of its own: dated or named, of this time, and not told twice."""
    if failure.kind in _NO_FAILURE or newest.opened_at - failure.opened_at > _WITHIN:
        return False
    if _get_time(failure) is None and not failure.attempt:
        return False
    apart = _measure_gap_s(failure, later)
    if apart is None:
        return bool(failure.attempt) and failure.attempt != later.attempt
    return apart >= _SAME_FAILURE_S


def _get_time(failure: FailureOfJob) -> datetime | None:
    """When it failed; our own time where somebody announced it and gave none."""
    return failure.failed_at or (failure.opened_at if failure.announced else None)


def _measure_gap_s(before: FailureOfJob, later: FailureOfJob) -> float | None:
    """The longest time that can lie between two failures; None where clocks contradict."""
    first, second = _get_time(before), _get_time(later)
    if first is None or second is None or second < first:
        return None
    apart = second - first
    if before.announced and later.announced:
        apart = max(apart, later.opened_at - before.opened_at)
    return apart.total_seconds()


def _measure_run_s(failure: FailureOfJob, began: Sequence[datetime]) -> float | None:
    """How long the run had gone on that it ended."""
    at = _get_time(failure)
    start = None if at is None else next((one for one in began if one <= at), None)
    return None if at is None or start is None else (at - start).total_seconds()


def _find_shortest(*lengths: float | None) -> float | None:
    return min((length for length in lengths if length is not None), default=None)


def _get_category(failure: FailureOfJob) -> Category | None:
    name = failure.category
    return Category(name) if name is not None and name in set(Category) else None
