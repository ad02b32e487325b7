"""A change of five per cent in mid-run is told from a job log's own step times, in real noise."""

from pathlib import Path

import numpy as np
import pytest

from tests.analysis.progress.logs import course, training
from triage.domain.progress import Change, ChangeKind

STEPS, CUT = 400, 230


def times(seed: int, *, change: float = 0.0, noise: float = 0.02, drift: float = 0.0) -> np.ndarray:
    """Steps of 2 s: the first are slow, every hundredth saves a checkpoint, some have a tail."""
    chance = np.random.default_rng(seed)
    values = 2.0 * (1 + chance.normal(0, noise, STEPS)) * (1 + drift * np.arange(STEPS) / STEPS)
    values[chance.random(STEPS) < 0.03] *= 1.4
    values[:8] *= np.linspace(3.0, 1.4, 8)
    values[99::100] += 4.0
    values[CUT:] *= 1 + change
    return values


def slower(folder: Path, values: np.ndarray) -> Change | None:
    found = course(folder, training(values.tolist(), first=1))
    assert found is not None
    return found.change(ChangeKind.SLOWER)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("noise", [0.005, 0.02, 0.03])
def test_five_per_cent_from_one_step_on(seed: int, noise: float, tmp_path: Path) -> None:
    found = slower(tmp_path, times(seed, change=0.055, noise=noise))

    assert found is not None
    assert found.since.step is not None
    assert abs(found.since.step - CUT) <= 15


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("change", "noise", "drift"),
    [
        pytest.param(0.0, 0.02, 0.0, id="no change"),
        pytest.param(0.0, 0.05, 0.0, id="much noise"),
        pytest.param(0.025, 0.02, 0.0, id="half of it"),
        pytest.param(0.0, 0.02, 0.03, id="a slow drift"),
    ],
)
def test_less_is_none(seed: int, change: float, noise: float, drift: float, tmp_path: Path) -> None:
    assert slower(tmp_path, times(seed, change=change, noise=noise, drift=drift)) is None


@pytest.mark.parametrize("seed", range(6))
def test_steps_behind_a_restart_are_slow_and_no_change(seed: int, tmp_path: Path) -> None:
    values = times(seed)
    values[CUT : CUT + 8] *= np.linspace(3.0, 1.4, 8)

    assert slower(tmp_path, values) is None
