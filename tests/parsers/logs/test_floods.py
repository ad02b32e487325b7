"""Floods of Xids: the first of an hour one by one, then a row for each GPU and code."""

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from triage.domain.evidence import Evidence
from triage.formats.streams import read_logs
from triage.parsers.files.inputs import find_inputs
from triage.parsers.flight_recorder import jit
from triage.parsers.logs.floods import MOST_ALIKE
from triage.parsers.logs.read import LogBounds, LogReader
from triage.signatures import registry

FLOOD = 3_000
GPUS = [f"0000:{bus:02x}:00" for bus in range(0x1A, 0x22)]


def xid(number: int, gpu: str, code: int, host: str = "", start_s: float = 90_000) -> str:
    """One line; what stands behind the code is another in each, and never masked."""
    clock = f"[{start_s + number / 300:12.6f}]"
    return (
        f"{host}{clock} NVRM: Xid (PCI:{gpu}): {code}, pid={number + 7}, name=python3,"
        f" variant v{number}"
    )


def rows_in(folder: Path, lines: Sequence[str], bounds: LogBounds | None = None) -> list[Evidence]:
    folder.mkdir(exist_ok=True)
    (folder / "kernel.log").write_text("\n".join(lines) + "\n")
    files = find_inputs([folder]).files
    found = read_logs(files, bounds=bounds) if bounds is not None else read_logs(files)
    return [row for row in found.evidence if row.signature == "nvidia.xid"]


def counted(rows: Sequence[Evidence]) -> Counter[tuple[str | None, int | None]]:
    total: Counter[tuple[str | None, int | None]] = Counter()
    for row in rows:
        total[row.gpu, row.code] += row.count
    return total


def test_few_are_told_apart_as_all_lines_are(tmp_path: Path) -> None:
    rows = rows_in(tmp_path, [xid(k, GPUS[0], 31) for k in range(MOST_ALIKE)])
    assert len(rows) == MOST_ALIKE
    assert {row.count for row in rows} == {1}


def test_each_gpu_and_code_of_a_flood_is_a_row_with_its_count(tmp_path: Path) -> None:
    rng = random.Random(3)
    pairs = [(rng.choice(GPUS), rng.choice((13, 31, 43, 45, 94))) for _ in range(FLOOD)]
    rows = rows_in(tmp_path, [xid(k, *pair) for k, pair in enumerate(pairs)])
    assert counted(rows) == Counter(pairs)
    assert MOST_ALIKE < len(rows) <= MOST_ALIKE + len(set(pairs))


def test_what_is_new_in_a_flood_is_seen(tmp_path: Path) -> None:
    lines = [xid(k, GPUS[0], 31) for k in range(FLOOD)]
    lines[2_500] = xid(2_500, GPUS[1], 31)
    lines[2_700] = xid(2_700, GPUS[0], 79)
    rows = rows_in(tmp_path, lines)
    assert {(row.line, row.gpu, row.code, row.count) for row in rows if row.count == 1} >= {
        (2_501, GPUS[1], 31, 1),
        (2_701, GPUS[0], 79, 1),
    }
    flood = max(rows, key=lambda row: row.count)
    assert (flood.gpu, flood.code) == (GPUS[0], 31)
    assert flood.last_line == FLOOD


def test_another_hour_and_another_host_begin_anew(tmp_path: Path) -> None:
    first = [xid(k, GPUS[0], 31) for k in range(FLOOD)]
    later = [xid(k, GPUS[0], 31, start_s=200_000) for k in range(MOST_ALIKE)]
    rows = rows_in(tmp_path / "later", [*first, *later])
    assert sum(row.line is not None and row.line > FLOOD for row in rows) == MOST_ALIKE
    there = [xid(k, GPUS[0], 31, host="n7 kernel: ") for k in range(MOST_ALIKE)]
    rows = rows_in(tmp_path / "there", [*first, *there])
    assert sum(row.line is not None and row.line > FLOOD for row in rows) == MOST_ALIKE


def test_switches_and_lines_without_a_code_are_no_flood(tmp_path: Path) -> None:
    lines = [
        f"[  100.{k:06d}] nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link {k % 64}"
        f" LTSSM Fault Up, variant v{k}"
        for k in range(FLOOD)
    ]
    (tmp_path / "kernel.log").write_text("\n".join(lines) + "\n")
    found = read_logs(find_inputs([tmp_path]).files)
    assert sum(row.count for row in found.evidence) == FLOOD
    assert len(found.evidence) > 2 * MOST_ALIKE
    assert registry.match("NVRM: Xid (PCI:0000:3b:00)") is None


def test_no_flood_is_read_line_by_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    group = LogReader.group
    monkeypatch.setattr(
        LogReader, "group", lambda self, *place: read.append(place[-1]) or group(self, *place)
    )
    rng = random.Random(11)
    lines = [
        xid(k, f"0000:{rng.randrange(256):02x}:00", rng.randrange(2_000)) for k in range(20_000)
    ]
    # As if each were of another host and hour: no more than the table holds is kept apart.
    rows = rows_in(tmp_path / "flood", lines)
    assert sum(row.count for row in rows) == len(lines)
    # By all, by place and code, by code, and the rest.
    assert len(read) <= 3 * MOST_ALIKE + 1


def test_where_chunks_are_cut_decides_nothing(tmp_path: Path) -> None:
    rng = random.Random(5)
    lines = [xid(k, rng.choice(GPUS), rng.choice((13, 31, 94))) for k in range(1_000)]
    small = {"line": 400, "context": 300}
    whole = rows_in(tmp_path, lines, LogBounds(**small))
    for chunk in (1, 3_000, 17_001):
        assert rows_in(tmp_path, lines, LogBounds(chunk=chunk, **small)) == whole


def test_a_flood_is_the_same_where_nothing_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(6)
    lines = [xid(k, rng.choice(GPUS), rng.randrange(400)) for k in range(1_500)]
    native = rows_in(tmp_path, lines)
    monkeypatch.setattr(jit, "are_compiled", lambda: False)
    monkeypatch.setattr(jit, "MOST_PLAIN_S", 1e9)
    with jit.prefer_python_for_little(True):
        assert rows_in(tmp_path, lines) == native
        assert jit.STATE.plain
