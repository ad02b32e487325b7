"""The files of one upload are read: digests and rows of evidence, or why there are none.

A child process reads them, which can be killed. Where it dies over several files, each is
read alone; a file that has cost as many readers as are allowed is quarantined, and the
others go on.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy.orm import Session

from triage.domain.exact_json import from_exact_json
from triage.domain.states import ArtifactState, WorkKind
from triage.errors import ArtifactError, NotFound
from triage.services.context import Context, utc_now
from triage.services.done import Done
from triage.services.isolated import Extracted, Given, ReaderDied, ReaderFailed, ReaderTooSlow
from triage.services.readers import Readers
from triage.services.receive_pack import write_plain
from triage.store import artifacts, evidence, incidents, jobs, settling, work
from triage.store.artifacts import Stored
from triage.store.evidence import Reading
from triage.store.views import WorkView

__all__ = ["parse", "parse_given_up"]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Read:
    """What became of one file; ``found`` is None where no reader got through it."""

    file: Stored
    state: ArtifactState
    reason: str | None
    found: Extracted | None = None

    def rows(self) -> list[dict[str, Any]]:
        """Rows of ``triage parse``."""
        return [] if self.found is None else from_exact_json(self.found.rows)


def parse(ctx: Context, readers: Readers, owed: WorkView) -> Done:
    """Read what is not read yet of one upload."""
    with ctx.database.reading() as session:
        upload = artifacts.upload_of(session, owed.key)
        files = artifacts.to_read(session, owed.key)
        facts = b"{}" if upload is None else incidents.facts_json(session, upload[0])
    if upload is None or not files:
        return Done()
    incident_id, blob_key = upload
    found = read_all(ctx, readers, files, blob_key, facts)

    def write(session: Session) -> None:
        keep(session, incident_id, found)

    return Done(write=write, after=lambda: ctx.doorbell.ring(WorkKind.ANALYSE, ()))


def parse_given_up(session: Session, upload_id: str, reason: str) -> None:
    """No worker got through this upload: its files are set apart, the incident goes on."""
    now = utc_now()
    upload = artifacts.upload_of(session, upload_id)
    if upload is not None and artifacts.quarantine_upload(session, upload_id, reason):
        settling.changed(session, upload[0], now)
        work.arm(session, WorkKind.ANALYSE, upload[0], now)


def read_all(
    ctx: Context,
    readers: Readers,
    files: Sequence[Stored],
    blob_key: str | None,
    facts: bytes,
) -> list[Read]:
    """What became of each file, in their order."""
    if blob_key is None:
        return [gone(file, "its bytes were pruned before they were read") for file in files]
    with tempfile.TemporaryDirectory(prefix="triage-parse-") as folder:
        try:
            paths = write_plain(ctx.blobs, blob_key, files, Path(folder))
        except NotFound:
            return [gone(file, "its bytes are not in the blob store any more") for file in files]
        except ArtifactError as error:
            return [gone(file, f"its stored bytes are damaged: {error}") for file in files]
        try:
            return read_together(ctx, readers, files, paths, facts)
        except (ReaderDied, ReaderFailed, ReaderTooSlow) as error:
            log.warning("reader lost", upload_files=len(files), why=str(error))
        found = []
        for file, path in zip(files, paths, strict=True):
            found.append(read_alone(ctx, readers, file, path, facts))
        return found


def read_together(
    ctx: Context,
    readers: Readers,
    files: Sequence[Stored],
    paths: Sequence[Path],
    facts: bytes,
) -> list[Read]:
    given = [
        Given(path, file.name, path.stat().st_size, file.rank)
        for file, path in zip(files, paths, strict=True)
    ]
    found = readers.extract(given, facts, deadline_s=ctx.settings.parse_deadline_s)
    return [Read(file, one.state, one.reason, one) for file, one in zip(files, found, strict=True)]


def read_alone(ctx: Context, readers: Readers, file: Stored, path: Path, facts: bytes) -> Read:
    """One file, as often as readers may be lost over it."""
    tries = file.tries
    why = "no reader got through it"
    while tries < ctx.settings.max_tries:
        tries += 1
        with ctx.database.writing() as session:
            artifacts.count_try(session, file.id)
        try:
            return read_together(ctx, readers, [file], [path], facts)[0]
        except ReaderFailed as error:
            return gone(file, f"the reader failed over it: {error}")
        except (ReaderDied, ReaderTooSlow) as error:
            why = str(error)
            log.warning("reader lost", artifact_id=file.id, tries=tries, why=why)
    return gone(file, f"{why}, {tries} times")


def gone(file: Stored, reason: str) -> Read:
    return Read(file, ArtifactState.QUARANTINED, reason)


def keep(session: Session, incident_id: str, found: Sequence[Read]) -> None:
    """Digests, rows and states, and that the incident has more to say."""
    now = utc_now()
    rows = {one.file.id: one.rows() for one in found}
    evidence.add_readings(
        session,
        incident_id,
        [
            Reading(one.file.id, one.found.packed, rows[one.file.id])
            for one in found
            if one.found is not None
        ],
    )
    artifacts.set_states(session, {one.file.id: (one.state, one.reason) for one in found})
    # Before the nodes, as everywhere: two that hold one and want the other wait for ever.
    settling.changed(session, incident_id, now)
    nodes = {str(row["node"]) for some in rows.values() for row in some if row.get("node")}
    jobs.saw_nodes(session, jobs.cluster_of(session, incident_id), nodes, now)
    work.arm(session, WorkKind.ANALYSE, incident_id, now)
