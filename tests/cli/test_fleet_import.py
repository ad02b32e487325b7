"""``triage fleet import``: files and stdin, into the configured database."""

import io
import sys
from pathlib import Path

import pytest

from triage.cli.main import main

RUNS = (
    "job_id,started_at,ended_at,ending,num_gpus,nodes\n"
    "1,2026-11-01 00:00,2026-11-01 10:00,failed,32,n[0-3]\n"
    "2,never,,,,\n"
)


@pytest.fixture(autouse=True)
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIAGE_DATA_DIR", str(tmp_path / "data"))
    for name in ("TRIAGE_URL", "TRIAGE_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)


def test_files_are_taken_in_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "any name.txt"
    file.write_text(RUNS)
    assert main(["fleet", "import", str(file), "--cluster", "a", "--zone", "Europe/Berlin"]) == 0
    said = capsys.readouterr()
    assert said.out == f"{file}: csv, 1 rows: 1 added, 0 changed, 0 known, 1 not read\n"
    assert "line 3: started_at 'never' is no time" in said.err
    assert main(["fleet", "import", str(file), "--cluster", "a", "--zone", "Europe/Berlin"]) == 0
    assert "0 added, 0 changed, 1 known" in capsys.readouterr().out


def test_stdin_is_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RUNS.encode())))
    assert main(["fleet", "import", "-"]) == 0
    assert capsys.readouterr().out.startswith("-: csv, 1 rows: 1 added")


def test_a_file_that_is_none_stops_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_text(RUNS)
    bad.write_text("nothing of it\n")
    assert main(["fleet", "import", str(bad), str(tmp_path / "none"), str(good)]) == 0
    said = capsys.readouterr()
    assert "1 added" in said.out
    assert f"triage: {bad}: " in said.err
    assert "No such file" in said.err
    assert main(["fleet", "import", str(bad)]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_zone_that_is_none_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "runs.csv"
    file.write_text(RUNS)
    assert main(["fleet", "import", str(file), "--zone", "Mars/Base"]) == 2
    assert "is no zone that is known here" in capsys.readouterr().err


def test_a_trace_that_counts_days_has_a_day_zero(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "trace.csv"
    file.write_text("node,from_day,to_day,cause\nn1,1,,Hardware\n")
    for day, added in (("2024-03-30", 1), ("2024-03-30", 0), ("2024-03-31", 1)):
        assert main(["fleet", "import", str(file), "--day-zero", day]) == 0
        assert f": {added} added" in capsys.readouterr().out
    assert main(["fleet", "import", str(file), "--day-zero", "soon"]) == 2
    assert "is no day such as" in capsys.readouterr().err
