"""The Celery tasks: names that an operator recognises, over the runner of their process."""

from datetime import UTC, datetime

import pytest

from triage.domain.states import WorkKind
from triage.errors import Unavailable
from triage.queue.runner import Claim, Handler, Runner
from triage.services.context import Context
from triage.store.work import table
from workers import tasks
from workers.app import app

NOTIFY = WorkKind.NOTIFY


def use(ctx: Context, run) -> None:
    tasks.set_runner(Runner(ctx.database, ctx.settings, {NOTIFY: Handler(run)}, {}, "test:1:w_1"))


def test_each_kind_of_work_is_a_task_of_its_name() -> None:
    assert {name for name in app.tasks if name.startswith("triage.")} == {
        "triage.parse", "triage.analyse", "triage.notify", "triage.retention", "triage.act",
    }  # fmt: skip


@pytest.mark.parametrize("message", [(), (17,)], ids=["of this release", "of 0.1, with a row"])
def test_a_message_does_the_next_row_whatever_row_it_names(ctx: Context, message) -> None:
    done: list[str] = []

    def run(claim: Claim) -> None:
        done.extend(claim.keys)

    use(ctx, run)
    with ctx.database.writing() as session:
        table.enqueue(session, NOTIFY, "sub_1", datetime.now(UTC))
    app.tasks["triage.notify"](*message)
    app.tasks["triage.notify"](*message)
    assert done == ["sub_1"]


def test_a_database_that_is_away_fails_no_task(ctx: Context, monkeypatch) -> None:
    def away(*_: object) -> None:
        raise Unavailable("the database does not answer")

    use(ctx, lambda claim: None)
    monkeypatch.setattr(table, "claim", away)
    assert tasks.run_one(NOTIFY) is False
