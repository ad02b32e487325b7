"""Stops of runs: what was triaged, joined with what schedulers say, each stop counted once.

The incidents of a run that lie close together tell of one stop. The last of them is the end of
the run where the run ended about then; those before it are stops after which the job went on
in the same run. A run that ended badly and has no incident is a stop that nobody triaged.
A straggler and a healthy job are no interruption.

Planned and unexpected are never mixed. A scheduler calls a job that was cancelled, preempted or
out of time planned; where the triage of it found what had stopped it before, it was not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from triage.domain.category import Category, VerdictKind
from triage.fleet.services.record.runs import Attempt, find_category_cause, group_by_job
from triage.fleet.store.record import StopRow

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
    places = group_by_job(attempts)
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
        cause=find_category_cause(said if isinstance(said, str) else None),
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
