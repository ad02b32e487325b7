# ruff: noqa: E501 - lines are as long as they are
"""Notices join the incidents they belong to, and become evidence that the answer rests on."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.work import do_all
from triage.domain.states import WorkKind
from triage.errors import Unavailable
from triage.sandbox.readers import Readers
from triage.services.context import Context
from triage.services.hooks import monitoring
from triage.services.hooks.monitoring import as_log, hear
from triage.services.hooks.notices import Line, Notices
from triage.services.incidents.announce import Failure, announce
from triage.store.uploads import artifacts, evidence

AT = datetime(2026, 11, 21, 3, 14, 15, tzinfo=UTC)
XID = "NVRM: Xid (PCI:0000:5d:00.0): 79, GPU has fallen off the bus"


def line(node: str = "n3", **more: object) -> Line:
    given = {"text": XID, "at": AT, "source": "nvsentinel", "ref": "e1", **more}
    return Line(node, **given)  # type: ignore[arg-type]


def files(ctx: Context, incident_id: str) -> list[tuple[str | None, str, str]]:
    with ctx.database.reading() as session:
        rows = artifacts.of_incident(session, incident_id, limit=500)
    return [(row.node, row.kind, row.filename) for row in rows]


def test_a_line_joins_the_incident_of_a_job_on_its_node(ctx: Context, readers: Readers) -> None:
    incident = announce(ctx, Failure("7", facts={"nodes": ["n2", "n3"]}))
    heard = hear(ctx, Notices(lines=[line()]))
    assert (heard.accepted, heard.ignored) == (1, ())
    assert [one.id for one in heard.incidents] == [incident.id]
    assert files(ctx, incident.id) == [("n3", "kernel_log", "nvsentinel.log")]
    do_all(ctx, readers, WorkKind.PARSE)
    with ctx.database.reading() as session:
        rows = [row for _, row in evidence.of_incident(session, incident.id, role="root")]
    assert [(row["kind"], row["code"], row["node"], row["gpu"]) for row in rows] == [
        ("xid", 79, "n3", "0000:5d:00")
    ]
    assert rows[0]["at"] == "2026-11-21T03:14:15.000Z"


def test_the_same_notice_again_changes_nothing(ctx: Context) -> None:
    incident = announce(ctx, Failure("7", facts={"nodes": ["n3"]}))
    for _ in range(3):
        assert hear(ctx, Notices(lines=[line()])).accepted == 1
    assert len(files(ctx, incident.id)) == 1
    hear(ctx, Notices(lines=[line(at=AT + timedelta(seconds=1))]))
    assert len(files(ctx, incident.id)) == 2


def test_a_line_on_a_node_where_nothing_failed_is_kept_out(ctx: Context) -> None:
    announce(ctx, Failure("7", facts={"nodes": ["n2"]}))
    heard = hear(ctx, Notices(lines=[line("n9")]))
    assert (heard.accepted, heard.incidents) == (0, ())
    assert "n9" in heard.ignored[0].why


def test_a_failure_of_long_ago_is_another_one(ctx: Context) -> None:
    now = datetime.now(UTC)
    announce(ctx, Failure("7", facts={"nodes": ["n3"]}), now=now - timedelta(days=2))
    assert hear(ctx, Notices(lines=[line()]), now=now).accepted == 0


def test_a_line_that_names_its_job_opens_an_incident(ctx: Context) -> None:
    heard = hear(ctx, Notices(lines=[line(job_id="a/b")]))
    assert [one.job_id for one in heard.incidents] == ["a/b"]


def test_failures_come_before_the_lines_of_one_request(ctx: Context) -> None:
    notices = Notices(lines=[line()], failures=[("f1", Failure("7", facts={"nodes": ["n3"]}))])
    heard = hear(ctx, notices)
    assert heard.accepted == 2
    assert len(heard.incidents) == 1


def test_a_notice_that_cannot_be_kept_keeps_out_only_itself(ctx: Context) -> None:
    bad = Failure("8", callback_url="file:///etc/passwd")
    heard = hear(ctx, Notices(failures=[("f1", bad), ("f2", Failure("9"))]))
    assert [one.job_id for one in heard.incidents] == ["9"]
    assert [one.ref for one in heard.ignored] == ["f1"]


def test_an_outage_is_told_to_the_sender(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*given: object, **more: object) -> None:
        raise Unavailable("the database does not answer")

    monkeypatch.setattr(monitoring, "announce", away)
    with pytest.raises(Unavailable):
        hear(ctx, Notices(failures=[("f1", Failure("9"))]))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (line(), f"2026-11-21T03:14:15.000Z n3 kernel: {XID}\n"),
        (line(at=None), f"kernel: {XID}\n"),
        (line("rack 1\tn0", text="a\nb\x1b[31m"), "2026-11-21T03:14:15.000Z rack-1-n0 kernel: a b\\x1b[31m\n"),
    ],
)  # fmt: skip
def test_a_notice_is_one_line_whatever_it_holds(given: Line, text: str) -> None:
    assert as_log(given) == text.encode()
