"""Whether a GPU spins in a collective, idles or works, by its load, memory traffic and power.

A rank that waits in a kernel of NCCL shows 100 % utilisation, no memory traffic, full clock and a
third of its power (230 W of 700 W). Utilisation alone tells nothing.
"""

from enum import StrEnum
from typing import Final

from triage.domain.live.look import GpuSample

IDLE_PERCENT: Final = 5.0
BUSY_PERCENT: Final = 90.0
# Kernels that compute read and write memory in a tenth of the time and more.
_QUIET_MEMORY: Final = 5.0
_BUSY_MEMORY: Final = 10.0
# Of the limit, or of what it drew at work: below it spins, above the other it works.
_LOW_POWER: Final = 0.5
_WORK_POWER: Final = 0.6
# No GPU draws so much while it spins; asked where no limit is known.
_MOST_SPIN_W: Final = 450.0


class GpuActivity(StrEnum):
    """What a GPU does at one moment."""

    SPINS = "spins"
    IDLE = "idle"
    WORKS = "works"
    UNCLEAR = "unclear"


def classify_activity(sample: GpuSample) -> GpuActivity:
    """What one sample shows; unclear where load and power do not go together."""
    load, memory = sample.utilisation_percent, sample.memory_percent
    share = _compute_power_share(sample)
    if load is None:
        return GpuActivity.UNCLEAR
    at_work = (memory or 0.0) >= _BUSY_MEMORY or (share or 0.0) >= _WORK_POWER
    if load <= IDLE_PERCENT:
        return GpuActivity.UNCLEAR if at_work else GpuActivity.IDLE
    if at_work:
        return GpuActivity.WORKS
    if load < BUSY_PERCENT or (memory is not None and memory > _QUIET_MEMORY):
        return GpuActivity.UNCLEAR
    if share is not None:
        return GpuActivity.SPINS if share <= _LOW_POWER else GpuActivity.UNCLEAR
    spins = memory is not None and (sample.power_w or 0.0) <= _MOST_SPIN_W
    return GpuActivity.SPINS if spins else GpuActivity.UNCLEAR


def _compute_power_share(sample: GpuSample) -> float | None:
    """The power as a share of the limit, else of what it drew at work; None where neither is
    known.
    """
    most = sample.power_limit_w or sample.most_power_w
    return None if sample.power_w is None or not most else sample.power_w / most
