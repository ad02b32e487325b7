"""Erased on request: an artifact or an incident, out of rows, packs, answers and messages.

Rows go in one transaction, which also marks the bytes; they are deleted after it, by this
process or, when it dies, by a worker. What is erased is remembered by what it was, so that a
spool that sends it again is refused.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NoReturn

import structlog
from sqlalchemy.orm import Session

from triage.clock import read_utc_now
from triage.domain.states import WorkKind
from triage.errors import Conflict, Gone, NotFound, Place, Refusal, Unprocessable
from triage.services.context import Context
from triage.services.notifications.outbox import tell_deleted
from triage.services.retention.prune import finish_erasures
from triage.services.uploads.pack import copy_frames
from triage.services.uploads.record import is_note
from triage.store import node_notices
from triage.store.access import audit, idempotency
from triage.store.database.ids import make_id
from triage.store.incidents import incidents, past
from triage.store.messages import deliveries
from triage.store.retention import unreferenced
from triage.store.retention.unreferenced import ErasureRequest, PackMember, RewrittenPack
from triage.store.views import IncidentView
from triage.store.work import table as work
from triage.store.work.table import ERASE

log = structlog.get_logger(__name__)
MAX_REASON: Final = 1000


def delete_incident(ctx: Context, incident_id: str, actor: str, reason: str) -> None:
    """Erase an incident with all that is its own; who was sent anything of it is told.

    Raises :class:`NotFound`, :class:`Gone` for one that was erased already, :class:`Unprocessable`
    without a reason.
    """
    by = _make_request(actor, reason)
    with _erasing(ctx, "incident", incident_id, incident_id, by) as (session, incident):
        unreferenced.remember(session, incident, by)
        unreferenced.mark_erased(session, unreferenced.list_blob_keys(session, incident_id), by.at)
        node_notices.erase_of_incident(session, incident_id)
        tell_deleted(session, ctx.settings, incident, by.at)
        past.remove(session, [incident_id], remembered=False)
    finish_erasures(ctx)


def delete_artifact(ctx: Context, artifact_id: str, actor: str, reason: str) -> str:
    """Erase one file; its incident, whose id is returned, is answered again without it.

    Raises as :func:`delete_incident`, and :class:`Conflict` where another file of the same pack
    is erased at the same moment.
    """
    by = _make_request(actor, reason)
    with ctx.database.reading() as session:
        pack = unreferenced.find_pack(session, artifact_id)
        if pack is None:
            _raise_not_found(session, artifact_id, "artifact")
    file, rewritten = pack.artifact, _drop_file(ctx, pack)
    try:
        of = file.incident_id
        with _erasing(ctx, "artifact", artifact_id, of, by, sha256=file.sha256) as got:
            session, incident = got
            now = unreferenced.find_pack(session, artifact_id)
            if now is None or now.artifact.blob_key != file.blob_key:
                raise Conflict("another file of the same upload is being erased", hint="try again")
            unreferenced.remember(session, incident, by, artifact_id)
            if file.blob_key is not None:
                unreferenced.mark_erased(session, [file.blob_key], by.at)
            node_notices.erase(session, file.node, file.sha256)
            unreferenced.remove_artifact(session, pack, rewritten)
            counted = 0 if is_note(file) else 1
            unreferenced.answer_anew(session, incident.id, counted, ctx.settings.quiet_s, by.at)
    except Refusal:
        if rewritten.blob_key is not None:
            ctx.blobs.delete(rewritten.blob_key)
        raise
    finish_erasures(ctx)
    return file.incident_id


@contextmanager
def _erasing(
    ctx: Context, what: str, subject: str, of: str, by: ErasureRequest, **facts: str
) -> Iterator[tuple[Session, IncidentView]]:
    """The incident ``of`` which ``subject`` is erased: nobody adds to it meanwhile. Messages and
    kept answers that say what its files say go, and the audit trail has it.
    """
    with ctx.database.writing() as session:
        unreferenced.lock(session, of)
        incident = incidents.find(session, of)
        if incident is None:
            _raise_not_found(session, subject, what)
        deliveries.forget_bodies(session, incident.id, incident.created_at)
        idempotency.forget_about(session, incident.id)
        yield session, incident
        work.enqueue(session, WorkKind.RETENTION, ERASE, by.at)
        detail = {"reason": by.reason, "job_id": incident.job_id, "incident_id": of, **facts}
        audit.note(session, by.actor, f"{what}.delete", subject, by.at, detail)
    log.warning("erased", subject=subject, actor=by.actor)


def _make_request(actor: str, reason: str) -> ErasureRequest:
    text = reason.strip()
    if not 1 <= len(text) <= MAX_REASON:
        raise Unprocessable(
            "say why it is to be erased",
            hint=f"give a reason of 1 to {MAX_REASON:,} characters; the audit trail keeps it",
            places=(Place("query/reason", "missing or too long"),),
        )
    return ErasureRequest(actor, text, read_utc_now())


def _raise_not_found(session: Session, subject: str, what: str) -> NoReturn:
    known = unreferenced.find(session, subject)
    if known is None:
        raise NotFound(f"there is no such {what}", hint="GET /v1/incidents lists what there is")
    raise Gone(
        f"the {what} was erased at {known.at:%Y-%m-%d %H:%M}Z",
        hint="nothing is left to do; GET /v1/audit says who wanted it",
    )


def _drop_file(ctx: Context, pack: PackMember) -> RewrittenPack:
    """The pack of an upload without one file's frame: a new blob, where others have frames."""
    if pack.artifact.blob_key is None or not pack.others:
        return RewrittenPack(None, 0, ())
    key = make_id("blob", read_utc_now())
    blob = ctx.blobs.begin(key)
    try:
        positions = copy_frames(ctx.blobs, pack.artifact.blob_key, pack.others, blob)
        blob.commit()
    finally:
        blob.abort()
    return RewrittenPack(key, blob.tell(), tuple(positions))
