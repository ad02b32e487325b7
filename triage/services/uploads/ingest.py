"""Bytes come in: stored, then recorded, then answered; what is answered is never lost.

The blob is on disk before its rows are written, and the rows before the answer is given.
When the database fails in between, the blob stays without rows (``triage prune`` removes
it later) and the sender is told to send again.
"""

import hashlib
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

import orjson
import structlog
from sqlalchemy.orm import Session

from triage.clock import utc_now
from triage.collectors.bundle import MANIFEST
from triage.domain.job import job_from_dict
from triage.domain.states import ArtifactState
from triage.errors import Conflict, NotFound, Place, Unavailable, Unprocessable
from triage.services.context import Context
from triage.services.uploads.facts import without_secrets
from triage.services.uploads.receive import Member, ReceiveLimits, receive_bundle, receive_file
from triage.settings import Settings
from triage.store import jobs
from triage.store.blobs.interface import BlobWriter
from triage.store.database.ids import new_id
from triage.store.incidents import incidents
from triage.store.uploads import artifacts
from triage.store.uploads.artifacts import NewArtifact
from triage.store.views import ArtifactView
from triage.store.work.fair_queue import enqueue_upload

__all__ = [
    "IngestedArtifact",
    "IngestedBundle",
    "IngestedMember",
    "Target",
    "take_artifact",
    "take_bundle",
    "take_text",
]

log = structlog.get_logger(__name__)
Read = Callable[[int], bytes]


@dataclass(frozen=True, slots=True)
class Target:
    """What a request says of the bytes it brings."""

    job_id: str
    node: str | None = None
    rank: int | None = None
    kind: str | None = None
    filename: str | None = None
    incident: str | None = None


@dataclass(frozen=True, slots=True)
class IngestedArtifact:
    """One file, and whether it was not there before."""

    artifact: ArtifactView
    new: bool


