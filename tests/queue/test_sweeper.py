"""When a lease that has run out tells of a dead worker, and when it tells of nothing."""

from datetime import UTC, datetime, timedelta

import pytest

from triage.domain.states import WorkKind, WorkState
from triage.queue.runner import Evenness, Sweeper
from triage.queue.wakeups import NoWakeups
from triage.services.context import Context
from triage.store.work import table

NOW = datetime(2026, 11, 21, tzinfo=UTC)
LEASE_S = 60.0


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def test_even_rounds_are_believed() -> None:
    evenness = Evenness(LEASE_S)
    assert all(evenness.look(second, at(second)) for second in range(200))


@pytest.mark.parametrize("jump_s", [61.0, -61.0, 8_640_000.0])
def test_a_jump_of_the_clock_gives_everybody_another_lease(jump_s: float) -> None:
    evenness = Evenness(LEASE_S)
    assert evenness.look(0.0, at(0))
    assert not evenness.look(1.0, at(1 + jump_s))
    assert not any(evenness.look(s, at(s + jump_s)) for s in range(2, 61))
    assert evenness.look(61.0, at(61 + jump_s))


def test_a_database_that_was_away_gives_everybody_another_lease() -> None:
    evenness = Evenness(LEASE_S)
    assert evenness.look(0.0, at(0))
    assert not evenness.look(120.0, at(120))
    assert not any(evenness.look(s, at(s)) for s in range(121, 180))
    assert evenness.look(180.0, at(180))


def test_a_sweeper_61_s_ahead_takes_no_work_of_a_healthy_worker(ctx: Context, monkeypatch) -> None:
    """The clock is set ahead while a worker reads: its lease only seems to have run out."""
    with ctx.database.writing() as session:
        table.enqueue(session, WorkKind.PARSE, "upl_1", datetime.now(UTC))
        held = table.claim(session, WorkKind.PARSE, "healthy", datetime.now(UTC), LEASE_S)
    assert held is not None
    sweeper = Sweeper(ctx.database, ctx.settings, {}, NoWakeups(), periodic=())
    sweeper.sweep()
    monkeypatch.setattr(
        "triage.queue.runner.read_utc_now", lambda: datetime.now(UTC) + timedelta(seconds=61)
    )
    for _ in range(3):
        sweeper.sweep()
    with ctx.database.writing() as session:
        assert table.renew_lease(session, held.id, "healthy", datetime.now(UTC))


def test_what_a_dead_worker_held_waits_again(ctx: Context) -> None:
    long_ago = datetime.now(UTC) - timedelta(hours=1)
    with ctx.database.writing() as session:
        table.enqueue(session, WorkKind.PARSE, "upl_1", long_ago)
        assert table.claim(session, WorkKind.PARSE, "dead", long_ago, LEASE_S)
    Sweeper(ctx.database, ctx.settings, {}, NoWakeups(), periodic=()).sweep()
    with ctx.database.writing() as session:
        again = table.claim(session, WorkKind.PARSE, "other", datetime.now(UTC), LEASE_S)
    assert again is not None
    assert again.state is WorkState.RUNNING
