"""Work from the table while the broker is away, and what is held when the worker has to stop."""

import threading
from datetime import UTC, datetime

import pytest
from sqlalchemy import select

from models import Work
from tests.support.waiting import eventually
from triage.domain.states import WorkKind, WorkState
from triage.queue.claim import Claim
from triage.queue.runner import Handler, Runner
from triage.sandbox.pool import Readers
from triage.services.context import Context
from triage.store.work import table
from workers import dispatcher
from workers.dispatcher import WithoutBroker

NOTIFY = WorkKind.NOTIFY


def states(ctx: Context) -> list[str]:
    with ctx.database.reading() as session:
        return list(session.scalars(select(Work.state).where(Work.kind == NOTIFY)))


def test_what_is_held_goes_back_when_the_worker_stops_meanwhile(
    ctx: Context, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, end, stopping = threading.Event(), threading.Event(), threading.Event()

    def run(_: Claim) -> None:
        begun.set()
        end.wait(60)

    runner = Runner(ctx.database, ctx.settings, {NOTIFY: Handler(run)}, {}, "test:1:w_1")
    monkeypatch.setattr(dispatcher, "make_runner", lambda *_: runner)
    monkeypatch.setattr(dispatcher, "LOOK_EVERY_S", 0.05)
    with ctx.database.writing() as session:
        table.enqueue(session, NOTIFY, "sub_1", datetime.now(UTC))
    working = WithoutBroker(ctx, readers, [NOTIFY], 1)
    thread = threading.Thread(target=working.work_until, args=[lambda: False, stopping])
    thread.start()
    try:
        assert begun.wait(60)
        assert states(ctx) == [WorkState.RUNNING]
        stopping.set()
        assert working.release() == 1
        assert states(ctx) == [WorkState.WAITING]
    finally:
        end.set()
        thread.join()
    assert states(ctx) == [WorkState.WAITING], "its result came too late"


def test_it_ends_when_the_broker_is_back(
    ctx: Context, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def run(claim: Claim) -> None:
        done.extend(claim.keys)

    runner = Runner(ctx.database, ctx.settings, {NOTIFY: Handler(run)}, {}, "test:1:w_1")
    monkeypatch.setattr(dispatcher, "make_runner", lambda *_: runner)
    monkeypatch.setattr(dispatcher, "LOOK_EVERY_S", 0.05)
    with ctx.database.writing() as session:
        table.enqueue(session, NOTIFY, "sub_1", datetime.now(UTC))
    WithoutBroker(ctx, readers, [NOTIFY], 1).work_until(lambda: bool(done), threading.Event())
    assert done == ["sub_1"]
    eventually(lambda: states(ctx) == [WorkState.DONE])
