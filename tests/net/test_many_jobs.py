"""Over 500 jobs each: none that is well is accused, none that stopped is called healthy."""

from pathlib import Path

import pytest

import triage
from tests.support.many_jobs import HEALTHY, STOPPED, generate

PARTS = [range(start, start + 64) for start in range(0, 512, 64)]


@pytest.mark.parametrize("numbers", PARTS, ids=lambda part: f"from-{part.start}")
def test_no_healthy_job_is_accused(numbers: range, tmp_path: Path) -> None:
    accused, proved = {}, 0
    for job in generate(HEALTHY, numbers, tmp_path):
        answer = triage.analyze(job.path).answer
        verdict = answer.verdict
        guilty = [one for one in answer.suspects if one.role == "culprit"]
        if verdict.kind not in ("healthy", "inconclusive") or guilty or verdict.cordon:
            accused[job.number] = (job.what, verdict.summary)
        proved += verdict.kind == "healthy"
    assert not accused
    # Nothing is bought by saying less: of nearly all it is said that they are well.
    assert proved >= 0.9 * len(numbers)


@pytest.mark.parametrize("numbers", PARTS, ids=lambda part: f"from-{part.start}")
def test_no_stopped_job_is_called_healthy(numbers: range, tmp_path: Path) -> None:
    healthy = {
        job.number: (job.what, verdict.summary)
        for job in generate(STOPPED, numbers, tmp_path)
        if (verdict := triage.analyze(job.path).answer.verdict).kind == "healthy"
    }
    assert not healthy
