"""Dumps of several worlds in one folder: each is answered, and a number alone is nobody's."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import triage
from simulator import simulate
from tests.analysis.by_hand import answer, convicted, named
from triage.analysis.snapshots.selection import find_earlier_attempts
from triage.domain.rank_digest import RankDigest
from triage.domain.report import Answer
from triage.formats.gather import gather

SIXTEEN: dict[str, Any] = {"ranks": 16, "entries": 200, "frames": 0}
EIGHT: dict[str, Any] = {"ranks": 8, "entries": 200, "frames": 0}


def dumps_alone(folder: Path) -> None:
    for path in (*folder.glob("*/job.json"), *folder.glob("*.truth.json")):
        path.unlink()


def trainer_and_engines(folder: Path, kind: str = "device-stall") -> Path:
    simulate("healthy", folder / "trainer", seed=1, **SIXTEEN)
    simulate("healthy", folder / "engine0", seed=2, **EIGHT)
    simulate(kind, folder / "engine1", seed=3, culprit=5, **EIGHT)
    dumps_alone(folder)
    return folder


def notes_of(report: Answer) -> str:
    return " ".join(report.coverage.notes)


@pytest.mark.parametrize("kind", ["device-stall", "host-stall", "mismatch-op"])
def test_the_world_that_stopped_is_answered_and_the_others_are_said(
    kind: str, tmp_path: Path
) -> None:
    said = answer(trainer_and_engines(tmp_path, kind))
    assert convicted(said) == {5}
    assert "3 worlds" in notes_of(said)
    assert "this answer is about the 8 dumps in engine1" in notes_of(said)
    assert "16 dumps in trainer/fr/: no rank is stuck or late" in notes_of(said)
    assert not said.coverage.unreadable


@pytest.mark.parametrize("hung", range(3))
def test_worlds_of_one_size_are_not_second_dumps(hung: int, tmp_path: Path) -> None:
    for number in range(3):
        kind, fault = ("host-stall", {"culprit": 3}) if number == hung else ("healthy", {})
        simulate(kind, tmp_path / f"w{number}", seed=10 + number, **EIGHT, **fault)
    dumps_alone(tmp_path)
    said = answer(tmp_path)
    assert convicted(said) == {3}
    assert f"about the 8 dumps in w{hung}" in notes_of(said)
    assert not said.coverage.unreadable


def test_worlds_in_one_folder_are_told_by_the_prefix_of_their_names(tmp_path: Path) -> None:
    flat = tmp_path / "flat"
    flat.mkdir()
    for number, kind in enumerate(("healthy", "host-stall")):
        fault = {"culprit": 3} if number else {}
        simulate(kind, tmp_path / "made" / kind, seed=number, **EIGHT, **fault)
        for rank in range(8):
            made = tmp_path / "made" / kind / "fr" / f"comm_lib_trace_rank_{rank}"
            shutil.copy(made, flat / f"world_{'ab'[number]}_trace_{rank}")
    said = answer(flat)
    assert convicted(said) == {3}
    assert "2 worlds" in notes_of(said)


def test_worlds_that_are_all_well_are_well(tmp_path: Path) -> None:
    for number in range(3):
        simulate("healthy", tmp_path / f"w{number}", seed=20 + number, **EIGHT)
    said = answer(tmp_path)
    assert said.verdict.kind == "healthy"
    assert "3 worlds" in notes_of(said)


def test_several_pulls_of_one_job_are_one_world(tmp_path: Path) -> None:
    simulate("host-stall", tmp_path / "job", seed=4, culprit=3, **EIGHT)
    for pull in ("pull1", "pull2"):
        shutil.copytree(tmp_path / "job" / "fr", tmp_path / "pulls" / pull)
    said = answer(tmp_path / "pulls")
    assert convicted(said) == {3}
    assert "worlds" not in notes_of(said)


def test_files_that_were_left_over_are_no_world(tmp_path: Path) -> None:
    """One old dump of a hang, beside the whole record of a job that is well."""
    simulate("host-stall", tmp_path / "old", seed=5, culprit=3, **EIGHT)
    simulate("healthy", tmp_path / "job" / "new", seed=6, **EIGHT)
    (tmp_path / "job" / "before").mkdir()
    shutil.copy(tmp_path / "old" / "fr" / "comm_lib_trace_rank_2", tmp_path / "job" / "before")
    said = answer(tmp_path / "job")
    assert said.verdict.kind == "healthy"
    assert [refused.artifact for refused in said.coverage.unreadable]


def with_map(folder: Path) -> None:
    """A map of the trainer's ranks, 8 to a node."""
    nodes = {str(rank): f"tr{rank // 8}" for rank in range(16)}
    text = json.dumps({"job_id": "7", "world_size": 16, "rank_to_node": nodes})
    (folder / "job.json").write_text(text)


