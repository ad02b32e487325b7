"""The files of uploads are read: digests and rows of evidence, or why there are none.

A child process reads them, which can be killed. Where it dies over several uploads, each is
read alone, and then each file; a file that has cost as many readers as are allowed is
quarantined, and the others go on. An upload whose stored bytes are not there, or not those that
were stored, waits for the blob store; only what stays so for hours, in a store that gives the
others, is said to be lost.
"""

import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

import structlog
from sqlalchemy.orm import Session

from triage.clock import read_utc_now
from triage.domain.exact_json import from_exact_json
from triage.domain.file_kind import get_file_kind
from triage.domain.states import ArtifactState, WorkKind
from triage.errors import ArtifactError, NotFound, Unavailable
from triage.queue.runner import Claim, find_missing_service
from triage.sandbox.errors import ReaderDied, ReaderFailed, ReaderTooSlow
from triage.sandbox.pool import FileToRead, Readers
from triage.services.context import Context
from triage.services.signatures.in_force import find_signatures_in_force
from triage.services.uploads.pack import write_plain
from triage.store import jobs
from triage.store.blobs.files import BLOB_STORE
from triage.store.incidents import settling
from triage.store.incidents.facts import read_facts_json
from triage.store.uploads import artifacts, evidence
from triage.store.uploads.evidence import Reading
from triage.store.views import ArtifactView
from triage.store.work import table as work

log = structlog.get_logger(__name__)
# Of other uploads, so many blobs are asked for before the store is believed to have lost one.
_OTHERS: Final = 5


class _KnownToReader(NamedTuple):
    """What a reader is told beside the files: facts of the job as JSON, and own signatures."""

    facts: bytes
    own: bytes


class Plain(NamedTuple):
    """A file as it lies in a pack, and its plain bytes."""

    file: ArtifactView
    path: Path


def parse(ctx: Context, readers: Readers, claim: Claim) -> None:
    """Read what is not read yet of these uploads."""
    with ctx.database.reading() as session:
        uploads: dict[str, dict[str, list[ArtifactView]]] = {}
        for upload_id, files in artifacts.list_unread(session, claim.keys).items():
            uploads.setdefault(files[0].incident_id, {})[upload_id] = files
        facts = {one: read_facts_json(session, one) for one in uploads}
    if not uploads:
        return
    own = find_signatures_in_force(ctx.settings.signatures)
    known = {one: _KnownToReader(facts[one], own) for one in uploads}
    readings = {one: _read_all(ctx, readers, claim, uploads[one], known[one]) for one in uploads}
    with claim.finishing() as session:
        # Incidents are locked in one order everywhere, which avoids deadlocks.
        for incident_id in sorted(one for one in readings if readings[one]):
            _keep(ctx, session, incident_id, readings[incident_id])


def parse_given_up(session: Session, upload_id: str, _reason: str) -> None:
    """We failed over this upload, and its files are not to blame: they stay unread, and the
    incident is answered without them as a failure of ours.
    """
    now = read_utc_now()
    upload = artifacts.find_upload(session, upload_id)
    if upload is not None:
        settling.note_change(session, upload[0], now)
        work.enqueue(session, WorkKind.ANALYSE, upload[0], now)


def _read_all(
    ctx: Context,
    readers: Readers,
    claim: Claim,
    uploads: Mapping[str, Sequence[ArtifactView]],
    known: _KnownToReader,
) -> list[Reading]:
    """What became of each file of these uploads, but for those that wait for the blob store."""
    found: list[Reading] = []
    since = {row.key: row.waiting_since for row in claim.rows}
    with tempfile.TemporaryDirectory(prefix="triage-parse-") as folder:
        groups = []
        for number, (upload_id, files) in enumerate(uploads.items()):
            try:
                groups.append(unpack_files(ctx, files, Path(folder), f"{number}-"))
            except (ArtifactError, NotFound) as error:
                why = _describe_not_given(error)
                if files[0].blob_key is None or _is_lost_for_good(ctx, upload_id, since[upload_id]):
                    found += [_make_gone(file, why) for file in files]
                else:
                    claim.postpone(upload_id, Unavailable(why, part=BLOB_STORE))
        if claim.rows[0].tries > 1:
            # A worker was lost over it, or a mistake of ours was met: not over all of its files.
            alone = [one for group in groups for one in group]
            return found + [_read_alone(ctx, readers, one, known) for one in alone]
        return found + _read_groups(ctx, readers, groups, known)


def _describe_not_given(error: ArtifactError | NotFound) -> str:
    if isinstance(error, NotFound):
        return error.detail
    return f"its stored bytes are damaged: {error}"


