"""Ranks without a dump: who of them stands when they explain each other; many are a gap."""

import random
from pathlib import Path
from typing import Any

import pytest

from simulator import simulate
from triage import analyze
from triage.analysis.detectors.no_dump import find_unexplained


def by_the_rule(explained_by: dict[int, set[int]]) -> list[int]:
    """As the rule says it, one end after the other."""
    return [
        end
        for end, others in explained_by.items()
        if all(other in explained_by and end in explained_by[other] for other in others)
    ]


@pytest.mark.parametrize("seed", range(40))
def test_bits_keep_the_rule(seed: int) -> None:
    chance = random.Random(seed)
    num_ends = chance.randint(1, 14)
    absent = chance.sample(range(num_ends), chance.randint(1, num_ends))
    clique = set(chance.sample(range(num_ends), chance.randint(1, num_ends)))
    explained_by = {
        end: (clique if chance.random() < 0.5 else set(chance.sample(range(num_ends), 1))) - {end}
        if chance.random() < 0.8
        else set[int]()
        for end in absent
    }
    bits = {end: sum(1 << other for other in others) for end, others in explained_by.items()}
    assert find_unexplained(bits) == by_the_rule(explained_by)


def test_the_rule_tells_apart() -> None:
    assert find_unexplained({0: 0b110, 1: 0b101, 2: 0b011}) == [0, 1, 2]
    assert find_unexplained({0: 0b10, 1: 0}) == [1]
    assert find_unexplained({0: 0b100}) == []


def test_files_that_have_not_come_yet_are_nobodys_fault(tmp_path: Path) -> None:
    """Of 2,048 ranks the files of 13 nodes are in: a gap, not a thousand suspects."""
    simulate("host-stall", tmp_path, ranks=2048, culprit=700, seed=5, layout="nodes", entries=20)
    nodes = sorted((tmp_path / "nodes").iterdir())
    random.Random(1).shuffle(nodes)
    for node in nodes[13:]:
        for file in node.iterdir():
            file.unlink()
    report = analyze(tmp_path).to_dict()
    assert report["verdict"]["kind"] == "inconclusive"
    assert report["suspects"] == []


def without(folder: Path, *ranks: int) -> dict[str, Any]:
    """The answer on a folder once the dumps of some ranks are gone."""
    for rank in ranks:
        (folder / "fr" / f"comm_lib_trace_rank_{rank}").unlink()
    return analyze(folder).to_dict()


def convicted(report: dict[str, Any]) -> list[list[int]]:
    return [one["ranks"] for one in report["suspects"] if one["role"] == "culprit"]


def test_one_missing_file_of_an_operation_that_all_others_entered_convicts_nobody(
    tmp_path: Path,
) -> None:
    simulate("fabric-stall", tmp_path, ranks=16, tp=1, pp=1, seed=3, entries=200)
    report = without(tmp_path, 5)
    assert convicted(report) == []
    assert report["coverage"]["ranks_without_dump"] == [5]


def test_a_missing_rank_that_several_places_wait_for_is_convicted(tmp_path: Path) -> None:
    simulate("no-dump", tmp_path, ranks=16, tp=4, pp=1, culprit=6, seed=3, entries=200)
    assert convicted(analyze(tmp_path).to_dict()) == [[6]]


def test_files_that_got_lost_elsewhere_make_a_missing_rank_possible(tmp_path: Path) -> None:
    simulate("no-dump", tmp_path, ranks=16, tp=4, pp=1, culprit=6, seed=3, entries=200)
    report = without(tmp_path, 9, 12)
    assert convicted(report) == []
    assert [6] in [one["ranks"] for one in report["suspects"]]


@pytest.mark.parametrize("mapped", [True, False])
def test_missing_ranks_of_one_node_are_one_of_them(tmp_path: Path, mapped: bool) -> None:
    """The node, by way of any of them; without a map of the nodes, nobody."""
    simulate(
        "no-dump", tmp_path, ranks=32, tp=4, pp=1, culprit=6, seed=3, entries=200, job_json=mapped
    )
    report = without(tmp_path, 4, 5, 7)
    suspects = {rank for one in report["suspects"] for rank in one["ranks"]}
    assert suspects == {4, 5, 6, 7}
    assert report["verdict"]["summary"].startswith("One of ranks ")
    nodes = {one["node"] for one in report["suspects"] if one["role"] == "culprit"}
    assert (nodes == {None} or not nodes) is not mapped


def test_files_missing_on_many_nodes_are_listed_and_name_nobody(tmp_path: Path) -> None:
    simulate("fabric-stall", tmp_path, ranks=64, tp=1, pp=1, seed=3, entries=200)
    lost = [3, 9, 18, 30, 41, 63]
    report = without(tmp_path, *lost)
    assert report["suspects"] == []
    assert report["coverage"]["ranks_without_dump"] == lost


def test_a_node_that_left_nothing_is_told_from_files_lost_one_by_one(tmp_path: Path) -> None:
    """All eight of n0's files are gone, and one of another node: that one got lost."""
    simulate("no-dump", tmp_path, ranks=64, tp=8, pp=1, culprit=6, seed=3, entries=200)
    report = without(tmp_path, 0, 1, 2, 3, 4, 5, 7, 42)
    assert set(report["suspects"][0]["ranks"]) <= set(range(8))
    assert not any(42 in ranks for ranks in convicted(report))
    [node] = {one["node"] for one in report["suspects"] if one["role"] == "culprit"}
    assert node == report["suspects"][0]["node"]


def test_where_every_second_file_is_lost_a_whole_node_is_chance(tmp_path: Path) -> None:
    simulate("no-dump", tmp_path, ranks=32, tp=8, pp=1, culprit=6, seed=3, entries=200)
    report = without(tmp_path, 0, 1, 2, 3, 4, 5, 7, *range(8, 32, 2))
    assert convicted(report) == []


def test_a_small_node_may_lose_all_of_its_files_by_chance(tmp_path: Path) -> None:
    """Of nodes of two ranks every other file is lost: that one has none is no sign."""
    simulate("no-dump", tmp_path, ranks=16, tp=4, pp=1, culprit=6, seed=3, entries=200,
             gpus_per_node=4)  # fmt: skip
    report = without(tmp_path, 4, 5, 7, 0, 1, 8, 9, 12, 13, 14)
    assert convicted(report) == []
