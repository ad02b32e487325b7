"""Whatever lies beside a good incident is counted, and changes nothing of who is named."""

import random
from pathlib import Path

import pytest

import triage
from tests.hostile.log_additions import Addition, additions
from tests.hostile.log_incident import good, named, write
from triage.domain.category import HARDWARE
from triage.errors import NothingToAnalyze
from triage.report import read_rows

ADDITIONS = additions()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> triage.Report:
    report = triage.analyze(write(tmp_path_factory.mktemp("good"), good()))
    assert report.answer.verdict.cordon == ("n2",)
    return report


def accounted(report: triage.Report, addition: Addition) -> bool:
    """Whether the coverage says what became of the files."""
    coverage = report.answer.coverage
    told = {one.artifact for one in (*coverage.unreadable, *coverage.partial)}
    listed = any(one.startswith(name) for one in told for name in addition.files)
    if addition.becomes == "refused":
        return listed and all(len(one.why) > 10 for one in coverage.unreadable)
    return listed or addition.becomes in ("quiet", "read", "any")


@pytest.mark.parametrize("addition", ADDITIONS, ids=lambda one: one.name)
def test_beside_a_good_incident(
    addition: Addition, expected: triage.Report, tmp_path: Path
) -> None:
    report = triage.analyze(write(tmp_path, good() | dict(addition.files)))
    best = report.answer.suspects[0]
    assert (best.node, best.ranks, best.category) == ("n2", (10,), "gpu")
    assert addition.rival or named(report) == named(expected), report.answer.verdict.summary
    innocent = report.answer.suspects[1:]
    assert addition.rival or not any(one.role == "culprit" for one in innocent)
    assert accounted(report, addition)
    more = report.answer.coverage.lines_read - expected.answer.coverage.lines_read
    assert (more > 0) == (addition.becomes == "read") or addition.becomes == "any"
    rows = list(read_rows(tmp_path))
    assert {row["artifact"] for row in rows} >= {"job.log", "nodes/n2/kernel.log"}


@pytest.mark.parametrize("addition", ADDITIONS, ids=lambda one: one.name)
def test_alone(addition: Addition, tmp_path: Path) -> None:
    write(tmp_path, addition.files)
    if addition.becomes in ("refused", "quiet"):
        with pytest.raises(NothingToAnalyze, match=r"^[^\n]{20,}$"):
            triage.analyze(tmp_path)
        return
    try:
        report = triage.analyze(tmp_path)
    except NothingToAnalyze:
        if addition.becomes == "any":
            return
        raise
    if addition.real:
        assert {one.node for one in report.answer.suspects} <= {"n1"}
        return
    assert report.answer.verdict.cordon == ()
    assert addition.rival or not any(
        one.role == "culprit" and one.category in HARDWARE for one in report.answer.suspects
    ), report.answer.verdict.summary


def test_all_at_once_in_any_order(expected: triage.Report, tmp_path: Path) -> None:
    folder = tmp_path / "all"
    write(folder, good())
    for k, addition in enumerate(ADDITIONS):
        if not addition.rival and addition.name not in ("other-job", "contradicting-seats"):
            for name, content in addition.files.items():
                place, _, rest = name.rpartition("/")
                write(folder, {f"{place}/{k}-{rest}" if place else f"{k}-{rest}": content})
    report = triage.analyze(folder)
    assert named(report) == named(expected), report.answer.verdict.summary
    paths = sorted(path for path in folder.iterdir())
    for seed in range(2):
        shuffled = random.Random(seed).sample(paths, len(paths))
        again = triage.analyze(shuffled)
        assert again.to_dict() == triage.analyze(paths).to_dict()
        assert named(again)[:2] == named(expected)[:2]