def _is_lost_for_good(ctx: Context, upload_id: str, since: datetime | None) -> bool:
    """Whether bytes have been missing for so long, in a store that has those of others, that
    nobody will bring them back. Raises :class:`Unavailable`.
    """
    if since is None or read_utc_now() < since + timedelta(seconds=ctx.settings.lost_after_s):
        return False
    with ctx.database.reading() as session:
        others = artifacts.list_other_blobs(session, upload_id, _OTHERS)
    return any(_is_there(ctx, key) for key in others)


def _is_there(ctx: Context, blob_key: str) -> bool:
    try:
        return bool(ctx.blobs.read(blob_key, 0, 1))
    except NotFound:
        return False


def unpack_files(
    ctx: Context, files: Sequence[ArtifactView], folder: Path, prefix: str
) -> list[Plain]:
    """The plain files of one upload, their names behind ``prefix``.

    Raises :class:`NotFound` and :class:`ArtifactError`.
    """
    blob_key = files[0].blob_key
    if blob_key is None:
        raise NotFound("its bytes were pruned before they were read")
    try:
        paths = write_plain(ctx.blobs, blob_key, files, folder, prefix)
    except NotFound as error:
        raise NotFound("its bytes are not in the blob store") from error
    return [Plain(file, path) for file, path in zip(files, paths, strict=True)]


def _read_groups(
    ctx: Context, readers: Readers, groups: Sequence[Sequence[Plain]], known: _KnownToReader
) -> list[Reading]:
    """Read in one go; where a reader is lost over that, by upload; then one by one."""
    together = [one for group in groups for one in group]
    if not together:
        return []
    deadline_s = ctx.settings.parse_deadline_s * len(groups)
    try:
        return _read_together(readers, together, known, deadline_s)
    except (ReaderDied, ReaderFailed, ReaderTooSlow) as error:
        if find_missing_service(error) is not None:
            raise
        log.warning("reader lost", uploads=len(groups), files=len(together), why=str(error))
    if len(groups) > 1:
        return [one for group in groups for one in _read_groups(ctx, readers, [group], known)]
    return [_read_alone(ctx, readers, one, known) for one in together]


def _read_together(
    readers: Readers, plain: Sequence[Plain], known: _KnownToReader, deadline_s: float
) -> list[Reading]:
    listed = [
        FileToRead(path, file.name, path.stat().st_size, file.rank, get_file_kind(file.kind))
        for file, path in plain
    ]
    extracted = readers.extract(listed, known.facts, own=known.own, deadline_s=deadline_s)
    return [
        Reading(file.id, one.packed, from_exact_json(one.rows), one.state, one.reason)
        for (file, _), one in zip(plain, extracted, strict=True)
    ]


def _read_alone(ctx: Context, readers: Readers, plain: Plain, known: _KnownToReader) -> Reading:
    """One file, as often as readers may be lost over it."""
    file = plain.file
    tries = file.tries
    why = "workers were lost while they read it"
    while tries < ctx.settings.max_tries:
        tries += 1
        with ctx.database.writing() as session:
            artifacts.count_try(session, file.id)
        try:
            return _read_together(readers, [plain], known, ctx.settings.parse_deadline_s)[0]
        except ReaderFailed as error:
            if find_missing_service(error) is not None:
                raise
            return _make_gone(file, f"the reader failed over it: {error}")
        except (ReaderDied, ReaderTooSlow) as error:
            why = str(error)
            log.warning("reader lost", artifact_id=file.id, tries=tries, why=why)
    return _make_gone(file, f"{why}, {tries} times")


def _make_gone(file: ArtifactView, reason: str) -> Reading:
    return Reading(file.id, None, (), ArtifactState.QUARANTINED, reason)


def _keep(ctx: Context, session: Session, incident_id: str, readings: Sequence[Reading]) -> None:
    """Digests, rows and states, and that the incident has more to say."""
    now = read_utc_now()
    states = {one.artifact_id: (one.state, one.reason) for one in readings}
    unread = artifacts.set_states(session, states)
    readings = [one for one in readings if one.artifact_id in unread]
    evidence.add_readings(session, incident_id, readings)
    # The incident is locked before the nodes, as everywhere: one order avoids deadlocks.
    settling.note_change(session, incident_id, now)
    nodes = {str(row["node"]) for one in readings for row in one.rows if row.get("node")}
    cluster_id = jobs.find_cluster(session, incident_id)
    jobs.note_nodes_seen(session, cluster_id, nodes, now)
    ctx.fleet.saw_parts(session, cluster_id, readings, now)
    work.enqueue(session, WorkKind.ANALYSE, incident_id, now)
