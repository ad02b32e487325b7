"""The files of uploads are read: digests and rows of evidence, or why there are none.

A child process reads them, which can be killed. Where it dies over several uploads, each is
read alone, and then each file; a file that has cost as many readers as are allowed is
quarantined, and the others go on.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import structlog
from sqlalchemy.orm import Session

from triage.clock import utc_now
from triage.domain.exact_json import from_exact_json
from triage.domain.file_kind import file_kind
from triage.domain.states import ArtifactState, WorkKind
from triage.errors import ArtifactError, NotFound
from triage.queue.claim import Claim
from triage.sandbox.pool import FileToRead, ReaderDied, ReaderFailed, ReaderTooSlow
from triage.sandbox.readers import Readers
from triage.services.context import Context
from triage.services.uploads.pack import write_plain
from triage.store import jobs
from triage.store.incidents import settling
from triage.store.incidents.facts import facts_json
from triage.store.uploads import artifacts, evidence
from triage.store.uploads.evidence import Reading
from triage.store.views import ArtifactView
from triage.store.work import table as work

__all__ = ["parse", "parse_given_up"]

log = structlog.get_logger(__name__)


class Plain(NamedTuple):
    """A file as it lies in a pack, and its plain bytes."""

    file: ArtifactView
    path: Path


def parse(ctx: Context, readers: Readers, claim: Claim) -> None:
    """Read what is not read yet of these uploads."""
    with ctx.database.reading() as session:
        uploads: dict[str, list[list[ArtifactView]]] = {}
        for files in artifacts.unread(session, claim.keys).values():
            uploads.setdefault(files[0].incident_id, []).append(files)
        facts = {one: facts_json(session, one) for one in uploads}
    if not uploads:
        return
    readings = {one: read_all(ctx, readers, uploads[one], facts[one]) for one in uploads}
    with claim.finishing() as session:
        # Incidents are locked in one order everywhere, which avoids deadlocks.
        for incident_id in sorted(readings):
            keep(session, incident_id, readings[incident_id])


def parse_given_up(session: Session, upload_id: str, reason: str) -> None:
    """No worker got through this upload: its files are set apart, the incident goes on."""
    now = utc_now()
    upload = artifacts.upload_of(session, upload_id)
    if upload is not None and artifacts.quarantine_upload(session, upload_id, reason):
        settling.changed(session, upload[0], now)
        work.enqueue(session, WorkKind.ANALYSE, upload[0], now)


def read_all(
    ctx: Context, readers: Readers, uploads: Sequence[Sequence[ArtifactView]], facts: bytes
) -> list[Reading]:
    """What became of each file of these uploads."""
    found: list[Reading] = []
    with tempfile.TemporaryDirectory(prefix="triage-parse-") as folder:
        groups = []
        for number, files in enumerate(uploads):
            try:
                groups.append(unpacked(ctx, files, Path(folder), f"{number}-"))
            except ArtifactError as error:
                found += [gone(file, f"its stored bytes are damaged: {error}") for file in files]
            except NotFound as error:
                found += [gone(file, error.detail) for file in files]
        return found + read_groups(ctx, readers, groups, facts)


def unpacked(ctx: Context, files: Sequence[ArtifactView], folder: Path, prefix: str) -> list[Plain]:
    """The plain files of one upload, their names behind ``prefix``.

    Raises :class:`NotFound` and :class:`ArtifactError`.
    """
    blob_key = files[0].blob_key
    if blob_key is None:
        raise NotFound("its bytes were pruned before they were read")
    try:
        paths = write_plain(ctx.blobs, blob_key, files, folder, prefix)
    except NotFound as error:
        raise NotFound("its bytes are not in the blob store any more") from error
    return [Plain(file, path) for file, path in zip(files, paths, strict=True)]


def read_groups(
    ctx: Context, readers: Readers, groups: Sequence[Sequence[Plain]], facts: bytes
) -> list[Reading]:
    """Read in one go; where a reader is lost over that, by upload; then one by one."""
    together = [one for group in groups for one in group]
    if not together:
        return []
    deadline_s = ctx.settings.parse_deadline_s * len(groups)
    try:
        return read_together(readers, together, facts, deadline_s)
    except (ReaderDied, ReaderFailed, ReaderTooSlow) as error:
        log.warning("reader lost", uploads=len(groups), files=len(together), why=str(error))
    if len(groups) > 1:
        return [one for group in groups for one in read_groups(ctx, readers, [group], facts)]
    return [read_alone(ctx, readers, one, facts) for one in together]


def read_together(
    readers: Readers, plain: Sequence[Plain], facts: bytes, deadline_s: float
) -> list[Reading]:
    listed = [
        FileToRead(path, file.name, path.stat().st_size, file.rank, file_kind(file.kind))
        for file, path in plain
    ]
    extracted = readers.extract(listed, facts, deadline_s=deadline_s)
    return [
        Reading(file.id, one.packed, from_exact_json(one.rows), one.state, one.reason)
        for (file, _), one in zip(plain, extracted, strict=True)
    ]


def read_alone(ctx: Context, readers: Readers, plain: Plain, facts: bytes) -> Reading:
    """One file, as often as readers may be lost over it."""
    file = plain.file
    tries = file.tries
    why = "no reader got through it"
    while tries < ctx.settings.max_tries:
        tries += 1
        with ctx.database.writing() as session:
            artifacts.count_try(session, file.id)
        try:
            return read_together(readers, [plain], facts, ctx.settings.parse_deadline_s)[0]
        except ReaderFailed as error:
            return gone(file, f"the reader failed over it: {error}")
        except (ReaderDied, ReaderTooSlow) as error:
            why = str(error)
            log.warning("reader lost", artifact_id=file.id, tries=tries, why=why)
    return gone(file, f"{why}, {tries} times")


def gone(file: ArtifactView, reason: str) -> Reading:
    return Reading(file.id, None, (), ArtifactState.QUARANTINED, reason)


def keep(session: Session, incident_id: str, readings: Sequence[Reading]) -> None:
    """Digests, rows and states, and that the incident has more to say."""
    now = utc_now()
    states = {one.artifact_id: (one.state, one.reason) for one in readings}
    unread = artifacts.set_states(session, states)
    readings = [one for one in readings if one.artifact_id in unread]
    evidence.add_readings(session, incident_id, readings)
    # The incident is locked before the nodes, as everywhere: one order avoids deadlocks.
    settling.changed(session, incident_id, now)
    nodes = {str(row["node"]) for one in readings for row in one.rows if row.get("node")}
    jobs.saw_nodes(session, jobs.cluster_of(session, incident_id), nodes, now)
    work.enqueue(session, WorkKind.ANALYSE, incident_id, now)
