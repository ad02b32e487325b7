"""Ranks and nodes from names, in every habit that was met."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.spent import spent_s
from triage.parsers.flight_recorder.naming import may_be_dump as named
from triage.parsers.flight_recorder.naming import parse_node, rank_in_name


@pytest.mark.parametrize(
    ("artifact", "rank"),
    [
        ("comm_lib_trace_rank_0", 0),
        ("comm_lib_trace_rank_12", 12),
        ("nccl_trace_rank_16383", 16_383),
        ("nccl_trace_rank_gpu07_5", 5),
        ("nccl_trace_rank_node-3.cluster.example_5", 5),
        ("_dump_3", 3),
        ("_dump_3.json", 3),
        ("_dump_3.json.gz", 3),
        ("comm_lib_trace_rank_7.pkl.zst", 7),
        ("comm_lib_trace_rank_7.PKL.GZ", 7),
        ("trace_rank_4.bak.gz", 4),
        ("fr_trace_rank_6.json", 6),
        ("rank5.pickle", 5),
        ("rank_0007", 7),
        ("0", 0),
        ("dumps/nodes/n-17/comm_lib_trace_rank_9", 9),
        ("job-2231/rank_3_of_it", 3),
        ("comm_lib_trace_rank_3 (copy)", 3),
        ("a.tar/inner/nccl_trace_rank_2", 2),
        ("rank_" + "0" * 250, 0),
        ("rank_" + "0" * 5000, 0),
        ("rank_9999999", 9_999_999),
        # no rank
        ("rank_12345678", None),
        ("rank_" + "9" * 5000, None),
        ("comm_lib_trace_rank_", None),
        ("rank_seven", None),
        ("rank_\u0667", None),
        ("job-2231/trace", None),
        ("", None),
        (".gz", None),
    ],
)
def test_the_rank_is_the_last_number_of_the_stem(artifact: str, rank: int | None) -> None:
    assert rank_in_name(artifact) == rank


@pytest.mark.parametrize(
    ("artifact", "node"),
    [
        ("nodes/n-17/comm_lib_trace_rank_9", "n-17"),
        ("job/nodes/gpu07/fr/nccl_trace_rank_9.gz", "gpu07"),
        ("nccl_trace_rank_gpu07_5", "gpu07"),
        ("comm_lib_trace_rank_node-3.cluster_12.pkl", "node-3.cluster"),
        ("x/nodes/a/nodes/b/rank_1", "a"),
        # near misses
        ("comm_lib_trace_rank_12", None),
        ("nodes/rank_1", None),
        ("n-17/comm_lib_trace_rank_9", None),
        ("nccl_trace_rank_07_5", None),
        ("nccl_trace_rank_gpu07", None),
        ("nodes_old/a/rank_1", None),
        ("", None),
    ],
)
def test_the_node_is_the_folder_below_nodes_or_the_host_before_the_rank(
    artifact: str, node: str | None
) -> None:
    assert parse_node(artifact) == node


@pytest.mark.parametrize(
    ("artifact", "is_one"),
    [
        ("comm_lib_trace_rank_3", True), ("nccl_trace_rank_h_3.gz", True),
        ("_dump_3.json.gz", True),
        ("a/b/RANK7.pkl", True), ("fr_trace_12.json.zst", True), ("rank_\u0663", True),
        ("kern.log.3", False), ("core.12", False), ("rank_3.log", False), ("rank_", False),
        ("trace/out.3", False), ("3", False), ("", False), ("trace.json", False),
    ],
)  # fmt: skip
def test_a_file_is_named_like_a_dump_or_not(artifact: str, is_one: bool) -> None:
    assert named(artifact) == is_one


@pytest.mark.parametrize("part", ["1", "rank_1", ".gz", "rank", "1a", "_", "nodes/"])
def test_a_name_of_a_path_s_length_costs_nothing(part: str) -> None:
    name = (part * 255)[:255] + "x"

    def ask() -> None:
        for _ in range(20):
            rank_in_name(name), parse_node(name), named(name)

    assert spent_s(ask, 1.0) < 1


@given(st.text(max_size=300))
def test_no_name_fails(name: str) -> None:
    rank = rank_in_name(name)
    parse_node(name)
    named(name)

    assert rank is None or 0 <= rank < 10_000_000
