"""What a person had erased, so that it does not come back by itself."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, cast

from sqlalchemy import Table, bindparam, select
from sqlalchemy.orm import Session

from models import Artifact, Erasure
from triage.domain.file_kind import FileKind
from triage.store.database.upsert import insert_missing

__all__ = ["ErasureRequest", "add_artifacts", "add_incident", "find", "of_job"]

# Asked twice by every upload; made once, of the table.
ERASURES: Final = cast("Table", Erasure.__table__)
OF_JOB: Final = select(ERASURES.c.identity).where(
    ERASURES.c.job_id == bindparam("of_job"), ERASURES.c.identity.is_not(None)
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


def of_job(session: Session, job_id: str) -> frozenset[str]:
    """Identities of the files of a job that are not taken again."""
    return frozenset(session.scalars(OF_JOB, {"of_job": job_id}))


def add_incident(session: Session, incident_id: str, job_id: str, by: ErasureRequest) -> None:
    """An incident and all its files are about to go."""
    artifacts = session.scalars(select(Artifact.id).where(Artifact.incident_id == incident_id))
    add_artifacts(session, incident_id, job_id, artifacts.all(), by)
    insert_missing(session, Erasure, [row_of(incident_id, incident_id, job_id, None, by)])


def add_artifacts(
    session: Session, incident_id: str, job_id: str, ids: Iterable[str], by: ErasureRequest
) -> None:
    """Files that are about to go. A job.json has no identity of its own: another may come."""
    ids = list(ids)
    rows = []
    for start in range(0, len(ids), 1000):
        wanted = select(Artifact.id, Artifact.identity, Artifact.kind)
        found = session.execute(wanted.where(Artifact.id.in_(ids[start : start + 1000])))
        rows += [
            row_of(key, incident_id, job_id, None if kind == FileKind.JOB_JSON else identity, by)
            for key, identity, kind in found
        ]
    insert_missing(session, Erasure, rows)


def row_of(
    subject: str, incident_id: str, job_id: str, identity: str | None, by: ErasureRequest
) -> dict[str, object]:
    return {
        "subject": subject, "incident_id": incident_id, "job_id": job_id, "identity": identity,
        "at": by.at, "actor": by.actor, "reason": by.reason,
    }  # fmt: skip
