"""Reports from stored pieces: also when nothing came, and rows with their times."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

import triage
from simulator import simulate
from tests.parsers.extract.test_extract import XID, files_of, given
from triage.domain.category import Action, Category, VerdictKind
from triage.domain.job import Job, make_job
from triage.domain.report import Refused
from triage.formats.extractor import Extractor
from triage.report import build_report, build_study, explain, list_evidence_rows, read_rows

INCIDENTS = Path(__file__).parents[1] / "incidents"
FACTS = make_job({"job_id": "4711", "world_size": 16, "failed_at": "2026-11-21T03:14:15Z"})


def test_nothing_came_and_the_report_says_so() -> None:
    report = build_report([], FACTS)
    verdict = report.answer.verdict
    assert verdict.summary.startswith("Nothing came in for this job")
    assert (verdict.kind, verdict.action) == (VerdictKind.INCONCLUSIVE, Action.INVESTIGATE)
    assert verdict.category is Category.NCCL_TIMEOUT
    assert report.to_dict()["suspects"] == []
    assert report.to_dict()["job"]["job_id"] == "4711"
    assert report.to_dict()["verdict"]["at"] == "2026-11-21T03:14:15.000Z"
    assert build_report([], Job()).answer.verdict.kind is VerdictKind.INCONCLUSIVE


def test_only_refused_files_are_listed_and_the_first_is_named(tmp_path: Path) -> None:
    (tmp_path / "trace_rank_1").write_bytes(b"\x80\x02broken")
    (tmp_path / "core").write_bytes(b"\x7fELF" * 90)
    report = build_report(
        Extractor().extract(files_of(tmp_path)), FACTS, [Refused("a/poison", "three\nreaders lost")]
    )
    assert "3 files could not be read (a/poison: three readers lost)" in (
        report.answer.verdict.summary
    )
    listed = [one.artifact for one in report.answer.coverage.unreadable]
    assert listed == ["a/poison", "core", "trace_rank_1"]


def test_files_without_a_line_are_nothing_usable(tmp_path: Path) -> None:
    (tmp_path / "empty.log").write_bytes(b"")
    summary = build_report(Extractor().extract(files_of(tmp_path)), FACTS).answer.verdict.summary
    assert summary.startswith("Nothing usable came in: no dump, and no line of a log in 1 file;")


def test_one_line_of_a_log_is_something(tmp_path: Path) -> None:
    (tmp_path / "k.log").write_text(XID)
    answer = build_report(Extractor().extract(files_of(tmp_path)), FACTS).answer
    assert "Nothing" not in answer.verdict.summary
    assert answer.coverage.lines_read == 1


def test_dumps_that_cannot_be_used_do_not_silence_the_logs(tmp_path: Path) -> None:
    simulate("host-stall", tmp_path / "job", ranks=8, entries=40)
    (tmp_path / "job" / "k.log").write_text(XID)
    extracts = Extractor().extract(files_of(tmp_path / "job"))
    before = datetime(2001, 1, 1, tzinfo=UTC)
    answer = build_report(extracts, Job(), at=before).answer
    assert triage.analyze(tmp_path / "job", at=before).answer == answer
    assert explain(tmp_path / "job", at=before).verdict == answer.verdict
    assert answer.coverage.dumps_read == 0
    assert answer.coverage.lines_read == 1
    assert len(answer.coverage.unreadable) == 8
    assert "--at" in answer.coverage.unreadable[0].why
    dumps = [one for one in extracts if one.digests]
    summary = build_report(dumps, Job(), at=before).answer.verdict.summary
    assert summary.startswith("Nothing usable came in: 8 files could not be read")


def nameless_dumps(path: Path) -> None:
    """Two dumps with nothing that tells their ranks, as copies under other names are."""
    simulate("host-stall", path, ranks=2, tp=1, pp=1, entries=40)
    for number, one in enumerate(sorted(path.rglob("*rank*"))):
        one.rename(path / f"copy{'ab'[number]}")


def test_dumps_without_a_rank_are_rows_and_an_error_that_says_why(tmp_path: Path) -> None:
    nameless_dumps(tmp_path)
    (tmp_path / "job.json").unlink(missing_ok=True)
    assert [row["signature"] for row in read_rows(tmp_path)] == ["fr.dump", "fr.dump"]
    for ask in (triage.analyze, explain):
        with pytest.raises(triage.errors.NothingToAnalyze, match="no dump can be used; copya: "):
            ask(tmp_path)


def test_a_kernel_log_beside_dumps_without_a_rank_is_read(tmp_path: Path) -> None:
    nameless_dumps(tmp_path)
    (tmp_path / "job.json").unlink(missing_ok=True)
    (tmp_path / "k.log").write_text(XID)
    answer = triage.analyze(tmp_path).answer
    assert answer == build_report(Extractor().extract(files_of(tmp_path)), Job()).answer
    assert [one.artifact for one in answer.coverage.unreadable] == ["copya", "copyb"]
    assert explain(tmp_path).verdict == answer.verdict
    assert {row["signature"] for row in read_rows(tmp_path)} > {"fr.dump"}


@pytest.mark.parametrize(
    "path",
    [
        "logs-hbm-w8/files",
        "logs-traceback-w16/files",
        "nccl-never-joins-w8/fr",
        "nccl-truncated-never-joins-w8/fr",
    ],
)
def test_rows_of_a_file_are_those_of_triage_parse(path: str) -> None:
    for file in files_of(INCIDENTS / path):
        if file.path.name == "job.json":
            continue
        (one,) = Extractor().extract([given(file.path)])
        try:
            wanted = list(read_rows(file.path))
        except triage.errors.NothingToAnalyze:
            wanted = [
                row for row in list_evidence_rows(one, Job()) if row["signature"] == "fr.refused"
            ]
            assert wanted or not one.usable
        assert list_evidence_rows(one, Job()) == wanted


def test_every_row_is_dated_beside_all_others() -> None:
    folder = INCIDENTS / "logs-nic-w16" / "files"
    study = build_study(Extractor().extract(files_of(folder)), Job())
    assert study.report.answer == triage.analyze(folder).answer
    rows = [row for row in read_rows(folder) if not row["signature"].startswith("fr.")]
    found = sorted((one.artifact, one.line or 0, one.signature) for one in study.dated)
    assert found == sorted((row["artifact"], row["line"] or 0, row["signature"]) for row in rows)
    assert sum(one.at is not None for one in study.dated) > len(study.dated) // 2
    assert all(one.at is None or one.at.endswith("Z") for one in study.dated)
