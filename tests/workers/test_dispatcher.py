"""Work from the table without messages, and what is held when the worker has to stop."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime

from sqlalchemy import select

from models import Work
from tests.support.waiting import eventually
from triage.domain.states import WorkKind, WorkState
from triage.queue.runner import Claim, Handler, Runner
from triage.services.context import Context
from triage.store.work import table
from workers.dispatcher import Dispatcher

NOTIFY = WorkKind.NOTIFY


def states(ctx: Context) -> list[str]:
    with ctx.database.reading() as session:
        return list(session.scalars(select(Work.state).where(Work.kind == NOTIFY)))


def owe(ctx: Context, *keys: str) -> None:
    with ctx.database.writing() as session:
        for key in keys:
            table.enqueue(session, NOTIFY, key, datetime.now(UTC))


def dispatching(
    ctx: Context, run: Callable[[Claim], None], is_wanted: Callable[[], bool] = lambda: True
) -> Dispatcher:
    runner = Runner(ctx.database, ctx.settings, {NOTIFY: Handler(run)}, {}, "test:1:w_1")
    found = Dispatcher(runner, 1, lambda: None, kinds=[NOTIFY], is_wanted=is_wanted)
    found.start()
    return found


def test_what_is_held_goes_back_when_the_worker_stops_meanwhile(ctx: Context) -> None:
    begun, end = threading.Event(), threading.Event()

    def run(_: Claim) -> None:
        begun.set()
        end.wait(60)

    owe(ctx, "sub_1")
    working = dispatching(ctx, run)
    try:
        assert begun.wait(60)
        assert states(ctx) == [WorkState.RUNNING]
        assert not working.stop(0.05)
        assert working.runner.release_all() == 1
        assert states(ctx) == [WorkState.WAITING]
    finally:
        end.set()
    assert working.stop(60)
    assert states(ctx) == [WorkState.WAITING], "its result came too late"


def test_it_leaves_the_rest_to_messages_when_they_come_again(ctx: Context) -> None:
    done: list[str] = []

    def run(claim: Claim) -> None:
        done.extend(claim.keys)

    owe(ctx, "sub_1", "sub_2", "sub_3", "sub_4", "sub_5", "sub_6")
    asked = threading.Event()

    def is_wanted() -> bool:
        asked.set()
        return not done

    working = dispatching(ctx, run, is_wanted)
    eventually(lambda: bool(done))
    asked.clear()
    assert asked.wait(60), "it goes on looking"
    assert working.stop(60)
    assert sorted(states(ctx)) == [WorkState.DONE] * len(done) + [WorkState.WAITING] * (
        6 - len(done)
    )
    assert len(done) < 6
