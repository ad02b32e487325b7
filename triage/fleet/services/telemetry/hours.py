"""Step time and inlet temperature by the hour, as bytes beside a day, for the daily swing."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from triage.fleet.services.telemetry.cells import DAY_HOURS
from triage.fleet.services.telemetry.day import Day

_ROWS: Final = 3
_KIND: Final = "<f4"
_HOUR_NS: Final = 3_600_000_000_000
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Hours:
    """Hours of some days, in order of time; a value is NaN in an hour without a sample.

    ``at_ns`` is the middle of the hour; ``num_steps`` how many samples of step time it has.
    """

    at_ns: npt.NDArray[np.int64]
    step_s: _Floats
    num_steps: _Floats
    inlet_c: _Floats


def encode_day_hours(day: Day) -> bytes | None:
    """The hours of a day; None where it has neither step time nor inlet temperature."""
    if day.step_s is None and day.inlet_c is None:
        return None
    none = np.full(DAY_HOURS, np.nan)
    rows = [
        none if day.step_s is None else day.step_s,
        np.zeros(DAY_HOURS) if day.num_steps is None else day.num_steps,
        none if day.inlet_c is None else day.inlet_c,
    ]
    return np.asarray(rows, _KIND).tobytes()


def average_hours(rows: Iterable[tuple[int, bytes]]) -> Hours:
    """The mean over nodes of each hour, of (day, :func:`encode_day_hours`) of any nodes and days.

    Step time is weighted by its samples. Bytes of another length are passed over.
    """
    sums: dict[int, npt.NDArray[np.float64]] = {}
    for day, data in rows:
        if len(data) != _ROWS * DAY_HOURS * 4:
            continue
        step, count, inlet = np.frombuffer(data, _KIND).reshape(_ROWS, DAY_HOURS).astype(float)
        mine = sums.setdefault(day, np.zeros((4, DAY_HOURS)))
        told = np.isfinite(step) & (count > 0)
        mine[0] += np.where(told, step * count, 0.0)
        mine[1] += np.where(told, count, 0.0)
        mine[2] += np.nan_to_num(inlet)
        mine[3] += np.isfinite(inlet)
    days = sorted(sums)
    if not days:
        none = np.zeros(0)
        return Hours(np.zeros(0, np.int64), none, none, none)
    table = np.concatenate([sums[day] for day in days], axis=1)
    hours = np.concatenate([np.arange(DAY_HOURS) + day * DAY_HOURS for day in days])
    step_s = np.full(len(hours), np.nan)
    inlet_c = np.full(len(hours), np.nan)
    np.divide(table[0], table[1], out=step_s, where=table[1] > 0)
    np.divide(table[2], table[3], out=inlet_c, where=table[3] > 0)
    return Hours(hours * _HOUR_NS + _HOUR_NS // 2, step_s, table[1], inlet_c)
