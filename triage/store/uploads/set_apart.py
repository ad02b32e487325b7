"""Files of a token that is no longer believed: set apart, and put back."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, delete, func, or_, select, update
from sqlalchemy.orm import Session

from models import Artifact, Digest, Evidence, Upload
from triage.domain.states import ArtifactState

_AT_ONCE: Final = 1000
_TAINTED: Final = "set apart: token "


def make_reason(key_id: str) -> str:
    """Why a file of this token is set apart."""
    return f"{_TAINTED}{key_id} is no longer believed"


def is_believed() -> ColumnElement[bool]:
    """That a file was not set apart with its token."""
    return or_(Artifact.reason.is_(None), ~Artifact.reason.startswith(_TAINTED, autoescape=True))


def _build_key_conditions(key_id: str, since: datetime | None) -> list[ColumnElement[bool]]:
    by_key: list[ColumnElement[bool]] = [Upload.key_id == key_id]
    return by_key if since is None else [*by_key, Upload.created_at >= since]


def count_brought(session: Session, key_id: str, since: datetime | None) -> tuple[int, int]:
    """How many uploads and files a token has brought."""
    uploads = select(func.count()).select_from(Upload).where(*_build_key_conditions(key_id, since))
    files = (
        select(func.count())
        .select_from(Artifact)
        .join(Upload, Artifact.upload_id == Upload.id)
        .where(*_build_key_conditions(key_id, since))
    )
    return session.scalar(uploads) or 0, session.scalar(files) or 0


def list_incidents(session: Session, key_id: str, since: datetime | None) -> list[str]:
    """The incidents that a token has brought files of, in the order of ids."""
    found = select(Upload.incident_id).where(*_build_key_conditions(key_id, since)).distinct()
    return list(session.scalars(found.order_by(Upload.incident_id)))


def set_apart(session: Session, incident_id: str, key_id: str, since: datetime | None) -> int:
    """Set apart what a token brought of an incident; how many files.

    What was read out of them goes: no answer, list or count finds it any more.
    """
    ids = session.scalars(
        select(Artifact.id)
        .join(Upload, Artifact.upload_id == Upload.id)
        .where(Artifact.incident_id == incident_id, *_build_key_conditions(key_id, since))
        # What has no bytes was refused, or is a job.json, whose facts are set apart by themselves.
        .where(Artifact.state != ArtifactState.QUARANTINED, Artifact.stored_bytes > 0)
    ).all()
    for start in range(0, len(ids), _AT_ONCE):
        part = ids[start : start + _AT_ONCE]
        of_part = Artifact.id.in_(part)
        state = {"state": str(ArtifactState.QUARANTINED), "reason": make_reason(key_id)}
        session.execute(update(Artifact).where(of_part).values(**state))
        session.execute(delete(Digest).where(Digest.artifact_id.in_(part)))
        session.execute(delete(Evidence).where(Evidence.artifact_id.in_(part)))
    return len(ids)


def list_identities_apart(session: Session, incident_id: str) -> set[str]:
    """The files of an incident that were set apart with their token."""
    apart = select(Artifact.identity).where(Artifact.incident_id == incident_id, ~is_believed())
    return set(session.scalars(apart.where(Artifact.state == ArtifactState.QUARANTINED)))


def put_back(session: Session, incident_id: str, key_id: str) -> tuple[int, Sequence[str]]:
    """Put back what was set apart: how many files, and the uploads that are to be read again."""
    apart = (
        (Artifact.incident_id == incident_id)
        & (Artifact.state == ArtifactState.QUARANTINED)
        & (Artifact.reason == make_reason(key_id))
    )
    uploads = session.scalars(
        select(Artifact.upload_id).where(apart).distinct().order_by(Artifact.upload_id)
    ).all()
    num_files = session.scalar(select(func.count()).select_from(Artifact).where(apart)) or 0
    stored = {"state": str(ArtifactState.STORED), "reason": None, "tries": 0}
    session.execute(update(Artifact).where(apart).values(**stored))
    return num_files, uploads
