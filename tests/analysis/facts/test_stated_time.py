"""The time of a verdict: UTC where its zone is known, local without it, no year of our own."""

from pathlib import Path

import pytest

import triage
from tests.analysis.facts.job_logs import answer, clock, megatron, steps, watchdogs
from triage.domain.report import Answer
from triage.domain.wire import format_iso_utc

ECC = "[rank5]: RuntimeError: CUDA error: uncorrectable ECC error encountered"


def at_of(report: Answer) -> str | None:
    return format_iso_utc(report.verdict.at)


def test_a_zone_that_nothing_tells(tmp_path: Path) -> None:
    lines = [*steps(megatron, 400, 10, 0), f"{clock(95)} {ECC}"]
    told = answer(tmp_path, lines)
    assert at_of(told) == "2026-11-20T09:01:35.000"
    assert any("zone" in note for note in told.coverage.notes)


@pytest.mark.parametrize("hours", [0, 8])
def test_a_zone_that_the_end_tells(hours: int, tmp_path: Path) -> None:
    lines = [*steps(megatron, 400, 10, 0), f"{clock(95)} {ECC}"]
    failed_at = clock(100 - hours * 3600, "%Y-%m-%dT%H:%M:%SZ")
    told = answer(tmp_path, lines, failed_at=failed_at)
    assert at_of(told) == clock(95 - hours * 3600, "%Y-%m-%dT%H:%M:%S.000Z")


def test_a_zone_that_is_printed(tmp_path: Path) -> None:
    told = answer(tmp_path, [f"{clock(95, '%Y-%m-%dT%H:%M:%S')}+02:00 {ECC}"])
    assert at_of(told) == "2026-11-20T07:01:35.000Z"


def test_no_year(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text("\n".join(watchdogs(1200)) + "\n")
    told = triage.analyze(tmp_path).answer
    assert told.verdict.at is None
    assert any("year" in note for note in told.coverage.notes)
    (tmp_path / "job.json").write_text('{"failed_at": "2026-11-20T09:20:10Z"}')
    assert (at_of(triage.analyze(tmp_path).answer) or "").startswith("2026-11-20T09:10:00")


def test_later_than_the_end_is_said(tmp_path: Path) -> None:
    late = f"{clock(500, '%Y-%m-%dT%H:%M:%S')}Z {ECC}"
    told = answer(tmp_path, [late], failed_at=clock(100, "%Y-%m-%dT%H:%M:%SZ"))
    assert any("behind failed_at" in note for note in told.coverage.notes)


def test_two_logs_of_one_node_without_zones(tmp_path: Path) -> None:
    """What is unknown of both clocks is the same: a minute's order holds."""
    lines = [
        f"[{clock(10)} TP0] Scheduler hit an exception: Traceback (most recent call last):",
        "torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
        "",
        f"[{clock(11)}] Waiting 60.0 seconds for CUDA coredumps before exiting",
    ]
    (tmp_path / "nodes" / "n1").mkdir(parents=True)
    (tmp_path / "nodes" / "n1" / "engine.log").write_text("\n".join(lines) + "\n")
    (tmp_path / "nodes" / "n1" / "kernel.log").write_text(
        f"{clock(74, '%b %d %H:%M:%S')} n1 kernel: NVRM: Xid (PCI:0000:c1:00): 13, pid=39411,"
        " name=python3, Graphics SM Warp Exception on (GPC 0, TPC 1, SM 1): Illegal Instruction"
        " Encoding\n"
    )
    told = triage.analyze(tmp_path).answer
    assert at_of(told) == "2026-11-20T09:00:10.000"
    assert all(one.score < 0.5 for one in told.suspects)
