"""Wake-ups: tell a worker that a row of work is due. A wake-up may be lost.

Nothing rests on one: the sweeper sends another for every row that nobody holds. It names a kind
of work and no row: which row is next, the table decides, so that jobs take turns. Tasks are sent
by name, so that nothing here knows a worker. Celery is imported where it is first used.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final, Protocol

import structlog

from triage.domain.states import WorkKind
from triage.settings import Settings

if TYPE_CHECKING:
    from celery import Celery  # type: ignore[import-untyped]

log = structlog.get_logger(__name__)

# A broker that does not answer within this is away; connecting, and each read or write.
PATIENCE_S: Final = 2.0
# The same of a consumer, which waits for messages in shorter steps.
_CONSUMER_S: Final = 30.0
# After a failure the broker is left alone for this long; the sweeper wakes for what came then.
REST_S: Final = 3.0
# Wake-ups that wait for the broker; the sweeper finds the work of those beyond.
MOST_WAITING: Final = 10_000
# Celery and kombu put other modules in their own places while they are imported: a second thread
# that came in between found no Celery there, and the sending thread ended with it.
_importing: Final = threading.Lock()


def format_task_name(kind: WorkKind) -> str:
    """The name under which Celery knows the task of a kind of work."""
    return f"triage.{kind}"


def queue_name(settings: Settings, kind: WorkKind) -> str:
    """The queue that wake-ups for a kind of work go through."""
    return f"{settings.queue_prefix}.{kind}"


class Wakeups(Protocol):
    """Wakes workers after a commit; never raises for a broker that is away."""

    def notify(self, kind: WorkKind, number: int) -> None:
        """Tell that so many rows of this kind are due."""


class NoWakeups:
    """Wakes nobody: the sweeper, or the embedded worker's own look at the table, finds the row."""

    def notify(self, kind: WorkKind, number: int) -> None:
        """Do nothing."""


class PipeWakeups:
    """Wakes the embedded worker, which then looks at the table itself."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self.wake = wake

    def notify(self, kind: WorkKind, number: int) -> None:  # noqa: ARG002 - it looks itself
        """Wake it; what for stands in the table."""
        self.wake()


@dataclass(slots=True)
class Counts:
    """What became of wake-ups: ``dropped`` ones are left to the sweeper."""

    sent: int = 0
    failed: int = 0
    dropped: int = 0


class CeleryWakeups:
    """Wakes through the broker, from a thread of its own: no request ever waits for a broker.

    While the broker is away, wake-ups are counted and dropped; no work is lost by it.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.counts = Counts()
        self.waiting: deque[WorkKind] = deque()
        self.changed = threading.Condition()
        self.sending = 0
        self.rest_until = 0.0
        self.started = False

    def notify(self, kind: WorkKind, number: int) -> None:
        """Leave the wake-ups to the sending thread; returns at once."""
        with self.changed:
            resting = time.monotonic() < self.rest_until
            room = 0 if resting else max(MOST_WAITING - len(self.waiting), 0)
            self.waiting.extend(repeat(kind, min(number, room)))
            self.counts.dropped += max(number - room, 0)
            if not self.started:
                self.started = True
                threading.Thread(target=self._send_all, name="wakeups", daemon=True).start()
            self.changed.notify_all()

    def flush(self, timeout_s: float) -> bool:
        """Wait until nothing is left to send; whether that came within the time."""
        with self.changed:
            return self.changed.wait_for(lambda: not self.waiting and not self.sending, timeout_s)

    def _send_all(self) -> None:
        app = make_celery_client(self.settings)
        while True:
            with self.changed:
                self.sending = 0
                self.changed.notify_all()
                self.changed.wait_for(lambda: bool(self.waiting))
                batch = list(self.waiting)
                self.waiting.clear()
                self.sending = len(batch)
            self._send(app, batch)

    def _send(self, app: "Celery", batch: Sequence[WorkKind]) -> None:
        done = 0
        try:
            with app.connection_for_write() as connection, connection.channel() as channel:
                producer = app.amqp.Producer(channel)
                for kind in batch:
                    app.send_task(
                        format_task_name(kind),
                        producer=producer,
                        retry=False,
                        queue=queue_name(self.settings, kind),
                        ignore_result=True,
                    )
                    done += 1
        except Exception as error:  # noqa: BLE001 - each transport has errors of its own
            self._rest(error, len(batch) - done)
        with self.changed:
            self.counts.sent += done

    def _rest(self, error: Exception, num_lost: int) -> None:
        with self.changed:
            self.rest_until = time.monotonic() + REST_S
            self.counts.failed += num_lost
        log.warning(
            "broker away, the sweeper will wake workers",
            wakeups=num_lost,
            error=type(error).__name__,
        )


