"""Ctrl-C: the command ends within a moment, whatever its threads are doing.

An exception in the main thread would have to wait for them: for compiled code, for a compiler,
for a pool that reads its files to the end, for a name server.
"""

import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from triage.collectors.capture import end_all

INTERRUPTED: Final = 130
TIDY_S: Final = 0.5
"""Enough to remove a folder of stacks; the whole end takes less than a second."""
_SAID: Final = b"triage: interrupted: stopped before it was done\n"
# What a progress bar has drawn is taken away, and its cursor comes back.
_TIDY: Final = b"\r\x1b[2K\x1b[?25h"


@contextmanager
def stop_at_once(tidy_s: float = 0.0) -> Iterator[None]:
    """While it is held, an interrupt ends the process within a moment, in one sentence.

    Where something has to be tidied up, the main thread has ``tidy_s`` for it. Where interrupts
    are ignored (``nohup``), or another part of the process listens for them, it changes nothing.
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
    last = _LastWords()
    watcher = threading.Thread(
        target=_end_on_interrupt, args=[heard, tidy_s, last], name="interrupt", daemon=True
    )
    watcher.start()
    try:
        yield
    except KeyboardInterrupt:
        last.say()
        raise SystemExit(INTERRUPTED) from None
    finally:
        signal.set_wakeup_fd(-1)
        os.close(told)  # which ends the watcher
        watcher.join()
        os.close(heard)


class _LastWords:
    """The sentence, said once by whichever thread comes first."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.said = False

    def say(self) -> None:
        """Write it to stderr, unless it stands there."""
        with self.lock:
            if not self.said:
                error = sys.__stderr__
                os.write(2, _TIDY + _SAID if error is not None and error.isatty() else _SAID)
            self.said = True


def _end_on_interrupt(heard: int, tidy_s: float, last: _LastWords) -> None:
    """End the process ``tidy_s`` after the byte of an interrupt, at the next one at once; return
    at the end of the pipe.
    """
    while number := os.read(heard, 1):
        if number[0] != signal.SIGINT:
            continue
        if tidy_s and select.select([heard], [], [], tidy_s)[0] and not os.read(heard, 1):
            return
        last.say()
        end_all()
        os._exit(INTERRUPTED)
