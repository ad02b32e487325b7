"""What an act rests on: the newest answer to an incident, and who brought its evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any, Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import (
    ApiKey,
    Artifact,
    Evidence,
    Incident,
    IncidentFacts,
    Job,
    Node,
    Repair,
    Suspect,
    Upload,
)
from triage.domain.category import Role
from triage.domain.facts import FactsState
from triage.domain.hosts import expand
from triage.domain.states import ArtifactState
from triage.store.incidents import incidents
from triage.store.incidents.matching import parse_failed_at
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
        select(Node.name, Repair.at)
        .join(Repair, Repair.node_id == Node.id)
        .where(Node.cluster_id == cluster_id, Node.name.in_(nodes))
        .order_by(Repair.at)
    )
    return {row.name: row.at for row in rows}


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
