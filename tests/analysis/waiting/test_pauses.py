"""How long is long: what pauses of a job excuse, and what they never do."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.small_job import SmallJob
from triage import analyze

STEPS = ("all_reduce",) * 35


def report_on(job: SmallJob, folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = analyze(job.write(folder)).to_dict()
    return found


def named(report: Mapping[str, Any]) -> list[list[int]]:
    return [one["ranks"] for one in report["suspects"] if one["role"] == "culprit"]


def stopped(**changes: Any) -> SmallJob:
    given: dict[str, Any] = {"guilty": 2, "stops_at": 30, "timing": True}
    return SmallJob(8, STEPS, **(given | changes))


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"pauses": {9: 210.0}}, id="an evaluation"),
        pytest.param({"pauses": {9: 420.0, 20: 420.0}}, id="two that are shorter than the wait"),
        pytest.param({"pauses": {0: 300.0}}, id="the first compilation"),
        pytest.param(
            {"pauses": {9: 700.0}, "waits_s": 1800.0, "timeout_s": 1800}, id="a long timeout"
        ),
        pytest.param({"pauses": {9: 30.0}, "waits_s": 60.0}, id="a pull after a minute"),
        pytest.param({"pauses": {29: 90.0}, "waits_s": 60.0}, id="right before it stopped"),
        pytest.param({"clock_steps": {1: (15, 3600.0)}}, id="a clock that was set"),
        pytest.param({"clock_steps": {1: (15, 86_400.0)}, "waits_s": 60.0}, id="by a day"),
        pytest.param({"pauses": {9: 300.0}, "retired": True}, id="given up"),
        pytest.param({"retired": True, "waits_s": 5.0}, id="given up at once"),
        pytest.param({"retired": True, "timing": False}, id="given up without timing"),
        pytest.param({"pauses": {9: 300.0}, "timing": False}, id="without timing"),
        pytest.param({"pauses": {9: 25.0, 20: 25.0}, "waits_s": 60.0}, id="checkpoints"),
    ],
)
def test_a_pause_that_was_made_excuses_no_hang(tmp_path: Path, changes: dict[str, Any]) -> None:
    report = report_on(stopped(**changes), tmp_path)
    assert report["verdict"]["kind"] == "hang"
    assert named(report) == [[2]]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"waits_s": 0.3}, id="one step"),
        pytest.param({"pauses": {9: 25.0, 20: 25.0}, "waits_s": 20.0}, id="in a checkpoint"),
        pytest.param({"pauses": {9: 12.0}, "waits_s": 11.0}, id="in the second checkpoint"),
        pytest.param({"pauses": {9: 200.0, 20: 200.0}, "waits_s": 150.0}, id="an evaluation again"),
        pytest.param({"step_s": 40.0, "waits_s": 45.0}, id="long steps"),
    ],
)
def test_a_pause_that_is_made_again_is_no_hang(tmp_path: Path, changes: dict[str, Any]) -> None:
    report = report_on(stopped(**changes), tmp_path)
    assert report["suspects"] == []
    assert report["verdict"]["kind"] in ("healthy", "inconclusive")


def test_one_pause_before_the_only_operation_of_its_kind_is_usual_there(tmp_path: Path) -> None:
    """A barrier that comes once an epoch, after an evaluation on one rank."""
    steps = [*STEPS]
    steps[10] = steps[30] = "barrier"
    job = stopped(pauses={10: 50.0}, waits_s=60.0)
    usual = replace(job, ops=tuple(steps))
    assert report_on(usual, tmp_path / "barrier")["suspects"] == []
    assert named(report_on(job, tmp_path / "other")) == [[2]]


@pytest.mark.parametrize("first", [1, 1 << 31, (1 << 32) - 20, 1 << 40])
@pytest.mark.parametrize("timing", [False, True])
def test_numbers_of_a_long_run_are_numbers(tmp_path: Path, first: int, *, timing: bool) -> None:
    report = report_on(stopped(first_seq=first, timing=timing), tmp_path)
    assert named(report) == [[2]]
    assert f"all_reduce {first + 30}" in str(report["suspects"][0]["because"])
