"""What makes a job that moves slower than it need be, and what that costs.

``slowdown`` is S of what-if analysis: how long a step takes, over how long it would take if all
ranks computed alike and nobody waited for that.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar

from triage.domain.wire import Rounded, WireForm

_Ms = Annotated[float, Rounded(decimals=3)]
_Part = Annotated[float, Rounded(decimals=4)]


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
    ms_per_step: _Ms
    share: _Part
    gpu_hours_per_day: Annotated[float, Rounded(decimals=1)]
    text: str
    since: datetime | None = None
    one_of: bool = False
    """One of ``ranks`` is meant, and nothing tells which."""


@dataclass(frozen=True, slots=True)
class SlowJob(WireForm):
    """A step takes ``ms_per_step``, which is ``slowdown`` times as long as it need.

    ``parts`` are the dearest first.
    """

    WIRE: ClassVar[tuple[str, ...]] = (
        "ms_per_step", "since", "share", "slowdown", "num_gpus", "text", "parts",
    )  # fmt: skip

    ms_per_step: _Ms
    slowdown: _Part
    num_gpus: int
    parts: tuple[SlowPart, ...]

    @property
    def since(self) -> datetime | None:
        """When steps became slower, where the record holds it."""
        return next((part.since for part in self.parts if part.since is not None), None)

    @property
    def share(self) -> _Part:
        """By how much longer a step takes than it need."""
        return self.slowdown - 1

    @property
    def text(self) -> str:
        """In one line, the dearest parts first."""
        return "; ".join([f"slowdown {self.slowdown:.2f}", *(one.text for one in self.parts[:3])])


def compute_gpu_hours_per_day(share: float, num_gpus: int) -> float:
    """What a share of every step costs a day, while the job runs."""
    return share * num_gpus * 24.0
