"""The time of the service's processes, in one place, so that a test can set it.

With PostgreSQL it is the database's time, whatever this machine believes: leases, due times and
ages are compared between machines. Between two questions the monotonic clock carries it on.
"""

import time
from datetime import UTC, datetime, timedelta
from typing import Final

__all__ = ["follow", "steady_s", "utc_now"]

# Goes on while the machine sleeps, where the system has such a clock.
STEADY: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Followed:
    """The clock that this process goes by; None: the machine's own."""

    base: tuple[float, datetime] | None = None


def steady_s() -> float:
    """Seconds of a clock that nobody sets."""
    return time.clock_gettime(STEADY)


def follow(there: datetime, at_s: float) -> None:
    """From now on go by a clock that showed ``there`` at :func:`steady_s` ``at_s``."""
    Followed.base = (at_s, there)


def read() -> datetime:
    """The followed clock, else the machine's."""
    if Followed.base is None:
        return datetime.now(UTC)
    at_s, there = Followed.base
    return there + timedelta(seconds=steady_s() - at_s)


def utc_now() -> datetime:
    """Now, as an aware time in UTC."""
    return read()
