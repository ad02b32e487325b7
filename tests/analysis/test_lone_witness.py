"""A file is missing beside the fault: the only witness is gone, and no innocent is convicted."""

from pathlib import Path

import pytest

import triage
from simulator import simulate

RANKS = 8
# Faults between two ranks, one of which may have left no file.
OF_TWO = ("mismatch-pair", "mismatch-tie", "p2p-wrong-peer", "p2p-missing-send", "p2p-size")


def convicted(report: triage.Report) -> set[int]:
    return {
        rank
        for suspect in report.answer.suspects
        if suspect.role == "culprit"
        for rank in suspect.ranks
    }


@pytest.mark.parametrize("option", ["missing", "cut", "empty"])
@pytest.mark.parametrize("kind", OF_TWO)
def test_any_innocent_file_may_be_bad(kind: str, option: str, tmp_path: Path) -> None:
    """The guilty is still found, or nobody is named; whichever file it is."""
    for innocent in range(RANKS):
        folder = tmp_path / str(innocent)
        truth = simulate(kind, folder, ranks=RANKS, entries=400, seed=3, **{option: (innocent,)})
        if innocent in (*truth.culprit_ranks, *truth.possible_ranks):
            continue
        report = triage.analyze(folder)
        assert convicted(report) <= set(truth.culprit_ranks), report.answer.verdict.summary
        assert report.answer.verdict.category == "collective_mismatch"


@pytest.mark.parametrize("kind", ["mismatch-tie", "mismatch-pair"])
def test_the_other_end_of_a_tie_is_no_crash(kind: str, tmp_path: Path) -> None:
    """One of the two that disagree left no file: the pair is named, and no process is gone."""
    told = simulate(kind, tmp_path / "whole", ranks=RANKS, entries=400)
    pair = set(told.possible_ranks) or set(told.culprit_ranks)
    for gone in pair:
        folder = tmp_path / str(gone)
        simulate(kind, folder, ranks=RANKS, entries=400, missing=(gone,))
        report = triage.analyze(folder)
        assert convicted(report) <= ({gone} if kind == "mismatch-pair" else set())


@pytest.mark.parametrize("culprit", range(RANKS))
def test_a_rank_that_is_gone_is_still_convicted(culprit: int, tmp_path: Path) -> None:
    """Beside a process that died, everybody waits in what is usual there."""
    simulate("no-dump", tmp_path / "job", ranks=RANKS, entries=400, culprit=culprit)
    report = triage.analyze(tmp_path / "job")
    assert convicted(report) == {culprit}
    assert report.answer.verdict.kind == "crash"


def test_a_rank_that_is_gone_early_is_still_convicted(tmp_path: Path) -> None:
    """Where all operations are new to everybody, the first of a group is not odd."""
    for culprit in range(RANKS):
        folder = tmp_path / str(culprit)
        simulate("no-dump", folder, ranks=RANKS, entries=40, culprit=culprit)
        assert convicted(triage.analyze(folder)) == {culprit}
