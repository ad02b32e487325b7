"""``triage fleet repairs``: text for people, nodes on probation for programs."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from triage.cli.main import main

NOW = datetime.now(UTC).replace(microsecond=0)


@pytest.fixture(autouse=True)
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIAGE_DATA_DIR", str(tmp_path / "data"))
    for name in ("TRIAGE_URL", "TRIAGE_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def outages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A node that came back yesterday, among two hundred."""
    came, went = (NOW - timedelta(days=days) for days in (1, 2))
    file = tmp_path / "outages.csv"
    file.write_text(f"node,from,to,reason\nn007,{went.isoformat()},{came.isoformat()},new cable\n")
    inventory = tmp_path / "inventory.csv"
    inventory.write_text("node,rack\nn[000-199],r1\n")
    assert main(["fleet", "import", str(file), str(inventory)]) == 0
    capsys.readouterr()


@pytest.mark.usefixtures("outages")
def test_a_node_on_probation_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fleet", "repairs", "--format", "jsonl"]) == 0

    [row] = map(json.loads, capsys.readouterr().out.splitlines())
    assert (row["node"], row["action"], row["check"]) == ("n007", "swap_cable", "ib.counters")
    assert row["num_returns"] == 0


@pytest.mark.usefixtures("outages")
def test_people_read_what_it_rests_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fleet", "repairs"]) == 0
    text = capsys.readouterr().out
    assert "1 node on probation." in text
    assert "fewer than 20" in text

    assert main(["fleet", "nodes"]) == 0
    assert "on probation: returned 1 day ago after a cable swap" in capsys.readouterr().out


def test_nothing_known_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fleet", "repairs"]) == 0
    assert "No node has come back" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["repairs", "nodes"])
@pytest.mark.parametrize("wrong", [["--limit", "0"], ["--until", "nonsense"]])
def test_wrong_usage_is_one_sentence_that_names_the_option(
    command: str, wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fleet", command, *wrong]) == 2
    error = capsys.readouterr().err
    assert error.startswith("triage: ")
    assert wrong[0] in error
    assert error.count("\n") == 1
