"""Whether a process goes round.

A worker or scheduler that runs by itself and stands still ends, so that what started it starts it
again. A thread does it, which each beat puts off; where native code keeps Python from running, a
timer that needs none does it a little later. The timer alone would do, but it reads the frames of
threads that go on, and can die of that (SIGSEGV) before it has said where they stood.

The beat of a child of ``triage serve``, on its standard output: its loop still goes round.
"""

import faulthandler
import os
import threading
import time
from contextlib import suppress
from functools import lru_cache
from typing import Final

_STDOUT = 1
# Longer than any question to the database may take, and than a start on a busy machine.
SILENT_S: Final = 180.0
# How much longer where no thread of Python runs.
_NATIVE_S: Final = 5.0


def notify_supervisor() -> None:
    """Tell the supervisor; one that is gone needs no telling."""
    with suppress(OSError):
        os.write(_STDOUT, b".")


class _Watch(threading.Thread):
    """Ends this process where it stands still, and says where its threads stood."""

    def __init__(self) -> None:
        super().__init__(name="liveness", daemon=True)
        self.beaten_at = time.monotonic()

    def run(self) -> None:
        while (left_s := self.beaten_at + SILENT_S - time.monotonic()) > 0:
            time.sleep(left_s)
        faulthandler.dump_traceback(all_threads=True)
        os._exit(1)


@lru_cache(1)
def _start_watch() -> _Watch:
    watch = _Watch()
    watch.start()
    return watch


def beat() -> None:
    """It goes round: it may stand still for another three minutes, and no longer."""
    _start_watch().beaten_at = time.monotonic()
    faulthandler.dump_traceback_later(SILENT_S + _NATIVE_S, exit=True)
