"""The rows of what is erased on request: found, locked against uploads, and taken out."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session, load_only, undefer

from models import Artifact, Erasure, Incident, Revision, Suspect, Upload
from triage.domain.file_kind import FileKind
from triage.store.incidents.facts import withdraw_job_json
from triage.store.incidents.incidents import rouse
from triage.store.uploads import artifacts
from triage.store.views import ArtifactView

__all__ = [
    "PackMember",
    "RewrittenPack",
    "answer_anew",
    "blob_keys",
    "lock",
    "num_erased",
    "pack_of",
    "remove_artifact",
]


@dataclass(frozen=True, slots=True)
class PackMember:
    """A file, its upload, and the ``others`` that have frames in the same pack, in their order."""

    artifact: ArtifactView
    incident_id: str
    upload_id: str
    blob_key: str | None
    others: tuple[ArtifactView, ...]


@dataclass(frozen=True, slots=True)
class RewrittenPack:
    """A pack written again: its key (None for none), its bytes, where each file's frame begins."""

    blob_key: str | None
    stored_bytes: int
    positions: Sequence[int]


def lock(session: Session, incident_id: str) -> None:
    """Hold an incident so that nobody adds rows that refer to it: an upload waits, and is told."""
    query = select(Incident).options(load_only(Incident.id)).where(Incident.id == incident_id)
    session.scalars(query.with_for_update()).one_or_none()


def blob_keys(session: Session, incident_id: str) -> list[str]:
    """The packs of an incident."""
    keys = select(Upload.blob_key).where(Upload.incident_id == incident_id)
    return [key for key in session.scalars(keys) if key is not None]


def pack_of(session: Session, artifact_id: str) -> PackMember | None:
    """Where a file lies; None where there is none of this id."""
    upload_id = session.scalar(select(Artifact.upload_id).where(Artifact.id == artifact_id))
    if upload_id is None:
        return None
    together = artifacts.of_upload(session, upload_id)
    this = next(one for one in together if one.id == artifact_id)
    others = tuple(one for one in together if one.id != artifact_id and one.stored_bytes)
    return PackMember(this, this.incident_id, upload_id, this.blob_key, others)


def remove_artifact(session: Session, pack: PackMember, rewritten: RewrittenPack) -> None:
    """The row of a file and what was read out of it; the others lie in another pack now."""
    session.execute(delete(Artifact).where(Artifact.id == pack.artifact.id))
    for one, position in zip(pack.others, rewritten.positions, strict=bool(rewritten.blob_key)):
        session.execute(update(Artifact).where(Artifact.id == one.id).values(position=position))
    values = {"blob_key": rewritten.blob_key, "stored_bytes": rewritten.stored_bytes}
    session.execute(update(Upload).where(Upload.id == pack.upload_id).values(**values))
    if pack.artifact.kind == FileKind.JOB_JSON:
        withdraw_job_json(session, pack.incident_id)


def answer_anew(
    session: Session, incident_id: str, num_less: int, quiet_s: float, now: datetime
) -> None:
    """Drop all answers, which quote the file, and have the incident answered without it."""
    for table in (Revision, Suspect):
        session.execute(delete(table).where(table.incident_id == incident_id))
    row = session.get_one(
        Incident, incident_id, options=[undefer(Incident.coverage)], populate_existing=True
    )
    row.verdict, row.coverage, row.category, row.wanted = None, None, None, None
    row.num_artifacts = max(row.num_artifacts - num_less, 0)
    row.inputs += 1
    session.flush()
    rouse(session, row, quiet_s, now)


def num_erased(session: Session, incident_id: str) -> int:
    """How many files of an incident were erased: an answer made before one of them is void."""
    query = select(func.count()).where(Erasure.incident_id == incident_id)
    return session.scalar(query) or 0
