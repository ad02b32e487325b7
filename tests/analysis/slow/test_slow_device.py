"""Slow devices are named from durations, and nobody is accused where all are alike."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import triage
from simulator import simulate
from triage.analysis.detectors.slow_device import find_slow_devices
from triage.domain.report import Suspect

SPREAD = {"ranks": 64, "frames": 0, "timing": True, "skew_ms": 50.0, "spread": 0.005}


def suspects_of(kind: str, folder: Path, **options: Any) -> tuple[tuple[int, ...], list[Suspect]]:
    truth = simulate(kind, folder / "job", **{**SPREAD, **options})
    return truth.culprit_ranks, list(triage.analyze(folder / "job").answer.suspects)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="tp 8, pp 4"),
        pytest.param({"tp": 1, "pp": 1}, id="sharded, dp alone"),
        pytest.param({"tp": 2, "pp": 4, "slow_share": 0.07}, id="pairs"),
        pytest.param({"tp": 8, "pp": 1}, id="no pipeline"),
        pytest.param({"tp": 4, "pp": 2, "ep": 2}, id="experts"),
        pytest.param({"run_ahead": False}, id="the host waits for each operation"),
        pytest.param({"batched_p2p": False}, id="plain send and recv"),
    ],
)
def test_a_gpu_that_computes_longer_is_named(options: dict[str, Any], tmp_path: Path) -> None:
    culprits, suspects = suspects_of(
        "slow-gpu", tmp_path, seed=3, **{"slow_share": 0.06, **options}
    )

    assert [(one.ranks, one.role) for one in suspects] == [(culprits, "culprit")]
    assert "on its GPU" in triage.analyze(tmp_path / "job").answer.verdict.summary


def test_a_host_that_is_late_by_little_is_named_as_a_host(tmp_path: Path) -> None:
    culprits, suspects = suspects_of("straggler", tmp_path, delay_ms=5.0, seed=2)

    assert [one.ranks for one in suspects] == [culprits]
    assert "host" in triage.analyze(tmp_path / "job").answer.verdict.summary


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        pytest.param("healthy", {}, id="all alike"),
        pytest.param("healthy", {"spread": 0.015}, id="a lot of devices that differ much"),
        pytest.param("slow-gpu", {"slow_share": 0.01}, id="one per cent"),
        pytest.param("slow-gpu", {"timing": False}, id="no durations"),
        pytest.param("slow-gpu", {"steps": 2, "entries": 200}, id="two steps"),
        pytest.param("slow-stage", {"slow_share": 0.3}, id="a stage with more layers"),
        pytest.param("slow-since", {"slow_share": 0.3}, id="all since a time"),
        pytest.param("input-bound", {}, id="all wait for data"),
    ],
)
def test_nobody_is_accused(kind: str, options: dict[str, Any], tmp_path: Path) -> None:
    _, suspects = suspects_of(kind, tmp_path, seed=5, **options)

    assert suspects == []


def test_it_says_nothing_of_a_job_that_hangs(tmp_path: Path) -> None:
    simulate("host-stall", tmp_path / "job", **SPREAD)
    weighed = triage.analyze(tmp_path / "job").sources

    assert weighed is not None
    assert weighed.weighed.view is not None
    assert list(find_slow_devices(weighed.weighed.view.case)) == []


def test_the_order_of_files_and_a_cut_file_change_nothing(tmp_path: Path) -> None:
    truth = simulate("slow-gpu", tmp_path / "job", cut=(9,), culprit=33, seed=4, **SPREAD)
    dumps = sorted((tmp_path / "job" / "fr").iterdir())
    chance = np.random.default_rng(0)
    said = [
        [one.ranks for one in triage.analyze(paths).answer.suspects]
        for paths in (dumps, [dumps[k] for k in chance.permutation(len(dumps))])
    ]

    assert said == [[truth.culprit_ranks], [truth.culprit_ranks]]
