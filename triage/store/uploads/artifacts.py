"""Uploads and the files they brought."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, cast

from sqlalchemy import BindParameter, Table, bindparam, func, insert, select, tuple_, update
from sqlalchemy.orm import Session

from models import Artifact, Digest, Upload
from triage.domain.states import ArtifactState
from triage.store.database.ids import new_id
from triage.store.database.upsert import insert_missing
from triage.store.views import ArtifactView

__all__ = [
    "NewArtifact",
    "Stored",
    "add_upload",
    "by_identity",
    "by_name",
    "known_identities",
    "name_hash",
    "num_in_states",
    "of_incident",
    "quarantine_upload",
    "set_states",
    "taken_names",
    "unread",
    "upload_of",
]


@dataclass(frozen=True, slots=True)
class NewArtifact:
    """A file that lies in a blob and has no row yet; ``identity`` is unique in its incident."""

    identity: str
    node: str | None
    rank: int | None
    kind: str
    filename: str
    sha256: str
    size_bytes: int
    position: int
    stored_bytes: int
    redacted: Mapping[str, int]
    state: ArtifactState = ArtifactState.STORED
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """Where a file's bytes lie, and what a reader has to know of it."""

    id: str
    incident_id: str
    node: str | None
    rank: int | None
    kind: str
    filename: str
    size_bytes: int
    blob_key: str | None
    """None once the bytes were pruned."""
    offset: int
    stored_bytes: int
    tries: int

    @property
    def name(self) -> str:
        """Its name in reports."""
        return self.filename if self.node is None else f"nodes/{self.node}/{self.filename}"


# The columns of :class:`Stored`, in its order.
STORED: Final = (
    Artifact.id, Artifact.incident_id, Artifact.node, Artifact.rank, Artifact.kind,
    Artifact.filename, Artifact.size_bytes, Upload.blob_key, Artifact.position,
    Artifact.stored_bytes, Artifact.tries,
)  # fmt: skip
# What every upload asks and says, made once, of the tables.
FILES: Final = cast("Table", Artifact.__table__)
NEW_UPLOAD: Final = insert(cast("Table", Upload.__table__))
WANTED: Final[BindParameter[str]] = bindparam("wanted", expanding=True)
OF_INCIDENT: Final = FILES.c.incident_id == bindparam("of_incident")
KNOWN: Final = select(FILES.c.identity, FILES.c.id).where(OF_INCIDENT, FILES.c.identity.in_(WANTED))
TAKEN_NAMES: Final = select(FILES.c.name_hash).where(OF_INCIDENT, FILES.c.name_hash.in_(WANTED))


def add_upload(
    session: Session,
    incident_id: str,
    blob_key: str,
    stored_bytes: int,
    files: Sequence[NewArtifact],
    now: datetime,
) -> tuple[str, dict[str, str]]:
    """One upload and its files: its id, and identity -> id of those that are new."""
    upload_id = new_id("upl", now)
    session.execute(
        NEW_UPLOAD,
        {
            "id": upload_id, "incident_id": incident_id, "blob_key": blob_key,
            "stored_bytes": stored_bytes, "created_at": now,
        },
    )  # fmt: skip
    rows = [
        {
            "id": new_id("art", now), "incident_id": incident_id, "upload_id": upload_id,
            "identity": file.identity, "node": file.node, "rank": file.rank,
            "kind": file.kind, "filename": file.filename,
            "name_hash": name_hash(file.node, file.filename), "sha256": file.sha256,
            "size_bytes": file.size_bytes, "position": file.position,
            "stored_bytes": file.stored_bytes, "state": str(file.state),
            "reason": file.reason, "redacted": dict(file.redacted), "tries": 0,
            "created_at": now,
        }
        for file in files
    ]  # fmt: skip
    if insert_missing(session, Artifact, rows):
        return upload_id, {str(row["identity"]): str(row["id"]) for row in rows}
    kept = session.execute(
        select(Artifact.identity, Artifact.id).where(Artifact.upload_id == upload_id)
    )
    return upload_id, {row.identity: row.id for row in kept}


def name_hash(node: str | None, filename: str) -> str:
    """Of a file's name in reports."""
    named = f"{filename}" if node is None else f"nodes/{node}/{filename}"
    return hashlib.sha256(named.encode("utf-8", "replace")).hexdigest()


def taken_names(
    session: Session, incident_id: str, names: Iterable[tuple[str | None, str]]
) -> set[str]:
    """Hashes of those (node, filename) that a file of the incident bears already."""
    wanted = sorted({name_hash(node, filename) for node, filename in names})
    found: set[str] = set()
    for start in range(0, len(wanted), 1000):
        asked = {"of_incident": incident_id, "wanted": wanted[start : start + 1000]}
        found |= set(session.scalars(TAKEN_NAMES, asked))
    return found


def by_identity(session: Session, incident_id: str, identity: str) -> ArtifactView | None:
    """The file of this identity, if the incident has it already."""
    row = session.scalar(
        select(Artifact).where(Artifact.incident_id == incident_id, Artifact.identity == identity)
    )
    return None if row is None else view(row)


