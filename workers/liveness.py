"""Whether a worker or scheduler that runs by itself goes round: told to the database, else ended.

Whoever looks from outside (``/readyz``, the doctor, metrics) sees in a row when it was last seen.
A process that stands still ends, so that what started it starts it again: a timer that needs no
Python does it, which each beat puts off.

The beat of a child of ``triage serve``, on its standard output: its loop still goes round.
"""

import faulthandler
import os
import socket
import time
from contextlib import suppress
from typing import Final

import structlog

from triage.clock import read_utc_now
from triage.errors import Refusal
from triage.services.context import Context
from triage.store.work import beats

_STDOUT = 1


def notify_supervisor() -> None:
    """Tell the supervisor; one that is gone needs no telling."""
    with suppress(OSError):
        os.write(_STDOUT, b".")


log = structlog.get_logger(__name__)

# Longer than any question to the database may take, and than a start on a busy machine.
SILENT_S: Final = 180.0


class Liveness:
    """The beat of this process, which is a ``role``: worker or scheduler."""

    def __init__(self, ctx: Context, role: str) -> None:
        self.ctx = ctx
        self.host = socket.gethostname()
        self.name = f"{role} {os.getpid()}@{self.host}"
        self.told_at = float("-inf")

    def start(self) -> None:
        """Forget those of this machine that were killed, and beat."""
        with suppress(Refusal), self.ctx.database.writing() as session:
            names = beats.list_names(session, self.host)
            beats.forget(session, [name for name in names if not _is_alive(name)])
        self.beat()

    def beat(self) -> None:
        """It goes round: it may stand still for another three minutes, and no longer."""
        faulthandler.dump_traceback_later(SILENT_S, exit=True)
        if time.monotonic() - self.told_at < beats.BEAT_EVERY_S:
            return
        try:
            with self.ctx.database.writing() as session:
                beats.note_beat(session, self.name, read_utc_now())
        except Refusal as error:
            log.info("the beat cannot be written", why=error.detail)
        else:
            self.told_at = time.monotonic()

    def end(self) -> None:
        """It ends as it was asked to."""
        with suppress(Refusal), self.ctx.database.writing() as session:
            beats.forget(session, [self.name])
        faulthandler.cancel_dump_traceback_later()


def _is_alive(name: str) -> bool:
    """Whether the process of this name is there; on this machine."""
    try:
        os.kill(int(name.partition("@")[0].rpartition(" ")[2]), 0)
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return True
