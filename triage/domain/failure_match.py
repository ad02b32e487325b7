"""Which incident of a job a report or an upload belongs to: decided on plain values.

A job that is requeued keeps its id, so that one (cluster, job id) fails more than once. What
tells the failures apart, in this order: the attempt that somebody named, the time of the failure,
the times at which the job wrote its files, and whether the incident has settled.

The failure of a job, as a hook, an alert or a person reports it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from triage.domain.caller import Caller
from triage.domain.facts import FactsSource
from triage.domain.wire import WireForm


@dataclass(frozen=True, slots=True)
class IgnoredField(WireForm):
    """A field of a hook's body that is left out; ``why`` is a clause."""

    field: str
    why: str


@dataclass(frozen=True, slots=True)
class Failure:
    """What a job-failed hook says. ``facts`` is the job.json object as it came.

    ``attempt`` tells the starts of a requeued job apart; empty where nobody named it.
    ``ignored`` names what was left out. ``callback_url`` is one that may be called: who takes one
    from outside asks :func:`triage.services.notifications.callbacks.with_allowed_callback`.
    """

    job_id: str
    cluster: str | None = None
    failed_at: datetime | None = None
    facts: Mapping[str, Any] | None = None
    expected_artifacts: int | None = None
    collect_within_s: float | None = None
    callback_url: str | None = None
    attempt: str = ""
    ignored: tuple[IgnoredField, ...] = ()
    source: FactsSource = FactsSource.HOOK
    caller: Caller = field(default_factory=Caller)


# Whoever tells of a failure looks at a clock of its own, when it comes to it. A job that fails a
# second time has started in between.
_SAME_WITHIN: Final = timedelta(minutes=1)
# What was uploaded longer ago than this, and never reported, is of another failure.
_ADOPTED_WITHIN: Final = timedelta(days=1)
# A failure is before the files of it were in, as far as two clocks agree.
_CLOCKS_APART: Final = timedelta(minutes=5)
# Files that say nothing of their time belong to an incident that settled no longer ago.
_LATE_WITHOUT_TIMES: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class JobAttempt:
    """A job as a sender names it: empty texts for a cluster or an attempt that it does not name.

    ``bound`` is whether its token reaches this cluster alone.
    """

    job_id: str
    cluster: str = ""
    attempt: str = ""
    bound: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """One incident of the job, as far as it tells whether something belongs to it.

    ``attempt`` is empty where nobody named it. ``num_files`` are in.
    """

    id: str
    attempt: str
    failed_at: datetime | None
    announced: bool
    num_files: int
    created_at: datetime
    settled_at: datetime | None

    def apart_s(self, at: datetime) -> float:
        """Seconds between a time and the failure, or when it was first heard of."""
        return abs(((self.failed_at or self.created_at) - at).total_seconds())


def find_for_failure(
    candidates: Iterable[Candidate],
    attempt: str,
    failed_at: datetime | None,
    now: datetime,
    started_at: datetime | None = None,
) -> str | None:
    """The incident of a failure that is reported; None where it is a new one.

    About the same time is the same failure, unless the job had only started by then: the hooks of
    several nodes, a scheduler and an alert tell of one within a minute. Else it is an unsettled
    incident of which nobody said a time, or files that nobody has reported yet; alerts come minutes
    after the nodes have sent their files, when those may have settled.
    """
    fitting = [one for one in candidates if not attempt or one.attempt in ("", attempt)]
    if failed_at is None:
        unsettled = [one for one in fitting if one.settled_at is None]
        orphans = [one for one in fitting if _is_orphan(one, now - _ADOPTED_WITHIN, now)]
        return _choose_best(unsettled or orphans, attempt, _get_newest_key)
    same = [
        one
        for one in fitting
        if one.failed_at is not None
        and one.apart_s(failed_at) < _SAME_WITHIN.total_seconds()
        and (started_at is None or started_at <= one.failed_at)
    ]
    open_ones = [one for one in fitting if one.settled_at is None and one.failed_at is None]
    orphans = [one for one in fitting if _is_orphan(one, failed_at, now)]
    return _choose_best(same or open_ones + orphans, attempt, lambda one: one.apart_s(failed_at))


def find_for_files(
    candidates: Iterable[Candidate],
    attempt: str,
    written_at: datetime | None,
    quiet: timedelta,
    now: datetime,
) -> str | None:
    """The incident that files join; None where they open one.

    ``written_at`` is when the job last wrote one of them, None where nothing says it.
    """
    if written_at is not None:
        written_at = min(written_at, now)
    ended_after = now - _LATE_WITHOUT_TIMES if written_at is None else written_at - quiet
    fitting = [
        one
        for one in candidates
        if _is_open_to_attempt(one, attempt)
        and (
            one.settled_at is None
            or one.settled_at >= ended_after
            or (written_at is None and attempt and one.attempt == attempt)
        )
    ]
    if written_at is None:
        return _choose_best(fitting, attempt, _get_newest_key)
    at = written_at
    return _choose_best(fitting, attempt, lambda one: one.apart_s(at))


def _is_open_to_attempt(one: Candidate, attempt: str) -> bool:
    """Whether files of this attempt may lie in the incident.

    Slurm names the attempt of a requeued job, not of a job that started once. So files that name
    one do not belong beside files of which nobody did.
    """
    if not attempt or one.attempt == attempt:
        return True
    return not one.attempt and not one.num_files


def _is_orphan(one: Candidate, failed_at: datetime, now: datetime) -> bool:
    """Whether it has settled, and holds files of this failure that nobody has reported."""
    return (
        not one.announced
        and one.settled_at is not None
        and one.created_at >= now - _ADOPTED_WITHIN
        and one.settled_at >= failed_at - _CLOCKS_APART
    )


def _get_newest_key(one: Candidate) -> float:
    return -one.created_at.timestamp()


def _choose_best(
    fitting: Iterable[Candidate], attempt: str, distance: Callable[[Candidate], float]
) -> str | None:
    """The id of the one that names the attempt, and among several of the least distance."""
    ranked = sorted(fitting, key=lambda one: (one.attempt != attempt, distance(one), one.id))
    return ranked[0].id if ranked else None
