"""Wake-ups: they never make anybody wait, and say nothing but the name of a task."""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from tests.support.servers import rabbitmq_vhost, redis_prefix
from tests.support.waiting import eventually
from tests.workers.running import ROOT, environment
from triage.domain.states import WorkKind
from triage.queue import wakeups as queue
from triage.queue.wakeups import (
    MOST_WAITING,
    CeleryWakeups,
    DedupWakeups,
    PipeWakeups,
    count_waiting_messages,
    make_celery_client,
    queue_name,
)
from triage.settings import Settings


@pytest.fixture(params=["redis", "rabbitmq"])
def broker(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    # A busy machine's broker may take its time; what is tested here is what it is told.
    monkeypatch.setattr(queue, "PATIENCE_S", 60.0)
    if request.param == "redis":
        with redis_prefix() as (url, prefix):
            yield Settings(broker_url=url, queue_prefix=prefix)
    else:
        with rabbitmq_vhost() as url:
            yield Settings(broker_url=url)


@pytest.fixture(params=["closed", "silent"])
def away(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    """A broker whose port is closed, and one that takes connections and never answers."""
    monkeypatch.setattr(queue, "PATIENCE_S", 2.0)
    monkeypatch.setattr(queue, "REST_S", 600.0)
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        if request.param == "silent":
            one.listen()
        yield Settings(broker_url=f"redis://127.0.0.1:{one.getsockname()[1]}/0")


class Noted:
    def __init__(self) -> None:
        self.wakeups: list[tuple[WorkKind, int]] = []

    def notify(self, kind: WorkKind, number: int) -> None:
        self.wakeups.append((kind, number))


def test_a_wake_up_is_a_name_and_no_more(broker: Settings) -> None:
    sender = CeleryWakeups(broker)
    sender.notify(WorkKind.PARSE, 1)
    assert sender.flush(120)

    with make_celery_client(broker).connection_for_read() as connection:
        message = connection.SimpleQueue(queue_name(broker, WorkKind.PARSE)).get(timeout=60)
        message.ack()
    assert message.content_type == "application/json"
    assert message.headers["task"] == "triage.parse"
    assert json.loads(message.body)[:2] == [[], {}]
    assert sender.counts.sent == 1


def test_the_queue_tells_how_many_wake_ups_lie_in_it(broker: Settings) -> None:
    sender = CeleryWakeups(broker)
    sender.notify(WorkKind.PARSE, 3)
    sender.notify(WorkKind.ANALYSE, 1)
    assert sender.flush(120)

    # RabbitMQ counts a message a moment after it was taken in, and each queue by itself.
    for kind, number in ((WorkKind.PARSE, 3), (WorkKind.ANALYSE, 1)):
        eventually(lambda kind=kind, number=number: count_waiting_messages(broker, kind) == number)
    assert count_waiting_messages(broker, WorkKind.NOTIFY) == 0

    noted = Noted()
    measured = DedupWakeups(noted, broker)
    measured.notify(WorkKind.PARSE, 3)
    measured.notify(WorkKind.PARSE, 5)
    measured.notify(WorkKind.NOTIFY, 1)
    assert noted.wakeups == [
        (WorkKind.PARSE, 2),
        (WorkKind.NOTIFY, 1),
    ]


def test_a_broker_that_is_away_keeps_nobody_waiting(away: Settings) -> None:
    sender = CeleryWakeups(away)
    threads = [threading.Thread(target=sender.notify, args=[WorkKind.PARSE, 1]) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:  # one after the other, they would wait for a hundred seconds
        thread.join(60)
        assert not thread.is_alive()

    assert sender.flush(120)
    assert sender.counts.sent == 0
    assert sender.counts.failed + sender.counts.dropped == 50
    sender.notify(WorkKind.PARSE, 1)
    assert sender.counts.dropped >= 1, "it is left alone for a while"
    assert count_waiting_messages(away, WorkKind.PARSE) is None


def test_with_nobody_to_say_what_lies_there_the_sweeper_wakes_for_all(away: Settings) -> None:
    noted = Noted()
    DedupWakeups(noted, away).notify(WorkKind.PARSE, 2)

    assert noted.wakeups == [(WorkKind.PARSE, 2)]


def test_a_flood_of_wake_ups_is_bounded(away: Settings) -> None:
    sender = CeleryWakeups(away)
    sender.notify(WorkKind.PARSE, 3 * MOST_WAITING)

    assert len(sender.waiting) <= MOST_WAITING
    assert sender.counts.dropped == 2 * MOST_WAITING


def test_the_pipe_is_woken_every_time() -> None:
    woken: list[int] = []
    sender = PipeWakeups(lambda: woken.append(1))
    sender.notify(WorkKind.PARSE, 2)
    sender.notify(WorkKind.ANALYSE, 1)

    assert len(woken) == 2


def test_two_prefixes_on_one_redis_do_not_hear_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(queue, "PATIENCE_S", 60.0)
    with redis_prefix() as (url, prefix):
        one = Settings(broker_url=url, queue_prefix=f"{prefix}a")
        two = Settings(broker_url=url, queue_prefix=f"{prefix}b")
        sender = CeleryWakeups(one)
        sender.notify(WorkKind.PARSE, 1)
        assert sender.flush(120)

        assert count_waiting_messages(one, WorkKind.PARSE) == 1
        assert count_waiting_messages(two, WorkKind.PARSE) == 0


FIRST_USE = """
import sys, threading
from triage.queue.wakeups import make_celery_client
from triage.settings import Settings
sys.setswitchinterval(1e-6)
together, made = threading.Barrier(4), []
def use():
    together.wait()
    made.append(make_celery_client(Settings(broker_url="redis://127.0.0.1:1/0")))
threads = [threading.Thread(target=use) for _ in range(4)]
for one in threads:
    one.start()
for one in threads:
    one.join()
print(len(made))
"""


def test_threads_that_use_the_broker_first_at_the_same_moment_all_can() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_USE], env=environment(), cwd=ROOT, capture_output=True,
        text=True, check=True, timeout=300,
    )  # fmt: skip

    assert (done.stdout, done.stderr) == ("4\n", "")


def test_only_json_is_accepted() -> None:
    from workers.app import make_app

    conf = make_app(Settings()).conf

    assert conf.accept_content == ["json"]
    assert conf.task_serializer == "json"
    assert conf.result_backend is None
    assert conf.task_acks_late
    assert conf.task_reject_on_worker_lost
    assert conf.worker_prefetch_multiplier == 1


def test_a_wake_up_is_given_again_only_after_the_longest_task() -> None:
    settings = Settings(broker_url="redis://127.0.0.1/0", analyse_deadline_s=1000)

    assert make_celery_client(settings).conf.broker_transport_options["visibility_timeout"] > 1000
