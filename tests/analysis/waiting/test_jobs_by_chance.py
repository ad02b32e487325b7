"""A stopped job is never called healthy; a healthy, complete one accuses nobody."""

from pathlib import Path

import pytest

from tests.support.drawn_jobs import drawn_job
from triage import analyze


@pytest.mark.parametrize("seed", range(40))
def test_a_stop_names_the_rank_that_did_not_come(tmp_path: Path, seed: int) -> None:
    job, as_json = drawn_job(seed, stopped=True)
    report = analyze(job.write(tmp_path, as_json=as_json)).to_dict()
    assert report["verdict"]["kind"] == "hang", job
    named = [rank for one in report["suspects"] for rank in one["ranks"]]
    assert named == [job.guilty], job


@pytest.mark.parametrize("seed", range(40))
def test_a_job_that_ended_accuses_nobody(tmp_path: Path, seed: int) -> None:
    job, as_json = drawn_job(seed, stopped=False)
    report = analyze(job.write(tmp_path, as_json=as_json)).to_dict()
    assert report["suspects"] == [], job
    assert report["verdict"]["kind"] in ("healthy", "inconclusive"), job
