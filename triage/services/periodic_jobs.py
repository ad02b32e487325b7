"""Who sees to it that housekeeping happens: every sweeping process, from time to time."""

import time
from typing import Final

from triage.services.context import Context, utc_now
from triage.services.notifications.weekly_due import arm_digest
from triage.services.sweep import sweep
from triage.store.house import arm_daily_round

__all__ = ["PeriodicJobs"]

LOOK_EVERY_S: Final = 3600.0


class PeriodicJobs:
    """Sweeps, and once in a while puts in line what the clock asks for; one for each process."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.look_at = 0.0

    def sweep(self) -> int:
        """One round; how many rows workers were woken for. Raises :class:`Unavailable`."""
        if time.monotonic() >= self.look_at:
            with self.ctx.database.writing() as session:
                now = utc_now()
                arm_daily_round(session, now)
                arm_digest(session, self.ctx.settings, now)
            self.look_at = time.monotonic() + LOOK_EVERY_S
        return sweep(self.ctx)
