"""The condensed wait-for graph: what its boxes are, and how many ranks an arrow stands for."""

from pathlib import Path

import pytest

import triage
from simulator import simulate
from triage.domain.report import Waits


def waits_of(tmp_path: Path, kind: str, culprit: int) -> Waits:
    simulate(kind, tmp_path / "job", ranks=64, seed=13, culprit=culprit, entries=200)
    return triage.analyze(tmp_path / "job").answer.waits


def test_a_rank_alone_in_its_operation_is_one_box_for_which_others_wait(tmp_path: Path) -> None:
    waits = waits_of(tmp_path, "device-stall", 44)
    (culprit,) = [node for node in waits.nodes if node.kind == "culprit"]
    assert culprit.ranks == (44,)
    assert culprit.detail == "1 rank, 1 group"
    assert any(edge.target == culprit.key for edge in waits.edges)


def test_who_issues_nothing_is_a_box_of_its_own(tmp_path: Path) -> None:
    waits = waits_of(tmp_path, "host-stall", 44)
    (culprit,) = [node for node in waits.nodes if node.kind == "culprit"]
    assert (culprit.key, culprit.ranks) == ("rank 44", (44,))
    assert any(edge.target == culprit.key for edge in waits.edges)


@pytest.mark.parametrize("kind", ["device-stall", "host-stall", "no-dump", "mismatch-size"])
def test_an_arrow_counts_each_rank_once(tmp_path: Path, kind: str) -> None:
    waits = waits_of(tmp_path, kind, 17)
    ranks = {node.key: len(node.ranks) for node in waits.nodes}
    assert waits.edges
    assert all(0 < edge.num_ranks <= ranks[edge.source] for edge in waits.edges)
