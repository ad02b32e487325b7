"""Whole incidents: dumps and logs with known causes. A new field report is a new folder.

Where ``expected.json`` names ``suspects``, the nodes of the culprits, the folder
``files`` is given as a whole; else the dumps alone are.
"""

import json
import random
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest

import triage

INCIDENTS = Path(__file__).parents[1] / "incidents"


def expected_of(folder: Path) -> dict[str, Any]:
    expected: dict[str, Any] = json.loads((folder / "expected.json").read_text())
    return expected


ALL = sorted(path.parent for path in INCIDENTS.glob("*/expected.json"))
LOGGED = [folder for folder in ALL if "suspects" in expected_of(folder)]
FOLDERS = [folder for folder in ALL if folder not in LOGGED]


def dumps_of(folder: Path) -> list[Path]:
    expected = expected_of(folder)
    place = folder / expected["dumps"] if "dumps" in expected else folder / "fr"
    return sorted(path for path in place.iterdir() if "rank_" in path.name)


def convicted(report: triage.Report) -> list[int]:
    return sorted(
        rank
        for suspect in report.answer.suspects
        if suspect.role == "culprit"
        for rank in suspect.ranks
    )


def test_there_are_incidents() -> None:
    assert len(FOLDERS) >= 19
    assert len(LOGGED) >= 7


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_names_the_culprit_and_nobody_else(folder: Path) -> None:
    expected = expected_of(folder)
    report = triage.analyze(dumps_of(folder))
    verdict = report.answer.verdict
    assert convicted(report) == expected["culprit_ranks"], verdict.summary
    assert (verdict.kind, verdict.category) == (expected["kind"], expected["category"])
    assert report.answer.job.world_size == expected["world_size"]
    if expected["culprit_ranks"]:
        assert list(report.answer.suspects[0].ranks) == expected["culprit_ranks"]
    else:
        assert report.answer.suspects == ()
    assert not set(report.answer.victims.ranks) & set(convicted(report))


ADVISED = [folder for folder in ALL if "restart" in expected_of(folder)]


@pytest.mark.parametrize("folder", ADVISED, ids=lambda folder: folder.name)
def test_says_whether_to_start_again_and_without_whom(folder: Path) -> None:
    expected = expected_of(folder)["restart"]
    report = triage.analyze(folder / "files" if folder in LOGGED else dumps_of(folder))
    found = report.to_dict().get("restart")
    shown = {key: found[key] for key in ("decision", "exclude")} if found else None
    assert shown == expected, report.verdict.summary


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_order_and_names_of_files_change_nothing(folder: Path, tmp_path: Path) -> None:
    dumps = dumps_of(folder)
    report = triage.analyze(dumps)
    shuffled = random.Random(7).sample(dumps, len(dumps))
    assert triage.analyze(shuffled).to_dict() == report.to_dict()
    for dump in dumps:
        rank = dump.stem.rpartition("_")[2]
        if dump.suffix != ".json":
            shutil.copy(dump, tmp_path / f"nccl_trace_rank_gpu{9 - int(rank) // 2}_{rank}")
    renamed = triage.analyze(tmp_path)
    assert convicted(renamed) == convicted(report)
    assert renamed.answer.verdict.kind == report.answer.verdict.kind


@pytest.mark.parametrize("folder", LOGGED, ids=lambda folder: folder.name)
def test_logs_name_the_node_and_nobody_else(folder: Path, tmp_path: Path) -> None:
    expected = expected_of(folder)
    report = triage.analyze(folder / "files")
    verdict = report.answer.verdict
    guilty = [one for one in report.answer.suspects if one.role == "culprit"]
    assert verdict.category == expected["category"], verdict.summary
    assert verdict.kind == expected.get("kind", verdict.kind), verdict.summary
    assert [one.node for one in guilty] == expected["suspects"], verdict.summary
    assert list(verdict.cordon) == expected["cordon"], verdict.summary
    assert report.answer.job.world_size == expected["world_size"]
    if "culprit_ranks" in expected:
        assert convicted(report) == expected["culprit_ranks"], verdict.summary
    if guilty:
        assert guilty[0] == report.answer.suspects[0]
    # One archive of the folder says the same.
    with tarfile.open(tmp_path / "incident.tar.gz", "w:gz", compresslevel=1) as archive:
        archive.add(folder / "files", arcname="incident")
    packed = triage.analyze(tmp_path / "incident.tar.gz").answer
    assert packed.verdict.cordon == verdict.cordon
    assert packed.verdict.category == verdict.category
    assert [one.node for one in packed.suspects if one.role == "culprit"] == expected["suspects"]
