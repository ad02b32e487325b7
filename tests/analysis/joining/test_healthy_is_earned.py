"""Dumps are called healthy where they show health; what they do not show is said."""

import pickle
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.small_job import SmallJob
from triage import analyze

ENDED = SmallJob(8, ("all_reduce", "_all_gather_base") * 15)


def test_a_job_whose_work_is_done_is_healthy(tmp_path: Path) -> None:
    verdict = analyze(ENDED.write(tmp_path)).to_dict()["verdict"]
    assert (verdict["kind"], verdict["action"]) == ("healthy", "none")


@pytest.mark.parametrize("kept", [150, 200, 250])
def test_dumps_that_are_cut_before_their_first_entry_prove_nothing(
    tmp_path: Path, kept: int
) -> None:
    for file in ENDED.write(tmp_path).iterdir():
        file.write_bytes(file.read_bytes()[:kept])
    verdict = analyze(tmp_path).to_dict()["verdict"]
    assert verdict["kind"] == "inconclusive"
    assert "was not seen" in verdict["summary"]


def test_empty_recorders_prove_nothing(tmp_path: Path) -> None:
    for file in ENDED.write(tmp_path).iterdir():
        dump = pickle.loads(file.read_bytes())
        file.write_bytes(pickle.dumps(dump | {"entries": [], "pg_status": {}}, 2))
    assert analyze(tmp_path).to_dict()["verdict"]["kind"] == "inconclusive"


def test_counters_are_proof_enough(tmp_path: Path) -> None:
    """Near by: dumps that leave out what is finished, of a job that is idle."""
    job = replace(ENDED, only_active=True)
    assert analyze(job.write(tmp_path)).to_dict()["verdict"]["kind"] == "healthy"


@pytest.mark.parametrize("timing", [False, True])
def test_what_waits_is_not_called_done(tmp_path: Path, *, timing: bool) -> None:
    """The dumps of one node of eight, which all stand in one operation."""
    job = SmallJob(64, ("all_reduce",) * 31, guilty=63, stops_at=30, timing=timing)
    for file in job.write(tmp_path).iterdir():
        if not 8 <= int(file.name.rpartition("_")[2]) < 16:
            file.unlink()
    report = analyze(tmp_path).to_dict()
    assert [one for one in report["suspects"] if one["role"] == "culprit"] == []
    assert report["verdict"]["kind"] != "healthy"
    summary = report["verdict"]["summary"]
    assert "8 ranks wait in all_reduce 31" in summary
    assert "done" not in summary
    assert "said to have failed" not in summary


@pytest.mark.parametrize(
    ("later_s", "kind"), [(100, "healthy"), (260, "inconclusive"), (3600, "healthy")],
    ids=["collected later", "the job's log ends", "of another zone"],
)  # fmt: skip
def test_a_log_that_ends_before_those_of_its_nodes_proves_no_health(
    tmp_path: Path, later_s: int, kind: str
) -> None:
    start = datetime(2026, 3, 1, 12, tzinfo=UTC)
    steps = [
        f"{start + timedelta(seconds=10 * step):%Y-%m-%d %H:%M:%S} step {step} loss 2.31 lr 1e-4"
        for step in range(60)
    ]
    (tmp_path / "train.log").write_text("\n".join(steps) + "\n")
    for node in ("n1", "n2", "n3"):
        kernel = tmp_path / "nodes" / node / "kern.log"
        kernel.parent.mkdir(parents=True)
        times = (start, start + timedelta(seconds=590 + later_s))
        kernel.write_text(
            "".join(f"{at:%Y-%m-%dT%H:%M:%S}+00:00 {node} kernel: eth0: link up\n" for at in times)
        )
    verdict = analyze(tmp_path).to_dict()["verdict"]
    assert verdict["kind"] == kind
