"""An outage of our surroundings costs time: what was taken in waits, and is read afterwards."""

import errno
import io
import tempfile
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update
from starlette.testclient import TestClient

from models import Work
from tests.services.incidents.test_incident_life import DUMPS, find, settle, upload
from tests.support.work import do_one
from triage.domain.states import ArtifactState, IncidentState, WorkKind, WorkState
from triage.errors import NotFound, StorageFull, TriageError, Unavailable
from triage.queue.runner import Runner
from triage.sandbox.errors import ReaderDied, ReaderFailed, ReaderNotStarted
from triage.sandbox.pool import Readers
from triage.server.application import create_app
from triage.server.work import make_runner
from triage.services import doctor
from triage.services.context import Context
from triage.services.incidents import parse
from triage.services.incidents.resolve import Retried, retry
from triage.services.uploads.ingest import take_artifact
from triage.services.uploads.received import Target
from triage.store.uploads import artifacts
from triage.store.work import table

MANY = 20
FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that found our surroundings away rest for no time."""
    monkeypatch.setattr("triage.queue.runner.REST_S", 0.0)


class Faulty:
    """The blob store, of which opening a blob raises ``error`` while there is one."""

    def __init__(self, blobs, error: Exception | None) -> None:
        self.blobs = blobs
        self.error = error

    def __getattr__(self, name: str):
        return getattr(self.blobs, name)

    def open(self, *place):
        if self.error is not None:
            raise self.error
        return self.blobs.open(*place)


def with_blobs(ctx: Context, blobs) -> Context:
    object.__setattr__(ctx, "blobs", blobs)
    return ctx


def due_now(ctx: Context) -> None:
    with ctx.database.writing() as session:
        session.execute(update(Work).values(not_before=datetime.now(UTC)))


def reading(ctx: Context) -> Work:
    with ctx.database.reading() as session:
        return session.scalars(select(Work).where(Work.kind == WorkKind.PARSE)).one()


def try_often(ctx: Context, runner: Runner) -> None:
    for _ in range(MANY):
        due_now(ctx)
        assert runner.run_once(WorkKind.PARSE)


def states(ctx: Context, incident_id: str) -> set[ArtifactState]:
    with ctx.database.reading() as session:
        return {file.state for file in artifacts.list_by_incident(session, incident_id)}


@pytest.mark.parametrize(
    ("error", "part"),
    [
        (Unavailable("connection refused", part="the blob store"), "the blob store"),
        (StorageFull("no room", part="the blob store"), "the blob store"),
        (NotFound("no blob"), "the blob store"),
        (FULL, "the temporary folder"),
        (OSError(errno.EMFILE, "Too many open files"), "this machine"),
    ],
    ids=["refuses", "full", "not-mounted", "full-temp-folder", "no-descriptors"],
)
def test_files_wait_for_what_is_away_and_are_read_afterwards(
    ctx: Context, readers: Readers, monkeypatch, error: Exception, part: str
) -> None:
    incident_id = upload(ctx, DUMPS).incident_id
    blobs = Faulty(ctx.blobs, error)
    runner = make_runner(with_blobs(ctx, blobs), readers)
    try_often(ctx, runner)
    row = reading(ctx)
    assert (row.state, row.tries, row.waits, row.waiting_for) == ("waiting", 0, MANY, part)
    assert states(ctx, incident_id) == {ArtifactState.STORED}
    with ctx.database.reading() as session:
        [told] = table.count_by_incident(session, incident_id)
        assert (told.part, told.number) == (part, len(DUMPS))
        assert [one.number for one in table.count_waiting(session)] == [1]

    settle(ctx, readers, monkeypatch)
    assert find(ctx, incident_id).state is IncidentState.COLLECTING, "its files wait"

    blobs.error = None
    due_now(ctx)
    settle(ctx, readers, monkeypatch)
    assert find(ctx, incident_id).state is IncidentState.READY
    assert ArtifactState.QUARANTINED not in states(ctx, incident_id)
    with ctx.database.reading() as session:
        assert table.count_waiting(session) == []


def test_the_temporary_folder_may_be_missing(ctx: Context, readers: Readers, monkeypatch) -> None:
    incident_id = upload(ctx, DUMPS).incident_id
    with monkeypatch.context() as without:
        without.setattr(tempfile, "tempdir", "/nonexistent/of/triage")
        try_often(ctx, make_runner(ctx, readers))
    assert (reading(ctx).tries, reading(ctx).waits) == (0, MANY)
    settle(ctx, readers, monkeypatch)
    assert find(ctx, incident_id).state is IncidentState.READY


class NoReader:
    """Readers that cannot be started, or cannot open what they are given."""

    def __init__(self, readers, error: TriageError) -> None:
        self.readers = readers
        self.error = error

    def __getattr__(self, name: str):
        return getattr(self.readers, name)

    def extract(self, *asked, **more):
        raise self.error


@pytest.mark.parametrize(
    "error", [ReaderNotStarted("no reader"), ReaderFailed("FileNotFoundError", "gone")], ids=str
)
def test_a_reader_that_could_not_begin_blames_no_file(
    ctx: Context, readers: Readers, error: TriageError
) -> None:
    incident_id = upload(ctx, DUMPS).incident_id
    try_often(ctx, make_runner(ctx, NoReader(readers, error)))
    assert reading(ctx).tries == 0
    assert states(ctx, incident_id) == {ArtifactState.STORED}


def test_one_lost_blob_keeps_no_other_upload_waiting(ctx: Context, readers: Readers) -> None:
    first = upload(ctx, {"rank_0": DUMPS["fr/rank_0"]} if "fr/rank_0" in DUMPS else DUMPS)
    upload(ctx, {"a.log": b"NCCL WARN something\n"}, job_id="4711")
    with ctx.database.reading() as session:
        [file, *_] = artifacts.list_by_incident(session, first.incident_id)
    assert file.blob_key is not None
    ctx.blobs.delete(file.blob_key)
    assert make_runner(ctx, readers).run_once(WorkKind.PARSE)
    with ctx.database.reading() as session:
        rows = session.scalars(select(Work).where(Work.kind == WorkKind.PARSE)).all()
    assert sorted((row.state, row.waits) for row in rows) == [("done", 0), ("waiting", 1)]


def test_bytes_that_stay_lost_for_hours_in_a_store_that_works_are_said_to_be(
    ctx: Context, readers: Readers, monkeypatch
) -> None:
    incident_id = upload(ctx, DUMPS).incident_id
    with ctx.database.reading() as session:
        [file, *_] = artifacts.list_by_incident(session, incident_id)
    assert file.blob_key is not None
    ctx.blobs.delete(file.blob_key)
    runner = make_runner(ctx, readers)
    assert runner.run_once(WorkKind.PARSE)
    later = datetime.now(UTC) + timedelta(seconds=ctx.settings.lost_after_s + 60)
    monkeypatch.setattr(parse, "read_utc_now", lambda: later)
    due_now(ctx)
    assert runner.run_once(WorkKind.PARSE)
    assert states(ctx, incident_id) == {ArtifactState.STORED}, "the whole store may be away"

    upload(ctx, {"b.log": b"of another job\n"}, job_id="other")
    for _ in range(2):
        due_now(ctx)
        assert runner.run_once(WorkKind.PARSE)
    assert states(ctx, incident_id) == {ArtifactState.QUARANTINED}


def test_damaged_bytes_wait_for_the_right_ones(ctx: Context, readers: Readers) -> None:
    incident_id = upload(ctx, DUMPS).incident_id

    class Garbled(Faulty):
        def open(self, key, offset, size):
            whole = bytearray(self.blobs.read(key, offset, size))
            if self.error is not None:
                whole[len(whole) // 2] ^= 0xFF
            return io.BytesIO(whole)

    blobs = Garbled(ctx.blobs, Unavailable("wrong"))
    runner = make_runner(with_blobs(ctx, blobs), readers)
    try_often(ctx, runner)
    assert states(ctx, incident_id) == {ArtifactState.STORED}
    blobs.error = None
    due_now(ctx)
    assert runner.run_once(WorkKind.PARSE)
    assert ArtifactState.QUARANTINED not in states(ctx, incident_id)


def test_the_first_that_gets_through_releases_the_others(ctx: Context, readers: Readers) -> None:
    for number in range(3):
        upload(ctx, DUMPS, job_id=f"job-{number}")
    blobs = Faulty(ctx.blobs, Unavailable("away", part="the blob store"))
    runner = make_runner(with_blobs(ctx, blobs), readers)
    for _ in range(3):
        assert runner.run_once(WorkKind.PARSE)
    assert not runner.run_once(WorkKind.PARSE), "all wait"
    blobs.error = None
    with ctx.database.writing() as session:
        first = session.scalars(select(Work).where(Work.kind == WorkKind.PARSE)).first()
        first.not_before = datetime.now(UTC)
    assert [do_one(ctx, readers, WorkKind.PARSE) for _ in range(4)] == [True, True, True, False]


def test_a_failure_that_could_not_be_written_counts_no_try(ctx: Context, readers: Readers) -> None:
    """The database goes away in the middle: neither result nor failure can be written."""
    upload(ctx, DUMPS)
    writing = ctx.database.writing
    away: list[bool] = []

    def perhaps():
        if away:
            raise Unavailable("the database went away", part="the database")
        return writing()

    class Cut(Faulty):
        def open(self, *place):
            away.append(True)
            raise self.error

    runner = make_runner(
        with_blobs(ctx, Cut(ctx.blobs, Unavailable("x", part="the blob store"))), readers
    )
    ctx.database.writing = perhaps  # type: ignore[method-assign]
    assert runner.run_once(WorkKind.PARSE)
    away.clear()
    assert (reading(ctx).state, reading(ctx).tries) == (WorkState.RUNNING, 1)
    runner.run_once(WorkKind.NOTIFY)
    assert (reading(ctx).state, reading(ctx).tries) == (WorkState.WAITING, 0)


def test_a_mistake_of_ours_fails_the_incident_and_blames_no_file(
    ctx: Context, readers: Readers, monkeypatch
) -> None:
    incident_id = upload(ctx, DUMPS).incident_id
    with monkeypatch.context() as broken:
        broken.setattr(parse, "unpack_files", lambda *_: {}["a mistake"])
        runner = make_runner(ctx, readers)
        for _ in range(ctx.settings.max_tries):
            due_now(ctx)
            assert runner.run_once(WorkKind.PARSE)
    assert reading(ctx).state == WorkState.QUARANTINED
    settle(ctx, readers, monkeypatch)
    found = find(ctx, incident_id)
    assert found.state is IncidentState.FAILED
    assert "KeyError" in (found.reason or "")
    assert states(ctx, incident_id) == {ArtifactState.STORED}


def set_apart(ctx: Context, readers: Readers, monkeypatch) -> str:
    """An incident that settled without its files, which no reader got through; its id."""
    incident_id = upload(ctx, DUMPS).incident_id
    died = NoReader(readers, ReaderDied(-9, 0.1, 100.0, 1 << 30))
    due_now(ctx)
    assert make_runner(ctx, died).run_once(WorkKind.PARSE)
    settle(ctx, readers, monkeypatch)
    assert states(ctx, incident_id) == {ArtifactState.QUARANTINED}
    assert find(ctx, incident_id).verdict["kind"] == "inconclusive"
    return incident_id


def is_answered(ctx: Context, readers: Readers, monkeypatch, incident_id: str) -> bool:
    assert find(ctx, incident_id).state is IncidentState.ANALYSING
    settle(ctx, readers, monkeypatch)
    assert find(ctx, incident_id).state is IncidentState.READY
    return ArtifactState.QUARANTINED not in states(ctx, incident_id)


def test_a_file_that_is_sent_again_is_read_again(
    ctx: Context, readers: Readers, monkeypatch
) -> None:
    incident_id = set_apart(ctx, readers, monkeypatch)
    for key in list(ctx.blobs.keys()):
        ctx.blobs.delete(key)
    sent = upload(ctx, DUMPS)
    assert (sent.incident_id, sent.new) == (incident_id, False)
    assert {one.status for one in sent.members} == {200}
    assert is_answered(ctx, readers, monkeypatch, incident_id)
    again = upload(ctx, DUMPS)
    assert find(ctx, incident_id).state is IncidentState.READY, "repeated bytes change nothing"
    assert not again.new


def test_one_file_that_is_sent_again_is_read_again(
    ctx: Context, readers: Readers, monkeypatch
) -> None:
    incident_id = set_apart(ctx, readers, monkeypatch)
    with ctx.database.reading() as session:
        [file, *_] = artifacts.list_by_incident(session, incident_id)
    target = Target(
        "4711", node=file.node, rank=file.rank, kind=file.kind, filename=file.filename,
        incident=incident_id,
    )  # fmt: skip
    name = next(name for name in DUMPS if name.endswith(file.filename.rpartition("/")[2]))
    sent = take_artifact(ctx, target, io.BytesIO(DUMPS[name]).read, None)
    assert (sent.artifact.id, sent.new, sent.artifact.state) == (file.id, False, "stored")


def test_retry_reads_what_could_not_be_read(ctx: Context, readers: Readers, monkeypatch) -> None:
    incident_id = set_apart(ctx, readers, monkeypatch)
    assert retry(ctx, incident_id) == Retried(1, len(DUMPS))
    assert is_answered(ctx, readers, monkeypatch, incident_id)
    assert retry(ctx) == Retried(0, 0), "there is nothing more"


def test_retry_of_what_is_not_there_is_refused(ctx: Context) -> None:
    with pytest.raises(NotFound):
        retry(ctx, "inc_none")


def test_retry_reads_again_what_we_failed_over(ctx: Context, readers: Readers, monkeypatch) -> None:
    incident_id = upload(ctx, DUMPS).incident_id
    with monkeypatch.context() as broken:
        broken.setattr(parse, "unpack_files", lambda *_: {}["a mistake"])
        for _ in range(ctx.settings.max_tries):
            due_now(ctx)
            assert make_runner(ctx, readers).run_once(WorkKind.PARSE)
    settle(ctx, readers, monkeypatch)
    assert find(ctx, incident_id).state is IncidentState.FAILED
    assert retry(ctx).num_incidents == 1
    assert is_answered(ctx, readers, monkeypatch, incident_id)


def test_what_waits_is_said(ctx: Context, readers: Readers) -> None:
    """By the routes, in the metrics, and by the doctor."""
    incident_id = upload(ctx, DUMPS).incident_id
    blobs = Faulty(ctx.blobs, Unavailable("away", part="the blob store"))
    assert make_runner(with_blobs(ctx, blobs), readers).run_once(WorkKind.PARSE)
    with TestClient(create_app(ctx, open_access=True), "http://127.0.0.1") as client:
        ready = client.get("/readyz")
        assert ready.status_code == 200, "named, and not fatal"
        assert "1 piece of work waits for the blob store since" in ready.text
        assert 'triage_work_waiting{for="the blob store"} 1.0' in client.get("/metrics").text
        [waits] = client.get(f"/v1/incidents/{incident_id}").json()["coverage"]["waiting"]
        assert (waits["for"], waits["files"]) == ("the blob store", len(DUMPS))
        page = client.get(f"/incidents/{incident_id}").text
        assert f"{len(DUMPS)} files wait for the blob store since" in page
    found = [one for one in doctor.work(ctx) if one.thing == "surroundings"]
    assert [one.health for one in found] == ["warn"]
