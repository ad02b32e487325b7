"""Cases that public tools get wrong, at several sizes, by simulated jobs.

Each row is a case of the table in the knowledge of hang analysis; the truth comes
from the simulator, never from what the analyser says.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import triage
from simulator import simulate
from simulator.kinds import KINDS
from simulator.truth import Truth

SIZES = (16, 64, 256)
# A slow rank shows in long histories, whose cost is that of many more ranks.
SIZES_OF_LONG = (16, 64)

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "healthy pipeline, batched send/recv": ("healthy", {}),
    "healthy pipeline, plain send/recv": ("healthy", {"batched_p2p": False}),
    "one rank of a tp group skips an operation": ("skipped-op", {}),
    "cascade through four stages": ("host-stall", {"pp": 4}),
    "size mismatch": ("mismatch-size", {}),
    "dtype mismatch": ("mismatch-dtype", {}),
    "another operation": ("mismatch-op", {}),
    "size mismatch in a pair that siblings decide": ("mismatch-pair", {}),
    "swapped order": ("swapped-order", {}),
    "two groups in another order": ("group-order", {}),
    "everyone entered, nobody finishes": ("fabric-stall", {}),
    "culprit left no dump": ("no-dump", {}),
    "its device stopped": ("device-stall", {}),
    "timing on, no run-ahead": ("host-stall", {"timing": True, "run_ahead": False}),
    "wrapped ring, stopped long ago": ("early-stall", {}),
    "only-active dumps": ("host-stall", {"only_active": True}),
    "a receive from the wrong peer": ("p2p-wrong-peer", {}),
    "a send that was left out": ("p2p-missing-send", {}),
    "a send of another size": ("p2p-size", {}),
    "slow rank, no hang": ("straggler", {"entries": 2000}),
    "slow rank, clocks apart": ("straggler", {"entries": 2000, "skew_ms": 2000.0}),
    "slow GPU, timing on": ("slow-gpu", {"entries": 2000, "slow_share": 0.08}),
    "slow link, timing on": ("slow-link", {"entries": 2000}),
    "a stage with more to do": ("slow-stage", {"entries": 2000, "slow_share": 0.3}),
    "all slower since a time": ("slow-since", {"entries": 2000, "slow_share": 0.2}),
    "all wait for data": ("input-bound", {"entries": 2000}),
    "two at once": ("two-culprits", {}),
    "a file of an earlier attempt": ("stale-dump", {}),
    "files of another job": ("mixed-jobs", {}),
    "communicator set-up hangs": ("setup-hang", {}),
    "dumped while it runs": ("healthy-live", {}),
}


def convicted(report: triage.Report) -> set[int]:
    return {
        rank
        for suspect in report.answer.suspects
        if suspect.role == "culprit"
        for rank in suspect.ranks
    }


def check(report: triage.Report, truth: Truth) -> None:
    verdict = report.answer.verdict
    if truth.expect == "culprit":
        assert convicted(report) == set(truth.culprit_ranks), verdict.summary
    else:
        assert not convicted(report), verdict.summary
    assert verdict.kind in truth.verdicts, verdict.summary
    assert verdict.category in (truth.category, *truth.also)
    assert not verdict.cordon


def sized() -> Iterator[tuple[str, int]]:
    """Each case with each number of ranks."""
    for case, (_, options) in CASES.items():
        for ranks in SIZES_OF_LONG if "entries" in options else SIZES:
            yield case, ranks


@pytest.mark.parametrize(("case", "ranks"), [*sized()])
def test_case(case: str, ranks: int, tmp_path: Path) -> None:
    kind, options = CASES[case]
    truth = simulate(kind, tmp_path / "job", ranks=ranks, **{"entries": 400, **options})
    check(triage.analyze(tmp_path / "job"), truth)


def test_every_kind_has_a_case() -> None:
    covered = {kind for kind, _ in CASES.values()}
    assert set(KINDS) - covered == {"mismatch-tie"}  # next test


def test_a_tie_convicts_nobody(tmp_path: Path) -> None:
    truth = simulate("mismatch-tie", tmp_path / "job", ranks=16, entries=400)
    report = triage.analyze(tmp_path / "job")
    check(report, truth)
    named = {rank for suspect in report.answer.suspects for rank in suspect.ranks}
    assert named <= set(truth.possible_ranks)


@pytest.mark.parametrize("option", ["missing", "cut", "empty"])
@pytest.mark.parametrize("kind", ["host-stall", "mismatch-size", "device-stall"])
def test_an_innocent_rank_whose_file_is_bad_is_not_accused(
    kind: str, option: str, tmp_path: Path
) -> None:
    truth = simulate(kind, tmp_path / "whole", ranks=64, entries=400)
    innocent = (truth.culprit_ranks[0] + 9) % 64
    shutil.rmtree(tmp_path / "whole")
    bad: dict[str, Any] = {option: (innocent,)}
    truth = simulate(kind, tmp_path / "job", ranks=64, entries=400, **bad)
    report = triage.analyze(tmp_path / "job")
    assert convicted(report) == set(truth.culprit_ranks)
    coverage = report.answer.coverage
    listed = [*coverage.partial, *coverage.unreadable]
    assert innocent in coverage.ranks_without_dump or any(
        one.artifact.endswith(f"_{innocent}") for one in listed
    )
