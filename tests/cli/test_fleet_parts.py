"""``triage fleet parts``: where a part is and was, on a terminal and as JSON lines."""

import json
from pathlib import Path

import pytest

from triage.cli.main import main

GPU = "GPU-8a1f0c52-9d3e-4b7a-8f16-2c5d7e9a0b14"
ROWS = (
    "node,kind,identity,slot,seen_at\n"
    f"n12,gpu,{GPU},0000:5d:00,2026-11-01T00:00:00Z\n"
    f"m7,gpu,{GPU},0000:5d:00,2026-11-10T00:00:00Z\n"
)


@pytest.fixture(autouse=True)
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIAGE_DATA_DIR", str(tmp_path / "data"))
    for name in ("TRIAGE_URL", "TRIAGE_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)


def test_a_part_is_listed_where_it_is_and_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "parts.csv"
    file.write_text(ROWS)
    assert main(["fleet", "import", str(file)]) == 0
    capsys.readouterr()
    assert main(["fleet", "parts", GPU.lower()]) == 0
    head, first, last = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["node", "part", "identity"]
    assert first.split() == ["m7", "gpu", GPU, "0000:5d:00", *("10 Nov 2026 " * 2).split()]
    assert last.split()[0] == "n12"
    assert main(["fleet", "parts", "--node", "n12", "--format", "jsonl"]) == 0
    assert json.loads(capsys.readouterr().out)["identity"] == GPU


def test_what_nothing_has_named_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fleet", "parts", "J3009X4K"]) == 0
    said = capsys.readouterr()
    assert "Nothing has named it yet" in said.out
    assert "request answered" not in said.err


@pytest.mark.parametrize("asked", [[], ["N/A"]])
def test_what_names_no_part_is_a_mistake(
    asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fleet", "parts", *asked]) == 2
    assert capsys.readouterr().err
