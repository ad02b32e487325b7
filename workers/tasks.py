"""The Celery tasks, one for each kind of work.

``triage.parse`` reads uploads, ``triage.analyse`` answers incidents, ``triage.notify`` sends
messages, ``triage.retention`` keeps house. A message carries no row: the table says which one is
next, so that jobs take turns, and a message that is lost, doubled or late changes nothing.
"""

from typing import Final

import structlog

from triage.domain.states import WorkKind
from triage.errors import Refusal
from triage.queue.wakeups import format_task_name
from workers.app import app
from workers.process import run_process

log = structlog.get_logger(__name__)


def run_one(kind: WorkKind) -> bool:
    """Do the next due row of this kind; False when there was none, or no database to ask."""
    with run_process() as runner:
        try:
            return runner.run_once(kind)
        except Refusal as error:
            # The sweeper wakes again; the lease runs out if a row was claimed.
            log.warning("not done now", kind=str(kind), why=error.detail)
            return False


def _make_task(kind: WorkKind) -> object:
    def task(*_row: int) -> None:  # messages of 0.1 named a row
        run_one(kind)

    return app.task(name=format_task_name(kind))(task)


TASKS: Final = {kind: _make_task(kind) for kind in WorkKind}
"""Each kind's task, as Celery has registered it."""
