"""A token is no longer believed: the answer is what it would be had the token never spoken."""

import io
import json
from datetime import UTC, datetime, timedelta

import pytest

from tests.services.whole_jobs import GPU_LOST, body_of, files_of, tar_of
from tests.support.work import do_all
from triage.clock import read_utc_now
from triage.domain.caller import Caller
from triage.domain.failure_match import Failure
from triage.domain.states import WorkKind
from triage.errors import NotAllowed, UsageError
from triage.fleet.services.exposure.imports import import_exposure
from triage.fleet.services.exposure.job_ended import keep_job_end, parse_end
from triage.fleet.services.health.ingest import CheckTarget, take_checks
from triage.fleet.services.telemetry.ingest import TelemetryTarget, take_telemetry
from triage.fleet.store import checks, record
from triage.fleet.store.record import list_runs
from triage.sandbox.pool import Readers
from triage.services.context import Context
from triage.services.incidents.announce import announce
from triage.services.incidents.resolve import retry
from triage.services.taint import count_contribution, taint_token
from triage.services.tokens import check_token, create_token
from triage.services.uploads.ingest import take_bundle
from triage.services.uploads.received import Target
from triage.store.access import audit
from triage.store.incidents import incidents, revisions
from triage.store.uploads import artifacts

JOB = files_of(GPU_LOST)
AT = datetime(2026, 11, 21, 1, 36, 47, tzinfo=UTC)
FACTS = json.loads(JOB["job.json"])
LIE = {"nodes": [f"innocent-{number}" for number in range(4)], "gpus_per_node": 2}
DUMPS = {name: data for name, data in JOB.items() if name.startswith("fr/")}
FORGED = {
    "nodes/innocent-0/kernel.log": b"2026-11-21T01:36:40.000Z innocent-0 kernel: "
    b"NVRM: Xid (PCI:0000:5d:00): 79, pid=1, GPU has fallen off the bus.\n"
}


def token(ctx: Context, name: str) -> tuple[Caller, str]:
    key, secret = create_token(ctx, name, ["ingest"], "test")
    return key.caller(), secret


def opened(ctx: Context, readers: Readers, job: str, honest: Caller, liar: Caller | None) -> str:
    failure = Failure(job, "a", AT, {**FACTS, "job_id": job}, caller=honest)
    incident_id = announce(ctx, failure).id
    send(ctx, job, incident_id, DUMPS, honest)
    if liar is not None:
        announce(ctx, Failure(job, "a", AT, LIE, caller=liar))
        send(ctx, job, incident_id, FORGED, liar)
    announce(ctx, Failure(job, "a", AT, expected_artifacts=0, caller=honest))
    answer(ctx, readers)
    return incident_id


def send(ctx: Context, job: str, incident_id: str, files: dict[str, bytes], caller: Caller) -> None:
    target = Target(job, incident=incident_id, caller=caller)
    take_bundle(ctx, target, body_of(tar_of(files)), None)


def answer(ctx: Context, readers: Readers) -> None:
    do_all(ctx, readers, WorkKind.PARSE, WorkKind.ANALYSE)


def answer_of(ctx: Context, incident_id: str) -> tuple[str, str, dict[str, str | None]]:
    """Verdict and suspects as text, and the files with their reasons."""
    with ctx.database.reading() as session:
        found = incidents.find(session, incident_id)
        newest = revisions.find_newest(session, incident_id)
        files = artifacts.list_by_incident(session, incident_id)
    assert found is not None
    assert newest is not None
    suspects = str(newest.reported().suspects)
    return str(found.verdict), suspects, {one.name: one.reason for one in files}


