"""Bytes come in: stored, then recorded, then answered; what is answered is never lost.

The blob is on disk before its rows are written, and the rows before the answer is given.
When the database fails in between, the blob stays without rows (``triage store
sweep`` removes it) and the sender is told to send again.
"""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated

from triage.clock import read_utc_now
from triage.domain.wire import UNSENT, Key, WireForm
from triage.errors import Conflict, Gone, NotFound, Place, Unavailable, Unprocessable
from triage.parsers.redact.own import own_patterns
from triage.services.context import Context
from triage.services.uploads.receive import make_gone, place_by_name, receive_bundle, receive_file
from triage.services.uploads.received import Erased, ReceivedFile, Target
from triage.services.uploads.record import RecordedUpload, record
from triage.services.uploads.take import FileIngest, ReceiveLimits
from triage.settings import Settings
from triage.store.blobs.files import BlobWriter
from triage.store.database.ids import make_id
from triage.store.incidents import incidents
from triage.store.incidents.matching import has_file, list_fitting_attempt
from triage.store.retention import unreferenced
from triage.store.uploads import artifacts
from triage.store.views import ArtifactView

_Read = Callable[[int], bytes]


@dataclass(frozen=True, slots=True)
class IngestedArtifact:
    """One file, and whether it was not there before."""

    artifact: ArtifactView
    new: bool


@dataclass(frozen=True, slots=True)
class IngestedMember(WireForm):
    """What became of one member of a bundle."""

    member: str
    status: Annotated[int, "201, 200 for one that was there already, 410, 413 or 422."]
    reason: str | None
    id: str | None


@dataclass(frozen=True, slots=True)
class IngestedBundle(WireForm):
    """What became of each member of a bundle."""

    incident_id: str
    members: Annotated[Sequence[IngestedMember], Key("artifacts")]
    new: Annotated[bool, UNSENT]
    """Whether anything was not there before."""


@dataclass(frozen=True, slots=True)
class TextOfNode:
    """A text of a hook to be a file of a node; ``redacted`` counts the secrets it held by kind."""

    name: str
    node: str
    kind: str
    redacted: Mapping[str, int]
    body: bytes


def take_artifact(
    ctx: Context, target: Target, read: _Read, encoding: str | None
) -> IngestedArtifact:
    """One file as the body of a request; durable when this returns.

    Raises :class:`Refusal` for what is not taken; then nothing of it is kept.
    """
    target = _bound_target(target)
    ctx.quotas.upload(target.caller)
    _check_incident(ctx, target)
    with _open_new_blob(ctx) as (key, blob):
        erased = _list_erased_files(ctx, target)
        file = receive_file(read, encoding, target, _make_limits(ctx.settings), blob, erased)
        _check_nodes(target, [file])
        target = _choose_incident(ctx, target, [file])
        there = None if target.incident is None else _find_stored(ctx, target.incident, file)
        if there is not None and not _is_unread(ctx, there):
            return IngestedArtifact(there, new=False)
        blob.commit()
        recorded = record(ctx, target, key, blob.tell(), [file])
    fresh = recorded.fresh.get(file.identity)
    if fresh is not None:
        return IngestedArtifact(fresh, new=True)
    # Somebody else sent the same file at the same moment.
    there = _find_stored(ctx, recorded.incident_id, file)
    if there is None:
        lost = recorded.known[file.identity]
        raise Unavailable(f"the file {lost} went away", hint="send it again")
    return IngestedArtifact(there, new=False)


def _list_erased_files(ctx: Context, target: Target) -> frozenset[str]:
    with ctx.database.reading() as session:
        return unreferenced.list_by_job(session, target.job_id)


def _find_stored(ctx: Context, incident_id: str, file: ReceivedFile) -> ArtifactView | None:
    with ctx.database.reading() as session:
        return artifacts.find_by_identity(session, incident_id, file.identity)


def _is_unread(ctx: Context, file: ArtifactView) -> bool:
    """Whether it could not be read: then the bytes that come again are."""
    with ctx.database.reading() as session:
        return bool(artifacts.find_to_bring_again(session, file.incident_id, [file.identity]))


def take_texts(ctx: Context, target: Target, texts: Sequence[TextOfNode]) -> RecordedUpload:
    """Texts without secrets, of an incident that the target names, as one upload.

    Raises :class:`Refusal` where none of it is kept.
    """
    limits = _make_limits(ctx.settings)
    with _open_new_blob(ctx) as (key, blob):
        ingest = FileIngest(limits, blob, limits.bundle_bytes, alone=False)
        files = []
        for text in texts:
            file = ReceivedFile(text.name, text.node)
            ingest.take(file, io.BytesIO(text.body), text.kind)
            place_by_name(file)
            file.redacted = dict(text.redacted)
            files.append(file)
        blob.commit()
        return record(ctx, target, key, blob.tell(), files)


def take_text(ctx: Context, target: Target, text: bytes) -> IngestedArtifact:
    """Lines that came by a hook, as a file of their own."""
    return take_artifact(ctx, target, io.BytesIO(text).read, None)


