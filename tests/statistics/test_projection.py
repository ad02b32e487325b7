"""Projection: one over N, with its warnings; software apart."""

import pytest

from triage.statistics.projection import estimate_job_mtti, estimate_run_survival, project
from triage.statistics.rates import estimate_rate

ONE = estimate_rate(100, 1e6, unit="per GPU-h")


def test_twice_the_gpus_stop_twice_as_often() -> None:
    assert estimate_job_mtti(ONE, 2_000).value == pytest.approx(
        estimate_job_mtti(ONE, 1_000).value / 2
    )
    assert (
        estimate_job_mtti(ONE, 1_000).low
        < estimate_job_mtti(ONE, 1_000).value
        < estimate_job_mtti(ONE, 1_000).high
    )


def test_after_no_event_only_the_lower_bound_is_projected() -> None:
    found = estimate_job_mtti(estimate_rate(0, 1e6, unit="per GPU-h"), 1_000)

    assert (found.value, found.high) == (None, None)
    assert found.low == pytest.approx(1e6 / 3.689 / 1_000, rel=1e-3)


@pytest.mark.parametrize(
    ("gpus", "warned"),
    [(4_000, False), (4_001, True), (250, False), (249, True), (1_000, False)],
    ids=["4 times above", "more", "4 times below", "less", "seen"],
)
def test_a_size_far_outside_those_seen_is_warned_of(gpus: int, warned: bool) -> None:
    assert bool(project(ONE, gpus, seen_gpus=(1_000, 1_000)).warnings) == warned


def test_an_unknown_range_is_said() -> None:
    assert "not known" in project(ONE, 8, seen_gpus=None).warnings[0]


def test_software_does_not_come_more_often_on_more_gpus() -> None:
    given = {"hardware_per_gpu_hour": 1e-5, "software_per_job_hour": 0.05}
    small, large = (project(ONE, n, seen_gpus=(n, n), **given) for n in (1_000, 100_000))

    assert small.software_fixed == pytest.approx(1 / (0.01 + 0.05))
    assert large.software_fixed == pytest.approx(1 / (1.0 + 0.05))
    assert project(ONE, 8, seen_gpus=(8, 8)).software_fixed is None


def test_survival_falls_with_size_and_time_and_is_sure_for_no_time() -> None:
    assert estimate_run_survival(ONE, 1_000, 0).value == 1
    assert estimate_run_survival(ONE, 1_000, 2).value == pytest.approx(
        estimate_run_survival(ONE, 2_000, 1).value
    )
    assert estimate_run_survival(ONE, 1_000, 2).low < estimate_run_survival(ONE, 1_000, 2).value
    assert estimate_run_survival(estimate_rate(0, 1e6, unit=""), 1_000, 24).high == 1
