"""Uploads and the files they brought.

How much each token has brought.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, Final, cast

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Select,
    Table,
    bindparam,
    func,
    insert,
    select,
    tuple_,
    update,
)
from sqlalchemy.orm import Session

from models import Artifact, Digest, Upload, Work
from triage.domain.states import ArtifactState, WorkKind, WorkState
from triage.store.database.ids import make_id
from triage.store.database.upsert import insert_missing
from triage.store.views import ArtifactView, name_in_reports

# What a file has of its upload.
_OF_UPLOAD: Final = ("blob_key", "key_id")
# The columns of :class:`ArtifactView` in the order of its fields, behind a join of the upload.
_COLUMNS: Final = tuple(
    getattr(Upload if field.name in _OF_UPLOAD else Artifact, field.name)
    for field in fields(ArtifactView)
)
# What of a view is written into the table of artifacts.
_WRITTEN: Final = tuple(f.name for f in fields(ArtifactView) if f.name not in _OF_UPLOAD)
# What every upload asks and says, made once, of the tables.
_FILES: Final = cast("Table", Artifact.__table__)
_NEW_UPLOAD: Final = insert(cast("Table", Upload.__table__))
_WANTED: Final[BindParameter[str]] = bindparam("wanted", expanding=True)
_OF_INCIDENT: Final = _FILES.c.incident_id == bindparam("of_incident")
_KNOWN: Final = select(_FILES.c.identity, _FILES.c.id).where(
    _OF_INCIDENT, _FILES.c.identity.in_(_WANTED)
)
_TAKEN_NAMES: Final = select(_FILES.c.name_hash).where(
    _OF_INCIDENT, _FILES.c.name_hash.in_(_WANTED)
)


def add_upload(
    session: Session,
    incident_id: str,
    stored_bytes: int,
    files: Sequence[ArtifactView],
    key_id: str | None = None,
    blob_key: str | None = None,
    now: datetime | None = None,
) -> tuple[str, dict[str, ArtifactView]]:
    """One upload and its files, all in one blob: its id, and identity -> file of those that are
    new. ``key_id`` is the token that brought them. ``blob_key`` and ``now`` are those of the files
    where there are any.
    """
    blob_key = blob_key or files[0].blob_key
    now = now or files[0].created_at
    upload_id = make_id("upl", now)
    session.execute(
        _NEW_UPLOAD,
        {
            "id": upload_id,
            "incident_id": incident_id,
            "blob_key": blob_key,
            "stored_bytes": stored_bytes,
            "key_id": key_id,
            "created_at": now,
        },
    )
    rows = [
        {
            **{name: getattr(file, name) for name in _WRITTEN},
            "upload_id": upload_id,
            "name_hash": name_hash(file.node, file.filename),
        }
        for file in files
    ]
    new = {file.identity: file for file in files}
    if insert_missing(session, Artifact, rows):
        return upload_id, new
    kept = session.scalars(select(Artifact.identity).where(Artifact.upload_id == upload_id))
    return upload_id, {identity: new[identity] for identity in kept}


def name_hash(node: str | None, filename: str) -> str:
    """Of a file's name in reports, in hexadecimal digits."""
    name = name_in_reports(node, filename)
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()


def find_taken_names(
    session: Session, incident_id: str, names: Iterable[tuple[str | None, str]]
) -> set[str]:
    """Hashes of those (node, filename) that a file of the incident bears already."""
    wanted = sorted({name_hash(node, filename) for node, filename in names})
    found: set[str] = set()
    for start in range(0, len(wanted), 1000):
        asked = {"of_incident": incident_id, "wanted": wanted[start : start + 1000]}
        found |= set(session.scalars(_TAKEN_NAMES, asked))
    return found


def _select_views(*where: ColumnElement[bool]) -> Select[Any]:
    """A question for the files that fulfil these conditions."""
    return select(*_COLUMNS).join(Upload, Artifact.upload_id == Upload.id).where(*where)


def _view(row: Sequence[Any]) -> ArtifactView:
    found = ArtifactView(*row)
    return replace(found, state=ArtifactState(found.state))


def find_by_identity(session: Session, incident_id: str, identity: str) -> ArtifactView | None:
    """The file of this identity, if the incident has it already."""
    query = _select_views(Artifact.incident_id == incident_id, Artifact.identity == identity)
    row = session.execute(query).one_or_none()
    return None if row is None else _view(row)


def find_known_identities(
    session: Session, incident_id: str, identities: Iterable[str]
) -> dict[str, str]:
    """Which of these the incident has already: identity -> id."""
    wanted = list(identities)
    found: dict[str, str] = {}
    for start in range(0, len(wanted), 1000):
        asked = {"of_incident": incident_id, "wanted": wanted[start : start + 1000]}
        found.update({row.identity: row.id for row in session.execute(_KNOWN, asked)})
    return found


