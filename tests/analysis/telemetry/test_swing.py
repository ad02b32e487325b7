"""The daily swing of step time, and the air that it follows."""

import math

import numpy as np
import pytest

from triage.analysis.telemetry.swing import daily_swing
from triage.parsers.telemetry.file import Form, TelemetryFile
from triage.parsers.telemetry.grid import Grid
from triage.parsers.telemetry.metrics import Metric
from triage.parsers.telemetry.samples import SeriesKey

SECOND = 1_000_000_000
MIDNIGHT_NS = 1_795_132_800 * SECOND
STEP, AIR = SeriesKey(Metric.STEP_TIME_S), SeriesKey(Metric.INLET_TEMP_C, "n0")


def week(*, swing: float = 0.0075, days: int = 7, air: bool = True, seed: int = 1) -> TelemetryFile:
    """Stretches of 8 min with 2 % noise; the highest at 14:00."""
    chance = np.random.default_rng(seed)
    hours = np.arange(days * 180) * 8 / 60
    day = np.cos(2 * math.pi * (hours - 14) / 24)
    step = 10 * (1 + swing * day + chance.normal(0, 0.02, len(hours)))
    rows = [step, 24 + 2 * day + chance.normal(0, 0.3, len(hours))][: 1 + air]
    grid = Grid((STEP, AIR)[: 1 + air], MIDNIGHT_NS, 480 * SECOND, np.array(rows, np.float32))
    return TelemetryFile("t.csv", Form.TABLE, 1, False, grid)


@pytest.mark.parametrize("swing", [0.005, 0.0075, 0.01])
def test_recovers_amplitude_and_hour_and_that_it_follows_the_air(swing: float) -> None:
    found = daily_swing([week(swing=swing)])

    assert found is not None
    assert found.agreement is not None
    assert found.step_time.found
    assert found.step_time.amplitude.value == pytest.approx(swing, rel=0.2)
    assert found.step_time.peak_hour.value == pytest.approx(14, abs=1)
    assert found.agreement.correlation.value is not None
    assert found.agreement.correlation.value > 0.4


def test_noise_alone_is_no_swing() -> None:
    found = [daily_swing([week(swing=0.0, seed=seed)]) for seed in range(20)]

    assert sum(bool(one is not None and one.step_time.found) for one in found) <= 1


def test_two_days_are_too_little() -> None:
    found = daily_swing([week(days=2)])

    assert found is not None
    assert found.step_time.found is None


def test_without_air_the_swing_stands_alone() -> None:
    found = daily_swing([week(air=False)])

    assert found is not None
    assert (found.inlet, found.agreement) == (None, None)


def test_without_step_times_there_is_nothing() -> None:
    grid = Grid((AIR,), MIDNIGHT_NS, 480 * SECOND, np.ones((1, 9), np.float32))

    assert daily_swing([TelemetryFile("t.csv", Form.TABLE, 1, False, grid)]) is None
    assert daily_swing([]) is None
