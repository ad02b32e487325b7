"""A child that hangs is killed and replaced, and a process that is told to end ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from triage.server.supervisor import Supervisor

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

server = http.HttpServer(http.server_config(app), lambda: print("up", flush=True), lambda: None)
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
