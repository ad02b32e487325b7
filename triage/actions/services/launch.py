"""May a job start, and without whom? From the record alone, in milliseconds.

A node is left out because the newest answer to this job's failure says so, because it was
convicted in any job of the cluster within a day and nobody is known to have mended it, or
because an act of ours took it out. A decision to stop or to wait ends by itself: whoever
starts the same job a day later has had the time to fix it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy.orm import Session

from triage.actions.store import actions
from triage.actions.store.convictions import convicted_since, failure_of, last_repairs
from triage.clock import utc_now
from triage.domain.caller import Caller
from triage.domain.category import OF_THE_NODE
from triage.domain.hosts import is_host_name
from triage.domain.launch import (
    ACTION_OF,
    Launch,
    LaunchDecision,
    LaunchStatus,
    LeftOut,
    Recommendation,
    RecommendedAction,
)
from triage.domain.restart import Restart, RestartDecision
from triage.domain.states import IncidentState
from triage.errors import Conflict
from triage.services.context import Context
from triage.store.incidents import incidents
from triage.store.incidents.starts import restart_of
from triage.store.views import IncidentView

__all__ = ["newest_failure", "on_launch"]

LEFT_OUT_FOR: Final = timedelta(hours=24)
STOP_HOLDS: Final = timedelta(hours=24)
WAIT_HOLDS: Final = timedelta(hours=1)
AGAIN_S: Final = 60.0
# An answer that is still being made.
SOON_S: Final = 5.0
FEW: Final = 20


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest failure of a job, with what its answer says of the next start."""

    incident: IncidentView
    restart: Restart | None
    failed_at: datetime

    @property
    def settled(self) -> bool:
        """Whether its answer is there, or will not come."""
        return self.incident.state in {IncidentState.READY, IncidentState.FAILED}


def newest_failure(
    session: Session, caller: Caller, job_id: str, cluster: str | None
) -> Newest | None:
    """The newest failure of a job; None where none is on record.

    Raises :class:`Conflict` where several clusters have a job of this id and none is named, and
    :class:`NotFound` for a cluster that the token does not reach.
    """
    of_cluster = caller.asks(cluster)
    found = incidents.listing(session, job_id=job_id, cluster=of_cluster, limit=FEW)
    clusters = sorted({one.cluster or "" for one in found})
    if len(clusters) > 1:
        names = ", ".join(name or "(none)" for name in clusters)
        raise Conflict(
            f"several clusters have a job {job_id!r}: {names}", hint="name one with cluster="
        )
    if not found:
        return None
    failed_at = failure_of(session, found[0].id, found[0].created_at)
    return Newest(found[0], restart_of(session, found[0].id), failed_at)


def on_launch(
    ctx: Context, caller: Caller, job_id: str, cluster: str | None, node: str | None = None
) -> Launch:
    """What the record says of a start of this job now. ``node`` is one that wants to take part.

    Raises as :func:`newest_failure` does.
    """
    now = utc_now()
    with ctx.database.reading() as session:
        newest = newest_failure(session, caller, job_id, cluster)
        of = newest.incident.cluster if newest else caller.asks(cluster)
        by_node = {one.node: one for one in left_out(session, of or "", newest, now)}
    excluded = tuple(by_node[name] for name in sorted(by_node))
    decision, why, again_s = decided(newest, excluded, now)
    action = RecommendedAction.CONTINUE
    if newest is not None:
        action = RecommendedAction.UNKNOWN
        if newest.settled and newest.restart is not None:
            action = ACTION_OF[newest.restart.decision]
    stopped = decision in {LaunchDecision.STOP, LaunchDecision.WAIT}
    return Launch(
        job_id=job_id,
        cluster=of,
        decision=decision,
        exclude=tuple(one.node for one in excluded),
        excluded=excluded,
        why=why,
        retries_left=newest.restart.retries_left if newest and newest.restart else None,
        incident_id=newest.incident.id if newest else None,
        status=LaunchStatus.COMPLETED if newest is None or newest.settled
        else LaunchStatus.IN_FLIGHT,
        recommendation=Recommendation(action),
        may_join=None if node is None else not stopped and node not in by_node,
        again_s=again_s,
    )  # fmt: skip


def left_out(
    session: Session, cluster: str, newest: Newest | None, now: datetime
) -> Iterator[LeftOut]:
    """Nodes that the start should not get: by the answer to the job's own failure, by those of
    other jobs of the cluster, by acts of ours; the later ones of one node stand above.
    """
    cluster_id = actions.cluster_id_of(session, cluster)
    if cluster_id is None:
        return
    since = now - LEFT_OUT_FOR
    back = actions.given_back(session, cluster_id, since)
    convicted = [
        LeftOut(
            one.node,
            f"convicted of {one.category}; nobody is known to have mended it",
            one.incident_id,
            one.at + LEFT_OUT_FOR,
        )
        for one in convicted_since(session, cluster, since)
    ]
    for one in (*by_answer(session, cluster_id, newest, now), *convicted):
        if is_host_name(one.node) and (one.incident_id, one.node) not in back:
            yield one
    yield from actions.excluded_nodes(session, cluster_id, now)


def by_answer(
    session: Session, cluster_id: int, newest: Newest | None, now: datetime
) -> Iterator[LeftOut]:
    """Nodes that the newest answer leaves out of the next start of this job, unless a person said
    that it was another cause, or mended them since.
    """
    if newest is None or newest.restart is None:
        return
    incident, nodes = newest.incident, newest.restart.exclude
    until = newest.failed_at + LEFT_OUT_FOR
    mended = last_repairs(session, cluster_id, nodes) if nodes and now <= until else {}
    for node in nodes if now <= until else ():
        if clears(incident, node) or mended.get(node, newest.failed_at) > newest.failed_at:
            continue
        yield LeftOut(node, "the last failure of this job points at it", incident.id, until)


def clears(incident: IncidentView, node: str) -> bool:
    """Whether a person has said that it was no trouble of a node, or of another one."""
    said = incident.resolution
    return said is not None and (
        said.category not in set(OF_THE_NODE) or said.node not in (None, node)
    )


def decided(
    newest: Newest | None, excluded: tuple[LeftOut, ...], now: datetime
) -> tuple[LaunchDecision, str, float | None]:
    """The decision, why, and when to ask again."""
    start = LaunchDecision.START_WITHOUT if excluded else LaunchDecision.START
    if newest is None:
        return start, "No failure of this job is on record.", None
    age = now - newest.failed_at
    if newest.restart is None:
        if newest.settled:
            return start, "The last failure of this job has no cause to act on.", None
        return start, "The last failure of this job is still being analysed.", SOON_S
    restart = newest.restart
    if restart.decision is RestartDecision.STOP and age <= STOP_HOLDS:
        return LaunchDecision.STOP, restart.why, None
    if restart.decision is RestartDecision.WAIT and age <= WAIT_HOLDS:
        return LaunchDecision.WAIT, restart.why, AGAIN_S
    return start, restart.why, None if newest.settled else SOON_S
