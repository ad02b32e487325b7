"""An incident from the first word of it to the settled answer, and what comes late."""

import signal
from datetime import UTC, datetime, timedelta

import pytest

import triage
from tests.services.whole_jobs import GPU_LOST, INCIDENTS, body_of, files_of, tar_of
from tests.support.work import do_all, do_one
from triage.domain.failure_match import Failure
from triage.domain.states import ArtifactState, IncidentState, WorkKind
from triage.errors import Conflict, NotFound, Unprocessable
from triage.render.data import wire
from triage.sandbox.errors import ReaderDied
from triage.sandbox.pool import Readers
from triage.server.work import make_sweeper
from triage.services.context import Context
from triage.services.incidents.announce import announce
from triage.services.incidents.parse import parse_given_up
from triage.services.incidents.resolve import resolve
from triage.services.uploads import ingest as intake
from triage.services.uploads.ingest import take_artifact, take_bundle
from triage.services.uploads.received import Target
from triage.store.incidents import incidents, revisions
from triage.store.messages import deliveries
from triage.store.uploads import artifacts, evidence
from triage.store.views import IncidentView
from triage.store.work import table as work

JOB = files_of(GPU_LOST)
DUMPS = {name: data for name, data in JOB.items() if name.startswith("fr/")}


def work_off(ctx: Context, readers: Readers) -> None:
    """Everything that is due."""
    do_all(ctx, readers, WorkKind.PARSE, WorkKind.ANALYSE)


