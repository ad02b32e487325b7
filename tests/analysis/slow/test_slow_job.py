"""One answer for slow jobs: what it is, what it costs, and silence where nothing is slow."""

import json
from pathlib import Path
from typing import Any

import pytest

import triage
from simulator import simulate
from triage.domain.answer_wire import answer_of_report
from triage.domain.slow import SlowCause, SlowJob, SlowPart, compute_gpu_hours_per_day
from triage.render.terminal.text import render

USUAL = {"ranks": 64, "frames": 0, "timing": True, "skew_ms": 50.0, "spread": 0.005, "seed": 5}


def slow_of(kind: str, folder: Path, **options: Any) -> SlowJob | None:
    simulate(kind, folder / "job", **{**USUAL, **options})
    return triage.analyze(folder / "job").answer.slow_job


@pytest.mark.parametrize(
    ("kind", "options", "cause"),
    [
        pytest.param("slow-gpu", {"slow_share": 0.08}, SlowCause.SLOW_GPU, id="gpu"),
        pytest.param("straggler", {"delay_ms": 20.0}, SlowCause.LATE_HOST, id="host"),
        pytest.param("slow-link", {}, SlowCause.SLOW_LINK, id="link"),
        pytest.param("slow-stage", {"slow_share": 0.3}, SlowCause.SLOW_STAGE, id="stage"),
        pytest.param("input-bound", {"delay_ms": 60.0}, SlowCause.INPUT_BOUND, id="input"),
        pytest.param(
            "slow-since",
            {"slow_share": 0.3, "tp": 1, "pp": 1, "steps": 50},
            SlowCause.SLOW_SINCE,
            id="since",
        ),
    ],
)
def test_the_cause_is_the_first_part(
    kind: str, options: dict[str, Any], cause: SlowCause, tmp_path: Path
) -> None:
    slow = slow_of(kind, tmp_path, **options)

    assert slow is not None
    first = slow.parts[0]
    assert first.cause is cause
    assert (first.since is not None) is (cause is SlowCause.SLOW_SINCE)
    assert first.gpu_hours_per_day == pytest.approx(first.share * 64 * 24)
    assert first.share == pytest.approx(first.ms_per_step / slow.ms_per_step)
    assert slow.slowdown > 1


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        pytest.param("healthy", {}, id="alike"),
        pytest.param("healthy", {"timing": False}, id="no durations"),
        pytest.param("healthy", {"tp": 1, "pp": 1}, id="sharded"),
        pytest.param("healthy", {"batched_p2p": False}, id="plain send and recv"),
        pytest.param("slow-link", {"link_times": 1.05}, id="a link a little slower"),
        pytest.param("slow-stage", {"slow_share": 0.02}, id="a stage with a little more to do"),
        pytest.param("input-bound", {"delay_ms": 1.0}, id="a wait of a millisecond"),
        pytest.param("host-stall", {}, id="a hang"),
    ],
)
def test_nothing_is_said_of_a_job_that_is_not_slow(
    kind: str, options: dict[str, Any], tmp_path: Path
) -> None:
    assert slow_of(kind, tmp_path, **options) is None


def test_what_is_lost_is_what_the_step_gains_without_it(tmp_path: Path) -> None:
    """The same job with less of the fault: how much shorter its steps are is the truth."""
    steps = [slow_of("slow-gpu", tmp_path / str(share), slow_share=share) for share in (0.1, 0.3)]

    assert steps[0] is not None
    assert steps[1] is not None
    gained = steps[1].ms_per_step - steps[0].ms_per_step
    lost = steps[1].parts[0].ms_per_step - steps[0].parts[0].ms_per_step
    assert lost == pytest.approx(gained, rel=0.25)


def test_report_text_and_wire_say_it(tmp_path: Path) -> None:
    simulate("slow-gpu", tmp_path / "job", slow_share=0.1, **USUAL)
    report = triage.analyze(tmp_path / "job")
    slow = json.loads(json.dumps(report.to_dict()))["slow"]

    assert {"ms_per_step", "since", "share", "slowdown", "parts"} <= slow.keys()
    assert slow["parts"][0]["cause"] == "slow_gpu"
    assert slow["parts"][0]["ranks"] == list(report.answer.suspects[0].ranks)
    assert "slowdown" in render(report.answer)
    assert "GPU-hours a day at 64 GPUs" in " ".join(render(report.answer).split())
    assert answer_of_report(report.to_dict()).slow_job is not None


def test_a_line_of_a_report_names_cost_and_share() -> None:
    part = SlowPart(
        SlowCause.SLOW_GPU, (37,), 112.0, 0.05, compute_gpu_hours_per_day(0.05, 1024), "one"
    )
    slow = SlowJob(2240.0, 1.12, 1024, (part,))

    assert slow.text == "slowdown 1.12; one"
    assert slow.to_dict()["share"] == 0.12
    assert part.to_dict()["gpu_hours_per_day"] == 1228.8
