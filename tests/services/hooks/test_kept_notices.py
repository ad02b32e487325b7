"""Events on nodes are kept, so that a job that fails later has them as one that failed before."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import orjson
import pytest
from sqlalchemy import func, select

from models import NodeNotice
from tests.services.whole_jobs import body_of
from tests.support.work import do_all
from triage.domain.caller import Caller
from triage.domain.failure_match import Failure
from triage.domain.states import ArtifactState, IncidentState, WorkKind
from triage.domain.wire import format_iso_utc
from triage.errors import NotAllowed, Unavailable
from triage.render.data import wire
from triage.sandbox.pool import Readers
from triage.server.context import open_context
from triage.services.context import Context
from triage.services.hooks import monitoring
from triage.services.hooks.cloudevents import read_event_notices
from triage.services.hooks.monitoring import HookOutcome, Line, Notices, take_notices
from triage.services.incidents.announce import announce
from triage.services.retention.erase import delete_artifact, delete_incident
from triage.services.retention.prune import prune
from triage.services.taint import count_contribution, taint_token
from triage.services.tokens import create_token
from triage.services.uploads.ingest import take_artifact
from triage.services.uploads.received import Target
from triage.store import node_notices, nodes
from triage.store.incidents import incidents, revisions
from triage.store.uploads import artifacts, evidence

# To the second, as tools say it. Ranks waited from the stop on, and gave up ten minutes later.
GIVEN_UP = datetime.now(UTC).replace(microsecond=0) - timedelta(seconds=60)
STOP = GIVEN_UP - timedelta(seconds=600)
LOG = (
    f"{format_iso_utc(GIVEN_UP)} [rank0]: [Rank 0] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000)"
    " ran for 600000 milliseconds before timing out.\n"
).encode()
SHA = re.compile(r"nvsentinel-[0-9a-f]{16}")


def health(seconds: float, node: str = "n3", *, healthy: bool = False, **more: object):
    """NVSentinel's word on a GPU of the node, so long after the stop."""
    at = format_iso_utc(STOP + timedelta(seconds=seconds))
    said = {
        "checkName": "SysLogsXIDError", "isFatal": not healthy, "isHealthy": healthy,
        "errorCode": ["79"], "message": "GPU has fallen off the bus", "nodeName": node,
        "recommendedAction": "RESTART_BM", "generatedTimestamp": at,
        "entitiesImpacted": [{"entityType": "PCI", "entityValue": "0000:5d:00.0"}], **more,
    }  # fmt: skip
    return {"specversion": "1.0", "id": at, "source": "s", "type": "t",
            "data": {"healthEvent": said}}  # fmt: skip


def post(ctx: Context, *events: Mapping[str, object], caller: Caller | None = None) -> HookOutcome:
    notices = Notices()
    notices.extend([read_event_notices(event) for event in events])
    return take_notices(ctx, notices, caller)


def failed(ctx: Context, job: str = "7", cluster: str | None = None, **facts: object) -> str:
    told = {"nodes": ["n2", "n3"], "gpus_per_node": 2, **facts}
    failure = Failure(job, cluster, failed_at=GIVEN_UP, facts=told, expected_artifacts=1)
    return announce(ctx, failure).id


def work_off(ctx: Context, readers: Readers) -> None:
    do_all(ctx, readers, WorkKind.PARSE, WorkKind.ANALYSE)


def files_of(ctx: Context, incident_id: str) -> list[str]:
    with ctx.database.reading() as session:
        found = artifacts.list_by_incident(session, incident_id, limit=500)
    return sorted(one.filename for one in found if one.filename.startswith("hook-events/"))


ORDERS = (
    ("events", "failure", "log"),
    ("failure", "events", "log"),
    ("failure", "log", "events"),
    ("log", "events", "failure"),
)
CASES = {
    "convicts": [(-30, False)],
    "taken back": [(-60, False), (-30, True)],
    "behind the stop": [(40, False)],
}


