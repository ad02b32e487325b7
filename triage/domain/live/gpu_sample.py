"""What a GPU did at one moment: how busy it was, and how much power it drew."""

from dataclasses import dataclass

__all__ = ["GpuSample"]


@dataclass(frozen=True, slots=True)
class GpuSample:
    """One sample of one GPU. ``bus_id`` is ``dddd:bb:dd``; shares are in percent, power in W.

    ``memory_percent`` is the share of time in which its memory was read or written.
    ``most_power_w`` is what it drew at work before, where a record goes back so far.
    """

    node: str | None
    index: int | None
    bus_id: str | None = None
    uuid: str | None = None
    utilisation_percent: float | None = None
    memory_percent: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    sm_clock_mhz: float | None = None
    at_ns: int | None = None
    line: int | None = None
    most_power_w: float | None = None
