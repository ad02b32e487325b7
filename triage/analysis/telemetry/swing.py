"""The daily swing of step time in a file of several days, beside that of the inlet air.

Warm air at noon lowers the clocks of all GPUs a little; Llama 3's run saw steps 1-2 % longer. It
is nobody's fault and no evidence of a stop, so it is not weighed: it says whether a slow day
is the room's. A week is kept of a file, so three days and more can be looked at.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.parsers.telemetry.file import TelemetryFile
from triage.parsers.telemetry.metrics import Metric
from triage.statistics.autocorrelation import Agreement, agreement
from triage.statistics.daily_cycle import DailyCycle, daily_cycle

__all__ = ["Swing", "daily_swing"]

HOUR_NS: Final = 3_600_000_000_000


@dataclass(frozen=True, slots=True)
class Swing:
    """``step_time`` over the day, ``inlet`` likewise, and how far the two go together; the last
    two are None where no inlet was measured.
    """

    step_time: DailyCycle
    inlet: DailyCycle | None
    agreement: Agreement | None


def daily_swing(files: Sequence[TelemetryFile]) -> Swing | None:
    """The swing of ``step_time_s``, its mean over all series by the hour; None without any.

    Too little data is said in the cycles themselves: they need 24 hours told over three days.
    """
    step = hourly(files, Metric.STEP_TIME_S)
    if not step:
        return None
    air = hourly(files, Metric.INLET_TEMP_C)
    hours = np.array(sorted(step), np.float64)
    swing = daily_cycle(hours, [step[int(one)] for one in hours])
    if not air:
        return Swing(swing, None, None)
    told = np.array(sorted(air), np.float64)
    both = [one for one in sorted(step) if one in air]
    return Swing(
        swing,
        daily_cycle(told, [air[int(one)] for one in told]),
        agreement(both, [step[one] for one in both], [air[one] for one in both]),
    )


def hourly(files: Sequence[TelemetryFile], metric: Metric) -> dict[int, float]:
    """Hour since the epoch -> the mean of a metric over all its series and files."""
    total: dict[int, float] = {}
    count: dict[int, int] = {}
    for file in files:
        grid = file.grid
        if grid is None:
            continue
        rows = [row for row, key in enumerate(grid.series) if key.metric is metric]
        value = grid.value[rows].astype(np.float64)
        known = ~np.isnan(value)
        middles = grid.start_ns + grid.width_ns * np.arange(value.shape[1]) + grid.width_ns // 2
        sums, counts = np.where(known, value, 0.0).sum(axis=0), known.sum(axis=0)
        for hour, one, many in zip(
            (middles // HOUR_NS).tolist(), sums.tolist(), counts.tolist(), strict=True
        ):
            if many:
                total[hour] = total.get(hour, 0.0) + one
                count[hour] = count.get(hour, 0) + many
    return {hour: total[hour] / count[hour] for hour in total}