class DedupWakeups:
    """Sends only what the queue does not hold yet, so that a sweeper never floods a broker."""

    def __init__(self, inner: Wakeups, settings: Settings) -> None:
        self.inner = inner
        self.settings = settings

    def notify(self, kind: WorkKind, number: int) -> None:
        """Wake for as many as the queue is short of; for all when nobody can say."""
        held = count_waiting_messages(self.settings, kind) or 0
        if held < number:
            self.inner.notify(kind, number - held)


def count_waiting_messages(settings: Settings, kind: WorkKind) -> int | None:
    """Wake-ups that lie in the broker's queue; None when the broker does not say."""
    try:
        with (
            make_celery_client(settings).connection_for_write() as connection,
            connection.channel() as channel,
        ):
            # Asked as it is made: a passive question misses Redis queues under a key prefix.
            name = queue_name(settings, kind)
            made = channel.queue_declare(queue=name, durable=True, auto_delete=False)
            return int(made.message_count)
    except Exception:  # noqa: BLE001 - each transport has errors of its own
        return None


def make_celery_client(settings: Settings) -> "Celery":
    """Celery as the sending side sees it: no tasks, no result backend."""
    with _importing:
        import kombu.entity  # noqa: F401 - here, so that no thread meets it half made
        from celery import Celery

    app = Celery("triage", set_as_current=False)
    app.conf.update(build_celery_settings(settings, timeout_s=PATIENCE_S))
    return app


def build_celery_settings(
    settings: Settings, *, timeout_s: float | None = None
) -> Mapping[str, Any]:
    """What both sides of the broker must agree on; ``timeout_s`` is for the sender alone."""
    from kombu.entity import Exchange, Queue

    exchange = Exchange(settings.queue_prefix, type="direct")  # type: ignore[no-untyped-call]
    queues = [
        Queue(name, exchange, routing_key=name)  # type: ignore[no-untyped-call]
        for name in (queue_name(settings, kind) for kind in WorkKind)
    ]
    return {
        # Kombu warns of an address without a host, even where none is needed.
        "broker_url": "memory://here/" if settings.embedded_broker else settings.broker_url,
        "broker_transport_options": _build_transport_options(settings, timeout_s),
        "broker_connection_timeout": timeout_s or 4.0,
        "broker_heartbeat": _CONSUMER_S,
        "task_queues": queues,
        "task_routes": {
            format_task_name(kind): {"queue": queue_name(settings, kind)} for kind in WorkKind
        },
        "task_default_queue": queue_name(settings, WorkKind.RETENTION),
        "task_default_exchange": settings.queue_prefix,
        "task_create_missing_queues": False,
        # Two services on one broker see each other's workers neither in `inspect` nor in flower.
        "control_exchange": f"{settings.queue_prefix}.control",
        "event_exchange": f"{settings.queue_prefix}.events",
        # Numbers and names only: a broker can make nobody run code.
        "task_serializer": "json",
        "accept_content": ["json"],
        "result_backend": None,
        "task_ignore_result": True,
        "event_serializer": "json",
        "enable_utc": True,
    }


def _build_transport_options(settings: Settings, timeout_s: float | None) -> dict[str, Any]:
    scheme = settings.broker_url.partition(":")[0]
    options: dict[str, Any] = {}
    if scheme.startswith("redis"):
        # Longer than any task, or Redis delivers it again and a second worker wakes in vain.
        longest_s = max(settings.parse_deadline_s, settings.analyse_deadline_s)
        options["visibility_timeout"] = 2 * longest_s + 60
        options["global_keyprefix"] = f"{settings.queue_prefix}:"
        # A consumer whose connection went silent finds out, and connects again.
        options["socket_keepalive"] = True
        options["socket_timeout"] = options["socket_connect_timeout"] = _CONSUMER_S
        if timeout_s is not None:
            options["socket_timeout"] = timeout_s
            options["socket_connect_timeout"] = timeout_s
    elif scheme.startswith("memory"):
        options["polling_interval"] = 0.02
    if timeout_s is not None:
        options["max_retries"] = 0
        options["interval_start"] = options["interval_step"] = options["interval_max"] = 0
        if scheme.startswith(("amqp", "pyamqp")):
            options["read_timeout"] = options["write_timeout"] = timeout_s
    return options