def test_the_map_of_the_trainer_places_no_rank_of_an_engine(tmp_path: Path) -> None:
    with_map(trainer_and_engines(tmp_path))
    said = answer(tmp_path)
    assert convicted(said) == {5}
    assert not [one.node for one in said.suspects if one.node is not None]
    assert not said.verdict.cordon


def test_the_map_of_the_trainer_places_the_ranks_of_the_trainer(tmp_path: Path) -> None:
    simulate("host-stall", tmp_path / "trainer", seed=1, culprit=11, **SIXTEEN)
    simulate("healthy", tmp_path / "engine0", seed=2, **EIGHT)
    dumps_alone(tmp_path)
    with_map(tmp_path)
    said = answer(tmp_path)
    assert convicted(said) == {11}
    assert {one.node for one in said.suspects} == {"tr1"}


def test_a_rank_number_in_a_log_is_of_no_world_that_is_known(tmp_path: Path) -> None:
    """The engine's rank 3 has the error; the trainer's rank 3 sits on tr0."""
    with_map(trainer_and_engines(tmp_path))
    (tmp_path / "engine.log").write_text(
        "[rank3]: RuntimeError: CUDA error: uncorrectable ECC error encountered\n"
    )
    report = triage.analyze(tmp_path).to_dict()
    assert report["verdict"]["cordon"] == []
    assert 3 not in convicted(answer(tmp_path))
    assert "tr0" not in [one["node"] for one in report["suspects"]]


def test_the_order_of_files_does_not_matter(tmp_path: Path) -> None:
    files = sorted(trainer_and_engines(tmp_path).glob("*/fr/*"))
    first, second = (triage.analyze(order).to_dict() for order in (files, files[::-1]))
    assert first["verdict"] == second["verdict"]
    assert named(triage.analyze(files).answer) == [5]


def worlds_of(folder: Path, *names: str, apart_s: int) -> list[list[RankDigest]]:
    """Dumps of eight ranks under each name, the second so much later than the first."""
    simulate("healthy", folder, seed=1, **EIGHT)
    dumps_alone(folder)
    found = gather(folder / "fr", None)[1].digests
    return [
        [
            replace(
                one,
                artifact=f"{name}/{one.artifact}",
                first_created_ns=(one.first_created_ns or 0) + shift,
                last_created_ns=(one.last_created_ns or 0) + shift,
            )
            for one in found
        ]
        for name, shift in zip(names, (0, apart_s * 1_000_000_000), strict=True)
    ]


@pytest.mark.parametrize(
    ("names", "apart_s", "earlier"),
    [
        pytest.param(("attempt_0/fr", "fr"), 7200, 1, id="behind-an-attempt"),
        pytest.param(("job/attempt-1", "job/attempt-2"), 7200, 1, id="two-attempts"),
        pytest.param(("attempt_0/fr", "fr"), 0, 0, id="at-the-same-time"),
        pytest.param(("attempt_0/fr", "fr"), -7200, 0, id="the-attempt-is-younger"),
        pytest.param(("engine0", "engine1"), 7200, 0, id="no-attempts"),
        pytest.param(("attempt_3", "attempt_3"), 7200, 0, id="of-one-attempt"),
    ],
)
def test_an_attempt_that_another_came_after_is_over(
    names: tuple[str, str], apart_s: int, earlier: int, tmp_path: Path
) -> None:
    worlds = worlds_of(tmp_path, *names, apart_s=apart_s)
    assert find_earlier_attempts(worlds) == worlds[:earlier]