def test_what_a_token_brought_counts_no_more(ctx: Context, readers: Readers) -> None:
    honest, _ = token(ctx, "honest")
    liar, secret = token(ctx, "liar")
    clean = opened(ctx, readers, "1", honest, None)
    attacked = opened(ctx, readers, "2", honest, liar)
    assert "innocent" in answer_of(ctx, attacked)[1]
    assert answer_of(ctx, attacked)[:2] != answer_of(ctx, clean)[:2]

    done = taint_token(ctx, liar.key_id or "", "admin")
    answer(ctx, readers)

    assert (done.counts["files"], done.counts["facts"], done.incidents) == (1, 1, (attacked,))
    assert answer_of(ctx, attacked)[:2] == answer_of(ctx, clean)[:2]
    reasons = answer_of(ctx, attacked)[2]
    assert reasons["nodes/innocent-0/kernel.log"] == (
        f"set apart: token {liar.key_id} is no longer believed"
    )
    assert check_token(ctx, secret) is None
    with ctx.database.reading() as session:
        act = audit.list_acts(session)[0]
    assert (act.actor, act.action, act.subject) == ("admin", "taint token", liar.key_id)
    assert {kind: number for kind, number in act.detail.items() if number} == {
        "files": 1, "facts": 1, "incidents": 1,
    }  # fmt: skip

    assert taint_token(ctx, liar.key_id or "", "admin").counts["files"] == 0
    answer(ctx, readers)
    assert answer_of(ctx, attacked)[:2] == answer_of(ctx, clean)[:2]


def test_what_it_brought_before_it_leaked_stays(ctx: Context, readers: Readers) -> None:
    honest, _ = token(ctx, "honest")
    liar, _ = token(ctx, "liar")
    attacked = opened(ctx, readers, "3", honest, liar)
    later = read_utc_now() + timedelta(hours=1)
    assert taint_token(ctx, liar.key_id or "", "admin", since=later).incidents == ()
    assert "innocent" in answer_of(ctx, attacked)[1]
    earlier = read_utc_now() - timedelta(hours=1)
    assert taint_token(ctx, liar.key_id or "", "admin", since=earlier).incidents == (attacked,)


def test_a_file_that_is_being_read_is_set_apart_all_the_same(
    ctx: Context, readers: Readers
) -> None:
    """Its reader comes back when the token is no longer believed."""
    honest, _ = token(ctx, "honest")
    liar, _ = token(ctx, "liar")
    incident_id = announce(ctx, Failure("4", "a", AT, FACTS, caller=honest)).id
    send(ctx, "4", incident_id, FORGED, liar)

    class Slow:
        def extract(self, *arguments, **more):
            taint_token(ctx, liar.key_id or "", "admin")
            return readers.extract(*arguments, **more)

        def __getattr__(self, name):
            return getattr(readers, name)

    do_all(ctx, Slow(), WorkKind.PARSE)  # type: ignore[arg-type]
    with ctx.database.reading() as session:
        [file] = artifacts.list_by_incident(session, incident_id)
    assert (file.state, file.reason) == (
        "quarantined", f"set apart: token {liar.key_id} is no longer believed",
    )  # fmt: skip


def test_a_retry_believes_no_file_and_a_file_that_an_honest_token_sends_counts(
    ctx: Context, readers: Readers
) -> None:
    honest, _ = token(ctx, "honest")
    liar, _ = token(ctx, "liar")
    incident_id = opened(ctx, readers, "6", honest, liar)
    [path] = FORGED
    taint_token(ctx, liar.key_id or "", "admin")
    answer(ctx, readers)
    assert retry(ctx).num_files == 0
    assert retry(ctx, incident_id).num_files == 0
    answer(ctx, readers)
    assert "no longer believed" in str(answer_of(ctx, incident_id)[2][path])

    send(ctx, "6", incident_id, FORGED, honest)
    answer(ctx, readers)
    assert answer_of(ctx, incident_id)[2][path] is None
    with ctx.database.reading() as session:
        files = {one.name: one.key_id for one in artifacts.list_by_incident(session, incident_id)}
    assert files[path] == honest.key_id


