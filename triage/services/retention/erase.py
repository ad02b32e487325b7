"""Erased on request: an artifact or an incident, out of rows, packs, answers and messages.

Rows go in one transaction, which also marks the bytes; they are deleted after it, by this
process or, when it dies, by a worker. What is erased is remembered by what it was, so that a
spool that sends it again is refused.
"""

from typing import Final, NoReturn

import structlog
from sqlalchemy.orm import Session

from triage.clock import read_utc_now
from triage.domain.states import WorkKind
from triage.errors import Conflict, Gone, NotFound, Place, Unprocessable
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
from triage.store.retention.unreferenced import PackMember, RewrittenPack
from triage.store.views import IncidentView
from triage.store.work import table as work
from triage.store.work.table import ERASE

log = structlog.get_logger(__name__)
MAX_REASON: Final = 1000
# A pack changes only when another file of it is erased at the same moment.
_TRIES: Final = 5


def delete_incident(ctx: Context, incident_id: str, actor: str, reason: str) -> None:
    """Erase an incident with all that is its own; who was sent anything of it is told.

    Raises :class:`NotFound`, :class:`Gone` for one that was erased already, :class:`Unprocessable`
    without a reason.
    """
    by = unreferenced.ErasureRequest(actor, _check_reason(reason), read_utc_now())
    with ctx.database.writing() as session:
        unreferenced.lock(session, incident_id)
        incident = incidents.find(session, incident_id)
        if incident is None:
            _raise_not_found(session, incident_id, "incident")
        unreferenced.add_incident(session, incident_id, incident.job_id, by)
        unreferenced.mark_erased(session, unreferenced.list_blob_keys(session, incident_id), by.at)
        _forget_quotes(session, incident)
        node_notices.erase_of_incident(session, incident_id)
        tell_deleted(session, ctx.settings, incident, by.at)
        past.remove(session, [incident_id], remembered=False)
        work.enqueue(session, WorkKind.RETENTION, ERASE, by.at)
        detail = {"reason": by.reason, "job_id": incident.job_id}
        audit.note(session, actor, "incident.delete", incident_id, by.at, detail)
    log.warning("incident erased", incident_id=incident_id, actor=actor)
    finish_erasures(ctx)


def delete_artifact(ctx: Context, artifact_id: str, actor: str, reason: str) -> str:
    """Erase one file; its incident, whose id is returned, is answered again without it.

    Raises as :func:`delete_incident`.
    """
    by = unreferenced.ErasureRequest(actor, _check_reason(reason), read_utc_now())
    for _ in range(_TRIES):
        with ctx.database.reading() as session:
            pack = unreferenced.find_pack(session, artifact_id)
            if pack is None:
                _raise_not_found(session, artifact_id, "artifact")
        rewritten = _drop_file(ctx, pack)
        if _note_erasure(ctx, pack, rewritten, by):
            log.warning("artifact erased", artifact_id=artifact_id, actor=actor)
            finish_erasures(ctx)
            return pack.artifact.incident_id
        if rewritten.blob_key is not None:
            ctx.blobs.delete(rewritten.blob_key)
    raise Conflict("other files of the same upload are being erased", hint="try again")


def _check_reason(reason: str) -> str:
    text = reason.strip()
    if not 1 <= len(text) <= MAX_REASON:
        raise Unprocessable(
            "say why it is to be erased",
            hint=f"give a reason of 1 to {MAX_REASON:,} characters; the audit trail keeps it",
            places=(Place("query/reason", "missing or too long"),),
        )
    return text


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


def _note_erasure(
    ctx: Context, pack: PackMember, rewritten: RewrittenPack, by: unreferenced.ErasureRequest
) -> bool:
    """Write it down; False, and nothing is written, where the pack is another by now."""
    with ctx.database.writing() as session:
        unreferenced.lock(session, pack.artifact.incident_id)
        if unreferenced.find_pack(session, pack.artifact.id) != pack:
            return False
        incident = incidents.find(session, pack.artifact.incident_id)
        if incident is None:
            return False
        unreferenced.add_artifacts(session, incident.id, incident.job_id, [pack.artifact.id], by)
        if pack.artifact.blob_key is not None:
            unreferenced.mark_erased(session, [pack.artifact.blob_key], by.at)
        node_notices.erase(session, pack.artifact.node, pack.artifact.sha256)
        unreferenced.remove_artifact(session, pack, rewritten)
        _forget_quotes(session, incident)
        counted = 0 if is_note(pack.artifact) else 1
        unreferenced.answer_anew(session, incident.id, counted, ctx.settings.quiet_s, by.at)
        work.enqueue(session, WorkKind.RETENTION, ERASE, by.at)
        detail = {"reason": by.reason, "incident_id": incident.id, "sha256": pack.artifact.sha256}
        audit.note(session, by.actor, "artifact.delete", pack.artifact.id, by.at, detail)
    return True


def _forget_quotes(session: Session, incident: IncidentView) -> None:
    """Messages and kept answers that say what the incident's files say."""
    deliveries.forget_bodies(session, incident.id, incident.created_at)
    idempotency.forget_about(session, incident.id)
