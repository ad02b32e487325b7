"""What an act rests on: the newest answer to an incident, and who brought its evidence. And nodes
that a start should not get: convicted lately and not mended, or taken out by our acts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any, Final

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from models import (
    Action,
    ApiKey,
    Artifact,
    Evidence,
    Incident,
    IncidentFacts,
    Job,
    Node,
    Repair,
    Resolution,
    Suspect,
    Upload,
)
from triage.actions.store.acts import is_out
from triage.domain.acting import ActionState, LeftOut, Verb
from triage.domain.category import HARDWARE, OF_THE_NODE, Role
from triage.domain.facts import FactsState
from triage.domain.hosts import expand
from triage.domain.restart import Restart
from triage.domain.states import ArtifactState, IncidentState
from triage.store.incidents import incidents
from triage.store.incidents.matching import parse_failed_at
from triage.store.incidents.settling import build_accused_condition
from triage.store.incidents.starts import find_restart
from triage.store.views import IncidentView

_FACTS_USED: Final = IncidentFacts.state.in_([FactsState.USED, FactsState.LATE])


@dataclass(frozen=True, slots=True)
class Source:
    """Where the evidence against a node is from.

    ``foreign`` names a token that is bound elsewhere, where none of it was brought by a token that
    may speak of the node. ``by_name`` is whether a file of the node, or a line, names it: the
    number of a rank does not.
    """

    foreign: str | None = None
    by_name: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """An incident as it stands now.

    ``suspects`` are those of its newest answer, as reports print them. ``answered`` is whether
    that answer knows all that has come in. ``doubted`` names a token that brought something of
    it and is no longer believed, or is bound to another cluster; None where there is none.
    ``failed_at`` is the earliest time that somebody, or the answer, says the job stopped at.
    ``repaired`` is when nodes of the suspects were last mended, ``sources`` who speaks of them.
    """

    incident: IncidentView
    cluster_id: int
    suspects: Sequence[dict[str, Any]]
    answered: bool
    doubted: str | None
    failed_at: datetime
    repaired: Mapping[str, datetime]
    sources: Mapping[str, Source]


def load_standing(session: Session, incident_id: str) -> Standing | None:
    """How an incident stands; None where there is none of this id."""
    incident = incidents.find(session, incident_id)
    row = session.execute(
        select(Incident.inputs, Incident.answered_inputs, Incident.key, Job.cluster_id)
        .join(Job, Job.id == Incident.job_fk)
        .where(Incident.id == incident_id)
    ).one_or_none()
    if incident is None or row is None:
        return None
    suspects = session.scalars(
        select(Suspect.row).where(Suspect.incident_id == incident_id).order_by(Suspect.position)
    ).all()
    named = {str(one["node"]): one for one in suspects
             if one.get("role") == Role.CULPRIT and one.get("node")}  # fmt: skip
    unread = incidents.count_unread(session, incident_id) > 0
    return Standing(
        incident,
        row.cluster_id,
        suspects,
        answered=row.answered_inputs >= row.inputs and not unread,
        doubted=_find_doubted_token(session, incident_id, incident.cluster),
        failed_at=choose_failure_time(incident.verdict, row.key, incident.created_at),
        repaired=last_repairs(session, row.cluster_id, list(named)),
        sources={node: _find_source(session, incident_id, one) for node, one in named.items()},
    )


def choose_failure_time(
    verdict: Mapping[str, Any] | None, key: str, created_at: datetime
) -> datetime:
    """When a job failed: the earlier one of what was reported and what was read."""
    said = str((verdict or {}).get("at") or "")
    read = datetime.fromisoformat(said) if said.endswith("Z") else None
    return min((at for at in (parse_failed_at(key), read) if at is not None), default=created_at)


def last_repairs(session: Session, cluster_id: int, nodes: Sequence[str]) -> dict[str, datetime]:
    """When each node was last repaired."""
    rows = session.execute(
        select(Node.name, func.max(Repair.at))
        .join(Repair, Repair.node_id == Node.id)
        .where(Node.cluster_id == cluster_id, Node.name.in_(nodes))
        .group_by(Node.name)
    )
    return dict(rows.all())


def _find_source(session: Session, incident_id: str, suspect: Mapping[str, Any]) -> Source:
    """Who brought what speaks against the node of a suspect, and whether it names the node."""
    node = str(suspect["node"])
    places = {(one.get("artifact"), one.get("line")) for one in suspect.get("because") or ()}
    rows = session.execute(
        select(
            Evidence.artifact, Evidence.line, Evidence.node, Evidence.rank,
            Artifact.node.label("of"), Upload.key_id, ApiKey.node_pattern, ApiKey.job_id,
        )
        .join(Artifact, Artifact.id == Evidence.artifact_id)
        .join(Upload, Upload.id == Artifact.upload_id)
        .outerjoin(ApiKey, ApiKey.id == Upload.key_id)
        .where(
            Evidence.incident_id == incident_id,
            Evidence.artifact.in_({str(artifact) for artifact, _ in places}),
        )
    ).all()  # fmt: skip
    rows = [one for one in rows if (one.artifact, one.line) in places]
    good = [
        one for one in rows
        if _may_speak(one.node_pattern, node)
        and (one.job_id is None or node in _collect_named_nodes(session, incident_id))
    ]  # fmt: skip
    foreign = f"the token {rows[0].key_id}, which is bound elsewhere" if rows and not good else None
    by_name = any(one.of == node or (one.node == node and one.rank is None) for one in good or rows)
    return Source(foreign, by_name)


def _may_speak(pattern: str | None, node: str) -> bool:
    return pattern is None or fnmatchcase(node, pattern)


def _collect_named_nodes(session: Session, incident_id: str) -> set[str]:
    """The nodes that somebody else than a token of the job itself says the job was on."""
    rows = session.execute(
        select(IncidentFacts.facts, ApiKey.node_pattern)
        .outerjoin(ApiKey, ApiKey.id == IncidentFacts.key_id)
        .where(IncidentFacts.incident_id == incident_id, _FACTS_USED, ApiKey.job_id.is_(None))
    )
    return {node for facts, pattern in rows for node in _parse_nodes(facts.get("nodes"))
            if _may_speak(pattern, node)}  # fmt: skip


def _parse_nodes(said: object) -> list[str]:
    """The names of nodes as they came: a list, or in the words of Slurm."""
    if isinstance(said, str):
        return expand(said)
    return [one for one in said if isinstance(one, str)] if isinstance(said, list) else []


def _find_doubted_token(session: Session, incident_id: str, cluster: str | None) -> str | None:
    """A token whose word or files still count in the incident, and must not; why not."""
    files = (
        select(Upload.key_id)
        .join(Artifact, Artifact.upload_id == Upload.id)
        .where(
            Artifact.incident_id == incident_id,
            Artifact.state.in_([ArtifactState.ANALYSED, ArtifactState.PARTIAL]),
        )
    )
    words = select(IncidentFacts.key_id).where(
        IncidentFacts.incident_id == incident_id, _FACTS_USED
    )
    keys = session.execute(
        select(ApiKey.id, ApiKey.tainted_at, ApiKey.cluster)
        .where(ApiKey.id.in_(files.union(words)))
        .order_by(ApiKey.id)
    )
    for key_id, tainted_at, bound in keys:
        if tainted_at is not None:
            return f"the token {key_id}, which is no longer believed"
        if bound is not None and bound != (cluster or ""):
            return f"the token {key_id}, which is bound to the cluster {bound!r}"
    return None


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
    stands = is_out(now) & build_accused_condition(Action.node, HARDWARE)
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
