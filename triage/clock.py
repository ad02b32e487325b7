"""The time of the service's processes, in one place, so that a test can set it.

With PostgreSQL it is the database's time, whatever this machine believes: leases, due times and
ages are compared between machines. Between two questions the monotonic clock carries it on.
"""

import time
from datetime import UTC, datetime, timedelta
from typing import Final

# Goes on while the machine sleeps, where the system has such a clock.
_STEADY: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
# How well a question over a network tells the time.
_AGREES_S: Final = 0.5
# Clocks drift and are slewed by less than a thousandth; machines at one database differ a little.
_NO_JUMP: Final = timedelta(minutes=5)
_SLEWED: Final = 1e-3


class Followed:
    """The clock that this process goes by; None: the machine's own."""

    base: tuple[float, datetime] | None = None


def read_steady_s() -> float:
    """Seconds of a clock that nobody sets."""
    return time.clock_gettime(_STEADY)


def follow(there: datetime, at_s: float) -> None:
    """From now on go by a clock that showed ``there`` at :func:`read_steady_s` ``at_s``.

    One that agrees with the machine's own is no other clock.
    """
    own_s, own = read_steady_s(), datetime.now(UTC)
    off_s = (there - own).total_seconds() + own_s - at_s
    Followed.base = (own_s, own) if abs(off_s) < _AGREES_S else (at_s, there)


def read() -> datetime:
    """The followed clock, else the machine's."""
    if Followed.base is None:
        return datetime.now(UTC)
    at_s, there = Followed.base
    return there + timedelta(seconds=read_steady_s() - at_s)


def read_utc_now() -> datetime:
    """Now, as an aware time in UTC."""
    return read()


class Jumps:
    """Tells when the time of a process was set, by the clock that nobody sets."""

    def __init__(self) -> None:
        self.last: tuple[float, datetime] | None = None

    def look(self) -> timedelta:
        """By how much it was set since the look before: back is below zero, zero is not at all."""
        at_s, now = read_steady_s(), read_utc_now()
        last, self.last = self.last, (at_s, now)
        if last is None:
            return timedelta()
        passed = timedelta(seconds=at_s - last[0])
        by = now - last[1] - passed
        return by if abs(by) > _NO_JUMP + passed * _SLEWED else timedelta()
