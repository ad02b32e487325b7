"""Telemetry in the answer: joined with stragglers, silent otherwise, and the same in any order."""

import random
import shutil
from pathlib import Path

import pytest

import triage
from simulator.incidents.telemetry_files import FORMS
from simulator.incidents.truth import IncidentTruth
from simulator.incidents.whole import Wish, simulate_incident
from triage.domain.category import Category, Role
from triage.domain.job import Job
from triage.domain.report import Answer
from triage.formats.extractor import Extractor
from triage.parsers.extract.extract import join
from triage.parsers.extract.wire import pack, unpack
from triage.parsers.files.inputs import find_inputs
from triage.report import build_report

RANKS = 16
HEAT = (Category.GPU_THERMAL, Category.POWER, Category.CHASSIS)


def incident(
    path: Path, heat: str, seed: int = 5, name: str = "thermal-straggler", **more: object
) -> IncidentTruth:
    wish = Wish(ranks=RANKS, gpus_per_node=4, seed=seed, telemetry=True, heat=heat, **more)  # type: ignore[arg-type]
    return simulate_incident(name, path, wish)


def convicted_of_heat(answer: Answer) -> list[str | None]:
    return [
        one.node for one in answer.suspects if one.role is Role.CULPRIT and one.category in HEAT
    ]


def telemetry_files_of(path: Path) -> list[Path]:
    found = [*(path / "telemetry").glob("*"), *path.rglob("nvidia-smi.csv*")]
    return sorted(set(found))


@pytest.fixture(scope="module")
def hot(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, IncidentTruth]:
    path = tmp_path_factory.mktemp("hot") / "incident"
    return path, incident(path, "culprit")


def test_a_late_rank_whose_gpu_throttles_is_named_with_both(
    hot: tuple[Path, IncidentTruth],
) -> None:
    path, truth = hot

    answer = triage.analyze(path).answer

    first = answer.suspects[0]
    assert (first.node, first.role) == (truth.culprit_nodes[0], Role.CULPRIT)
    assert (first.category, first.gpus) == (Category.GPU_THERMAL, truth.gpus)
    assert str(answer.verdict.kind) == "straggler"
    because = first.because[0]
    assert because.detector == "telemetry.thermal"
    assert because.text.startswith(f"rank {truth.culprit_ranks[0]} issues ")
    assert "throttles for heat since" in because.text


def test_without_its_telemetry_the_same_rank_is_a_straggler(
    hot: tuple[Path, IncidentTruth], tmp_path: Path
) -> None:
    path, truth = hot
    bare = tmp_path / "bare"
    shutil.copytree(path, bare, ignore=shutil.ignore_patterns("telemetry", "nvidia-smi.csv*"))

    answer = triage.analyze(bare).answer

    assert convicted_of_heat(answer) == []
    assert answer.suspects[0].ranks == truth.culprit_ranks


@pytest.mark.parametrize("heat", ["none", "other", "mate", "rack"])
def test_nobody_is_convicted_of_heat_where_no_late_rank_throttles(
    tmp_path: Path, heat: str
) -> None:
    incident(tmp_path / "incident", heat)

    answer = triage.analyze(tmp_path / "incident").answer

    assert convicted_of_heat(answer) == []
    assert answer.verdict.cordon == ()


def test_a_healthy_job_stays_healthy_beside_a_gpu_that_throttles(tmp_path: Path) -> None:
    incident(tmp_path / "incident", "culprit", name="healthy-job")

    answer = triage.analyze(tmp_path / "incident").answer

    assert (str(answer.verdict.kind), answer.suspects) == ("healthy", ())


def test_gpus_that_idle_after_a_stop_are_evidence_of_nothing(tmp_path: Path) -> None:
    incident(tmp_path / "incident", "none", name="data-loader")

    rows = triage.analyze(tmp_path / "incident").evidence

    assert set(rows[rows.signature.str.startswith("telemetry.")].signature) == {"telemetry.samples"}


def test_files_read_one_by_one_and_stored_give_the_answer_of_the_folder(
    hot: tuple[Path, IncidentTruth],
) -> None:
    path, _ = hot
    files = [one for one in find_inputs([path]).files if one.path.name != "job.json"]
    whole = triage.analyze([one.path for one in files]).answer
    shuffled = random.Random(3).sample(files, len(files))

    stored = [pack(one) for one in Extractor().extract(shuffled)]

    assert build_report(map(unpack, stored), Job()).answer == whole
    assert [pack(unpack(one)) for one in stored] == stored


def test_only_what_holds_telemetry_is_stored_as_the_newer_version(
    hot: tuple[Path, IncidentTruth],
) -> None:
    path, _ = hot
    extracts = Extractor().extract(find_inputs([path]).files)

    versions = {one.artifact: pack(one)[3] for one in extracts}

    measured = {str(one.relative_to(path)) for one in telemetry_files_of(path)}
    assert {name for name, version in versions.items() if version == 2} == measured
    assert set(versions.values()) == {1, 2}


def test_a_file_twice_adds_nothing(hot: tuple[Path, IncidentTruth]) -> None:
    path, _ = hot
    extracts = Extractor().extract(find_inputs([path]).files)
    once, twice = build_report(extracts, Job()), build_report([*extracts, extracts[-1]], Job())

    assert [one.to_dict() for one in once.answer.suspects] == [
        one.to_dict() for one in twice.answer.suspects
    ]


def test_parse_shows_a_row_a_file(hot: tuple[Path, IncidentTruth]) -> None:
    path, _ = hot

    rows = [one for one in triage.report.read_rows(path) if one["kind"] == "telemetry"]

    assert [one["artifact"] for one in rows] == [
        str(one.relative_to(path)) for one in telemetry_files_of(path)
    ]
    assert all(one["samples"] > 100 and one["role"] == "noise" for one in rows)


def test_a_file_that_cannot_be_read_is_listed_and_stops_nothing(
    hot: tuple[Path, IncidentTruth], tmp_path: Path
) -> None:
    path, truth = hot
    bad = tmp_path / "no-times.csv"
    bad.write_text("index, temperature.gpu\n0, 61\n")

    answer = triage.analyze([path, bad]).answer

    assert any("without a column of times" in one.why for one in answer.coverage.unreadable)
    assert answer.suspects[0].gpus == truth.gpus


def test_telemetry_alone_names_nobody_and_says_what_is_missing(
    hot: tuple[Path, IncidentTruth],
) -> None:
    path, _ = hot

    answer = triage.analyze(telemetry_files_of(path)).answer

    assert convicted_of_heat(answer) == []
    assert answer.verdict.cordon == ()


@pytest.mark.parametrize("seed", range(4))
def test_each_form_of_a_file_tells_the_same(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from simulator.incidents import telemetry_files

    monkeypatch.setattr(telemetry_files, "FORMS", (FORMS[seed],))
    truth = incident(tmp_path / "incident", "culprit", seed=5)

    answer = triage.analyze(tmp_path / "incident").answer

    assert answer.suspects[0].gpus == truth.gpus
    assert answer.suspects[0].category is Category.GPU_THERMAL


def test_joined_extracts_hold_all_telemetry_in_the_order_of_names(
    hot: tuple[Path, IncidentTruth],
) -> None:
    path, _ = hot
    extracts = Extractor().extract(find_inputs([path]).files)

    _, logs = join(extracts)

    assert [one.artifact for one in logs.telemetry] == sorted(
        one.artifact for one in logs.telemetry
    )
    assert len(logs.telemetry) == len(telemetry_files_of(path))
