"""Answers that were wrong once, each in a folder of its own with what is wanted."""

from pathlib import Path

import pytest

import triage
from tests.support.wanted import find_faults, load_wanted
from triage.render.terminal.text import render

KNOWN = Path(__file__).parents[1] / "incidents" / "known"
FOLDERS = sorted(path.parent for path in KNOWN.glob("*/*/wanted.json"))


def test_there_are_classes_of_them() -> None:
    assert len(FOLDERS) >= 83
    assert len({folder.parent.name for folder in FOLDERS}) >= 36


@pytest.mark.parametrize(
    "folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}/{folder.name}"
)
def test_what_was_wrong_once_is_right(folder: Path) -> None:
    wanted = load_wanted(folder)
    answer = triage.analyze(folder / "files").answer
    faults = find_faults(wanted, answer.to_dict(), render(answer))
    assert faults == [], (answer.verdict.summary, wanted.why)