def test_a_request_that_was_let_in_before_the_taint_is_not_kept(ctx: Context) -> None:
    honest, _ = token(ctx, "honest")
    liar, _ = token(ctx, "liar")
    incident_id = announce(ctx, Failure("5", "a", AT, FACTS, caller=honest)).id
    taint_token(ctx, liar.key_id or "", "admin")

    with pytest.raises(NotAllowed, match="no longer believed"):
        send(ctx, "5", incident_id, FORGED, liar)
    with pytest.raises(NotAllowed, match="no longer believed"):
        announce(ctx, Failure("5", "a", AT, LIE, caller=liar))
    with ctx.database.reading() as session:
        assert artifacts.list_by_incident(session, incident_id) == []


def test_what_it_brought_to_the_record_of_the_fleet_is_removed(ctx: Context) -> None:
    honest, _ = token(ctx, "honest")
    liar, _ = token(ctx, "liar")
    rows = "job_id,start,end,state,nodes\n{},2026-11-01T00:00:00Z,2026-11-01T01:00:00Z,FAILED,n1\n"
    outages = b"node,from,to,reason\nn1,2026-11-02T00:00:00Z,2026-11-02T01:00:00Z,drained\n"
    sample = b'# at 2026-11-20T00:00:00Z\nDCGM_FI_DEV_GPU_TEMP{gpu="0",Hostname="n1"} 90\n'
    for caller, job in ((honest, "mine"), (liar, "forged")):
        import_exposure(ctx, io.BytesIO(rows.format(job).encode()), cluster="a", caller=caller)
    import_exposure(ctx, io.BytesIO(outages), cluster="a", caller=liar)
    for caller, status, day in ((honest, "ok", 3), (liar, "fail", 4)):
        check = {"check": "pcie_width", "status": status, "at": f"2026-11-0{day}T00:00:00Z"}
        body = io.BytesIO(json.dumps(check).encode() + b"\n")
        take_checks(ctx, CheckTarget("n1", cluster="a", caller=caller), body.read, None)
    take_telemetry(ctx, TelemetryTarget("n1", "a", liar), io.BytesIO(sample).read, None)
    late = {"job_id": "late", "started_at": 1793500000, "ended_at": 1793503600, "state": "FAILED"}
    keep_job_end(ctx, parse_end(late, read_utc_now(), liar))

    before = count_contribution(ctx, liar.key_id or "").counts
    kinds = ("runs", "outages", "checks", "telemetry_days")
    assert [before[kind] for kind in kinds] == [2, 1, 1, 1]
    taint_token(ctx, liar.key_id or "", "admin")

    after = count_contribution(ctx, liar.key_id or "").counts
    assert not any(after[kind] for kind in kinds)
    with ctx.database.reading() as session:
        assert [run.job_id for run in list_runs(session)] == ["mine"]
        [kept] = checks.list_newest_checks(session)
    assert (kept.outcome, len(kept.history)) == ("pass", 1)


def test_an_incident_that_it_alone_had_made_up_is_no_interruption(
    ctx: Context, readers: Readers
) -> None:
    honest, _ = token(ctx, "honest")
    liar, _ = token(ctx, "liar")
    attacked = opened(ctx, readers, "7", honest, liar)
    made_up = opened(ctx, readers, "8", liar, None)
    since = read_utc_now() - timedelta(days=1)

    def stops() -> set[str]:
        with ctx.database.reading() as session:
            found = record.list_stop_rows(
                session, list(record.map_cluster_keys(session).values()), since
            )
        return {stop.incident_id for stop in found}

    assert stops() == {attacked, made_up}
    taint_token(ctx, liar.key_id or "", "admin")
    answer(ctx, readers)
    assert stops() == {attacked}


def test_a_token_that_is_not_there_cannot_be_tainted(ctx: Context) -> None:
    with pytest.raises(UsageError, match="there is no token key_none"):
        taint_token(ctx, "key_none", "admin")
