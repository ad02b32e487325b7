"""What is old goes; what is needed, or was never answered for, is told apart."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.services.incidents.test_incident_life import JOB, announce_and_settle, upload
from triage.sandbox.pool import Readers
from triage.services.context import Context
from triage.services.incidents.resolve import resolve
from triage.services.retention import prune as by_age
from triage.services.retention.prune import Pruned, prune, sweep
from triage.store.database.ids import make_id, parse_made_at
from triage.store.incidents import incidents
from triage.store.uploads import artifacts, evidence


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten days have passed."""
    monkeypatch.setattr(by_age, "read_utc_now", lambda: datetime.now(UTC) + timedelta(days=10))


def test_old_bytes_go_and_the_answer_stays(ctx: Context, readers: Readers, later: None) -> None:
    found = announce_and_settle(ctx, readers, JOB)
    assert len(list(ctx.blobs.keys())) == 1

    planned = prune(ctx, 90, 5, dry_run=True)
    assert len(list(ctx.blobs.keys())) == 1
    done = prune(ctx, 90, 5)

    assert planned == done
    assert (done.num_incidents, done.num_uploads) == (0, 1)
    assert list(ctx.blobs.keys()) == []
    with ctx.database.reading() as session:
        assert incidents.find(session, found.id) == found
        assert evidence.list_by_incident(session, found.id)


def test_old_incidents_go_with_all_that_is_theirs(
    ctx: Context, readers: Readers, later: None
) -> None:
    found = announce_and_settle(ctx, readers, JOB)

    assert prune(ctx, 5, 90).num_incidents == 1

    with ctx.database.reading() as session:
        assert incidents.find(session, found.id) is None
        assert artifacts.list_by_incident(session, found.id) == []
        assert evidence.list_by_incident(session, found.id) == []
    assert list(ctx.blobs.keys()) == []
    assert prune(ctx, 5, 5).num_incidents == 0


def test_what_a_person_resolved_is_kept(ctx: Context, readers: Readers, later: None) -> None:
    found = announce_and_settle(ctx, readers, JOB)
    resolve(ctx, found.id, "gpu", None, None, "key_1")

    assert prune(ctx, 5, 90).num_incidents == 0


def test_what_is_new_or_not_settled_stays(ctx: Context, readers: Readers) -> None:
    announce_and_settle(ctx, readers, JOB)
    upload(ctx, {"a.log": b"x\n"}, job_id="other")

    assert prune(ctx, 1, 1) == Pruned(0, 0, 0)
    assert len(list(ctx.blobs.keys())) == 2


def test_blobs_without_rows_go_when_a_person_says_so(
    ctx: Context, readers: Readers, later: None
) -> None:
    announce_and_settle(ctx, readers, JOB)
    now = datetime.now(UTC)
    for days_ago in (8, 6, 0):
        blob = ctx.blobs.begin(make_id("blob", now - timedelta(days=days_ago)))
        blob.write(b"bytes")
        blob.commit()

    prune(ctx, 90, 90)
    assert len(list(ctx.blobs.keys())) == 4
    assert sweep(ctx, now, dry_run=True) == (4, 1)
    assert sweep(ctx, now) == (4, 1)
    assert sweep(ctx, now) == (3, 0)


def test_an_id_tells_when_it_was_made() -> None:
    now = datetime.now(UTC)

    at = parse_made_at(make_id("blob", now))

    assert at is not None
    assert abs(at - now) < timedelta(milliseconds=2)
    assert parse_made_at("blob_short") is None
    assert parse_made_at("blob_" + "!" * 20) is None