def list_by_incident(
    session: Session,
    incident_id: str,
    *,
    after: tuple[datetime, str] | None = None,
    limit: int = 50,
) -> list[ArtifactView]:
    """In the order in which they came; ``after`` is the last row already seen."""
    query = _select_views(Artifact.incident_id == incident_id)
    if after is not None:
        query = query.where(tuple_(Artifact.created_at, Artifact.id) > after)
    query = query.order_by(Artifact.created_at, Artifact.id).limit(limit)
    return [_view(row) for row in session.execute(query)]


def count_by_state(session: Session, incident_id: str) -> dict[ArtifactState, int]:
    """How many files of an incident stand where."""
    rows = session.execute(
        select(Artifact.state, func.count())
        .where(Artifact.incident_id == incident_id)
        .group_by(Artifact.state)
    )
    return {**dict.fromkeys(ArtifactState, 0), **{ArtifactState(s): n for s, n in rows}}


def find_by_name(session: Session, incident_id: str, name: str) -> ArtifactView | None:
    """The file that reports call so; without a key once its bytes were pruned."""
    query = _select_views(
        Artifact.incident_id == incident_id, Artifact.name_hash == name_hash(None, name)
    )
    row = session.execute(query.limit(1)).one_or_none()
    return None if row is None else _view(row)


def list_unread(session: Session, upload_ids: Sequence[str]) -> dict[str, list[ArtifactView]]:
    """The files of these uploads that are not read yet, in the order of their bytes."""
    query = _select_views(
        Artifact.upload_id.in_(upload_ids), Artifact.state == ArtifactState.STORED
    )
    query = query.add_columns(Artifact.upload_id)
    rows = session.execute(query.order_by(Upload.id, Artifact.position, Artifact.id))
    by_upload: dict[str, list[ArtifactView]] = {}
    for *values, upload_id in rows:
        by_upload.setdefault(upload_id, []).append(_view(values))
    return by_upload


def list_by_upload(session: Session, upload_id: str) -> list[ArtifactView]:
    """The files of an upload, in the order of their bytes."""
    query = _select_views(Artifact.upload_id == upload_id).order_by(Artifact.position, Artifact.id)
    return [_view(row) for row in session.execute(query)]


def find_upload(session: Session, upload_id: str) -> tuple[str, str | None] | None:
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


def set_states(
    session: Session, states: Mapping[str, tuple[ArtifactState, str | None]]
) -> set[str]:
    """What became of files: id -> (state, reason). Without a reason, a note of before stays.

    The ids of those that were not read until now: one may have been set apart meanwhile.
    """
    unread: set[str] = set()
    together: dict[tuple[ArtifactState, str | None], list[str]] = {}
    for artifact_id, outcome in states.items():
        together.setdefault(outcome, []).append(artifact_id)
    for (state, reason), ids in together.items():
        values: dict[str, str] = {"state": str(state)}
        if reason is not None:
            values["reason"] = reason
        for start in range(0, len(ids), 1000):
            changed = session.scalars(
                update(Artifact)
                .where(Artifact.id.in_(ids[start : start + 1000]))
                .where(Artifact.state == ArtifactState.STORED)
                .values(**values)
                .returning(Artifact.id)
                .execution_options(synchronize_session=False)
            )
            unread |= set(changed)
    return unread


def list_other_blobs(session: Session, upload_id: str, most: int) -> list[str]:
    """Keys of blobs of other uploads, the newest first."""
    found = session.scalars(
        select(Upload.blob_key)
        .where(Upload.id != upload_id, Upload.blob_key.is_not(None))
        .order_by(Upload.created_at.desc())
        .limit(most)
    )
    return [key for key in found if key is not None]


def list_given_up(session: Session, incident_id: str) -> list[tuple[str, str]]:
    """(name in reports, reason) of the files that we failed to read by a mistake of ours."""
    query = _select_views(
        Artifact.incident_id == incident_id, Artifact.state == ArtifactState.STORED
    )
    query = query.join(Work, Work.key == Upload.id).add_columns(Work.last_error)
    query = query.where(Work.kind == WorkKind.PARSE, Work.state == WorkState.QUARANTINED)
    rows = session.execute(query.order_by(Artifact.filename, Artifact.id))
    return [(_view(row[:-1]).name, f"triage failed over it: {row[-1]}") for row in rows]


def list_quarantined(session: Session, incident_id: str) -> list[tuple[str, str]]:
    """(name in reports, reason) of the files that no reader has got through."""
    query = _select_views(
        Artifact.incident_id == incident_id, Artifact.state == ArtifactState.QUARANTINED
    )
    query = query.outerjoin(Digest, Digest.artifact_id == Artifact.id)
    query = query.where(Digest.artifact_id.is_(None)).order_by(Artifact.filename, Artifact.id)
    files = [_view(row) for row in session.execute(query)]
    return [(file.name, file.reason or "") for file in files]


def sum_bytes_since(session: Session, since: datetime) -> dict[str, int]:
    """Stored bytes of uploads since then, by the id of the token; "" where there was none."""
    rows = session.execute(
        select(Upload.key_id, func.sum(Upload.stored_bytes))
        .where(Upload.created_at >= since)
        .group_by(Upload.key_id)
    )
    return {key_id or "": int(total) for key_id, total in rows}
