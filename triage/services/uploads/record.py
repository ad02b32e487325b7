"""The rows of an upload: written in one transaction with what they change of the incident."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

import orjson
from sqlalchemy.orm import Session

from triage.clock import read_utc_now
from triage.collectors.bundle import MANIFEST
from triage.domain.caller import Caller
from triage.domain.facts import IGNORED, FactsSource, Statement
from triage.domain.job import make_job
from triage.domain.states import ArtifactState
from triage.errors import NotAllowed, TooMany
from triage.parsers.redact.own import OwnPatterns, own_patterns
from triage.services.context import Context
from triage.services.uploads.received import ReceivedFile, Target, redact_facts
from triage.store import jobs
from triage.store.access import audit, keys
from triage.store.database.ids import is_made_now, make_id
from triage.store.incidents import incidents, wanted
from triage.store.incidents.facts import add_facts
from triage.store.incidents.matching import find_for_upload
from triage.store.retention import unreferenced
from triage.store.uploads import artifacts
from triage.store.views import ArtifactView
from triage.store.work.table import enqueue_upload, yield_turn

OF_HOOKS: Final = "hook-events"
"""The folder of what hooks said of a node."""


@dataclass(frozen=True, slots=True)
class RecordedUpload:
    """Rows that were written: identity -> file of what is new, -> artifact id of what was there."""

    incident_id: str
    fresh: Mapping[str, ArtifactView]
    known: Mapping[str, str]
    is_queued: bool
    """Whether something of it is to be read."""


def record(
    ctx: Context, target: Target, blob_key: str, stored_bytes: int, files: Sequence[ReceivedFile]
) -> RecordedUpload:
    """The rows of an upload, committed."""
    now = read_utc_now()
    settings = ctx.settings
    by_identity = {file.identity: file for file in reversed(files) if not file.erased}
    beside = ctx.quotas.jobs_beside(target.caller, target.job_id)
    job_json = [
        _read_job_json(file.data, target.caller, own_patterns(settings.redact_patterns))
        for file in files
        if file.data is not None
    ]

    def write(session: Session) -> RecordedUpload:
        keys.check_believed(session, target.caller.key_id)
        if target.incident and not incidents.keep(session, target.incident):
            raise TooMany("the incident was deleted while the upload came", hint="send it again")
        incident_id = target.incident or find_for_upload(
            session,
            target.job,
            max((file.written_at for file in files if file.written_at), default=None),
            within_s=settings.collect_within_s,
            quiet_s=settings.quiet_s,
            now=now,
        )
        if is_made_now(incident_id, now):
            ctx.quotas.incident(target.caller)
            detail = {"job_id": target.job_id}
            actor = target.caller.key_id or "local"
            audit.note(session, actor, "open incident", incident_id, now, detail)
        known = artifacts.find_known_identities(session, incident_id, by_identity)
        problem = job_json[0].problem if job_json else None
        new = [
            _make_artifact(file, incident_id, target.caller, blob_key, problem, now)
            for identity, file in by_identity.items()
            if identity not in known
        ]
        unread = artifacts.find_to_bring_again(session, incident_id, known) if known else {}
        brought = [
            _make_artifact(file, incident_id, target.caller, blob_key, problem, now)
            for identity, file in by_identity.items()
            if identity in unread and file.stored_bytes
        ]
        if not new and not brought:
            return RecordedUpload(incident_id, {}, known, is_queued=False)
        # A dump whose digest was counted is no further file that somebody expects.
        whole = wanted.with_digest(session, incident_id, new)
        named = _with_names_of_their_own(session, incident_id, new)
        upload_id, fresh = artifacts.add_upload(
            session, incident_id, stored_bytes, named, target.caller.key_id, blob_key, now
        )
        artifacts.bring_again(session, upload_id, unread, brought)
        num_counted = sum(
            not is_note(file) and identity not in whole for identity, file in fresh.items()
        )
        job = incidents.note_arrival(session, incident_id, num_counted, settings.quiet_s, now)
        # Whoever erases a file holds the incident: what was erased until now is seen from here on.
        if fresh.keys() & unreferenced.list_by_job(session, target.job_id):
            raise TooMany("a file of it was erased while it came", hint="send it again")
        for one in job_json:
            if one.facts is not None:
                statement = Statement(one.facts, FactsSource.JOB_JSON, target.caller)
                add_facts(session, incident_id, statement, settings.quiet_s, now)
        nodes = {file.node for file in files if file.node is not None}
        jobs.note_nodes_seen(session, job.cluster_id, nodes, now)
        enqueue_upload(session, upload_id, job.id, now, beside)
        yield_turn(session, incident_id, beside)
        return RecordedUpload(incident_id, fresh, known, is_queued=True)

    try:
        recorded = ctx.commit(write)
    except (NotAllowed, TooMany):
        ctx.blobs.delete(blob_key)
        raise
    if not recorded.is_queued:
        ctx.blobs.delete(blob_key)
    return recorded


class _JobJson(NamedTuple):
    """A bundle's ``job.json``: its object, and what of it is not used; None where there is none."""

    facts: dict[str, Any] | None
    problem: str | None


