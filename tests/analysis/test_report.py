"""The one entry: what it takes from a folder, and what from an archive of it."""

import gc
import shutil
import tarfile
from pathlib import Path

import pytest

import triage
from simulator import simulate
from triage.errors import TriageError
from triage.report import reduce_collections


def test_a_tar_of_an_incident_folder_is_the_same_incident(tmp_path: Path) -> None:
    simulate("host-stall", tmp_path / "job", ranks=16, entries=200)
    with tarfile.open(tmp_path / "job.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "job", ".")
    from_folder = triage.analyze(tmp_path / "job").to_dict()
    from_archive = triage.analyze(tmp_path / "job.tar.gz").to_dict()
    assert from_archive["job"] == from_folder["job"]
    assert from_archive["verdict"] == from_folder["verdict"]
    assert from_archive["suspects"][0]["node"] == from_folder["suspects"][0]["node"] is not None
    assert not from_archive["coverage"]["notes"]


def test_a_broken_job_json_is_a_note(tmp_path: Path) -> None:
    simulate("host-stall", tmp_path / "job", ranks=16, entries=200)
    (tmp_path / "job" / "job.json").write_text("{")
    report = triage.analyze(tmp_path / "job")
    assert any("job.json is not valid JSON" in note for note in report.answer.coverage.notes)
    assert report.answer.suspects[0].node is None


def test_a_job_json_that_contradicts_the_dumps_is_not_believed(tmp_path: Path) -> None:
    truth = simulate("host-stall", tmp_path / "job", ranks=16, entries=200)
    (tmp_path / "job" / "job.json").write_text('{"world_size": 64, "job_id": 7}')
    report = triage.analyze(tmp_path / "job")
    assert report.answer.job.world_size == 16
    assert report.answer.job.job_id == "7"
    assert report.answer.suspects[0].ranks == truth.culprit_ranks
    assert any("says 64 ranks" in note for note in report.answer.coverage.notes)


def test_two_folders_of_one_incident_are_one(tmp_path: Path) -> None:
    truth = simulate("host-stall", tmp_path / "job", ranks=16, entries=200, layout="nodes")
    nodes = sorted((tmp_path / "job" / "nodes").iterdir())
    report = triage.analyze([*reversed(nodes), tmp_path / "job" / "job.json"])
    assert report.answer.suspects[0].ranks == truth.culprit_ranks
    shutil.rmtree(nodes[0])
    assert triage.analyze(tmp_path / "job").answer.coverage.ranks_without_dump


def test_the_garbage_collector_is_as_before_whatever_comes_out(tmp_path: Path) -> None:
    simulate("host-stall", tmp_path / "job", ranks=16, entries=200)
    (tmp_path / "empty").mkdir()
    usual = gc.get_threshold()
    triage.analyze(tmp_path / "job")
    assert gc.get_threshold() == usual
    with pytest.raises(TriageError):
        triage.analyze(tmp_path / "empty")
    assert gc.get_threshold() == usual


def test_an_answer_inside_another_leaves_the_collector_to_the_outer() -> None:
    usual = gc.get_threshold()
    outer, inner = reduce_collections(), reduce_collections()
    with outer:
        inner.__enter__()
    # The outer one has ended first, as of two threads.
    inner.__exit__(None, None, None)
    assert gc.get_threshold() == usual
