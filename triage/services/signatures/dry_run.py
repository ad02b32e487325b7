"""A dry run: which answers of past incidents would be others with a file of own signatures.

The logs of each incident are read twice from their stored bytes, with the signatures in force and
with the file beside them, and answered twice in the same way: what differs is the file's doing.
Nothing is kept.
"""

import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from triage.domain.answer_wire import answer_from_bytes
from triage.domain.file_kind import LOGS, get_file_kind
from triage.domain.report import Answer
from triage.errors import ArtifactError, Conflict, NotFound
from triage.sandbox.errors import ReaderDied, ReaderFailed, ReaderTooSlow
from triage.sandbox.pool import FileToRead, KnownOfJob, Readers
from triage.services.context import Context
from triage.services.incidents.analyse import collect_known, read_own_record
from triage.services.signatures.in_force import find_signatures_in_force, make_candidate
from triage.services.uploads.pack import write_plain
from triage.store import signature_files
from triage.store.incidents import incidents, settling
from triage.store.uploads import artifacts, evidence
from triage.store.views import ArtifactView, IncidentView

MOST_INCIDENTS: Final = 200
_MOST_FILES: Final = 2000
ONE_AT_A_TIME: Final = threading.Lock()


@dataclass(frozen=True, slots=True)
class DryRunChange:
    """One incident whose answer would be another one; both sides as :func:`told_of` gives them."""

    incident_id: str
    job_id: str
    before: dict[str, Any]
    after: dict[str, Any]


@dataclass(slots=True)
class DryRun:
    """What a dry run found. ``without_bytes`` are incidents whose logs were pruned, ``unread``
    those over which a reader was lost, ``not_reached`` those that the time did not suffice for.
    """

    looked_at: int = 0
    without_bytes: int = 0
    unread: int = 0
    not_reached: int = 0
    changes: list[DryRunChange] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The wire form."""
        return asdict(self)


def try_signatures(
    ctx: Context,
    readers: Readers,
    body: bytes,
    *,
    name: str,
    since: datetime | None,
    most: int,
    limit_s: float,
) -> DryRun:
    """Try a file, as if it were uploaded under ``name``, on the ``most`` newest incidents.

    Raises :class:`Unprocessable` for a faulty file, :class:`Conflict` while another one runs.
    """
    from triage.signatures.own.own_signatures import own_from_bytes

    until = time.monotonic() + limit_s
    before = find_signatures_in_force(ctx)
    with ctx.database.reading() as session:
        tried = make_candidate(ctx, signature_files.list_bodies(session), name, body)
        # Which set it was is no difference between two readings.
        after = replace(tried, label=own_from_bytes(before).label).to_bytes()
        found = incidents.list_incidents(session, limit=min(most, MOST_INCIDENTS), since=since)
    if not ONE_AT_A_TIME.acquire(blocking=False):
        raise Conflict("another dry run is under way", hint="try again when it has ended")
    run = DryRun()
    try:
        for number, incident in enumerate(found):
            if time.monotonic() >= until:
                run.not_reached = len(found) - number
                break
            _try_one(ctx, readers, incident, (before, after), run)
    finally:
        ONE_AT_A_TIME.release()
    return run


def _try_one(
    ctx: Context, readers: Readers, incident: IncidentView, sets: tuple[bytes, bytes], run: DryRun
) -> None:
    """One incident, with the signatures before and after."""
    with ctx.database.reading() as session:
        st = settling.find_progress(session, incident.id)
    if st is None:
        return
    record = read_own_record(ctx, st, incident.cluster)
    with ctx.database.reading() as session:
        files = [
            one
            for one in artifacts.list_by_incident(session, incident.id, limit=_MOST_FILES)
            if get_file_kind(one.kind) in LOGS and one.stored_bytes
        ]
        known = collect_known(session, st, incident, record, final=True)
        rest = list(evidence.read_extracts(session, incident.id, without={one.id for one in files}))
    if any(one.blob_key is None for one in files):
        run.without_bytes += 1
        return
    try:
        packed = [_read_again(ctx, readers, files, known, own) for own in sets]
        run.looked_at += 1
        if packed[0] == packed[1]:
            return  # the same evidence gives the same answer
        answers = [_answer_again(ctx, readers, [*rest, *one], known) for one in packed]
    except (ArtifactError, NotFound):
        run.without_bytes += 1
        return
    except (ReaderDied, ReaderFailed, ReaderTooSlow):
        run.unread += 1
        return
    old, new = map(_summarize_answer, answers)
    if old != new:
        run.changes.append(DryRunChange(incident.id, incident.job_id, old, new))


def _read_again(
    ctx: Context, readers: Readers, files: Sequence[ArtifactView], known: KnownOfJob, own: bytes
) -> list[bytes]:
    """Packed extracts of files whose bytes are stored."""
    packs: dict[str, list[ArtifactView]] = {}
    for one in files:
        if one.blob_key is not None:
            packs.setdefault(one.blob_key, []).append(one)
    found: list[bytes] = []
    with tempfile.TemporaryDirectory(prefix="triage-dry-run-") as folder:
        for number, (key, members) in enumerate(packs.items()):
            paths = write_plain(ctx.blobs, key, members, Path(folder), f"{number}-")
            listed = [
                FileToRead(path, one.name, path.stat().st_size, one.rank, get_file_kind(one.kind))
                for path, one in zip(paths, members, strict=True)
            ]
            extracted = readers.extract(
                listed, known.facts_json, own=own, deadline_s=ctx.settings.parse_deadline_s
            )
            found += [one.packed for one in extracted]
    return found


def _answer_again(
    ctx: Context, readers: Readers, packed: Sequence[bytes], known: KnownOfJob
) -> Answer:
    analysis = readers.analyse(packed, known, deadline_s=ctx.settings.analyse_deadline_s)
    return answer_from_bytes(analysis.answer, pictures=False)


def _summarize_answer(answer: Answer) -> dict[str, Any]:
    """What a person acts on: the verdict, and who is suspected of what."""
    verdict = answer.verdict
    return {
        "kind": str(verdict.kind),
        "category": str(verdict.category),
        "action": str(verdict.action),
        "cordon": list(verdict.cordon),
        "summary": verdict.summary,
        "suspects": [
            {"node": one.node, "ranks": list(one.ranks), "category": str(one.category),
             "role": str(one.role), "action": str(one.action)}
            for one in answer.suspects
        ],
    }  # fmt: skip
