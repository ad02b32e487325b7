"""Logs whose newest line stands first are read from their end."""

import pytest

from triage.parsers.logs import newest_first
from triage.parsers.logs.newest_first import read_oldest_first
from triage.parsers.logs.source import LogStream

LINES = [f"2026-07-18T10:{k // 60:02}:{k % 60:02}Z step {k}: loss 2.5" for k in range(90)]


def turned(lines: list[str]) -> tuple[list[str], list[str]]:
    stream = read_oldest_first(LogStream.make("log", "".join(f"{one}\n" for one in lines).encode()))
    return stream.read_up_to(1 << 20).decode().splitlines(), stream.notes


def test_it_is_read_from_its_end_and_says_so() -> None:
    lines, notes = turned(LINES[::-1])

    assert lines == LINES
    assert notes == ["its newest line stands first: its lines are counted from the last one"]


def test_one_that_is_too_large_is_read_as_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newest_first, "_MOST_BYTES", 1000)
    lines, notes = turned(LINES[::-1])

    assert lines == LINES[::-1]
    assert "sort it by time" in notes[0]


@pytest.mark.parametrize(
    "lines",
    [
        LINES,
        LINES[:3][::-1],
        LINES[:6] + LINES[6:][::-1],
        ["step 3: loss 2.5", "step 2: loss 2.5", "step 1: loss 2.5"] * 9,
        [LINES[k ^ 1] for k in range(90)],
        [],
    ],
    ids=["in order", "three lines", "begins in order", "no times", "two writers", "empty"],
)
def test_another_log_stays_as_it_is(lines: list[str]) -> None:
    assert turned(lines) == (lines, [])
