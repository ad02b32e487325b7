"""A flood of distinct lines costs so much a line, whatever its length: counted, not timed."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from triage.formats.streams import read_logs
from triage.parsers.files.inputs import find_inputs
from triage.parsers.logs import read, rows
from triage.parsers.logs.envelope import read_envelope
from triage.parsers.logs.state import Envelope

HEAD = "Nov 21 10:00:00 n1 kernel: [4000.500000] "


def envelopes_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, count: int, line: Callable[[int], str]
) -> tuple[int, int]:
    """How many lines had their envelope read, and lines that the rows stand for."""
    called = 0

    def counted(text: str, *, label: re.Pattern[str] | None = None) -> Envelope:
        nonlocal called
        called += 1
        return read_envelope(text, label=label)

    folder.mkdir()
    text = "".join(f"{HEAD}{line(number)}\n" for number in range(count))
    (folder / "kernel.log").write_text(text, encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(read, "read_envelope", counted)
        patch.setattr(rows, "read_envelope", counted)
        logs = read_logs(find_inputs([folder]).files, threads=1)
    return called, sum(one.count for one in logs.evidence)


def other_gpu(number: int) -> str:
    return f"NVRM: Xid (PCI:{number:04x}:5d:00): 43, pid={number + 1000}, name=python3, Ch 00000008"


def unfinished(number: int) -> str:
    return f"NVRM: Xid (PCI:{number:04x}:5d:00): 31, pid={number + 1000}, MMU Fault: see below"


def test_lines_behind_are_read_for_the_codes_that_look_at_them_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = 400
    called, told = envelopes_read(tmp_path / "not", monkeypatch, lines, other_gpu)
    assert told == lines
    assert called <= lines + 100
    called, told = envelopes_read(tmp_path / "looked", monkeypatch, lines, unfinished)
    assert told == lines
    assert called > 3 * lines


@pytest.mark.parametrize("line", [other_gpu, unfinished])
def test_four_times_the_lines_are_four_times_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: Callable[[int], str]
) -> None:
    few, _ = envelopes_read(tmp_path / "few", monkeypatch, 300, line)
    many, told = envelopes_read(tmp_path / "many", monkeypatch, 1200, line)
    assert told == 1200
    assert many <= 4 * few + 20  # the ends of a file are looked at too


def test_the_first_lines_behind_are_those_that_a_whole_look_gives() -> None:
    texts = ["one", "two", "three", "four"]
    looked: list[str] = []

    def lines() -> Iterator[Envelope]:
        for text in texts:
            looked.append(text)
            yield read_envelope(text)

    following = rows.Following(lines())
    first = following[:3]
    assert looked == []
    assert list(first) == texts[:3]
    assert (len(first), first[0], first[1:]) == (3, "one", ["two", "three"])
    assert looked == texts[:3]
    assert not rows.Following(iter(()))[:3]
