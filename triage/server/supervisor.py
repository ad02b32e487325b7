"""The supervised child: started, woken through its standard input, started again when it dies.

The pipe is the child's standard input. A byte wakes the child; its end, which the system
brings about however the parent dies, says that the parent is gone. The child's standard output
is its beat: one that stays silent for minutes hangs, and is killed.
"""

import os
import select
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

import structlog

log = structlog.get_logger(__name__)

# After a death the next child waits: at first hardly, then longer, so that a child that
# cannot live does not take the machine with it. One that lived for a while starts over.
_FIRST_WAIT_S: Final = 0.2
_LONGEST_WAIT_S: Final = 30.0
_LIVED_S: Final = 60.0
# Longer than it starts on a busy machine, and than any question to the database may take.
_SILENT_S: Final = 180.0
_LOOK_S: Final = 0.5


class Supervisor:
    """Keeps one child of this command alive until :meth:`stop`."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        silent_s: float = _SILENT_S,
    ) -> None:
        self.command = list(command)
        self.silent_s = silent_s
        self.environment = dict(environment)
        self.process: subprocess.Popen[bytes] | None = None
        self.num_deaths = 0
        # A wake-up must not go to a descriptor that was closed, and given to another file since.
        self.pipe = threading.Lock()
        self.stopping = threading.Event()
        # Also the thread whose end the child takes for ours: it lives until the child ended.
        self.thread = threading.Thread(target=self._keep, name="supervisor")

    def start(self) -> None:
        """Start the first child."""
        self.thread.start()

    def wake(self) -> None:
        """Wake the child; never waits, and a child that is just not there misses nothing."""
        with self.pipe:
            stdin = None if self.process is None else self.process.stdin
            if stdin is not None and not stdin.closed:
                with suppress(OSError):  # full: it is awake anyway; broken: it is gone
                    os.write(stdin.fileno(), b"\n")

    @property
    def pid(self) -> int | None:
        """The child's process id; None while there is none."""
        process = self.process
        return None if process is None or process.poll() is not None else process.pid

    def stop(self, timeout_s: float) -> bool:
        """End the child: SIGTERM, and SIGKILL after the time; whether it ended by itself."""
        self.stopping.set()
        process = self.process
        if process is not None:
            process.terminate()
        self.thread.join(timeout_s)
        if not self.thread.is_alive():
            return True
        if process is not None:
            log.warning("worker killed, it did not end in time", pid=process.pid)
            process.kill()
        self.thread.join()
        return False

    def _keep(self) -> None:
        wait_s = _FIRST_WAIT_S
        while not self.stopping.is_set():
            began = time.monotonic()
            status = self._live()
            if self.stopping.is_set():
                return
            self.num_deaths += 1
            wait_s = _FIRST_WAIT_S if time.monotonic() - began > _LIVED_S else wait_s
            log.error("worker died, starting another", status=status, after_s=wait_s)
            self.stopping.wait(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        """Until the child ends, or has not beaten for too long and is killed."""
        if process.stdout is None:
            return
        beats, heard_at = process.stdout.fileno(), time.monotonic()
        # Whom the child started may hold the pipe open for longer than it lives.
        while process.poll() is None:
            ready, _, _ = select.select([beats], [], [], _LOOK_S)
            if ready and not os.read(beats, 4096):
                break
            if ready:
                heard_at = time.monotonic()
            elif time.monotonic() - heard_at > self.silent_s:
                log.error("worker killed, it has been silent", seconds=self.silent_s)
                process.kill()
                break
        process.stdout.close()

    def _live(self) -> int:
        """One child, from its start to its end; its status."""
        # Its log goes to our stderr: our stdout holds the address alone. No buffer: a
        # wake-up that was not read must not be sent when the pipe is closed.
        process = subprocess.Popen(
            self.command,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
        self.process = process
        if self.stopping.is_set():
            process.terminate()
        self._listen(process)
        status = process.wait()
        with self.pipe:
            if process.stdin is not None:
                process.stdin.close()
        return status
