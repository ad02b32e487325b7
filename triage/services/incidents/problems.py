"""Recurring problems are kept: each final answer is put to the nearest one, and now and then all
are grouped anew. What a person merges or splits stays so.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, Final

import structlog
from sqlalchemy.orm import Session

from triage.analysis.fingerprint import make_fingerprint
from triage.analysis.problems import find_nearest, group_incidents
from triage.clock import read_utc_now
from triage.domain.recurrence import RecurringProblem
from triage.errors import Conflict, NotFound, Place, Unavailable, Unprocessable
from triage.queue.runner import Claim
from triage.render.data import wire
from triage.services.context import Context
from triage.store import jobs
from triage.store.access import audit
from triage.store.database.ids import make_id
from triage.store.incidents import incidents, problems, revisions
from triage.store.work.table import PROBLEMS, enqueue_by

log = structlog.get_logger(__name__)
WINDOW: Final = timedelta(days=90)
"""Incidents opened longer ago than this stay where they are, and attract no new ones."""
_SOON: Final = timedelta(minutes=10)
_DAY: Final = timedelta(days=1)
# Answers of a release before that are read in one round.
_MOST_READ: Final = 200
LISTED: Final = "GET /v1/problems lists them"


def place_incident(
    session: Session, incident_id: str, report: dict[str, Any], now: datetime
) -> None:
    """Put an incident to the problem that its final answer is nearest to, or to one of its own.

    Done twice, it changes nothing. Who calls this holds the incident.
    """
    fingerprint = make_fingerprint(report)
    cluster_id = jobs.find_cluster(session, incident_id)
    jobs.hold_cluster(session, cluster_id)
    problem_id = None
    if fingerprint is not None:
        known = problems.list_occurrences(
            session, now - WINDOW, cluster_id=cluster_id, stratum=fingerprint.stratum
        )
        others = [one for one in known if one.incident_id != incident_id and one.problem]
        problem_id = find_nearest(fingerprint, others)
        own = problems.map_problems(session, [incident_id]).get(incident_id)
        alone = own.id if own is not None and own.count == 1 else make_id("prb", now)
        problem_id = problem_id or alone
    problems.put(session, incident_id, cluster_id, fingerprint, problem_id)
    enqueue_by(session, PROBLEMS, now + _SOON, now)


def keep_problems(ctx: Context, claim: Claim) -> None:
    """Place the incidents that an earlier release has answered, and group all anew."""
    now = read_utc_now()
    with ctx.database.reading() as session:
        unplaced = problems.list_unplaced(session, now - WINDOW, _MOST_READ)
    for incident_id in unplaced:
        with ctx.database.writing() as session:
            _place_answered(session, incident_id, now)
    again = len(unplaced) == _MOST_READ
    done = not again and group_anew(ctx, now)
    claim.finish(again_at=now if again else now + (_DAY if done else _SOON))


def _place_answered(session: Session, incident_id: str, now: datetime) -> None:
    if not incidents.keep(session, incident_id):
        return
    newest = revisions.find_newest(session, incident_id)
    try:
        answer = None if newest is None else newest.reported()
    except Unavailable as error:
        log.warning("stored answer unreadable, put to no problem", why=str(error))
        answer = None
    if answer is None:
        problems.put(session, incident_id, jobs.find_cluster(session, incident_id), None, None)
    else:
        place_incident(session, incident_id, wire.report(answer), now)


def group_anew(ctx: Context, now: datetime) -> bool:
    """Group the incidents of the last 90 days anew; False where some came or went meanwhile.

    A second run changes nothing.
    """
    since = now - WINDOW
    with ctx.database.reading() as session:
        known = problems.list_occurrences(session, since)
    found = group_incidents(known)
    before = {one.incident_id: one.problem for one in known}
    with ctx.database.writing() as session:
        for cluster_id in sorted({one.cluster for one in known}):
            jobs.hold_cluster(session, cluster_id)
        if problems.list_occurrences(session, since) != known:
            return False
        num_moved = 0
        for group in found:
            problem_id = group.id or make_id("prb", now)
            moved = [one for one in group.incident_ids if before[one] != problem_id]
            problems.assign(session, problem_id, moved)
            num_moved += len(moved)
    log.info("problems kept", problems=len(found), incidents=len(known), moved=num_moved)
    return True


def merge_problems(ctx: Context, problem_id: str, other_id: str, actor: str) -> RecurringProblem:
    """Make two problems one, for good: all incidents of the other are of this one.

    Raises :class:`NotFound`, :class:`Conflict` where they are of two clusters, and
    :class:`Unprocessable` for one with itself.
    """
    if problem_id == other_id:
        raise Unprocessable(
            "a problem cannot be merged with itself",
            hint="give the id of another one",
            places=(Place("body/problem", "is this problem"),),
        )
    now = read_utc_now()
    with ctx.database.writing() as session:
        one, other = (_hold_problem(session, name) for name in (problem_id, other_id))
        if one.cluster != other.cluster:
            raise Conflict("the problems are of two clusters", hint="merge those of one cluster")
        both = problems.list_incident_ids(session, problem_id, other_id)
        problems.assign(session, problem_id, both, by_hand=True)
        audit.note(session, actor, "problem.merge", problem_id, now, {"other": other_id})
        return find_problem(session, problem_id)


def split_problem(
    ctx: Context, problem_id: str, incident_ids: Collection[str], actor: str
) -> RecurringProblem:
    """Make a problem of its own of some incidents of one, for good; the new one.

    Raises :class:`NotFound`, and :class:`Unprocessable` where they are not some, but not all, of
    its incidents.
    """
    now = read_utc_now()
    with ctx.database.writing() as session:
        _hold_problem(session, problem_id)
        members = set(problems.list_incident_ids(session, problem_id))
        parted = set(incident_ids)
        if not parted or not parted < members:
            raise Unprocessable(
                "these are not some of the incidents of the problem",
                hint=f"GET /v1/problems/{problem_id} lists them; leave at least one",
                places=(Place("body/incidents", "not some of its incidents"),),
            )
        new_id = make_id("prb", now)
        problems.assign(session, problem_id, members - parted, by_hand=True)
        problems.assign(session, new_id, parted, by_hand=True)
        audit.note(session, actor, "problem.split", problem_id, now, {"new": new_id})
        return find_problem(session, new_id)


def find_problem(session: Session, problem_id: str) -> RecurringProblem:
    """The problem of this id. Raises :class:`NotFound`."""
    found = problems.list_problems(session, problem_id=problem_id)
    if not found:
        raise NotFound("there is no such problem", hint=LISTED)
    return found[0]


def _hold_problem(session: Session, problem_id: str) -> RecurringProblem:
    """The problem of this id, to which nobody else adds incidents until the session ends."""
    cluster = find_problem(session, problem_id).cluster
    jobs.hold_cluster(session, jobs.cluster_key(session, cluster or ""))
    return find_problem(session, problem_id)
