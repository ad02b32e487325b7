"""API, worker and scheduler as processes of their own, on PostgreSQL with Redis and RabbitMQ.

What differs by broker is asked of both: how it goes away and comes back. With RabbitMQ
`system/test_whole_path.py` goes from the hook to the answer, and `system/test_kills.py` kills
workers; what lies in a queue of each, `queue/test_wakeups.py` counts.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.databases import migrated_postgres
from tests.support.proxy import Fault, proxied
from tests.support.servers import rabbitmq_vhost, redis_prefix
from tests.support.waiting import eventually
from tests.workers.running import (
    ROOT,
    alive,
    announce,
    children,
    environment,
    first_suspect,
    serving,
    started,
    upload,
)
from triage.domain.states import WorkKind
from triage.queue import wakeups as queue
from triage.queue.wakeups import count_waiting_messages
from triage.settings import Settings

# What `serving` sets by itself.
OF_THE_WORKERS = frozenset({"TRIAGE_DATA_DIR", "TRIAGE_LOG_FORMAT"})


@pytest.fixture(params=["redis", "rabbitmq"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    """A database and a corner of a broker of its own; blobs in a folder."""
    with ExitStack() as stack:
        made = {
            "TRIAGE_DATABASE_URL": stack.enter_context(migrated_postgres()),
            "TRIAGE_DATA_DIR": str(tmp_path / "data"),
            "TRIAGE_LOG_FORMAT": "json",
            "TRIAGE_LEASE_S": "10",
        }
        if request.param == "redis":
            url, prefix = stack.enter_context(redis_prefix())
            made |= {"TRIAGE_BROKER_URL": url, "TRIAGE_QUEUE_PREFIX": prefix}
        else:
            made |= {"TRIAGE_BROKER_URL": stack.enter_context(rabbitmq_vhost())}
        yield made


def running(log: Path, words: str) -> None:
    eventually(lambda: log.exists() and words in log.read_text())


def stopped(process: subprocess.Popen[str], log: Path) -> None:
    process.send_signal(signal.SIGTERM)
    assert process.wait(120) == 0, log.read_text()


def inspected(env: dict[str, str]) -> list[str]:
    """The tasks of the one worker, as `celery inspect registered` lists them.

    The command collects answers until its timeout is over, so it is asked shortly and again.
    """
    command = ["-A", "workers.app", "inspect", "registered", "--json", "--timeout", "3"]
    answers: list[dict[str, list[str]]] = []

    def answered() -> bool:
        done = subprocess.run(
            [sys.executable, "-m", "celery", *command],
            env=env, cwd=ROOT, capture_output=True, text=True, check=False, timeout=180,
        )  # fmt: skip
        answers.extend([json.loads(done.stdout)] if done.returncode == 0 else [])
        return bool(answers)

    eventually(answered)
    [tasks] = answers[0].values()
    return list(tasks)


@pytest.mark.parametrize("settings", ["redis"], indirect=True)
def test_a_worker_of_its_own_does_the_work_and_a_killed_one_is_made_up_for(
    settings: dict[str, str], tmp_path: Path
) -> None:
    env = environment(**settings)
    logs = {name: tmp_path / f"{name}.err" for name in ("worker", "second", "scheduler")}
    with ExitStack() as stack:
        here = {k: v for k, v in settings.items() if k not in OF_THE_WORKERS}
        process, address = stack.enter_context(serving(tmp_path, **here))
        worker = stack.enter_context(
            started("worker", "--concurrency", "1", log=logs["worker"], env=env)
        )
        scheduler = stack.enter_context(started("scheduler", log=logs["scheduler"], env=env))
        running(logs["worker"], "worker started")
        first = announce(address, "4711", expected_artifacts=8)
        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(lambda rank: upload(address, "4711", rank), range(8))) == {201}
        assert first_suspect(address, first) == ("ready", "n1")

        assert set(inspected(env)) == {f"triage.{kind}" for kind in WorkKind}

        family = children(worker.pid)
        second = announce(address, "4712", expected_artifacts=8)
        with ThreadPoolExecutor(8) as pool:
            sent = [pool.submit(upload, address, "4712", rank) for rank in range(8)]
            os.kill(worker.pid, signal.SIGKILL)
            assert {one.result() for one in sent} == {201}
        worker.wait()
        eventually(lambda: not any(map(alive, family)))
        another = stack.enter_context(started("worker", log=logs["second"], env=env))
        assert first_suspect(address, second) == ("ready", "n1")

        family = children(another.pid)
        stopped(another, logs["second"])
        stopped(scheduler, logs["scheduler"])
        stopped(process, tmp_path / "serve.err")
        eventually(lambda: not any(map(alive, family)))
    for log in logs.values():
        assert "Traceback" not in log.read_text()


def test_a_worker_goes_on_while_its_broker_is_away(
    settings: dict[str, str], tmp_path: Path
) -> None:
    log = tmp_path / "worker.err"
    parts = urlsplit(settings["TRIAGE_BROKER_URL"])
    assert parts.hostname
    assert parts.port
    with proxied(parts.hostname, parts.port) as broker, ExitStack() as stack:
        there = f"{parts.hostname}:{parts.port}"
        url = settings["TRIAGE_BROKER_URL"].replace(there, f"127.0.0.1:{broker.port}")
        behind = settings | {"TRIAGE_BROKER_URL": url}
        here = {
            k: v for k, v in behind.items() if k not in ("TRIAGE_DATA_DIR", "TRIAGE_LOG_FORMAT")
        }
        _, address = stack.enter_context(serving(tmp_path, **here))
        command = ("worker", "--concurrency", "1")
        worker = stack.enter_context(started(*command, log=log, env=environment(**behind)))
        running(log, "worker started")

        broker.set(Fault.REFUSES)
        first = announce(address, "4711", expected_artifacts=8)
        assert [upload(address, "4711", rank) for rank in range(8)] == [201] * 8
        assert first_suspect(address, first) == ("ready", "n1")
        running(log, "done from the table")

        broker.set(Fault.NONE)
        second = announce(address, "4712", expected_artifacts=8)
        assert [upload(address, "4712", rank) for rank in range(8)] == [201] * 8
        assert first_suspect(address, second) == ("ready", "n1")
        stopped(worker, log)


@pytest.mark.parametrize("settings", ["redis"], indirect=True)
def test_a_sweeper_does_not_flood_a_broker_that_nobody_empties(
    settings: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # We ask until it says; a busy machine's broker may take its time.
    monkeypatch.setattr(queue, "PATIENCE_S", 60.0)
    here = {k: v for k, v in settings.items() if k not in OF_THE_WORKERS}
    log = tmp_path / "scheduler.err"
    known = Settings(
        broker_url=settings["TRIAGE_BROKER_URL"],
        queue_prefix=settings.get("TRIAGE_QUEUE_PREFIX", "triage"),
    )
    with (
        serving(tmp_path, **here) as (_, address),
        started("scheduler", log=log, env=environment(**settings)),
    ):
        announce(address, "4711", expected_artifacts=100)
        assert [upload(address, "4711", rank) for rank in range(8)] == [201] * 8
        running(log, "scheduler started")
        eventually(lambda: (count_waiting_messages(known, WorkKind.PARSE) or 0) >= 8)
        # Early sweeps may cross the wake-ups of the API; each later one finds the same messages.
        before, lying = -1, 0
        for _ in range(40):
            if before == lying:
                break
            time.sleep(3)
            before, lying = lying, count_waiting_messages(known, WorkKind.PARSE) or 0
        assert before == lying
        assert 8 <= lying <= 16
