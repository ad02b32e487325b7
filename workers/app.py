"""The Celery application: names and wake-ups; the work stands in the database.

``celery -A workers.app worker`` works too; ``triage worker`` adds the bounded stop.
"""

from typing import Any, Final

from celery import Celery  # type: ignore[import-untyped]

from triage.queue.wakeups import build_celery_settings
from triage.settings import Settings, load_settings

_TASKS: Final = "workers.tasks"


def make_app(settings: Settings) -> Celery:
    """The application for these settings."""
    made = Celery("triage")
    made.conf.update(build_celery_settings(settings))
    made.conf.update(_build_worker_settings())
    return made


def _build_worker_settings() -> dict[str, Any]:
    """What only the receiving side needs."""
    return {
        "imports": [_TASKS],
        # A wake-up whose worker died comes back; the row's lease decides whether it means anything.
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
        "task_acks_on_failure_or_timeout": True,
        "worker_prefetch_multiplier": 1,
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "broker_connection_retry_on_startup": True,
        # A broker that is away for a day is waited for.
        "broker_connection_max_retries": None,
        # `celery inspect` and flower find each worker, and ask for its events when somebody looks.
        "worker_enable_remote_control": True,
        "worker_send_task_events": False,
        "worker_hijack_root_logger": False,
        "worker_redirect_stdouts": False,
    }


app = make_app(load_settings())
