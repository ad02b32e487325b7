"""The daily swing of a fleet out of its stored hours."""

import numpy as np
import pytest

from triage.fleet.services.telemetry.cells import Hours
from triage.fleet.services.telemetry.rollups import fit_daily_swing

HOUR_NS = 3_600_000_000_000


def hours(days: int = 28, *, swing: float = 0.01, inlet: bool = True, seed: int = 1) -> Hours:
    """Step time that is ``swing`` slower at 15 h than on average, and the inlet that warms it."""
    chance = np.random.default_rng(seed)
    at = np.arange(24 * days)
    wave = np.cos(2 * np.pi * (at + 0.5 - 15) / 24)
    step = 2.0 * (1 + swing * wave + chance.normal(0, 0.004, len(at)))
    warm = 24 + 2 * wave + chance.normal(0, 0.3, len(at)) if inlet else np.full(len(at), np.nan)
    return Hours(at * HOUR_NS + HOUR_NS // 2, step, np.full(len(at), 100.0), warm)


def test_a_warm_afternoon_is_found_with_its_hour() -> None:
    found = fit_daily_swing(hours())

    assert found is not None
    assert found.step_time.found is True
    assert found.step_time.amplitude.value == pytest.approx(0.01, rel=0.2)
    assert found.step_time.peak_hour.value == pytest.approx(15, abs=1)
    assert np.argmax(found.step_by_hour) in (14, 15)


def test_noise_is_no_swing() -> None:
    found = fit_daily_swing(hours(swing=0.0))

    assert found is not None
    assert found.step_time.found is False


def test_without_inlet_the_swing_stands_alone() -> None:
    found = fit_daily_swing(hours(inlet=False))

    assert found is not None
    assert found.inlet.found is None


def test_hours_without_a_sample_are_not_made_up() -> None:
    whole = hours(days=7)
    step = np.where(np.arange(len(whole.step_s)) % 24 == 3, np.nan, whole.step_s)
    found = fit_daily_swing(Hours(whole.at_ns, step, whole.num_steps, whole.inlet_c))

    assert found is not None
    assert found.step_by_hour[3] is None


@pytest.mark.parametrize("days", [0, 2])
def test_no_step_time_is_no_swing(days: int) -> None:
    whole = hours(days=days)
    none = np.full(len(whole.step_s), np.nan)

    assert fit_daily_swing(Hours(whole.at_ns, none, whole.num_steps, whole.inlet_c)) is None


@pytest.mark.parametrize(
    "odd",
    [[0.0], [-1.0], [1e-300], [1e15, -1e15], [0.0, 2.0], [-2.0, 2.0]],
    ids=["zero", "negative", "tiny", "cancels", "some-zero", "some-negative"],
)
def test_a_step_time_that_is_none_breaks_nothing(odd: list[float]) -> None:
    whole = hours(days=3)
    step = np.resize(np.array(odd), len(whole.at_ns))

    found = fit_daily_swing(Hours(whole.at_ns, step, whole.num_steps, whole.inlet_c))

    assert found is not None
    real = [one for one in found.step_by_hour if one is not None]
    assert all(0 < one < 25 for one in real)
    assert bool(real) == any(one > 0 for one in odd)
