"""The clean-up by itself: not in the first hour, not by a clock that has jumped, not elsewhere."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.services.incidents.test_incident_life import JOB, announce_and_settle
from tests.support.work import ReadersHere, do_all
from triage import clock
from triage.domain.states import WorkKind
from triage.sandbox.pool import Readers
from triage.server import work
from triage.services.context import Context
from triage.store.database.clock import watch_clock
from triage.store.work.table import PRUNE, enqueue_idle


@pytest.fixture
def long_running(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process was started two hours ago."""
    monkeypatch.setattr(work, "STARTED", work.STARTED - 7200)


def days_go_by(ctx: Context, monkeypatch: pytest.MonkeyPatch, days: int) -> None:
    """One after the other, and somebody watches the clock."""
    began = datetime.now(UTC)
    for day in range(days + 1):
        monkeypatch.setattr(clock, "read", lambda at=began + timedelta(days=day): at)
        with ctx.database.writing() as session:
            watch_clock(session, clock.read_utc_now())


def round_of(ctx: Context) -> int:
    """One round; how many blobs there are afterwards."""
    with ctx.database.writing() as session:
        enqueue_idle(session, PRUNE, clock.read_utc_now())
    do_all(ctx, ReadersHere(), WorkKind.RETENTION)
    return len(list(ctx.blobs.keys()))


def test_old_files_go_by_themselves(
    ctx: Context, readers: Readers, monkeypatch: pytest.MonkeyPatch, long_running: None
) -> None:
    announce_and_settle(ctx, readers, JOB)
    days_go_by(ctx, monkeypatch, 40)

    assert round_of(ctx) == 0


def test_finding_2_nothing_goes_in_the_first_hour_after_a_start(
    ctx: Context, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    announce_and_settle(ctx, readers, JOB)
    days_go_by(ctx, monkeypatch, 40)
    monkeypatch.setattr(work, "STARTED", work.time.monotonic() - 60)

    assert round_of(ctx) == 1


def test_finding_10_nothing_goes_by_a_clock_a_hundred_days_ahead(
    ctx: Context, readers: Readers, monkeypatch: pytest.MonkeyPatch, long_running: None
) -> None:
    announce_and_settle(ctx, readers, JOB)
    days_go_by(ctx, monkeypatch, 0)
    ahead = datetime.now(UTC) + timedelta(days=100)
    monkeypatch.setattr(clock, "read", lambda: ahead)

    assert round_of(ctx) == 1