@dataclass(frozen=True, slots=True)
class IngestedMember:
    """What became of one member: ``status`` is 201, 200 for one that was there, 413 or 422."""

    member: str
    status: int
    reason: str | None
    id: str | None

    def to_dict(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "member": self.member, "status": self.status, "reason": self.reason, "id": self.id
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class IngestedBundle:
    """What became of each member; ``new`` when anything was not there before."""

    incident_id: str
    members: Sequence[IngestedMember]
    new: bool


@dataclass(frozen=True, slots=True)
class RecordedUpload:
    """Rows that were written: identity -> artifact id of what is new, and of what was there."""

    incident_id: str
    fresh: Mapping[str, str]
    known: Mapping[str, str]
    ahead: int | None
    """Uploads of the job that wait to be read before this one; None where nothing is to be read."""


def take_artifact(
    ctx: Context, target: Target, read: Read, encoding: str | None
) -> IngestedArtifact:
    """One file as the body of a request; durable when this returns.

    Raises :class:`Refusal` for what is not taken; then nothing of it is kept.
    """
    incident_id = known_incident(ctx, target)
    with new_blob(ctx) as (key, blob):
        member = receive_file(
            read,
            encoding=encoding,
            filename=target.filename,
            node=target.node,
            rank=target.rank,
            kind=target.kind,
            limits=limits_of(ctx.settings),
            blob=blob,
        )
        identity = identity_of(member)
        there = None
        if incident_id is not None:
            with ctx.database.reading() as session:
                there = artifacts.by_identity(session, incident_id, identity)
        if there is not None:
            return IngestedArtifact(there, new=False)
        blob.commit()
        recorded = record(ctx, target, key, blob.tell(), [member])
    found = recorded.fresh.get(identity) or recorded.known[identity]
    with ctx.database.reading() as session:
        view = artifacts.by_identity(session, recorded.incident_id, identity)
    if view is None:
        raise Unavailable(f"the file {found} went away", hint="send it again")
    return IngestedArtifact(view, new=identity in recorded.fresh)


def take_text(ctx: Context, target: Target, text: bytes) -> IngestedArtifact:
    """Lines that came by a hook, as a file of their own."""
    return take_artifact(ctx, target, io.BytesIO(text).read, None)


def take_bundle(ctx: Context, target: Target, read: Read, encoding: str | None) -> IngestedBundle:
    """A tar of files; durable when this returns.

    Raises :class:`Refusal` for what is not taken as a whole; then nothing of it is kept.
    """
    incident_id = known_incident(ctx, target)
    with new_blob(ctx) as (key, blob):
        members = list(
            receive_bundle(
                read,
                encoding=encoding,
                node=target.node,
                limits=limits_of(ctx.settings),
                blob=blob,
            )
        )
        if not members:
            raise Unprocessable(
                "the bundle holds no file", hint="put dumps and logs of the node into the tar"
            )
        recorded = all_there(ctx, incident_id, members)
        if recorded is None:
            blob.commit()
            recorded = record(ctx, target, key, blob.tell(), members)
    return IngestedBundle(
        recorded.incident_id,
        [taken(member, recorded) for member in members],
        new=bool(recorded.fresh),
    )


def taken(member: Member, recorded: RecordedUpload) -> IngestedMember:
    identity = identity_of(member)
    if member.reason is not None:
        return IngestedMember(member.name, member.status, member.reason, None)
    if identity in recorded.fresh and not member.repeats:
        return IngestedMember(member.name, 201, member.note or None, recorded.fresh[identity])
    there = recorded.known.get(identity) or recorded.fresh.get(identity)
    return IngestedMember(member.name, 200, None, there)


def record(
    ctx: Context, target: Target, key: str, stored_bytes: int, members: Sequence[Member]
) -> RecordedUpload:
    """The rows of an upload, committed."""
    now = utc_now()
    settings = ctx.settings

    def write(session: Session) -> RecordedUpload:
        incident_id = target.incident or incidents.for_upload(
            session,
            target.job_id,
            within_s=settings.collect_within_s,
            quiet_s=settings.quiet_s,
            now=now,
        )
        by_identity = {identity_of(member): member for member in reversed(members)}
        known = artifacts.known_identities(session, incident_id, by_identity)
        files = named_apart(
            session,
            incident_id,
            [new_artifact(i, m) for i, m in by_identity.items() if i not in known],
        )
        if not files:
            return RecordedUpload(incident_id, {}, known, None)
        upload_id, fresh = artifacts.add_upload(session, incident_id, key, stored_bytes, files, now)
        counted = sum(file.identity in fresh and not is_note(file) for file in files)
        job = incidents.arrived(session, incident_id, counted, settings.quiet_s, now)
        for member in members:
            if member.data is not None:
                add_job_json(session, incident_id, member.data)
        nodes = {member.node for member in members if member.node is not None}
        jobs.saw_nodes(session, job.cluster_id, nodes, now)
        ahead = enqueue_upload(session, upload_id, job.id, now)
        return RecordedUpload(incident_id, fresh, known, ahead)

    recorded = ctx.commit(write)
    if recorded.ahead is None:
        ctx.blobs.delete(key)
    else:
        ctx.line.joined(recorded.ahead)
    return recorded


def add_job_json(session: Session, incident_id: str, data: bytes) -> None:
    """A bundle's ``job.json``; one that cannot be read is listed with the reason."""
    try:
        facts = orjson.loads(data)
    except orjson.JSONDecodeError:
        return
    if isinstance(facts, dict):
        incidents.add_facts(session, incident_id, without_secrets(facts))


def new_artifact(identity: str, member: Member) -> NewArtifact:
    """The row of a member. What was refused, and job.json, is there to be seen, not to be read."""
    state, reason = ArtifactState.STORED, member.note or None
    if member.reason is not None:
        state, reason = ArtifactState.QUARANTINED, member.reason
    elif member.data is not None:
        state, reason = ArtifactState.ANALYSED, job_json_problem(member.data)
    return NewArtifact(
        identity=identity,
        node=member.node,
        rank=member.rank,
        kind=member.kind,
        filename=member.filename,
        sha256=member.sha256,
        size_bytes=member.size_bytes,
        position=member.offset,
        stored_bytes=member.stored_bytes,
        redacted=member.redacted,
        state=state,
        reason=reason,
    )


def is_note(file: NewArtifact) -> bool:
    """Whether it is the collector's note of what it left out, which nobody expects."""
    return PurePosixPath(file.filename).name == MANIFEST


def named_apart(
    session: Session, incident_id: str, files: Sequence[NewArtifact]
) -> list[NewArtifact]:
    """Each with a name of its own in reports: a log that has grown comes again under its name.

    The later one lies in a folder that says so; the end of its name, which may tell the
    rank, stays as it is.
    """
    names = artifacts.taken_names(session, incident_id, [(f.node, f.filename) for f in files])
    found = []
    for file in files:
        if artifacts.name_hash(file.node, file.filename) in names:
            file = replace(file, filename=f"again-{file.sha256[:12]}/{file.filename}")
        names.add(artifacts.name_hash(file.node, file.filename))
        found.append(file)
    return found


def job_json_problem(data: bytes) -> str | None:
    try:
        facts = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        return f"is not valid JSON ({error}); it is not used"
    if not isinstance(facts, dict):
        return "is no JSON object; it is not used"
    problems = job_from_dict(facts).problems
    return "; ".join(problems) or None


def known_incident(ctx: Context, target: Target) -> str | None:
    """The incident that an upload will join, as far as it is there already.

    Raises :class:`NotFound` for one that is not, and :class:`Conflict` for one of another job.
    """
    with ctx.database.reading() as session:
        if target.incident is None:
            return incidents.newest_of_job(session, target.job_id)
        job_id = incidents.job_id_of(session, target.incident)
    if job_id is None:
        raise NotFound(
            "there is no such incident",
            hint="leave incident= out: the job's newest incident takes it, or a new one",
            places=(Place("query/incident", "is not known"),),
        )
    if job_id != target.job_id:
        raise Conflict(
            f"the incident is of job {job_id!r}, not of this one",
            hint="use the upload_url that the job-failed hook answered with",
            places=(Place("query/incident", "belongs to another job"),),
        )
    return target.incident


def all_there(
    ctx: Context, incident_id: str | None, members: Sequence[Member]
) -> RecordedUpload | None:
    """What is on record, if the incident has every one of these files already."""
    if incident_id is None:
        return None
    wanted = {identity_of(member) for member in members}
    with ctx.database.reading() as session:
        known = artifacts.known_identities(session, incident_id, wanted)
    return RecordedUpload(incident_id, {}, known, None) if len(known) == len(wanted) else None


def identity_of(member: Member) -> str:
    if member.reason is not None:
        return joined("refused", member.node, member.rank, f"{member.filename} {member.reason}")
    return joined(*member.identity)


def joined(kind: str, node: str | None, rank: int | None, sha256: str) -> str:
    """One text of bounded length that is the same for the same four."""
    parts = orjson.dumps([kind, node, rank, sha256])
    return hashlib.sha256(parts).hexdigest()


@contextmanager
def new_blob(ctx: Context) -> Iterator[tuple[str, BlobWriter]]:
    """A key and a writer; without a commit, nothing stays."""
    key = new_id("blob", utc_now())
    blob = ctx.blobs.begin(key)
    try:
        yield key, blob
    finally:
        blob.abort()


def limits_of(settings: Settings) -> ReceiveLimits:
    return ReceiveLimits(
        artifact_bytes=settings.max_artifact_bytes,
        dump_bytes=settings.max_dump_bytes,
        bundle_bytes=settings.max_bundle_bytes,
    )
