"""Logs far larger than they are worth: read in bounded time, to the same answer."""

import gzip
import json
import os
from collections.abc import Iterable
from itertools import product
from pathlib import Path

import pytest
import zstandard

import triage
from tests.hostile.log_incident import GUILTY, good, kernel, named, stamp, steps, write
from triage.report import read_rows


def packed(path: Path, lines: Iterable[str]) -> None:
    """``lines`` as a log that takes little disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as raw, zstandard.ZstdCompressor(level=1).stream_writer(raw) as out:
        part: list[str] = []
        for line in lines:
            part.append(line)
            if len(part) == 20_000:
                out.write("".join(part).encode())
                part.clear()
        out.write("".join(part).encode())


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> triage.Report:
    return triage.analyze(write(tmp_path_factory.mktemp("good"), good()))


def test_two_million_times_the_same_xid(expected: triage.Report, tmp_path: Path) -> None:
    line = f"{stamp(-3)} n1 kernel: NVRM: Xid (PCI:0000:1b:00): 45, pid=4000, name=python3, Ch 01\n"
    write(tmp_path, good())
    path = tmp_path / "nodes" / "n1" / "more.log.gz"
    path.write_bytes(gzip.compress((line * 20_000).encode(), 1) * 100)
    report = triage.analyze(tmp_path)
    assert named(report) == named(expected)
    assert report.answer.coverage.lines_read > 2_000_000
    (row,) = (row for row in read_rows(path) if row["code"] == 45)
    assert (row["count"], row["role"]) == (2_000_000, "consequence")


def test_a_line_of_a_hundred_megabytes(expected: triage.Report, tmp_path: Path) -> None:
    write(tmp_path, good())
    words = b"NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus. "
    line = words.replace(b"Xid (PCI", b"xyz (abc") * 16_000
    member = gzip.compress(line, 1)
    tail = gzip.compress(b"\n" + steps(3).encode())
    (tmp_path / "nodes" / "n1" / "long.log.gz").write_bytes(member * 110 + tail)
    report = triage.analyze(tmp_path)
    assert named(report) == named(expected)
    assert report.answer.coverage.lines_not_understood == 1


def test_twenty_thousand_lines_that_all_say_something_else(
    expected: triage.Report, tmp_path: Path
) -> None:
    """More than the masks that a scan of a log keeps."""
    write(tmp_path, good())
    words = ("alpha", "beta", "gamma", "delta", "zeta", "eta", "theta", "iota", "kappa", "mu")
    said = [f"{one} {other}" for one in words for other in words]
    lines = (
        f"[rank{k % 16}]: RuntimeError: {first} of {second}, then {third}\n"
        for k, (first, second, third) in enumerate(product(said, said, words[:2]))
    )
    packed(tmp_path / "app.log.zst", lines)
    report = triage.analyze(tmp_path)
    best = report.answer.suspects[0]
    assert (best.node, best.category, best.role) == (GUILTY, "gpu", "culprit")
    assert report.answer.coverage.lines_read > 20_000


def test_a_bomb_goes_off_quietly(expected: triage.Report, tmp_path: Path) -> None:
    write(tmp_path, good())
    zeros = gzip.compress(bytes(64 << 20), 9)
    (tmp_path / "nodes" / "n1" / "bomb.log.gz").write_bytes(gzip.compress(zeros * 20, 9))
    (tmp_path / "nodes" / "n1" / "flat.log.gz").write_bytes(zeros)
    report = triage.analyze(tmp_path)
    assert named(report) == named(expected)
    assert {one.artifact for one in report.answer.coverage.unreadable} == {
        "nodes/n1/bomb.log.gz",
        "nodes/n1/flat.log.gz",
    }


def test_many_small_files(expected: triage.Report, tmp_path: Path) -> None:
    write(tmp_path, good())
    for k in range(1_500):
        write(tmp_path, {f"nodes/n{k % 4}/logs/{k}.out": f"[rank{k % 16}]: ready {k}\n"})
    assert named(triage.analyze(tmp_path)) == named(expected)


def test_links_that_lead_in_circles(expected: triage.Report, tmp_path: Path) -> None:
    write(tmp_path, good())
    (tmp_path / "nodes" / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "self.log").symlink_to(tmp_path / "self.log")
    (tmp_path / "gone.log").symlink_to(tmp_path / "nowhere.log")
    os.mkfifo(tmp_path / "pipe.log")
    report = triage.analyze(tmp_path)
    assert named(report) == named(expected)
    assert report.answer.coverage.lines_read == expected.answer.coverage.lines_read


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_listed(expected: triage.Report, tmp_path: Path) -> None:
    write(tmp_path, good() | {"nodes/n1/secret.log": steps()})
    (tmp_path / "nodes/n1/secret.log").chmod(0)
    report = triage.analyze(tmp_path)
    assert named(report) == named(expected)
    assert [one.artifact for one in report.answer.coverage.unreadable] == ["nodes/n1/secret.log"]


def test_deep_json_is_only_a_line(expected: triage.Report, tmp_path: Path) -> None:
    line = json.dumps({"msg": "NVRM: Xid (PCI:0000:1b:00): 45, pid=1, name=x, Ch 1"})
    for _ in range(6):
        line = json.dumps({"log": line})
    deep = '{"a":' * 50_000 + "1" + "}" * 50_000
    write(tmp_path, good() | {"nodes/n1/a.jsonl": f"{line}\n{deep}\n" * 20})
    assert named(triage.analyze(tmp_path)) == named(expected)


def test_a_kernel_log_of_another_machine_keeps_its_own_name(tmp_path: Path) -> None:
    files = good()
    files["nodes/n1/kernel.log"] = kernel(
        "spare7", [(-0.5, "NVRM: Xid (PCI:0000:1b:00): 45, pid=1, name=x, Ch 1")]
    )
    report = triage.analyze(write(tmp_path, files))
    assert report.answer.verdict.cordon == (GUILTY,)
