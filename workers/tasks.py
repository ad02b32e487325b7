"""The Celery tasks, one for each kind of work.

``triage.parse`` reads uploads, ``triage.analyse`` answers incidents, ``triage.notify`` sends
messages, ``triage.retention`` keeps house. A message carries no row: the table says which one is
next, so that jobs take turns, and a message that is lost, doubled or late changes nothing.
"""

import os
import threading
from typing import Final

import structlog

from triage.domain.states import WorkKind
from triage.errors import Refusal
from triage.queue.runner import Runner
from triage.queue.wakeups import CeleryWakeups, format_task_name
from triage.server.context import open_context
from triage.server.work import make_runner, open_readers
from triage.settings import load_settings
from workers.app import app

log = structlog.get_logger(__name__)
# By process: one that Celery has forked begins without a runner.
_RUNNERS: Final[dict[int, Runner]] = {}
_LOCK: Final = threading.Lock()


def set_runner(runner: Runner) -> None:
    """Have the tasks of this process use this runner."""
    _RUNNERS[os.getpid()] = runner


def get_runner() -> Runner:
    """The runner of this process; opened when it has none yet."""
    with _LOCK:
        if os.getpid() not in _RUNNERS:
            settings = load_settings()
            ctx = open_context(settings, CeleryWakeups(settings))
            set_runner(make_runner(ctx, open_readers(settings, 1)))
        return _RUNNERS[os.getpid()]


def run_one(kind: WorkKind) -> bool:
    """Do the next due row of this kind; False when there was none, or no database to ask."""
    try:
        return get_runner().run_once(kind)
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
