"""May a job start, and without whom? From the record alone, in milliseconds.

A node is left out because the newest answer to this job's failure says so, because it was
convicted in any job of the cluster within a day and nobody is known to have mended it, or
because an act of ours took it out.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy.orm import Session

from triage.actions.store.acts import find_cluster_id
from triage.actions.store.evidence import (
    FailedStart,
    iterate_convicted_since,
    last_repairs,
    list_acted_on,
    load_failed_start,
)
from triage.clock import read_utc_now
from triage.domain.acting import Launch, LaunchDecision, LaunchStatus, LeftOut
from triage.domain.caller import Caller
from triage.domain.hosts import is_host_name
from triage.errors import Conflict
from triage.services.context import Context
from triage.store.incidents import incidents

_HELD: Final = timedelta(hours=24)
_FEW: Final = 20


def on_launch(ctx: Context, caller: Caller, job_id: str, cluster: str | None) -> Launch:
    """What the record says of a start of this job now.

    Raises :class:`Conflict` where several clusters have a job of this id and none is named, and
    :class:`NotFound` for a cluster that the token does not reach.
    """
    now = read_utc_now()
    with ctx.database.reading() as session:
        newest = _find_newest_failure(session, caller, job_id, cluster)
        of = newest.incident.cluster if newest else caller.asks(cluster)
        by_node = {one.node: one for one in _iterate_left_out(session, of or "", newest, now)}
    excluded = tuple(by_node[name] for name in sorted(by_node))
    restart = newest.restart if newest else None
    settled = newest is None or newest.settled
    if newest is None:
        why = "No failure of this job is on record."
    elif restart is not None:
        why = restart.why
    else:
        how = "has no cause to act on" if settled else "is still being analysed"
        why = f"The last failure of this job {how}."
    return Launch(
        job_id=job_id,
        cluster=of,
        decision=LaunchDecision.START_WITHOUT if excluded else LaunchDecision.START,
        exclude=tuple(one.node for one in excluded),
        excluded=excluded,
        why=why,
        retries_left=restart.retries_left if restart else None,
        incident_id=newest.incident.id if newest else None,
        status=LaunchStatus.COMPLETED if settled else LaunchStatus.IN_FLIGHT,
    )


def _find_newest_failure(
    session: Session, caller: Caller, job_id: str, cluster: str | None
) -> FailedStart | None:
    found = incidents.list_incidents(
        session, job_id=job_id, cluster=caller.asks(cluster), limit=_FEW
    )
    clusters = sorted({one.cluster or "" for one in found})
    if len(clusters) > 1:
        names = ", ".join(name or "(none)" for name in clusters)
        raise Conflict(
            f"several clusters have a job {job_id!r}: {names}", hint="name one with cluster="
        )
    return load_failed_start(session, found[0]) if found else None


def _iterate_left_out(
    session: Session, cluster: str, newest: FailedStart | None, now: datetime
) -> Iterator[LeftOut]:
    """Nodes that the start should not get: by the answer to the job's own failure, by those of
    other jobs of the cluster, by acts of ours; the later ones of one node stand above.
    """
    cluster_id = find_cluster_id(session, cluster)
    if cluster_id is None:
        return
    since = now - _HELD
    by_acts, taken_back = list_acted_on(session, cluster_id, since, now)
    by_answers = list(iterate_convicted_since(session, cluster_id, since, _HELD))
    if newest is not None and newest.restart is not None and newest.failed_at >= since:
        mended = last_repairs(session, cluster_id, newest.restart.exclude)
        why, until = "the last failure of this job points at it", newest.failed_at + _HELD
        by_answers[:0] = [
            LeftOut(node, why, newest.incident.id, until)
            for node in newest.restart.exclude
            if not newest.is_cleared(node)
            and mended.get(node, newest.failed_at) <= newest.failed_at
        ]
    for one in by_answers:
        if is_host_name(one.node) and (one.incident_id, one.node) not in taken_back:
            yield one
    yield from by_acts
