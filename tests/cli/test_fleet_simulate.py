"""``triage fleet simulate``: what it writes is taken in, and wrong wishes are refused."""

from pathlib import Path

import pytest

from triage.cli.main import main


@pytest.fixture(autouse=True)
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIAGE_DATA_DIR", str(tmp_path / "data"))
    for name in ("TRIAGE_URL", "TRIAGE_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)


def test_its_files_are_taken_in_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "fleet"
    words = ["--nodes", "48", "--days", "60", "--seed", "3"]
    assert main(["fleet", "simulate", str(out), *words]) == 0
    said = capsys.readouterr().out
    assert "triage fleet report --since 2025-01-01T00:00:00Z --until 2025-03-02T00:00:00Z" in said
    assert (tmp_path / "fleet.truth.json").exists()

    assert main(["fleet", "import", *(str(path) for path in sorted(out.iterdir()))]) == 0
    taken = capsys.readouterr()
    assert taken.err.count("line ") == 0
    assert taken.out.count(" 0 not read") == 5

    period = ["--since", "2025-01-01T00:00:00Z", "--until", "2025-03-02T00:00:00Z"]
    assert main(["fleet", "report", *period]) == 0


def test_simulate_knows_a_fleet_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "fleet", str(tmp_path / "fleet")]) == 0
    assert "outages of 400 nodes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--nodes", "100000", "--days", "3000"], "node-days are more than"),
        (["--like", "poisson", "--drift", "2"], "of a fleet like a real one"),
        (["--again-times", "-1"], "--again-times"),
        (["--like", "mine"], "--like"),
    ],
    ids=["too large", "drift of none", "negative", "unknown"],
)
def test_a_wish_that_cannot_be_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], why: str
) -> None:
    assert main(["fleet", "simulate", str(tmp_path / "fleet"), *words]) == 2
    assert why in capsys.readouterr().err
    assert not (tmp_path / "fleet").exists()


def test_a_fleet_without_bursts_is_written_too(tmp_path: Path) -> None:
    words = ["--like", "poisson", "--nodes", "64", "--days", "20"]
    assert main(["fleet", "simulate", str(tmp_path / "fleet"), *words]) == 0
