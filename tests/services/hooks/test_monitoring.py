# ruff: noqa: E501 - lines are as long as they are
"""Notices join the incidents they belong to, and become evidence that the answer rests on."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.work import do_all
from triage.domain.failure_match import Failure
from triage.domain.states import WorkKind
from triage.errors import Unavailable
from triage.sandbox.pool import Readers
from triage.services.context import Context
from triage.services.hooks import monitoring
from triage.services.hooks.cloudevents import read_event_notices
from triage.services.hooks.monitoring import Line, Notices, take_notices, write_as_log
from triage.services.incidents.announce import announce
from triage.store.uploads import artifacts, evidence

AT = datetime(2026, 11, 21, 3, 14, 15, tzinfo=UTC)
XID = "NVRM: Xid (PCI:0000:5d:00.0): 79, GPU has fallen off the bus"


def line(node: str = "n3", **more: object) -> Line:
    given = {"text": XID, "at": AT, "source": "nvsentinel", "ref": "e1", **more}
    return Line(node, **given)  # type: ignore[arg-type]


def files(ctx: Context, incident_id: str) -> list[tuple[str | None, str, str]]:
    with ctx.database.reading() as session:
        rows = artifacts.list_by_incident(session, incident_id, limit=500)
    return [(row.node, row.kind, row.filename) for row in rows]


def test_a_line_joins_the_incident_of_a_job_on_its_node(ctx: Context, readers: Readers) -> None:
    incident = announce(ctx, Failure("7", facts={"nodes": ["n2", "n3"]}))
    heard = take_notices(ctx, Notices(lines=[line()]))
    assert (heard.accepted, heard.ignored) == (1, ())
    assert [one.id for one in heard.incidents] == [incident.id]
    do_all(ctx, readers, WorkKind.ANALYSE, WorkKind.PARSE)
    [(node, kind, name)] = files(ctx, incident.id)
    assert (node, kind) == ("n3", "kernel_log")
    assert re.fullmatch(r"hook-events/nvsentinel-[0-9a-f]{16}\.log", name)
    with ctx.database.reading() as session:
        rows = [row for _, row in evidence.list_by_incident(session, incident.id, role="root")]
    assert [(row["kind"], row["code"], row["node"], row["gpu"]) for row in rows] == [
        ("xid", 79, "n3", "0000:5d:00")
    ]
    assert rows[0]["at"] == "2026-11-21T03:14:15.000Z"


def test_the_same_notice_again_changes_nothing(ctx: Context, readers: Readers) -> None:
    incident = announce(ctx, Failure("7", facts={"nodes": ["n3"]}))
    for _ in range(3):
        assert take_notices(ctx, Notices(lines=[line()])).accepted == 1
        do_all(ctx, readers, WorkKind.ANALYSE)
        assert len(files(ctx, incident.id)) == 1
    take_notices(ctx, Notices(lines=[line(at=AT + timedelta(seconds=1))]))
    do_all(ctx, readers, WorkKind.ANALYSE)
    assert len(files(ctx, incident.id)) == 2


def test_a_health_event_joins_and_a_healthy_one_takes_it_back(
    ctx: Context, readers: Readers
) -> None:
    incident = announce(ctx, Failure("7", facts={"nodes": ["n2", "n3"]}))
    health = {
        "checkName": "SysLogsXIDError", "isFatal": True, "errorCode": ["79"], "nodeName": "n3",
        "message": "GPU has fallen off the bus", "recommendedAction": "RESTART_BM",
        "entitiesImpacted": [{"entityType": "PCI", "entityValue": "0000:5d:00.0"}],
    }  # fmt: skip
    for healthy, at in ((False, "2026-11-21T03:14:15Z"), (True, "2026-11-21T03:14:30Z")):
        told = {**health, "isHealthy": healthy, "generatedTimestamp": at}
        event = {"specversion": "1.0", "id": at, "source": "nvsentinel://a", "type": "t",
                 "data": {"healthEvent": told}}  # fmt: skip
        heard = take_notices(ctx, read_event_notices(event))
        assert (heard.accepted, heard.ignored) == (1, ())
        assert [one.id for one in heard.incidents] == [incident.id]
    do_all(ctx, readers, WorkKind.ANALYSE, WorkKind.PARSE)
    assert {one[:2] for one in files(ctx, incident.id)} == {("n3", "job_log")}
    with ctx.database.reading() as session:
        rows = [row for _, row in evidence.list_by_incident(session, incident.id)]
    assert [
        (row["signature"], row["role"], row["node"], row["gpu"], row["at"]) for row in rows
    ] == [
        (
            "check.nvsentinel.syslogsxiderror",
            "root",
            "n3",
            "0000:5d:00",
            "2026-11-21T03:14:15.000Z",
        ),
        (
            "check.nvsentinel.syslogsxiderror",
            "noise",
            "n3",
            "0000:5d:00",
            "2026-11-21T03:14:30.000Z",
        ),
    ]


def test_a_line_that_names_its_job_opens_an_incident(ctx: Context) -> None:
    heard = take_notices(ctx, Notices(lines=[line(job_id="a/b")]))
    assert [one.job_id for one in heard.incidents] == ["a/b"]


def test_failures_come_before_the_lines_of_one_request(ctx: Context) -> None:
    notices = Notices(lines=[line()], failures=[("f1", Failure("7", facts={"nodes": ["n3"]}))])
    heard = take_notices(ctx, notices)
    assert heard.accepted == 2
    assert len(heard.incidents) == 1


def test_a_notice_that_cannot_be_kept_keeps_out_only_itself(ctx: Context) -> None:
    bad = Failure("8", callback_url="file:///etc/passwd")
    heard = take_notices(ctx, Notices(failures=[("f1", bad), ("f2", Failure("9"))]))
    assert [one.job_id for one in heard.incidents] == ["9"]
    assert [one.ref for one in heard.ignored] == ["f1"]


def test_an_outage_is_told_to_the_sender(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*given: object, **more: object) -> None:
        raise Unavailable("the database does not answer")

    monkeypatch.setattr(monitoring, "announce", away)
    with pytest.raises(Unavailable):
        take_notices(ctx, Notices(failures=[("f1", Failure("9"))]))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (line(), f"2026-11-21T03:14:15.000Z n3 kernel: {XID}\n"),
        (line(at=None), f"kernel: {XID}\n"),
        (line("rack 1\tn0", text="a\nb\x1b[31m"), "2026-11-21T03:14:15.000Z rack-1-n0 kernel: a b\\x1b[31m\n"),
    ],
)  # fmt: skip
def test_a_notice_is_one_line_whatever_it_holds(given: Line, text: str) -> None:
    assert write_as_log(given) == text.encode()
