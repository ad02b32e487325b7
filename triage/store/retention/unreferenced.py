"""Blobs whose bytes are to go: too old, or erased on request.

What is erased on request: its rows, locked against uploads and taken out, and what is left of
them, so that it does not come back by itself.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final, cast

from sqlalchemy import Table, bindparam, delete, func, select, update
from sqlalchemy.orm import Session, load_only, undefer

from models import (
    Artifact,
    Erasure,
    Incident,
    Revision,
    Suspect,
    UnreferencedBlob,
    Upload,
)
from triage.domain.file_kind import FileKind
from triage.store.database.upsert import count_changed, insert_missing
from triage.store.incidents.facts import withdraw_job_json
from triage.store.incidents.incidents import schedule_settling
from triage.store.incidents.problems import forget_features
from triage.store.uploads import artifacts
from triage.store.views import ArtifactView, IncidentView


def find_known_blobs(session: Session, keys: Sequence[str]) -> set[str]:
    """Which of these blobs an upload refers to."""
    found = session.scalars(select(Upload.blob_key).where(Upload.blob_key.in_(keys)))
    return {key for key in found if key is not None}


def mark_erased(session: Session, keys: Iterable[str], now: datetime) -> None:
    """These are to go at once: a person wants it, or they are too old. A process that dies
    meanwhile leaves the mark.
    """
    rows = [{"blob_key": key, "marked_at": now} for key in keys]
    insert_missing(session, UnreferencedBlob, rows)


def forget_stored(session: Session, keys: Sequence[str], now: datetime) -> None:
    """These are of uploads that are too old: their rows name no bytes any more, which go."""
    count_changed(session, update(Upload).where(Upload.blob_key.in_(keys)).values(blob_key=None))
    mark_erased(session, keys, now)


def list_marked(session: Session) -> list[str]:
    """Those that are to go, and are perhaps still there."""
    return list(session.scalars(select(UnreferencedBlob.blob_key)))


def forget(session: Session, keys: Sequence[str]) -> None:
    """They are gone."""
    session.execute(delete(UnreferencedBlob).where(UnreferencedBlob.blob_key.in_(keys)))


# Asked twice by every upload; made once, of the table.
_ERASURES: Final = cast("Table", Erasure.__table__)
_OF_JOB: Final = select(_ERASURES.c.identity).where(
    _ERASURES.c.job_id == bindparam("of_job"), _ERASURES.c.identity.is_not(None)
)


@dataclass(frozen=True, slots=True)
class ErasureRequest:
    """Who wanted something erased, why, and when."""

    actor: str
    reason: str
    at: datetime


def find(session: Session, subject: str) -> ErasureRequest | None:
    """The request that erased an artifact or an incident of this id; None for none."""
    row = session.get(Erasure, subject)
    return None if row is None else ErasureRequest(row.actor, row.reason, row.at)


def list_by_job(session: Session, job_id: str) -> frozenset[str]:
    """Identities of the files of a job that are not taken again."""
    return frozenset(session.scalars(_OF_JOB, {"of_job": job_id}))


def remember(
    session: Session, incident: IncidentView, by: ErasureRequest, artifact_id: str | None = None
) -> None:
    """Note what is about to go: one file, or without an id the incident with all its files.

    A job.json has no identity of its own: another may come.
    """
    wanted = select(Artifact.id, Artifact.identity, Artifact.kind)
    wanted = wanted.where(Artifact.incident_id == incident.id)
    if artifact_id is not None:
        wanted = wanted.where(Artifact.id == artifact_id)
    going = {
        key: None if kind == FileKind.JOB_JSON else identity
        for key, identity, kind in session.execute(wanted)
    }
    if artifact_id is None:
        going[incident.id] = None
    of = {"incident_id": incident.id, "job_id": incident.job_id, **asdict(by)}
    rows = [{"subject": subject, "identity": identity, **of} for subject, identity in going.items()]
    insert_missing(session, Erasure, rows)


@dataclass(frozen=True, slots=True)
class PackMember:
    """A file, its upload, and the ``others`` that have frames in the same pack, in their order."""

    artifact: ArtifactView
    upload_id: str
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


def list_blob_keys(session: Session, incident_id: str) -> list[str]:
    """The packs of an incident."""
    keys = select(Upload.blob_key).where(Upload.incident_id == incident_id)
    return [key for key in session.scalars(keys) if key is not None]


def find_pack(session: Session, artifact_id: str) -> PackMember | None:
    """Where a file lies; None where there is none of this id."""
    upload_id = session.scalar(select(Artifact.upload_id).where(Artifact.id == artifact_id))
    if upload_id is None:
        return None
    together = artifacts.list_by_upload(session, upload_id)
    this = next(one for one in together if one.id == artifact_id)
    others = tuple(one for one in together if one.id != artifact_id and one.stored_bytes)
    return PackMember(this, upload_id, others)


def remove_artifact(session: Session, pack: PackMember, rewritten: RewrittenPack) -> None:
    """The row of a file and what was read out of it; the others lie in another pack now."""
    session.execute(delete(Artifact).where(Artifact.id == pack.artifact.id))
    for one, position in zip(pack.others, rewritten.positions, strict=bool(rewritten.blob_key)):
        session.execute(update(Artifact).where(Artifact.id == one.id).values(position=position))
    values = {"blob_key": rewritten.blob_key, "stored_bytes": rewritten.stored_bytes}
    session.execute(update(Upload).where(Upload.id == pack.upload_id).values(**values))
    if pack.artifact.kind == FileKind.JOB_JSON:
        withdraw_job_json(session, pack.artifact.incident_id)


def answer_anew(
    session: Session, incident_id: str, num_less: int, quiet_s: float, now: datetime
) -> None:
    """Drop all answers, which quote the file, and have the incident answered without it."""
    for table in (Revision, Suspect):
        session.execute(delete(table).where(table.incident_id == incident_id))
    forget_features(session, incident_id)
    row = session.get_one(
        Incident, incident_id, options=[undefer(Incident.coverage)], populate_existing=True
    )
    row.verdict, row.coverage, row.category, row.wanted = None, None, None, None
    row.num_artifacts = max(row.num_artifacts - num_less, 0)
    row.inputs += 1
    session.flush()
    schedule_settling(session, row, quiet_s, now)


def count_erased(session: Session, incident_id: str) -> int:
    """How many files of an incident were erased: an answer made before one of them is void."""
    query = select(func.count()).where(Erasure.incident_id == incident_id)
    return session.scalar(query) or 0