def known_identities(
    session: Session, incident_id: str, identities: Iterable[str]
) -> dict[str, str]:
    """Which of these the incident has already: identity -> id."""
    wanted = list(identities)
    found: dict[str, str] = {}
    for start in range(0, len(wanted), 1000):
        asked = {"of_incident": incident_id, "wanted": wanted[start : start + 1000]}
        found.update({row.identity: row.id for row in session.execute(KNOWN, asked)})
    return found


def of_incident(
    session: Session,
    incident_id: str,
    *,
    after: tuple[datetime, str] | None = None,
    limit: int = 50,
) -> list[ArtifactView]:
    """In the order in which they came; ``after`` is the last row already seen."""
    query = select(Artifact).where(Artifact.incident_id == incident_id)
    if after is not None:
        query = query.where(tuple_(Artifact.created_at, Artifact.id) > after)
    query = query.order_by(Artifact.created_at, Artifact.id).limit(limit)
    return [view(row) for row in session.scalars(query)]


def num_in_states(session: Session, incident_id: str) -> dict[ArtifactState, int]:
    """How many files of an incident stand where."""
    rows = session.execute(
        select(Artifact.state, func.count())
        .where(Artifact.incident_id == incident_id)
        .group_by(Artifact.state)
    )
    return {**dict.fromkeys(ArtifactState, 0), **{ArtifactState(s): n for s, n in rows}}


def by_name(session: Session, incident_id: str, name: str) -> Stored | None:
    """The file that reports call so; without a key once its bytes were pruned."""
    row = session.execute(
        select(*STORED)
        .join(Upload, Artifact.upload_id == Upload.id)
        .where(Artifact.incident_id == incident_id, Artifact.name_hash == name_hash(None, name))
        .limit(1)
    ).one_or_none()
    return None if row is None else Stored(*row)


def unread(session: Session, upload_ids: Sequence[str]) -> dict[str, list[Stored]]:
    """The files of these uploads that are not read yet, in the order of their bytes."""
    rows = session.execute(
        select(Artifact.upload_id, *STORED)
        .join(Upload, Artifact.upload_id == Upload.id)
        .where(Artifact.upload_id.in_(upload_ids), Artifact.state == ArtifactState.STORED)
        .order_by(Upload.id, Artifact.position, Artifact.id)
    )
    found: dict[str, list[Stored]] = {}
    for upload_id, *values in rows:
        found.setdefault(upload_id, []).append(Stored(*values))
    return found


def upload_of(session: Session, upload_id: str) -> tuple[str, str | None] | None:
    """(incident, blob key) of an upload; no key once its bytes were pruned."""
    row = session.execute(
        select(Upload.incident_id, Upload.blob_key).where(Upload.id == upload_id)
    ).one_or_none()
    return None if row is None else (row[0], row[1])


def count_try(session: Session, artifact_id: str) -> None:
    """Note that a reader is about to look at this file alone."""
    session.execute(
        update(Artifact).where(Artifact.id == artifact_id).values(tries=Artifact.tries + 1)
    )


def set_states(session: Session, states: Mapping[str, tuple[ArtifactState, str | None]]) -> None:
    """What became of files: id -> (state, reason). Without a reason, a note of before stays."""
    together: dict[tuple[ArtifactState, str | None], list[str]] = {}
    for artifact_id, outcome in states.items():
        together.setdefault(outcome, []).append(artifact_id)
    for (state, reason), ids in together.items():
        values: dict[str, str] = {"state": str(state)}
        if reason is not None:
            values["reason"] = reason
        for start in range(0, len(ids), 1000):
            session.execute(
                update(Artifact)
                .where(Artifact.id.in_(ids[start : start + 1000]))
                .values(**values)
                .execution_options(synchronize_session=False)
            )


def quarantine_upload(session: Session, upload_id: str, reason: str) -> int:
    """Set apart what could not be read of an upload; how many files."""
    rows = session.scalars(
        select(Artifact).where(
            Artifact.upload_id == upload_id, Artifact.state == ArtifactState.STORED
        )
    ).all()
    for row in rows:
        row.state = ArtifactState.QUARANTINED
        row.reason = reason
    return len(rows)


def quarantined(session: Session, incident_id: str) -> list[tuple[str, str]]:
    """(name in reports, reason) of the files that no reader has got through."""
    rows = session.scalars(
        select(Artifact)
        .outerjoin(Digest, Digest.artifact_id == Artifact.id)
        .where(Artifact.incident_id == incident_id, Artifact.state == ArtifactState.QUARANTINED)
        .where(Digest.artifact_id.is_(None))
        .order_by(Artifact.filename, Artifact.id)
    )
    return [
        (r.filename if r.node is None else f"nodes/{r.node}/{r.filename}", r.reason or "")
        for r in rows
    ]


def view(row: Artifact) -> ArtifactView:
    return ArtifactView(
        row.id, row.incident_id, row.node, row.rank, row.kind, row.filename, row.sha256,
        row.size_bytes, ArtifactState(row.state), row.reason, row.redacted, row.created_at,
    )  # fmt: skip
