"""What a reader of the fleet report can turn: costs, sizes, periods."""

from dataclasses import dataclass, fields
from typing import Final

from triage.errors import UsageError
from triage.statistics.projection import SIZES

COST_S: Final = 10.0
RESTART_S: Final = 300.0
REPAIR_DAYS: Final = (1.0, 7.0, 14.0)


@dataclass(frozen=True, slots=True)
class FleetOptions:
    """Defaults suit a job of thousands of GPUs with checkpoints to fast storage.

    ``checkpoint_cost_s`` is how long a checkpoint holds the job up, ``restart_s`` the time from
    a stop to the first new step (detection, triage, queue, start, load).
    ``reference_gpus`` is the job that checkpoints and survival are worked out for (the usual
    one where None). ``compare_last_days`` are compared with all before (half of the record
    where None).
    """

    checkpoint_cost_s: float = COST_S
    restart_s: float = RESTART_S
    wanted_ettr: float = 0.9
    reference_gpus: int | None = None
    compare_last_days: float | None = None
    repair_days: tuple[float, ...] = REPAIR_DAYS
    survival_hours: tuple[float, ...] = (1.0, 3.0, 8.0, 24.0, 168.0)
    checkpoint_costs_s: tuple[float, ...] = (2.5, 10.0, 20.0, 60.0)
    sizes: tuple[int, ...] = SIZES

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            numbers = value if isinstance(value, tuple) else (value,)
            if any(number is not None and not 0 < number < float("inf") for number in numbers):
                raise UsageError(f"{one.name} is above zero, not {value}")
        if self.wanted_ettr >= 1:
            raise UsageError(f"wanted_ettr is below 1, not {self.wanted_ettr}")
