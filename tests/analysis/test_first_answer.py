"""A first answer names whom the whole names, says that it is one, or is not given."""

from pathlib import Path

import pytest

from simulator.incident import simulate
from triage.analysis import first_answer
from triage.analysis.answer import Weighing, weigh_incident
from triage.analysis.first_answer import weigh_sample
from triage.domain.category import Role
from triage.domain.job import Job
from triage.formats.extractor import Extractor
from triage.formats.gather import gather
from triage.parsers.files.inputs import InputFile
from triage.parsers.flight_recorder.dump_set import DumpSet
from triage.parsers.logs.logset import LogSet
from triage.report import build_study


def dumps_of(kind: str, folder: Path) -> DumpSet:
    simulate(kind, folder, ranks=32, entries=200, frames=2, seed=3)
    return gather(folder, None)[1]


def named(weighed: Weighing) -> list[int]:
    suspects = weighed.joined.decision.suspects
    return sorted(rank for one in suspects if one.role is Role.CULPRIT for rank in one.ranks)


@pytest.mark.parametrize(
    "kind", ["host-stall", "device-stall", "no-dump", "mismatch-op", "swapped-order", "group-order"]
)
def test_it_names_whom_the_whole_names(kind: str, tmp_path: Path) -> None:
    dumps = dumps_of(kind, tmp_path / "files")
    whole = named(weigh_incident(dumps, LogSet(), Job()))
    sample = weigh_sample(dumps, LogSet(), Job(), None, many=1)

    assert whole
    assert sample is not None
    weighed, (note,) = sample
    assert named(weighed) == whole
    assert note.startswith("a first answer: where all 3")
    assert "operations of 4 of them" in note


@pytest.mark.parametrize("kind", ["healthy", "straggler", "healthy-live"])
def test_there_is_none_for_a_job_that_does_not_hang(kind: str, tmp_path: Path) -> None:
    """A slow rank shows in the histories of all alone."""
    dumps = dumps_of(kind, tmp_path / "files")
    assert weigh_sample(dumps, LogSet(), Job(), None, many=1) is None


def test_there_is_none_for_a_small_job(tmp_path: Path) -> None:
    assert weigh_sample(dumps_of("host-stall", tmp_path / "files"), LogSet(), Job(), None) is None


def test_a_study_is_made_of_a_sample_only_where_it_is_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_answer, "MANY", 16)
    monkeypatch.setattr(first_answer, "MANY", 16)
    files = tmp_path / "files"
    simulate("host-stall", files, ranks=32, entries=200, frames=2, seed=3)
    paths = sorted((files).rglob("*_rank_*"))
    inputs = [InputFile(one, one.name, one.stat().st_size) for one in paths]
    extracts = list(Extractor().extract(inputs))

    first = build_study(extracts, Job(), first=True).report.answer
    last = build_study(extracts, Job()).report.answer
    assert first.suspects[0].ranks == last.suspects[0].ranks
    assert [one for one in first.coverage.notes if "first answer" in one]
    assert not [one for one in last.coverage.notes if "first answer" in one]
