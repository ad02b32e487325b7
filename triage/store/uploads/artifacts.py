"""Uploads and the files they brought.

How much each token has brought.

Files of a token that is no longer believed: set apart.

Files that could not be read, read again: from the bytes that are stored, or from new ones.
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
    and_,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.orm import Session

from models import Artifact, Digest, Evidence, Incident, Upload, Work
from triage.domain.batched import split_into_batches
from triage.domain.file_kind import LOGS
from triage.domain.states import ArtifactState, IncidentState, WorkKind, WorkState
from triage.store.database.ids import make_id
from triage.store.database.upsert import insert_missing, lock_rows
from triage.store.views import ArtifactView, name_in_reports
from triage.store.work import table as work

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
    for part in split_into_batches(wanted, 1000):
        asked = {"of_incident": incident_id, "wanted": part}
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
    found: dict[str, str] = {}
    for part in split_into_batches(identities, 1000):
        asked = {"of_incident": incident_id, "wanted": part}
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
        for part in split_into_batches(ids, 1000):
            changed = session.scalars(
                update(Artifact)
                .where(Artifact.id.in_(part))
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


def list_incidents_brought(session: Session, key_id: str, since: datetime | None) -> list[str]:
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
    for part in split_into_batches(ids, _AT_ONCE):
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


_SETTLED = (IncidentState.READY, IncidentState.FAILED)


def find_to_bring_again(
    session: Session, incident_id: str, identities: Iterable[str]
) -> Mapping[str, str]:
    """Which of these the incident has, and cannot read: identity -> id. What was refused as it
    came in is refused again.
    """
    query = (
        select(Artifact.identity, Artifact.id)
        .outerjoin(Work, and_(Work.kind == WorkKind.PARSE, Work.key == Artifact.upload_id))
        .where(Artifact.incident_id == incident_id, Artifact.identity.in_(list(identities)))
        .where(
            or_(
                _is_set_apart(),
                and_(
                    Artifact.state == ArtifactState.STORED,
                    or_(Work.waiting_for.is_not(None), Work.state == WorkState.QUARANTINED),
                ),
            )
        )
    )
    return {row.identity: row.id for row in session.execute(query)}


def bring_again(
    session: Session, upload_id: str, known: Mapping[str, str], files: Sequence[ArtifactView]
) -> None:
    """From now on the bytes of these files are those of a new upload, and are to be read."""
    for file in files:
        fresh: dict[str, Any] = {
            "upload_id": upload_id,
            "position": file.position,
            "stored_bytes": file.stored_bytes,
            "state": str(ArtifactState.STORED),
            "reason": file.reason,
            "tries": 0,
        }
        session.execute(update(Artifact).where(Artifact.id == known[file.identity]).values(**fresh))


def list_incidents_to_retry(session: Session, incident_id: str | None) -> list[str]:
    """Incidents that failed, or have files that could not be read; of all, or whether this one."""
    unread = select(Artifact.incident_id).where(_is_set_apart(), is_believed())
    owed = (
        select(Artifact.incident_id)
        .join(Work, and_(Work.kind == WorkKind.PARSE, Work.key == Artifact.upload_id))
        .where(or_(Work.state == WorkState.QUARANTINED, Work.waiting_for.is_not(None)))
    )
    query = select(Incident.id).where(
        or_(Incident.state == IncidentState.FAILED, Incident.id.in_(unread), Incident.id.in_(owed))
    )
    if incident_id is not None:
        query = query.where(Incident.id == incident_id)
    return list(session.scalars(query.order_by(Incident.id)))


def read_again(session: Session, incident_id: str, now: datetime, *, all_logs: bool = False) -> int:
    """Have what could not be read of an incident read again, and then answered; how many files.

    ``all_logs`` are read again as well, of which bytes are stored. What a token brought that is no
    longer believed stays apart.
    """
    incident = lock_rows(session, select(Incident).where(Incident.id == incident_id)).one()
    there = select(Upload.id).where(Upload.incident_id == incident_id, Upload.blob_key.is_not(None))
    session.execute(
        update(Artifact)
        .where(Artifact.incident_id == incident_id, is_believed())
        .where(or_(_is_set_apart(), _is_read_log()) if all_logs else _is_set_apart())
        .where(Artifact.upload_id.in_(there))
        .values(state=str(ArtifactState.STORED), reason=None, tries=0)
        .execution_options(synchronize_session=False)
    )
    found = session.execute(
        select(Artifact.upload_id, func.count())
        .where(Artifact.incident_id == incident_id, Artifact.state == ArtifactState.STORED)
        .group_by(Artifact.upload_id)
    ).all()
    for upload_id, _ in found:
        work.enqueue(session, WorkKind.PARSE, upload_id, now)
    if incident.state in _SETTLED and (found or incident.state == IncidentState.FAILED):
        incident.state = IncidentState.ANALYSING
        incident.reason = None
    work.enqueue(session, WorkKind.ANALYSE, incident_id, now)
    return sum(number for _, number in found)


def _is_read_log() -> ColumnElement[bool]:
    """A log that was read, and whose bytes were stored."""
    return and_(
        Artifact.state.in_([ArtifactState.ANALYSED, ArtifactState.PARTIAL]),
        Artifact.kind.in_(LOGS),
        Artifact.stored_bytes > 0,
    )


def _is_set_apart() -> ColumnElement[bool]:
    """No reader got through it, and its bytes were stored."""
    return and_(Artifact.state == ArtifactState.QUARANTINED, Artifact.stored_bytes > 0)