def take_bundle(ctx: Context, target: Target, read: _Read, encoding: str | None) -> IngestedBundle:
    """A tar of files; durable when this returns.

    Raises :class:`Refusal` for what is not taken as a whole; then nothing of it is kept.
    """
    target = _bound_target(target)
    ctx.quotas.upload(target.caller)
    _check_incident(ctx, target)
    with _open_new_blob(ctx) as (key, blob):
        erased = _list_erased_files(ctx, target)
        files = list(
            receive_bundle(read, encoding, target, _make_limits(ctx.settings), blob, erased)
        )
        if not files:
            raise Unprocessable(
                "the bundle holds no file", hint="put dumps and logs of the node into the tar"
            )
        if all(file.erased for file in files):
            raise make_gone(Erased())
        _check_nodes(target, files)
        target = _choose_incident(ctx, target, files)
        recorded = _find_complete(ctx, target, files)
        if recorded is None:
            blob.commit()
            recorded = record(ctx, target, key, blob.tell(), files)
    return IngestedBundle(
        recorded.incident_id,
        [_make_outcome(file, recorded) for file in files],
        new=bool(recorded.fresh),
    )


def _make_outcome(file: ReceivedFile, recorded: RecordedUpload) -> IngestedMember:
    if file.reason is not None:
        return IngestedMember(file.name, file.status, file.reason, None)
    fresh = recorded.fresh.get(file.identity)
    if fresh is not None and not file.repeats:
        return IngestedMember(file.name, 201, file.note or None, fresh.id)
    there = recorded.known.get(file.identity) or (fresh.id if fresh is not None else None)
    return IngestedMember(file.name, 200, None, there)


def _bound_target(target: Target) -> Target:
    """What a request says, and what its token says where the request says nothing.

    Raises :class:`NotAllowed` for what the token is not to say.
    """
    caller = target.caller
    target = replace(target, node=target.node or caller.only_node)
    nodes = [] if target.node is None else [target.node]
    cluster = caller.check(target.cluster, job_id=target.job_id, nodes=nodes)
    return replace(target, cluster=cluster)


def _check_nodes(target: Target, files: Sequence[ReceivedFile]) -> None:
    """Raises :class:`NotAllowed` where a file is of a node that the token is not to speak of."""
    nodes = {file.node for file in files if file.data is None}
    target.caller.check(target.cluster, job_id=target.job_id, nodes=nodes)


def _check_incident(ctx: Context, target: Target) -> None:
    """See that the incident that a request names is there, and is one that it may add to.

    Raises :class:`NotFound` for one that is not, :class:`Gone` for one that was deleted,
    :class:`NotAllowed` for one that the token does
    not reach, and :class:`Conflict` for one of another job.
    """
    if target.incident is None:
        return
    with ctx.database.reading() as session:
        job = incidents.find_job(session, target.incident)
        erased = unreferenced.find(session, target.incident) if job is None else None
    if erased is not None:
        raise Gone(
            f"the incident was deleted on request at {erased.at:%Y-%m-%d %H:%M}Z",
            hint="leave incident= out to open another one of this job; files that were deleted"
            " with it are not taken again",
            places=(Place("query/incident", "was deleted"),),
        )
    if job is None:
        raise NotFound(
            "there is no such incident",
            hint="leave incident= out: the job's newest incident takes it, or a new one",
            places=(Place("query/incident", "is not known"),),
        )
    target.caller.check_own(job.cluster)
    if job.job_id != target.job_id:
        raise Conflict(
            f"the incident is of job {job.job_id!r}, not of this one",
            hint="use the upload_url that the job-failed hook answered with",
            places=(Place("query/incident", "belongs to another job"),),
        )


def _find_complete(
    ctx: Context, target: Target, files: Sequence[ReceivedFile]
) -> RecordedUpload | None:
    """What is on record, if the incident has every one of these files already."""
    if target.incident is None:
        return None
    wanted = {file.identity for file in files if not file.erased}
    with ctx.database.reading() as session:
        known = artifacts.find_known_identities(session, target.incident, wanted)
        if len(known) < len(wanted) or artifacts.find_to_bring_again(
            session, target.incident, wanted
        ):
            return None
    return RecordedUpload(target.incident, {}, known, is_queued=False)


def _choose_incident(ctx: Context, target: Target, files: Sequence[ReceivedFile]) -> Target:
    """Files that an incident of the job has already are of that one, however late they come."""
    if target.incident is not None:
        return target
    wanted = {file.identity for file in files if not file.erased}
    with ctx.database.reading() as session:
        # Most uploads are new as a whole, which one file of them tells.
        if not has_file(session, target.job_id, next(iter(wanted))):
            return target
        for incident_id in list_fitting_attempt(session, target.job):
            if len(artifacts.find_known_identities(session, incident_id, wanted)) == len(wanted):
                return replace(target, incident=incident_id)
    return target


@contextmanager
def _open_new_blob(ctx: Context) -> Iterator[tuple[str, BlobWriter]]:
    """A key and a writer; without a commit, nothing stays."""
    key = make_id("blob", read_utc_now())
    blob = ctx.blobs.begin(key)
    try:
        yield key, blob
    finally:
        blob.abort()


def _make_limits(settings: Settings) -> ReceiveLimits:
    return ReceiveLimits(
        artifact_bytes=settings.max_artifact_bytes,
        dump_bytes=settings.max_dump_bytes,
        bundle_bytes=settings.max_bundle_bytes,
        own_patterns=own_patterns(settings.redact_patterns),
    )
