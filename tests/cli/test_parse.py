"""triage parse: rows as JSON lines and as aligned text."""

import json

import pytest

from tests.render.answers import HOSTILE
from triage.cli.main import main
from triage.errors import NothingToAnalyze

ROW = {
    "artifact": "nodes/n3/kernel.log",
    "line": 812,
    "at": "2026-11-21T03:04:15.123Z",
    "clock": "wall",
    "node": "n3",
    "rank": None,
    "kind": "xid",
    "code": 79,
    "gpu": "0000:5d:00",
    "category": "gpu",
    "role": "root",
    "signature": "nvidia.xid",
    "text": "NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.",
}


def test_prints_one_object_a_line(brain, tmp_path, capsys):
    brain.rows = [ROW, {**ROW, "line": 813}]
    assert main(["parse", str(tmp_path)]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == brain.rows


def test_prints_every_row_of_a_large_input(brain, tmp_path, capsys):
    brain.rows = [{**ROW, "line": number} for number in range(5_000)]
    assert main(["parse", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["line"] for line in lines] == list(range(5_000))


def test_text_is_aligned(brain, tmp_path, capsys):
    brain.rows = [ROW, {**ROW, "node": None, "rank": 27, "code": None, "count": 3}]
    assert main(["parse", str(tmp_path), "--format", "text"]) == 0
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.index("place") == first.index("nodes/n3/kernel.log:812")
    assert head.index("kind") == first.index("xid") == second.index("xid")
    assert first.endswith("GPU has fallen off the bus.")
    assert second.endswith("(3 times)")


@pytest.mark.parametrize("form", ["jsonl", "text"])
def test_hostile_rows_drive_no_terminal(form, brain, tmp_path, capsys):
    brain.rows = [{**ROW, "node": HOSTILE, "text": HOSTILE, "artifact": HOSTILE}]
    assert main(["parse", str(tmp_path), "--format", form]) == 0
    shown = capsys.readouterr().out
    assert not set(shown) & set("\x1b\x07\x9b\u202e\u2069")
    assert shown.count("\n") == (2 if form == "text" else 1)


def test_nothing_readable_is_2(brain, tmp_path, capsys):
    brain.error = NothingToAnalyze("not one readable input")
    assert main(["parse", str(tmp_path)]) == 2
    assert capsys.readouterr() == ("", "triage: not one readable input\n")


def test_a_missing_path_is_2(brain, capsys):
    assert main(["parse", "/no/such"]) == 2
    assert "cannot find /no/such" in capsys.readouterr().err
