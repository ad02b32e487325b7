"""Whether a process goes round.

A worker or scheduler that runs by itself and stands still ends, so that what started it starts it
again: a timer that needs no Python does it, which each beat puts off.

The beat of a child of ``triage serve``, on its standard output: its loop still goes round.
"""

import faulthandler
import os
from contextlib import suppress
from typing import Final

_STDOUT = 1
# Longer than any question to the database may take, and than a start on a busy machine.
SILENT_S: Final = 180.0


def notify_supervisor() -> None:
    """Tell the supervisor; one that is gone needs no telling."""
    with suppress(OSError):
        os.write(_STDOUT, b".")


def beat() -> None:
    """It goes round: it may stand still for another three minutes, and no longer."""
    faulthandler.dump_traceback_later(SILENT_S, exit=True)
