"""A child that hangs is killed and replaced, and a process that is told to end ends.

One that runs by itself ends when it stands still.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.support.servers import postgres_database, redis_prefix
from tests.support.waiting import eventually
from tests.workers.running import environment
from triage.server.supervisor import Supervisor
from triage.settings import Settings
from triage.store.database.engine import Database, open_database
from triage.store.database.migrate import migrate

HANGS = "import sys, time, os; open(sys.argv[1], 'a').write('x'); time.sleep(1000)"
BEATS = """
import os, sys, time
open(sys.argv[1], "a").write("x")
while True:
    os.write(1, b".")
    time.sleep(0.1)
"""
HOLDS_THE_PIPE = """
import os, subprocess, sys
open(sys.argv[1], "a").write("x")
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"])
"""
NEVER_DONE = """
import signal, threading, triage.cli.http_server as http
http.LAST_S = 1.0

async def app(scope, receive, send):
    pass

def never():
    while True:
        threading.Event().wait(1000)

config = http.build_server_config(app)
server = http.HttpServer(config, lambda: print("up", flush=True), lambda: None)
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda *_: None)
threading.Thread(target=never).start()
server.run(sockets=[http.bind("127.0.0.1", 0)])
"""


def starts(script: str, path: Path, silent_s: float, wanted: int) -> int:
    """How often a child of this script was started by the time that so many could have been."""
    supervisor = Supervisor([sys.executable, "-c", script, str(path)], dict(os.environ), silent_s)
    supervisor.start()
    until = time.monotonic() + (60 if wanted > 1 else 3)
    while time.monotonic() < until and (not path.exists() or path.stat().st_size < wanted):
        time.sleep(0.05)
    if wanted == 1:
        time.sleep(3)
    supervisor.stop(10)
    return path.stat().st_size


def test_a_silent_child_is_killed_and_another_started(tmp_path: Path) -> None:
    assert starts(HANGS, tmp_path / "starts", 0.5, wanted=2) >= 2


def test_a_child_that_beats_lives(tmp_path: Path) -> None:
    assert starts(BEATS, tmp_path / "starts", 2.0, wanted=1) == 1


def test_a_child_that_died_is_replaced_although_its_own_children_live(tmp_path: Path) -> None:
    assert starts(HOLDS_THE_PIPE, tmp_path / "starts", 1000.0, wanted=2) >= 2


def test_a_service_with_a_thread_that_never_ends_ends_on_sigterm() -> None:
    process = subprocess.Popen([sys.executable, "-c", NEVER_DONE], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 1
    process.stdout.close()


# On SIGUSR2, which Celery leaves alone, the loop stands still; it runs in the main thread. With
# the interpreter's lock, as native code that hangs does, or without.
STANDS_STILL = """
import ctypes, importlib, signal, sys, time
import workers.worker as worker, workers.liveness as liveness
liveness.SILENT_S, worker.STANDS_AFTER_S = 10.0, 3.0
module, how, *options = sys.argv[1:]
held = ctypes.PyDLL(None).sleep
signal.signal(signal.SIGUSR2, lambda *_: held(600) if how == "held" else time.sleep(600))
module = importlib.import_module(module)
sys.exit(module.main(options) if options else module.main())
"""
CASES = {
    "worker": ("workers.worker", "free", "--concurrency", "1"),
    "native code": ("workers.worker", "held", "--concurrency", "1"),
    "scheduler": ("workers.scheduler", "free"),
}


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Database]:
    with ExitStack() as stack:
        address = stack.enter_context(postgres_database())
        url, prefix = stack.enter_context(redis_prefix())
        monkeypatch.setenv("TRIAGE_DATABASE_URL", address)
        monkeypatch.setenv("TRIAGE_BROKER_URL", url)
        monkeypatch.setenv("TRIAGE_QUEUE_PREFIX", prefix)
        monkeypatch.setenv("TRIAGE_DATA_DIR", str(tmp_path / "data"))
        opened = open_database(Settings(database_url=address))
        stack.callback(opened.close)
        migrate(opened)
        yield opened


@pytest.mark.parametrize("case", CASES)
def test_a_process_of_its_own_that_stands_still_ends(
    database: Database, tmp_path: Path, case: str
) -> None:
    settings = {k: v for k, v in os.environ.items() if k.startswith("TRIAGE_")}
    log = (tmp_path / "log").open("w+")
    process = subprocess.Popen(
        [sys.executable, "-c", STANDS_STILL, *CASES[case]],
        env=environment(**settings), stderr=log, start_new_session=True,
    )  # fmt: skip
    try:
        eventually(lambda: "started" in (tmp_path / "log").read_text())
        time.sleep(12)  # for longer than it may stand still
        assert process.poll() is None, (tmp_path / "log").read_text()
        process.send_signal(signal.SIGUSR2)
        assert process.wait(60) == 1
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        log.close()
    assert "most recent call first" in (tmp_path / "log").read_text(), "it says where it stood"