def settle(ctx: Context, readers: Readers, monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour passes, and everything due is done."""
    monkeypatch.setattr("triage.clock.read", lambda: datetime.now(UTC) + timedelta(hours=1))
    work_off(ctx, readers)
    monkeypatch.undo()


def find(ctx: Context, incident_id: str) -> IncidentView:
    with ctx.database.reading() as session:
        found = incidents.find(session, incident_id)
    assert found is not None
    return found


def announce_and_settle(ctx: Context, readers: Readers, files: dict[str, bytes]) -> IncidentView:
    """The incident of a job whose expected files are all in."""
    opened = announce(ctx, Failure("4711", "a", expected_artifacts=len(files)))
    upload(ctx, files, incident=opened.id)
    work_off(ctx, readers)
    return find(ctx, opened.id)


def upload(ctx: Context, files: dict[str, bytes], job_id: str = "4711", **target: str):
    return take_bundle(ctx, Target(job_id, **target), body_of(tar_of(files)), None)


def test_the_answer_is_that_of_the_command(
    ctx: Context, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = announce(ctx, Failure("4711", "a", expected_artifacts=len(JOB)))
    taken = upload(ctx, JOB, incident=opened.id)
    assert taken.new
    assert {one.status for one in taken.members} == {201}
    work_off(ctx, readers)

    found = find(ctx, opened.id)
    assert (found.state, found.provisional, found.revision) == (IncidentState.READY, False, 1)
    with ctx.database.reading() as session:
        stored = revisions.find_newest(session, opened.id)
        rows = evidence.list_by_incident(session, opened.id, limit=500)
        ranked = revisions.list_suspects(session, opened.id)
        files = artifacts.list_by_incident(session, opened.id, limit=500)
    wanted = triage.analyze(GPU_LOST).to_dict()
    report = wire.report(stored.reported())
    assert report["verdict"] == wanted["verdict"]
    assert [one["node"] for one in report["suspects"]] == [
        one["node"] for one in wanted["suspects"]
    ]
    assert ranked == report["suspects"]
    assert found.verdict == wanted["verdict"]
    assert {one.state for one in files} == {ArtifactState.ANALYSED}
    assert any(row["role"] == "root" and row["at"] for _, row in rows)


def test_nothing_follows_a_hook(
    ctx: Context, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = announce(ctx, Failure("1", None))
    work_off(ctx, readers)
    assert find(ctx, opened.id).state is IncidentState.COLLECTING

    settle(ctx, readers, monkeypatch)

    found = find(ctx, opened.id)
    assert (found.state, found.provisional) == (IncidentState.READY, False)
    assert found.verdict["kind"] == "inconclusive"
    assert "nothing" in " ".join(found.coverage["notes"])


def test_provisional_answers_are_revised_and_then_settle(
    ctx: Context, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = announce(ctx, Failure("4711", "a", expected_artifacts=len(JOB)))
    half = dict(list(DUMPS.items())[:5])
    upload(ctx, half)
    work_off(ctx, readers)
    first = find(ctx, opened.id)
    assert (first.state, first.provisional, first.revision) == (IncidentState.COLLECTING, True, 1)

    upload(ctx, {name: data for name, data in JOB.items() if name not in half})
    settle(ctx, readers, monkeypatch)

    last = find(ctx, opened.id)
    assert (last.state, last.provisional, last.revision) == (IncidentState.READY, False, 2)
    assert last.settled_at is not None


def test_a_late_file_revises_and_a_repeated_one_changes_nothing(
    ctx: Context, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = announce(ctx, Failure("4711", "a"))
    early = {name: data for name, data in JOB.items() if not name.startswith("nodes/")}
    upload(ctx, early)
    settle(ctx, readers, monkeypatch)
    before = find(ctx, opened.id)
    assert before.state is IncidentState.READY

    again = upload(ctx, early)
    assert not again.new
    assert {one.status for one in again.members} == {200}
    work_off(ctx, readers)
    assert find(ctx, opened.id) == before

    late = upload(ctx, {name: data for name, data in JOB.items() if name.startswith("nodes/")})
    assert late.incident_id == opened.id
    assert find(ctx, opened.id).state is IncidentState.ANALYSING
    work_off(ctx, readers)
    after = find(ctx, opened.id)
    assert (after.state, after.revision) == (IncidentState.READY, before.revision + 1)
    assert after.verdict != before.verdict


def test_the_same_failure_is_the_same_incident(ctx: Context) -> None:
    at = datetime(2026, 11, 21, 3, 14, 15, tzinfo=UTC)

    first = announce(ctx, Failure("7", "a", at))
    assert announce(ctx, Failure("7", "a", at)).id == first.id
    assert announce(ctx, Failure("7", "a")).id == first.id
    assert announce(ctx, Failure("7", "a", at + timedelta(hours=1))).id != first.id
    assert announce(ctx, Failure("7", "b", at)).id != first.id
    assert announce(ctx, Failure("8", "a", at)).id != first.id


def test_a_second_failure_of_a_settled_job_is_another_incident(
    ctx: Context, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = announce(ctx, Failure("7", "a"))
    settle(ctx, readers, monkeypatch)

    assert announce(ctx, Failure("7", "a")).id != first.id


def test_uploads_nobody_announced_are_adopted(ctx: Context) -> None:
    taken = upload(ctx, DUMPS, job_id="9")

    opened = announce(ctx, Failure("9", "a", datetime(2026, 11, 21, tzinfo=UTC), {"nodes": ["n0"]}))

    assert opened.id == taken.incident_id
    assert opened.cluster == "a"
    assert upload(ctx, {"x.log": b"hello\n"}, job_id="9").incident_id == opened.id


@pytest.mark.parametrize("ago", [None, timedelta(hours=1)])
def test_uploads_that_have_settled_are_adopted_by_a_late_report(
    ctx: Context, readers: Readers, monkeypatch: pytest.MonkeyPatch, ago: timedelta | None
) -> None:
    failed_at = None if ago is None else datetime.now(UTC) - ago
    taken = upload(ctx, DUMPS, job_id="9")
    settle(ctx, readers, monkeypatch)
    assert find(ctx, taken.incident_id).state is IncidentState.READY

    late = Failure("9", "a", failed_at, callback_url="http://127.0.0.1:9/told")
    told = announce(ctx, late)

    assert (told.id, told.state) == (taken.incident_id, IncidentState.COLLECTING)
    assert announce(ctx, late).id == told.id
    settle(ctx, readers, monkeypatch)
    assert find(ctx, told.id).state is IncidentState.READY
    with ctx.database.reading() as session:
        waiting = deliveries.list_pending(session, f"sub_{told.id}")
    assert [one.event for one in waiting] == ["incident.ready"]


@pytest.mark.parametrize("ahead", [timedelta(hours=3), timedelta(days=3)])
def test_a_failure_after_the_uploads_settled_is_another(
    ctx: Context, readers: Readers, monkeypatch: pytest.MonkeyPatch, ahead: timedelta
) -> None:
    failed_at = datetime.now(UTC) + ahead
    taken = upload(ctx, DUMPS, job_id="9")
    settle(ctx, readers, monkeypatch)

    assert announce(ctx, Failure("9", "a", failed_at)).id != taken.incident_id
    assert find(ctx, taken.incident_id).state is IncidentState.READY


def test_an_upload_for_an_incident_that_is_not_there_is_refused(ctx: Context) -> None:
    opened = announce(ctx, Failure("7", "a"))

    with pytest.raises(NotFound):
        upload(ctx, DUMPS, incident="inc_none")
    with pytest.raises(Conflict):
        upload(ctx, DUMPS, job_id="8", incident=opened.id)
    assert list((ctx.settings.data_dir / "blobs").rglob("*blob*")) == []


def test_one_file_twice_is_one_artifact(ctx: Context, readers: Readers) -> None:
    name, data = next(iter(DUMPS.items()))
    target = Target("7", node="n0", filename=name)

    first = take_artifact(ctx, target, body_of(data), None)
    second = take_artifact(ctx, target, body_of(data), None)
    other = take_artifact(ctx, Target("7", node="n1", filename=name), body_of(data), None)

    assert (first.new, second.new, other.new) == (True, False, True)
    assert second.artifact.id == first.artifact.id
    assert other.artifact.id != first.artifact.id
    assert (first.artifact.kind, first.artifact.rank) == ("flight_recorder", 0)
    work_off(ctx, readers)


def test_a_bad_member_refuses_only_itself(
    ctx: Context, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = {**DUMPS, "fr/trace_rank_9": b"\x80\x02garbage"}
    taken = upload(ctx, bad)
    assert {one.status for one in taken.members} == {201}
    settle(ctx, readers, monkeypatch)

    found = find(ctx, taken.incident_id)
    assert [one["artifact"] for one in found.coverage["unreadable"]] == ["fr/trace_rank_9"]
    with ctx.database.reading() as session:
        states = {
            one.filename: one.state
            for one in artifacts.list_by_incident(session, taken.incident_id, limit=99)
        }
    assert states.pop("fr/trace_rank_9") is ArtifactState.QUARANTINED
    assert set(states.values()) == {ArtifactState.ANALYSED}


def test_a_log_that_has_grown_comes_under_a_name_of_its_own(ctx: Context, readers: Readers) -> None:
    first = upload(ctx, {"kernel.log": b"one\n"}, node="n0")
    upload(ctx, {"kernel.log": b"one\ntwo\n", "other/kernel.log": b"x\n"}, node="n0")
    upload(ctx, {"kernel.log": b"one\n"}, node="n1")

    with ctx.database.reading() as session:
        files = artifacts.list_by_incident(session, first.incident_id)
    names = [f"{one.node}/{one.filename}" for one in files]
    assert len(set(names)) == len(names) == 4
    assert sum("again-" in name for name in names) == 1
    assert all(name.endswith("kernel.log") for name in names)


def test_the_note_of_a_collector_is_kept_and_not_counted(ctx: Context, readers: Readers) -> None:
    opened = announce(ctx, Failure("4711", "a", expected_artifacts=2))
    upload(ctx, {"kernel.log": b"one\n", "MANIFEST.txt": b"cut: job.log\n"}, node="n0")
    work_off(ctx, readers)

    found = find(ctx, opened.id)
    assert (found.state, found.num_artifacts) == (IncidentState.COLLECTING, 1)
    with ctx.database.reading() as session:
        assert len(artifacts.list_by_incident(session, opened.id)) == 2


def test_the_order_of_uploads_does_not_matter(
    ctx: Context, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = []
    for job_id, order in (("1", sorted(JOB)), ("2", sorted(JOB, reverse=True))):
        announce(ctx, Failure(job_id, "a", facts={"job_id": "same"}))
        for name in order:
            upload(ctx, {name: JOB[name]}, job_id=job_id)
        settle(ctx, readers, monkeypatch)
        with ctx.database.reading() as session:
            [one] = incidents.list_incidents(session, job_id=job_id)
            newest = revisions.find_newest(session, one.id)
        reports.append(wire.report(newest.reported()))
    assert reports[0] == reports[1]


def test_the_sweeper_wakes_for_what_is_due(ctx: Context, readers: Readers) -> None:
    announce(ctx, Failure("1", None, expected_artifacts=0))

    assert make_sweeper(ctx).sweep() == 3, "the incident, the daily round, the problems"
    do_all(ctx, readers, *WorkKind)
    assert make_sweeper(ctx).sweep() == 0


def test_a_lost_worker_gives_its_work_back_six_times(
    ctx: Context, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = upload(ctx, DUMPS)
    for number in range(6):
        now = datetime.now(UTC) + timedelta(hours=number)
        with ctx.database.writing() as session:
            claimed = work.claim(session, WorkKind.PARSE, f"lost:{number}", now, 60)
            assert claimed is not None
            assert claimed.tries == number + 1
        with ctx.database.writing() as session:
            gone = work.reclaim_lost(session, now + timedelta(minutes=2), 3)
            assert len(gone) == (number == 5)
            assert work.claim(session, WorkKind.ANALYSE, "x", now - timedelta(days=1), 60) is None

    with ctx.database.writing() as session:
        parse_given_up(session, gone[0].key, "6 workers were lost over it")
    settle(ctx, readers, monkeypatch)
    found = find(ctx, taken.incident_id)
    assert found.state is IncidentState.FAILED, "our failure, and no file's"
    assert "`triage retry`" in (found.reason or "")
    assert len(found.coverage["unreadable"]) == len(DUMPS)
    assert "workers were lost" in found.coverage["unreadable"][0]["why"]
    with ctx.database.reading() as session:
        files = artifacts.list_by_incident(session, found.id)
    assert {file.state for file in files} == {ArtifactState.STORED}


class BreaksOver:
    """Readers that die over one file, and note over how many files they were asked."""

    def __init__(self, readers, name: str, death: int = signal.SIGSEGV) -> None:
        self.readers = readers
        self.name = name
        self.death = death
        self.asked: list[int] = []

    def __getattr__(self, name: str):
        return getattr(self.readers, name)

    def extract(self, files, facts_json: bytes = b"{}", *, own: bytes = b"", deadline_s: float):
        self.asked.append(len(files))
        if any(self.name in file.artifact for file in files):
            raise ReaderDied(-self.death, 0.1, 100.0, 1 << 30)
        return self.readers.extract(files, facts_json, own=own, deadline_s=deadline_s)


def test_a_file_that_took_its_reader_over_is_set_apart_with_that_reason_and_blames_nobody(
    ctx: Context, readers: Readers
) -> None:
    opened = announce(ctx, Failure("4711", "a", expected_artifacts=2))
    upload(ctx, {"n1/bad.log": b"x\n", "n2/good.log": b"y\n"}, incident=opened.id)
    work_off(ctx, BreaksOver(readers, "bad.log", signal.SIGSYS))
    with ctx.database.reading() as session:
        found = {one.filename: one for one in artifacts.list_by_incident(session, opened.id)}
    (bad,) = [one for name, one in found.items() if "bad" in name]
    assert bad.state is ArtifactState.QUARANTINED
    assert "tried what no reader needs" in (bad.reason or "")
    assert [one.state for one in found.values()].count(ArtifactState.ANALYSED) == 1
    incident = find(ctx, opened.id)
    assert incident.state is IncidentState.READY
    assert incident.verdict["kind"] == "inconclusive"


def test_of_uploads_read_together_only_the_file_that_kills_is_set_apart(
    ctx: Context, readers: Readers
) -> None:
    opened = announce(ctx, Failure("4711", "a", expected_artifacts=7))
    for number in range(3):
        files = {f"n{number}/{k}.log": b"%d %d\n" % (number, k) for k in range(2)}
        upload(ctx, files | ({"n1/bad.log": b"x\n"} if number == 1 else {}), incident=opened.id)
    breaks = BreaksOver(readers, "bad.log")

    assert do_one(ctx, breaks, WorkKind.PARSE)
    assert not do_one(ctx, breaks, WorkKind.PARSE)

    # All together, then by upload, then the files of the one that kills, that one three times.
    assert sorted(breaks.asked) == [1, 1, 1, 1, 1, 2, 2, 3, 7]
    with ctx.database.reading() as session:
        found = {one.filename: one.state for one in artifacts.list_by_incident(session, opened.id)}
    assert [name for name in found if "bad" in name] == [
        name for name, state in found.items() if state is ArtifactState.QUARANTINED
    ]
    assert sum(state is ArtifactState.ANALYSED for state in found.values()) == 6


def test_work_asked_for_while_it_is_done_is_done_once_more(ctx: Context) -> None:
    now = datetime.now(UTC)
    with ctx.database.writing() as session:
        row = work.enqueue(session, WorkKind.NOTIFY, "sub_1", now)
    with ctx.database.writing() as session:
        claimed = work.claim(session, WorkKind.NOTIFY, "me", now, 60)
    with ctx.database.writing() as session:
        assert work.claim(session, WorkKind.NOTIFY, "other", now, 60) is None
        assert work.enqueue(session, WorkKind.NOTIFY, "sub_1", now) == row
        assert work.finish(session, claimed, "me", now)
    with ctx.database.writing() as session:
        claimed = work.claim(session, WorkKind.NOTIFY, "me", now, 60)
        assert claimed is not None
        assert work.finish(session, claimed, "me", now)
        assert work.claim(session, WorkKind.NOTIFY, "me", now, 60) is None


def test_a_lease_that_was_lost_finishes_nothing(ctx: Context) -> None:
    now = datetime.now(UTC)
    with ctx.database.writing() as session:
        work.enqueue(session, WorkKind.NOTIFY, "sub_1", now)
        claimed = work.claim(session, WorkKind.NOTIFY, "me", now, 60)
    later = now + timedelta(minutes=5)
    with ctx.database.writing() as session:
        assert work.reclaim_lost(session, later, 3) == []
        other = work.claim(session, WorkKind.NOTIFY, "other", later, 60)
        assert other.id == claimed.id
        assert not work.finish(session, claimed, "me", later)
        assert not work.renew_lease(session, claimed.id, "me", later)
        assert work.renew_lease(session, claimed.id, "other", later)


def test_a_burst_of_one_job_does_not_keep_another_waiting(ctx: Context) -> None:
    for number in range(20):
        upload(ctx, {"a.log": b"line %d\n" % number}, job_id="burst")
    upload(ctx, {"a.log": b"one\n"}, job_id="small")

    turns = []
    with ctx.database.writing() as session:
        while claimed := work.claim(session, WorkKind.PARSE, "me", datetime.now(UTC), 60):
            found = artifacts.list_unread(session, [claimed.key])[claimed.key][0]
            turns.append(incidents.find(session, found.incident_id).job_id)
    assert turns.index("small") <= 2
    assert len(turns) == 21


def test_a_resolution_is_kept_and_replaced(ctx: Context) -> None:
    opened = announce(ctx, Failure("1", None))

    resolve(ctx, opened.id, "gpu", "n0", None, "key_1")
    resolve(ctx, opened.id, "nic", None, "cable", "key_1")

    kept = find(ctx, opened.id).resolution
    assert (kept.category, kept.node, kept.note) == ("nic", None, "cable")
    with pytest.raises(Unprocessable):
        resolve(ctx, opened.id, "gremlins", None, None, "key_1")
    with pytest.raises(NotFound):
        resolve(ctx, "inc_none", "nic", None, None, "key_1")


def test_nothing_is_answered_before_the_blob_is_on_disk(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    begin = ctx.blobs.begin

    def watched(key: str):
        blob = begin(key)
        commit = blob.commit
        monkeypatch.setattr(blob, "commit", lambda: (order.append("blob"), commit()))
        return blob

    monkeypatch.setattr(ctx.blobs, "begin", watched)
    record = intake.record
    monkeypatch.setattr(intake, "record", lambda *a: (order.append("rows"), record(*a))[1])

    upload(ctx, DUMPS)

    assert order == ["blob", "rows"]


def test_several_incidents_are_listed_newest_first(ctx: Context) -> None:
    made = [announce(ctx, Failure(str(number), None)).id for number in range(5)]

    with ctx.database.reading() as session:
        first = incidents.list_incidents(session, limit=2)
        rest = incidents.list_incidents(session, before=(first[-1].created_at, first[-1].id))
        assert [one.id for one in [*first, *rest]] == made[::-1]
        assert incidents.list_incidents(session, state="ready") == []
        assert [one.job_id for one in incidents.list_incidents(session, job_id="3")] == ["3"]


def test_incident_folders_of_every_kind_are_answered(
    ctx: Context, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not ctx.database.sqlite:
        pytest.skip("one database will do for the readers")
    for name in ("nccl-cascade-w8-tp2", "logs-traceback-w16", "logs-nic-w16", "logs-hbm-w8"):
        folder = INCIDENTS / name
        folder = folder / "files" if (folder / "files").is_dir() else folder
        taken = upload(ctx, files_of(folder), job_id=name)
        settle(ctx, readers, monkeypatch)
        wanted = triage.analyze(folder).to_dict()
        found = find(ctx, taken.incident_id)
        assert found.verdict["kind"] == wanted["verdict"]["kind"], name
        assert found.verdict["category"] == wanted["verdict"]["category"], name