@pytest.mark.parametrize("case", CASES)
def test_the_answer_is_the_same_whichever_comes_first(
    ctx: Context, readers: Readers, case: str
) -> None:
    told = []
    for number, order in enumerate(ORDERS):
        # Jobs and nodes of their own: no record of the ones before speaks of them.
        job, bad, fine = f"job-{number}", f"bad-{number}", f"fine-{number}"
        incident_id = ""
        for step in order:
            if step == "events":
                post(ctx, *(health(at, bad, healthy=healthy) for at, healthy in CASES[case]))
            elif step == "failure":
                incident_id = failed(ctx, job, nodes=[fine, bad])
            else:
                take_artifact(ctx, Target(job, node=fine, kind="job_log"), body_of(LOG), None)
            work_off(ctx, readers)
        assert len(files_of(ctx, incident_id)) == len(CASES[case])
        told.append(answer_of(ctx, incident_id, {job: "JOB", bad: "BAD", fine: "FINE"}))
    assert told == [told[0]] * len(told)
    assert ("BAD" in orjson.loads(told[0])[0]) == (case == "convicts")


def answer_of(ctx: Context, incident_id: str, names: Mapping[str, str]) -> str:
    """The final report and the evidence, with other names; first who is convicted."""
    with ctx.database.reading() as session:
        found = incidents.find(session, incident_id)
        newest = revisions.find_newest(session, incident_id)
        rows = [row for _, row in evidence.list_by_incident(session, incident_id, limit=500)]
    assert found is not None
    assert newest is not None
    assert (found.state, found.provisional) == (IncidentState.READY, False)
    text = orjson.dumps([orjson.loads(wire.render(newest.reported())), rows]).decode()
    for name, word in names.items():
        text = text.replace(name, word)
    report, rows = orjson.loads(SHA.sub("FILE", text))
    convicted = [one["node"] for one in report["suspects"] if one["role"] == "culprit"]
    return orjson.dumps([convicted, report, sorted(rows, key=orjson.dumps)]).decode()


def kept(ctx: Context) -> int:
    with ctx.database.reading() as session:
        return session.scalar(select(func.count()).select_from(NodeNotice)) or 0


def shown(ctx: Context, node: str, cluster: str | None = None) -> list[str]:
    with ctx.database.reading() as session:
        history = nodes.read_history(session, node, cluster=cluster)
    return [] if history is None else [one["summary"] for one in history["events"]]


def token(ctx: Context, name: str, cluster: str | None = None) -> Caller:
    key, _ = create_token(ctx, name, ["ingest"], "test", cluster=cluster)
    return Caller(key.id, frozenset({"ingest"}), cluster)


def test_an_event_waits_for_a_failure_and_is_shown_until_then(
    ctx: Context, readers: Readers
) -> None:
    heard = post(ctx, health(-30), health(-20, healthy=True))
    assert (heard.accepted, heard.waiting, heard.ignored, heard.incidents) == (2, 2, (), ())
    assert shown(ctx, "n3") == [
        "SysLogsXIDError 79 (healthy): GPU has fallen off the bus",
        "SysLogsXIDError 79 (fatal): GPU has fallen off the bus",
    ]
    assert shown(ctx, "n2") == []
    incident_id = failed(ctx)
    work_off(ctx, readers)
    assert len(files_of(ctx, incident_id)) == 2
    assert post(ctx, health(-10)).waiting == 0


def test_what_is_acknowledged_is_there_after_a_restart(ctx: Context, readers: Readers) -> None:
    post(ctx, health(-30))
    again = open_context(ctx.settings)
    incident_id = failed(again)
    work_off(again, readers)
    assert len(files_of(again, incident_id)) == 1
    again.close()


