"""Rows of work, from the commit that asks for them to the commit that ends them."""

from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from models import Work
from triage.domain.states import WorkKind, WorkState
from triage.queue.runner import Handler, LeaseLost, Runner, Sweeper
from triage.services.context import Context
from triage.store.work import table

NOTIFY, ANALYSE = WorkKind.NOTIFY, WorkKind.ANALYSE
HOUR = timedelta(hours=1)


class Woken:
    """Wake-ups by kind, as a broker would count them."""

    def __init__(self) -> None:
        self.counts: Counter[WorkKind] = Counter()

    def notify(self, kind: WorkKind, number: int) -> None:
        self.counts[kind] += number

    def take(self) -> dict[WorkKind, int]:
        found, self.counts = dict(self.counts), Counter()
        return found


@pytest.fixture
def woken(ctx: Context) -> Woken:
    found = Woken()
    ctx.database.wake = found.notify
    return found


def runner(ctx: Context, run=lambda claim: None, given_up=None) -> Runner:
    handlers = {kind: Handler(run) for kind in WorkKind}
    return Runner(ctx.database, ctx.settings, handlers, given_up or {}, "test:1:w_1")


def ask(ctx: Context, *keys: str, kind: WorkKind = NOTIFY, at: datetime | None = None) -> None:
    with ctx.database.writing() as session:
        for key in keys:
            table.enqueue(session, kind, key, datetime.now(UTC), not_before=at)


def rows(ctx: Context) -> dict[str, WorkState]:
    with ctx.database.reading() as session:
        return {row.key: WorkState(row.state) for row in session.scalars(select(Work))}


def test_a_commit_wakes_once_for_each_row_that_it_made_due(ctx: Context, woken: Woken) -> None:
    ask(ctx, "a", "b")
    assert woken.take() == {NOTIFY: 2}
    ask(ctx, "later", at=datetime.now(UTC) + HOUR)
    assert woken.take() == {}


def test_what_is_rolled_back_wakes_nobody(ctx: Context, woken: Woken) -> None:
    with suppress(RuntimeError), ctx.database.writing() as session:
        table.enqueue(session, NOTIFY, "a", datetime.now(UTC))
        raise RuntimeError
    assert (woken.take(), rows(ctx)) == ({}, {})


def test_nobody_is_woken_before_the_row_can_be_read(ctx: Context) -> None:
    seen: list[dict[str, WorkState]] = []
    ctx.database.wake = lambda kind, number: seen.append(rows(ctx))
    ask(ctx, "a")
    assert seen == [{"a": WorkState.WAITING}]


def test_writes_that_are_committed_together_wake_together(ctx: Context, woken: Woken) -> None:
    ctx.commit(lambda session: table.enqueue(session, NOTIFY, "a", datetime.now(UTC)))
    assert woken.take() == {NOTIFY: 1}


def test_a_result_is_written_with_the_end_of_its_row(ctx: Context, woken: Woken) -> None:
    def run(claim) -> None:
        with claim.finishing() as session:
            table.enqueue(session, ANALYSE, "inc_1", datetime.now(UTC))

    ask(ctx, "a")
    woken.take()
    assert runner(ctx, run).run_once(NOTIFY)
    assert rows(ctx) == {"a": WorkState.DONE, "inc_1": WorkState.WAITING}
    assert woken.take() == {ANALYSE: 1}
    assert not runner(ctx, run).run_once(NOTIFY)


def test_a_handler_without_a_result_leaves_its_end_to_the_runner(ctx: Context) -> None:
    ask(ctx, "a")
    assert runner(ctx).run_once(NOTIFY)
    assert rows(ctx) == {"a": WorkState.DONE}


def test_what_is_asked_for_meanwhile_is_due_again(ctx: Context, woken: Woken) -> None:
    ask(ctx, "a")
    ran: list[str] = []

    def run(claim) -> None:
        ran.extend(claim.keys)
        if len(ran) == 1:
            ask(ctx, "a")
            woken.take()

    one = runner(ctx, run)
    assert one.run_once(NOTIFY)
    assert woken.take() == {NOTIFY: 1}, "its end makes it due"
    assert one.run_once(NOTIFY)
    assert ran == ["a", "a"]
    assert rows(ctx) == {"a": WorkState.DONE}


def test_who_lost_the_lease_writes_nothing(ctx: Context) -> None:
    lost: list[bool] = []

    def run(claim) -> None:
        with ctx.database.writing() as session:
            table.reclaim_lost(session, datetime.now(UTC) + 9 * HOUR, 3)
        with ctx.database.writing() as session:
            assert table.claim(session, NOTIFY, "another", datetime.now(UTC) + 9 * HOUR, 60)
        try:
            with claim.finishing() as session:
                table.enqueue(session, ANALYSE, "inc_1", datetime.now(UTC))
        except LeaseLost:
            lost.append(True)
            raise

    ask(ctx, "a")
    assert runner(ctx, run).run_once(NOTIFY)
    assert lost == [True]
    assert rows(ctx) == {"a": WorkState.RUNNING}, "as the other one has it"


def test_what_fails_is_tried_again_and_then_given_up(ctx: Context) -> None:
    error = ValueError("a fault of ours")
    told: list[tuple[str, str]] = []

    def run(claim) -> None:
        with claim.finishing():
            raise error

    given_up = {ANALYSE: lambda session, key, why: told.append((key, why))}
    ask(ctx, "inc_1", kind=ANALYSE)
    one = runner(ctx, run, given_up)
    for number in range(ctx.settings.max_tries):
        assert told == []
        with ctx.database.writing() as session:
            session.execute(Work.__table__.update().values(not_before=datetime.now(UTC)))
        assert one.run_once(ANALYSE), number
    [(key, why)] = told
    assert key == "inc_1"
    assert str(error) in why
    assert rows(ctx) == {"inc_1": WorkState.QUARANTINED}


def test_after_the_stop_nothing_is_claimed_and_what_was_held_waits(ctx: Context) -> None:
    released: list[int] = []
    one = runner(ctx)

    def run(claim) -> None:
        released.append(one.release_all())

    one.handlers = {NOTIFY: Handler(run)}
    ask(ctx, "a", "b")
    assert one.run_once(NOTIFY)
    assert released == [1]
    assert rows(ctx) == {"a": WorkState.WAITING, "b": WorkState.WAITING}
    assert not one.run_once(NOTIFY)


def test_the_sweeper_quarantines_what_cost_its_workers(ctx: Context, woken: Woken) -> None:
    told: list[str] = []
    given_up = {ANALYSE: lambda session, key, why: told.append(why)}
    sweeper = Sweeper(ctx.database, ctx.settings, given_up, woken, [])
    ask(ctx, "inc_1", kind=ANALYSE)
    woken.take()
    num_lost = 2 * ctx.settings.max_tries
    for number in range(num_lost):
        with ctx.database.writing() as session:
            long_ago = datetime.now(UTC) - HOUR
            session.execute(Work.__table__.update().values(not_before=long_ago))
            assert table.claim(session, ANALYSE, f"lost:{number}", long_ago, 60)
        sweeper.sweep()
    assert told == [f"{num_lost} workers were lost over it"]
    assert woken.take() == {ANALYSE: num_lost - 1}
