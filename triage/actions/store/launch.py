"""Nodes that a start should not get: convicted lately and not mended, or taken out by our acts."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from models import Action, Incident, Job, Resolution, Suspect
from triage.actions.store.acts import STANDING
from triage.actions.store.evidence import choose_failure_time, last_repairs
from triage.domain.acting import ActionState, Verb
from triage.domain.category import HARDWARE, OF_THE_NODE, Role
from triage.domain.launch import LeftOut
from triage.domain.restart import Restart
from triage.domain.states import IncidentState
from triage.store.incidents.settling import build_accused_condition
from triage.store.incidents.starts import find_restart
from triage.store.views import IncidentView

# Convictions that are looked at, the newest: verdicts are long.
MOST_READ = 2000


@dataclass(frozen=True, slots=True)
class FailedStart:
    """The newest failure of a job, with what its answer says of the next start."""

    incident: IncidentView
    restart: Restart | None
    failed_at: datetime

    @property
    def settled(self) -> bool:
        """Whether its answer is there, or will not come."""
        return self.incident.state in {IncidentState.READY, IncidentState.FAILED}

    def is_cleared(self, node: str) -> bool:
        """Whether a person said that it was no trouble of a node, or that of another one."""
        said = self.incident.resolution
        return said is not None and (
            said.category not in set(OF_THE_NODE) or said.node not in (None, node)
        )


def load_failed_start(session: Session, incident: IncidentView) -> FailedStart:
    """The failure that an incident is about."""
    key = session.scalar(select(Incident.key).where(Incident.id == incident.id))
    failed_at = choose_failure_time(incident.verdict, key or "", incident.created_at)
    return FailedStart(incident, find_restart(session, incident.id), failed_at)


def iterate_convicted_since(
    session: Session, cluster_id: int, since: datetime, held: timedelta
) -> Iterator[LeftOut]:
    """The newest conviction of each node of a cluster, until ``held`` after the failure.

    Those alone that the verdict names to be taken out, that no person has set right, and of
    whose node no repair is recorded since. Times are those of the failures: what is told late is
    as old as it is.
    """
    rows = session.execute(
        select(Suspect.node, Incident.id, Incident.verdict, Incident.key, Incident.created_at)
        .join(Incident, Incident.id == Suspect.incident_id)
        .join(Job, Job.id == Incident.job_fk)
        .outerjoin(Resolution, Resolution.incident_id == Incident.id)
        .where(
            Job.cluster_id == cluster_id,
            Incident.created_at >= since,
            Incident.provisional.is_(False),
            Suspect.role == Role.CULPRIT,
            Suspect.category.in_(OF_THE_NODE),
            Suspect.node.is_not(None),
            build_accused_condition(),
        )
        .order_by(Incident.created_at.desc())
        .limit(MOST_READ)
    ).all()
    mended = last_repairs(session, cluster_id, list({row.node for row in rows}))
    found: dict[str, tuple[datetime, LeftOut]] = {}
    for row in rows:
        at = choose_failure_time(row.verdict, row.key, row.created_at)
        wanted = row.node in (row.verdict or {}).get("cordon", ()) and at >= since
        known = found.get(row.node)
        if not wanted or mended.get(row.node, at) > at or (known and known[0] >= at):
            continue
        why = f"convicted of {row.verdict['category']}; nobody is known to have mended it"
        found[row.node] = at, LeftOut(row.node, why, row.id, at + held)
    return (one for _, one in found.values())


def list_acted_on(
    session: Session, cluster_id: int, since: datetime, now: datetime
) -> tuple[list[LeftOut], set[tuple[str, str]]]:
    """Nodes that our acts keep out, each once, and (incident, node) of what was taken back since.

    An exclusion or a drain that is done counts until it is undone, until its end, or until a
    person says that the incident was no hardware, or another node.
    """
    stands = (
        Action.state.in_(STANDING)
        & Action.verb.in_([Verb.EXCLUDE, Verb.DRAIN])
        & or_(Action.expires_at.is_(None), Action.expires_at > now)
        & or_(
            Resolution.incident_id.is_(None),
            Resolution.category.in_(HARDWARE)
            & or_(Resolution.node.is_(None), Resolution.node == Action.node),
        )
    )
    taken_back = (Action.state == ActionState.UNDONE) & (Action.created_at >= since)
    rows = session.scalars(
        select(Action)
        .outerjoin(Resolution, Resolution.incident_id == Action.incident_id)
        .where(Action.cluster_id == cluster_id, or_(stands, taken_back))
        .order_by(Action.node, Action.created_at)
    )
    out, back = {}, set()
    for row in rows:
        if row.state == ActionState.UNDONE:
            back.add((row.incident_id, row.node))
            continue
        done = "drained" if row.verb == Verb.DRAIN else "excluded"
        why = f"{done} for {row.category} ({row.id}); `triage act undo {row.id}` takes it back"
        out[row.node] = LeftOut(row.node, why, row.incident_id, row.expires_at)
    return list(out.values()), back