def test_an_incident_finds_an_event_whose_sender_died(
    ctx: Context, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The event is stored, and nobody has asked for a look at the incident that was there."""
    incident_id = failed(ctx)

    def dies(*_: object) -> None:
        raise Unavailable("killed")

    with monkeypatch.context() as patch:
        patch.setattr(monitoring, "look_at", dies)
        with pytest.raises(Unavailable):
            post(ctx, health(-30))
    take_artifact(ctx, Target("7", node="n2", kind="job_log"), body_of(LOG), None)
    work_off(ctx, readers)
    assert len(files_of(ctx, incident_id)) == 1


def test_the_same_event_again_is_one_file(ctx: Context, readers: Readers) -> None:
    post(ctx, health(-30), health(-30))
    incident_id = failed(ctx)
    for _ in range(2):
        post(ctx, health(-30))
        work_off(ctx, readers)
    assert (kept(ctx), len(files_of(ctx, incident_id))) == (1, 1)


def test_each_failure_of_a_day_has_the_event(ctx: Context, readers: Readers) -> None:
    first = failed(ctx, "1")
    post(ctx, health(-30))
    second, elsewhere = failed(ctx, "2"), failed(ctx, "3", nodes=["n9"])
    work_off(ctx, readers)
    assert [len(files_of(ctx, one)) for one in (first, second, elsewhere)] == [1, 1, 0]


def test_a_node_that_is_named_later_brings_its_events(ctx: Context, readers: Readers) -> None:
    post(ctx, health(-30))
    incident_id = failed(ctx, nodes=[])
    work_off(ctx, readers)
    assert files_of(ctx, incident_id) == []
    take_artifact(ctx, Target("7", node="n3", kind="job_log"), body_of(LOG), None)
    work_off(ctx, readers)
    assert len(files_of(ctx, incident_id)) == 1


@pytest.mark.parametrize(("hours", "wanted"), [(-25, 0), (-23, 1), (23, 1), (25, 0)])
def test_a_day_before_and_after_a_failure(
    ctx: Context, readers: Readers, hours: int, wanted: int
) -> None:
    notices = Notices(lines=[Line("n3", "an alert", None, "alertmanager", "a")])
    take_notices(ctx, notices, now=datetime.now(UTC) + timedelta(hours=hours))
    incident_id = failed(ctx)
    work_off(ctx, readers)
    assert len(files_of(ctx, incident_id)) == wanted


def test_events_are_no_files_that_somebody_expects(ctx: Context, readers: Readers) -> None:
    post(ctx, health(-30), health(-29))
    incident_id = failed(ctx)
    work_off(ctx, readers)
    with ctx.database.reading() as session:
        found = incidents.find(session, incident_id)
        rows = evidence.list_by_incident(session, incident_id, limit=500)
    assert found is not None
    assert (found.state, found.provisional) == (IncidentState.COLLECTING, True)
    assert found.coverage is not None
    assert found.coverage["notes"] == []
    assert [(row["role"], row["at"]) for _, row in rows] == [
        ("root", format_iso_utc(STOP + timedelta(seconds=at))) for at in (-30, -29)
    ]


def test_another_cluster_sees_no_event(ctx: Context, readers: Readers) -> None:
    mine, other, none = failed(ctx, "1", "a"), failed(ctx, "2", "b"), failed(ctx, "3")
    heard = post(ctx, health(-30), caller=token(ctx, "a", "a"))
    assert [one.id for one in heard.incidents] == [mine]
    later = failed(ctx, "4", "b")
    work_off(ctx, readers)
    assert [len(files_of(ctx, one)) for one in (mine, other, none, later)] == [1, 0, 0, 0]
    assert len(shown(ctx, "n3", "a")) == 1
    assert shown(ctx, "n3", "b") == []


def test_an_event_of_no_cluster_is_of_the_one_that_has_the_node(
    ctx: Context, readers: Readers
) -> None:
    post(ctx, health(-30), health(-30, "only-a"))
    first = failed(ctx, "1", "a", nodes=["n3", "only-a"])
    second = failed(ctx, "2", "b", nodes=["n3"])
    heard = post(ctx, health(-29))
    assert (heard.incidents, heard.waiting) == ((), 1)
    work_off(ctx, readers)
    assert [len(files_of(ctx, one)) for one in (first, second)] == [1, 0]


def test_what_is_kept_has_bounds(ctx: Context) -> None:
    settings = ctx.settings.model_copy(
        update={"max_events_per_node": 3, "max_events_per_token": 8, "keep_events_days": 2.0}
    )
    small = replace(ctx, settings=settings)
    flood, calm = token(ctx, "flood"), token(ctx, "calm")
    post(small, health(-5, "calm"), caller=calm)
    for at in (5, 1, 4, 2, 3):  # those that go are the oldest, not the first to come
        post(small, health(at), caller=flood)
    assert kept(ctx) == 4
    with ctx.database.reading() as session:
        newest = session.scalars(select(NodeNotice.at).where(NodeNotice.node == "n3")).all()
    assert sorted(newest) == [STOP + timedelta(seconds=at) for at in (3, 4, 5)]
    # One request of more than are counted at a time has them counted.
    post(small, *(health(0, f"m{k}") for k in range(monitoring.COUNTED_EVERY)), caller=flood)
    assert kept(ctx) == 8 + 1
    prune(small, 90, 30)
    assert kept(ctx) == 9
    with ctx.database.writing() as session:
        assert node_notices.prune(session, datetime.now(UTC) + timedelta(seconds=1)) == 9


def test_an_old_event_goes_with_the_daily_clean_up(ctx: Context) -> None:
    alert = Notices(lines=[Line("n3", "an alert", None, "alertmanager", "a")])
    take_notices(ctx, alert, now=datetime.now(UTC) - timedelta(days=8))
    prune(ctx, 90, 30)
    assert kept(ctx) == 0
    # One that goes on is sent again, and stays.
    take_notices(ctx, alert, now=datetime.now(UTC) - timedelta(days=8))
    take_notices(ctx, alert)
    prune(ctx, 90, 30)
    assert kept(ctx) == 1


def test_what_is_erased_is_not_kept_for_its_job(ctx: Context, readers: Readers) -> None:
    post(ctx, health(-30), health(-29), health(-28))
    incident_id = failed(ctx)
    work_off(ctx, readers)
    with ctx.database.reading() as session:
        first = artifacts.list_by_incident(session, incident_id)[0]
    delete_artifact(ctx, first.id, "test", "a name")
    assert kept(ctx) == 2
    post(ctx, health(-30), health(-29), health(-28))
    work_off(ctx, readers)
    assert len(files_of(ctx, incident_id)) == 2
    delete_incident(ctx, incident_id, "test", "all of it")
    # What was sent again is kept, as a file of another job would be; this job gets none of it.
    assert kept(ctx) == 1


def test_a_token_that_is_not_believed_takes_its_events_along(
    ctx: Context, readers: Readers
) -> None:
    liar, honest = token(ctx, "liar"), token(ctx, "honest")
    post(ctx, health(-30), caller=liar)
    incident_id = failed(ctx)
    work_off(ctx, readers)
    post(ctx, health(-20, "n8"), caller=liar)
    assert count_contribution(ctx, liar.key_id or "").counts["events"] == 2
    assert taint_token(ctx, liar.key_id or "", "test").counts["events"] == 2
    assert kept(ctx) == 0
    with pytest.raises(NotAllowed):
        post(ctx, health(-10), caller=liar)
    post(ctx, health(-30), caller=honest)
    work_off(ctx, readers)
    with ctx.database.reading() as session:
        [file] = artifacts.list_by_incident(session, incident_id)
    assert (file.state, file.key_id) == (ArtifactState.ANALYSED, honest.key_id)


def test_what_is_no_evidence_is_not_kept(ctx: Context) -> None:
    echo = health(-30, checkName="TriageSuspect")
    large = health(-30, entitiesImpacted=[{"entityValue": "x" * 9_000} for _ in range(9_000)])
    secret = health(-30, message="x " * 125 + "token=ghp_" + "a1B2" * 9)
    heard = post(ctx, echo, health(-30, node=""), large, secret)
    assert (heard.accepted, len(heard.ignored), kept(ctx)) == (1, 3, 1)
    with ctx.database.reading() as session:
        row = session.scalars(select(NodeNotice)).one()
        assert b"a1B2" not in row.body
        assert "a1B2" not in row.summary
        assert sum(row.redacted.values()) == 1
