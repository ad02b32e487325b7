"""Processes of our own with the environment of ranks, and servers on loopback that misbehave."""

import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from triage.collectors.live.processes import Seen

SLEEP = "import time; print('up', flush=True); time.sleep(600)"


def seen(pid: int, parent: int = 1, **more: object) -> Seen:
    """A process as /proc would show it; ``environment`` and others by name."""
    given: dict[str, object] = {
        "pid": pid, "parent_pid": parent, "started": pid, "state": "S", "name": "python3",
        "uid": 1000, "namespace_pid": None, "argv": ("python3", "train.py"),
        "executable": "/usr/bin/python3.11", "environment": {},
    }  # fmt: skip
    return Seen(**{**given, **more})  # type: ignore[arg-type]


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start ``python -c CODE`` with only this environment, and wait for its first line."""
    begun: list[subprocess.Popen[bytes]] = []

    def run(code: str = SLEEP, **environment: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE
        )
        begun.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        return process

    yield run
    for process in begun:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


@pytest.fixture
def serve() -> Iterator[Callable[[Callable[[socket.socket], None]], tuple[str, int]]]:
    """A server on loopback whose every connection is given to a function; its address."""
    listeners: list[socket.socket] = []

    def run(answer: Callable[[socket.socket], None]) -> tuple[str, int]:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def accept() -> None:
            while True:
                try:
                    line, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=guarded, args=(line,), daemon=True).start()

        def guarded(line: socket.socket) -> None:
            with line:
                try:
                    answer(line)
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        address: tuple[str, int] = listener.getsockname()
        return address

    yield run
    for listener in listeners:
        listener.close()
