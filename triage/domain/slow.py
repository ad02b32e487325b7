"""What makes a job that moves slower than it need be, and what that costs.

``slowdown`` is S of what-if analysis: how long a step takes, over how long it would take if all
ranks computed alike and nobody waited for that.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from triage.domain.wire import Rounded, WireForm

__all__ = ["SlowCause", "SlowJob", "SlowPart", "gpu_hours_per_day"]

Ms = Annotated[float, Rounded(decimals=3)]
Part = Annotated[float, Rounded(decimals=4)]


class SlowCause(StrEnum):
    """Whose doing a part of the lost time is."""

    SLOW_GPU = "slow_gpu"
    SLOW_GROUP = "slow_group"
    """All GPUs of one group compute longer: of a node, as a rule."""
    LATE_HOST = "late_host"
    SLOW_LINK = "slow_link"
    SLOW_STAGE = "slow_stage"
    INPUT_BOUND = "input_bound"
    SLOW_SINCE = "slow_since"
    """All ranks take longer since a time."""


@dataclass(frozen=True, slots=True)
class SlowPart(WireForm):
    """One part of the lost time. ``share`` is of the time of a step; ``ranks`` ascend."""

    cause: SlowCause
    ranks: tuple[int, ...]
    ms_per_step: Ms
    share: Part
    gpu_hours_per_day: Annotated[float, Rounded(decimals=1)]
    text: str
    since: datetime | None = None
    one_of: bool = False
    """One of ``ranks`` is meant, and nothing tells which."""


@dataclass(frozen=True, slots=True)
class SlowJob(WireForm):
    """A step of ``step_ms`` takes ``slowdown`` times as long as it need; ``parts`` dearest first.

    ``slowdown`` is None where too few of the times are told.
    """

    step_ms: Ms
    slowdown: Part | None
    parts: tuple[SlowPart, ...]
    num_gpus: int

    @property
    def text(self) -> str:
        """In one line, the dearest part first."""
        first = "" if self.slowdown is None else f"slowdown {self.slowdown:.2f}; "
        return first + "; ".join(part.text for part in self.parts[:3])


def gpu_hours_per_day(share: float, num_gpus: int) -> float:
    """What a share of every step costs a day, while the job runs."""
    return share * num_gpus * 24.0
