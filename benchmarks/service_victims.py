"""What can be killed under a running service, how, and how it comes back."""

import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

import psycopg
import redis

from benchmarks.service_processes import (
    Installation,
    Process,
    children,
    command_of,
    free_port,
    is_reader,
    kill,
)
from tests.support.waiting import eventually
from triage.domain.states import WorkKind
from triage.queue.wakeups import make_celery_client, queue_name
from triage.settings import Settings

KINDS: Final = ("api", "worker", "broker", "database")
_POSTGRES_BIN: Final = Path("/usr/lib/postgresql")
_START_S: Final = 180.0


class Killer:
    """Kills one kind of thing, and brings it back; says what it did."""

    def __init__(self, made: Installation, chance: random.Random) -> None:
        self.made = made
        self.chance = chance

    def api(self) -> str:
        """SIGKILL to the process that takes uploads."""
        self.made.api.kill()
        self.away()
        self.made.api.start()
        self.made.wait_up()
        return "api"

    def worker(self) -> str:
        """SIGKILL to a worker, to one of its processes, to a reader, or to all at once."""
        root = self.made.api if self.made.worker is None else self.made.worker
        family = children(root.pid)
        readers = [pid for pid in family if is_reader(pid)]
        others = [pid for pid in family if pid not in readers and command_of(pid)]
        whom = self.chance.choice(("reader", "one", "all"))
        if whom == "reader" and readers:
            kill(self.chance.choice(readers))
            return "reader"
        if self.made.worker is None:  # the service starts it again itself
            for pid in family if whom == "all" else others:
                kill(pid)
            return "worker and readers" if whom == "all" else "worker"
        if whom == "one" and others and self.chance.random() < 0.5:
            kill(self.chance.choice(others))
            return "a worker's process"
        self.made.worker.kill()
        if whom == "all":
            for pid in family:
                kill(pid)
        self.away()
        self.made.worker.start()
        return "worker and all of it" if whom == "all" else "worker"

    def everything(self) -> str:
        """SIGKILL to the whole of an embedded service at once, in the middle of its database."""
        for pid in [self.made.api.pid, *children(self.made.api.pid)]:
            kill(pid)
        self.made.api.kill()
        self.away()
        self.made.api.start()
        self.made.wait_up()
        return "all at once"

    def server(self, process: Process, ready: Callable[[], bool]) -> str:
        """SIGKILL to a server beside the service."""
        process.kill()
        self.away()

        def back() -> bool:
            if not process.alive():
                process.start()
                time.sleep(0.3)
            return ready()

        eventually(back, _START_S, every_s=0.1)
        return process.name

    def postgres(self, process: Process, url: str) -> str:
        """SIGKILL to the first process of the cluster; the others see that and end."""
        return self.server(process, lambda: _answers_postgres(url))

    def redis(self, process: Process, url: str) -> str:
        """SIGKILL, or all that it holds removed."""
        if self.chance.random() < 0.4:
            with redis.Redis.from_url(url) as client:
                client.flushall()
            return "redis wiped"
        return self.server(process, lambda: _answers_redis(url))

    def rabbitmq(self, url: str) -> str:
        """Queues purged or deleted, and every connection closed."""
        how = self.chance.choice(("purge", "delete"))
        settings = Settings.model_validate({"broker_url": url})
        with make_celery_client(settings).connection_for_write() as connection:
            for kind in WorkKind:
                # A queue that is not there closes its channel.
                with suppress(connection.channel_errors), connection.channel() as channel:
                    getattr(channel, f"queue_{how}")(queue_name(settings, kind))
        _rabbitmqctl("close_all_connections", "--vhost", url.rpartition("/")[2], "wiped")
        return f"rabbitmq {how}d, connections closed"

    def away(self) -> None:
        """For a moment it is not there."""
        time.sleep(self.chance.uniform(0.0, 0.8))


@contextmanager
def own_redis(folder: Path) -> Iterator[tuple[Process, str]]:
    """A Redis that may be killed, and its address; it keeps nothing on disk."""
    port = free_port()
    command = [
        shutil.which("redis-server") or "/usr/bin/redis-server", "--port", str(port),
        "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(folder),
    ]  # fmt: skip
    process = Process("redis", command, {}, folder / "redis.log")
    url = f"redis://127.0.0.1:{port}/0"
    process.start()
    try:
        eventually(lambda: _answers_redis(url), _START_S)
        yield process, url
    finally:
        process.end()


@contextmanager
def own_postgres() -> Iterator[tuple[Process, str]]:
    """A PostgreSQL that may be killed, and the address of an empty database on it.

    The server refuses to run as root: then it runs as the user ``postgres``.
    """
    binaries = max(_POSTGRES_BIN.glob("*/bin"), key=lambda path: int(path.parent.name))
    user = "postgres" if os.geteuid() == 0 else None
    port = free_port()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="triage-pg-")))
        if user is not None:
            shutil.chown(folder, user, user)
        data = folder / "data"
        subprocess.run(
            [binaries / "initdb", "-D", data, "-U", "postgres", "--auth=trust", "-E", "UTF8"],
            check=True, capture_output=True, user=user, group=user, env={},
        )  # fmt: skip
        command = [
            str(binaries / "postgres"), "-D", str(data), "-h", "127.0.0.1", "-p", str(port),
            "-k", str(folder),
        ]  # fmt: skip
        process = Process("postgresql", command, {}, folder / "log", user)
        process.start()
        stack.callback(process.end)
        url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        eventually(lambda: _answers_postgres(url), _START_S)
        yield process, url.replace("postgresql:", "postgresql+psycopg:")


def _answers_postgres(url: str) -> bool:
    """Whether a session can be had there."""
    try:
        psycopg.connect(url.replace("+psycopg", ""), connect_timeout=3).close()
    except psycopg.Error:
        return False
    return True


def _answers_redis(url: str) -> bool:
    """Whether it takes commands."""
    try:
        with redis.Redis.from_url(url) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False


def _rabbitmqctl(*arguments: str) -> None:
    control = shutil.which("rabbitmqctl") or "/usr/sbin/rabbitmqctl"
    subprocess.run([control, "-q", *arguments], check=False, capture_output=True, timeout=180)
