"""Ctrl-C while files are read: the command ends at once, whatever its threads are doing.

An exception in the main thread would have to wait for them: for compiled code, for a compiler,
for a pool that reads its files to the end.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["INTERRUPTED", "stopped_at_once"]

INTERRUPTED: Final = 130
SAID: Final = b"triage: interrupted: stopped before it was done\n"
# What a progress bar has drawn is taken away, and its cursor comes back.
TIDY: Final = b"\r\x1b[2K\x1b[?25h"


@contextmanager
def stopped_at_once() -> Iterator[None]:
    """While it is held, an interrupt ends the process within a moment, in one sentence.

    Where interrupts are ignored (``nohup``), or another part of the process listens for them, it
    changes nothing.
    """
    listens = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not listens or threading.current_thread() is not threading.main_thread():
        yield
        return
    heard, told = os.pipe()
    os.set_blocking(told, False)
    before = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    if before != -1:  # an event loop has it
        signal.set_wakeup_fd(before)
        os.close(heard)
        os.close(told)
        yield
        return
    watcher = threading.Thread(target=end_when_told, args=[heard], name="interrupt", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(-1)
        os.close(told)  # which ends the watcher
        watcher.join()
        os.close(heard)


def end_when_told(heard: int) -> None:
    """End the process when a byte of a signal comes; return at the end of the pipe."""
    while number := os.read(heard, 1):
        if number[0] == signal.SIGINT:
            error = sys.__stderr__
            said = TIDY + SAID if error is not None and error.isatty() else SAID
            os.write(2, said)
            os._exit(INTERRUPTED)
