"""An incident takes in the notices on its nodes that are kept: each a file, as if it were sent."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import PurePosixPath
from typing import Final

import structlog

from triage.domain.batched import split_into_batches
from triage.domain.caller import Caller
from triage.domain.file_kind import FileKind
from triage.errors import NotAllowed, TooMany
from triage.services.context import Context
from triage.services.uploads.ingest import TextOfNode, take_texts
from triage.services.uploads.received import ReceivedFile, Target
from triage.services.uploads.record import OF_HOOKS
from triage.store import node_notices
from triage.store.incidents import incidents
from triage.store.node_notices import NoticeKey
from triage.store.retention import unreferenced
from triage.store.uploads import artifacts

log = structlog.get_logger(__name__)
# Files of one upload.
_AT_ONCE: Final = 1000
_SHORT: Final = 16


def take_in_notices(ctx: Context, incident_id: str) -> int:
    """Take in what is kept for this incident and is not in yet; how many files.

    It is safe to be done twice, and to be stopped in the middle.
    """
    with ctx.database.reading() as session:
        job = incidents.find_job(session, incident_id)
        kept = node_notices.list_by_incident(session, incident_id) if job is not None else []
        by_identity = {_make_identity(one): one for one in kept}
        if job is None or not kept:
            return 0
        known = set(artifacts.find_known_identities(session, incident_id, by_identity))
        # Somebody whose word counts has said the same.
        known -= artifacts.list_identities_apart(session, incident_id)
        known |= unreferenced.list_by_job(session, job.job_id)
    new = [one for name, one in by_identity.items() if name not in known]
    new.sort(key=lambda one: one.key_id or "")
    target = Target(job.job_id, incident=incident_id, cluster=job.cluster)
    taken = 0
    # Who brought a file is noted with its upload.
    for key_id, mine in groupby(new, key=lambda one: one.key_id):
        for part in split_into_batches(mine, _AT_ONCE):
            by_token = replace(target, caller=Caller(key_id))
            taken += _take_in(ctx, by_token, part)
    return taken


def _take_in(ctx: Context, target: Target, notices: Sequence[NoticeKey]) -> int:
    with ctx.database.reading() as session:
        bodies = node_notices.read_bodies(session, [one.id for one in notices])
    texts = [
        TextOfNode(_make_notice_name(one), one.node, one.kind, one.redacted, bodies[one.id])
        for one in notices
        if one.id in bodies
    ]
    try:
        return len(take_texts(ctx, target, texts).fresh) if texts else 0
    except (NotAllowed, TooMany) as refusal:
        # The token, a file or the incident has gone meanwhile; the next look sees what is left.
        log.info("notices not taken in", incident_id=target.incident, why=refusal.detail)
        return 0


def _make_notice_name(notice: NoticeKey) -> str:
    """A name that tells it from others, whatever came before it."""
    ending = ".log" if notice.kind == FileKind.KERNEL_LOG else ".json"
    name = f"{notice.source}-{notice.sha256[:_SHORT]}{ending}"
    return str(PurePosixPath(OF_HOOKS, name))


def _make_identity(notice: NoticeKey) -> str:
    return ReceivedFile("", notice.node, kind=notice.kind, sha256=notice.sha256).identity