def _read_job_json(data: bytes, caller: Caller, own: OwnPatterns) -> _JobJson:
    if caller.node_pattern is not None:  # who speaks for a node places no ranks on others
        why = f"is not used: the token is bound to the nodes {caller.node_pattern!r}"
        return _JobJson(None, why)
    try:
        facts = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        return _JobJson(None, f"is not valid JSON ({error}); it is not used")
    if not isinstance(facts, dict):
        return _JobJson(None, "is no JSON object; it is not used")
    facts.pop(IGNORED, None)
    problems = make_job(facts).problems
    return _JobJson(redact_facts(facts, own), "; ".join(problems) or None)


def _make_artifact(
    file: ReceivedFile,
    incident_id: str,
    caller: Caller,
    blob_key: str,
    problem: str | None,
    now: datetime,
) -> ArtifactView:
    """The row of a file. What was refused, and job.json, is there to be seen, not to be read."""
    state, reason = ArtifactState.STORED, file.note or None
    if file.reason is not None:
        state, reason = ArtifactState.QUARANTINED, file.reason
    elif file.data is not None:
        state, reason = ArtifactState.ANALYSED, problem
    return ArtifactView(
        id=make_id("art", now),
        incident_id=incident_id,
        identity=file.identity,
        node=file.node,
        rank=file.rank,
        kind=file.kind,
        filename=file.filename,
        sha256=file.sha256,
        size_bytes=file.size_bytes,
        position=file.position,
        stored_bytes=file.stored_bytes,
        state=state,
        reason=reason,
        redacted=file.redacted,
        created_at=now,
        blob_key=blob_key,
        key_id=caller.key_id,
        is_digest=file.is_digest or None,
    )


def is_note(file: ArtifactView) -> bool:
    """Whether nobody expects it: the collector's note of what it left out, a hook's notice."""
    path = PurePosixPath(file.filename)
    return path.name == MANIFEST or path.parts[:1] == (OF_HOOKS,)


def _with_names_of_their_own(
    session: Session, incident_id: str, files: Sequence[ArtifactView]
) -> list[ArtifactView]:
    """Each with a name of its own in reports: a log that has grown comes again under its name.

    The later one lies in a folder that says so; the end of its name, which may tell the
    rank, stays as it is.
    """
    names = artifacts.find_taken_names(session, incident_id, [(f.node, f.filename) for f in files])
    named = []
    for file in files:
        if artifacts.name_hash(file.node, file.filename) in names:
            file = replace(file, filename=f"again-{file.sha256[:12]}/{file.filename}")
        names.add(artifacts.name_hash(file.node, file.filename))
        named.append(file)
    return named
