"""An installation of the service as its operator would start it: real processes, real ports.

Everything that is started here ends with the block that started it. A process may be killed
and started again in between; it keeps its port.
"""

import os
import random
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.support.servers import postgres_database, rabbitmq_vhost, redis_prefix
from tests.support.waiting import eventually

ROOT: Final = Path(__file__).resolve().parents[1]
BACKENDS: Final = ("embedded", "redis", "rabbitmq")
CALLBACK_SECRET: Final = "whsec_Y2FsbGJhY2tzLW9mLWpvYi1mYWlsZWQtaG9va3M="
_START_S: Final = 180.0
_STOP_S: Final = 35.0
DIRECT: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Process:
    """A command that goes on; its stderr is appended to a file."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        env: Mapping[str, str],
        log: Path,
        user: str | None = None,
        cwd: Path = ROOT,
    ) -> None:
        self.name = name
        self.command = list(command)
        self.env = dict(env)
        self.log = log
        self.user = user
        self.cwd = cwd
        self.running: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Of the process that runs, or ran last."""
        if self.running is None:
            raise RuntimeError(f"{self.name} was never started")
        return self.running.pid

    def start(self) -> None:
        """Start it; the last one has to have ended."""
        with self.log.open("ab") as log:
            self.running = subprocess.Popen(
                self.command, env=self.env, cwd=self.cwd, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True,
                user=self.user, group=self.user,
            )  # fmt: skip

    def alive(self) -> bool:
        """Whether it runs."""
        return self.running is not None and self.running.poll() is None

    def kill(self) -> None:
        """SIGKILL to this process alone."""
        if self.running is not None:
            kill(self.running.pid)
            self.running.wait()

    def end(self) -> None:
        """SIGTERM, and SIGKILL to all of its family when that does not help."""
        if self.running is None:
            return
        family = children(self.running.pid)
        self.running.terminate()
        try:
            self.running.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
        for pid in family:
            kill(pid)


@dataclass
class Installation:
    """The settings of one service, and its processes."""

    backend: str
    folder: Path
    env: dict[str, str]
    port: int
    api: Process
    worker: Process | None = None
    scheduler: Process | None = None
    others: list[Process] = field(default_factory=list)

    @property
    def address(self) -> str:
        """Where the API answers."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def data_dir(self) -> Path:
        """The data directory."""
        return self.folder / "data"

    @property
    def database_url(self) -> str:
        """For SQLAlchemy."""
        return self.env.get("TRIAGE_DATABASE_URL") or f"sqlite:///{self.data_dir}/triage.db"

    def processes(self) -> list[Process]:
        """All of the service, the API first."""
        return [one for one in (self.api, self.worker, self.scheduler) if one is not None]

    def command(self, *arguments: str) -> str:
        """One ``triage`` command, run to its end; what it prints."""
        done = subprocess.run(
            triage(*arguments), env=self.env, cwd=ROOT, capture_output=True, check=False,
            timeout=300,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"triage {' '.join(arguments)}: {done.stderr.decode()[-2000:]}")
        return done.stdout.decode().strip()

    def start(self) -> None:
        """Start all, and wait until the API answers."""
        for process in self.processes():
            process.start()
        self.wait_up()

    def start_ended(self) -> None:
        """Start what ended by itself, as a service manager does: a worker without a database."""
        for process in self.processes():
            if not process.alive():
                process.start()

    def wait_up(self) -> None:
        """Wait until the API answers. A process that ended by itself is an error."""

        def up() -> bool:
            if not self.api.alive():
                raise RuntimeError(f"the API ended: {self.api.log.read_text()[-2000:]}")
            return answers(f"{self.address}/healthz")

        eventually(up, _START_S)

    def end(self) -> None:
        """End all, in good order."""
        for process in reversed(self.processes()):
            process.end()


def triage(*arguments: str) -> list[str]:
    """The command line of ``triage`` with these arguments."""
    return [sys.executable, "-m", "triage.cli.main", *arguments]


@contextmanager
def servers(backend: str) -> Iterator[dict[str, str]]:
    """The settings that name the servers of a backend, each with a corner of its own."""
    with ExitStack() as stack:
        if backend == "embedded":
            yield {}
            return
        settings = {"TRIAGE_DATABASE_URL": stack.enter_context(postgres_database())}
        if backend == "redis":
            address, prefix = stack.enter_context(redis_prefix())
            settings |= {"TRIAGE_BROKER_URL": address, "TRIAGE_QUEUE_PREFIX": prefix}
        else:
            settings["TRIAGE_BROKER_URL"] = stack.enter_context(rabbitmq_vhost())
        yield settings


@contextmanager
def installed(
    backend: str,
    folder: Path,
    settings: Mapping[str, str],
    *,
    open_access: bool = True,
    concurrency: int = 1,
    before: Callable[[Installation], None] | None = None,
) -> Iterator[Installation]:
    """The service of this backend, running; all of it is gone afterwards.

    ``before`` is called when the database is there and nothing runs yet.
    """
    folder.mkdir(parents=True, exist_ok=True)
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TRIAGE_")}
    env = {
        **kept,
        "PYTHONPATH": str(ROOT),
        "TRIAGE_DATA_DIR": str(folder / "data"),
        "TRIAGE_LOG_FORMAT": "json",
        "TRIAGE_MIN_FREE_BYTES": "0",
        "TRIAGE_WEBHOOK_ALLOW": "127.0.0.0/8",
        "TRIAGE_CALLBACK_ALLOW": "127.0.0.1",
        "TRIAGE_CALLBACK_SECRET": CALLBACK_SECRET,
        **settings,
    }
    port = free_port()
    serve = triage("serve", "--port", str(port), *(["--open"] if open_access else []))
    if backend == "embedded":
        made = Installation(
            backend, folder, env, port, Process("api", serve, env, folder / "api.log")
        )
    else:
        work = triage("worker", "--concurrency", str(concurrency))
        made = Installation(
            backend, folder, env, port,
            Process("api", [*serve, "--no-worker"], env, folder / "api.log"),
            Process("worker", work, env, folder / "worker.log"),
            Process("scheduler", triage("scheduler"), env, folder / "scheduler.log"),
        )  # fmt: skip
        made.command("migrate")
    try:
        if before is not None:
            before(made)
        made.start()
        yield made
    finally:
        made.end()


def end_well() -> None:
    """From now on SIGTERM ends this process as an exception does: nothing is left behind."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def answers(url: str) -> bool:
    """Whether something answers 200 there."""
    try:
        with DIRECT.open(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def free_port() -> int:
    """A port that was free a moment ago, and that the system gives to nobody who asks for any.

    Else a client or a server of another test might have it while ours is killed and started.
    """
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for port in random.SystemRandom().sample(range(max(1024, first - 10_000), first), 100):
        with socket.socket() as sock, suppress(OSError):
            sock.bind(("127.0.0.1", port))
            return port
    raise RuntimeError(f"a hundred ports below {first} are taken")


def children(pid: int) -> list[int]:
    """All that this process started, and what that started; the youngest first."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return [one for child in found for one in (*children(child), child)]


def command_of(pid: int) -> str:
    """The command line of a process; empty for one that has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def is_reader(pid: int) -> bool:
    """Whether a process is a child of the sandbox, which reads foreign bytes."""
    return "triage.sandbox.child" in command_of(pid)


def kill(pid: int) -> None:
    """SIGKILL; one that is gone is gone."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
