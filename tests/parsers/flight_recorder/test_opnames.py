"""The names of operations, and those that only look like them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.parsers.flight_recorder.opnames import parse_op_name
from triage.parsers.flight_recorder.reduce import (
    COLLECTIVE_CLOSER,
    P2P_CLOSER,
    RECV,
    ROOTED,
    SEND,
    SYNC,
)


@pytest.mark.parametrize(
    ("text", "backend", "op", "kind"),
    [
        ("nccl:all_reduce", "nccl", "all_reduce", SYNC),
        ("nccl:all_reduce_barrier", "nccl", "all_reduce_barrier", SYNC),
        ("gloo:barrier", "gloo", "barrier", SYNC),
        ("nccl:_all_gather_base", "nccl", "_all_gather_base", SYNC),
        ("nccl:_reduce_scatter_base", "nccl", "_reduce_scatter_base", SYNC),
        ("xccl:all_to_all", "xccl", "all_to_all", SYNC),
        ("ncclx:all_gather_single", "ncclx", "all_gather_single", SYNC),
        ("nccl:all_gather_into_tensor_coalesced", "nccl", "all_gather_into_tensor_coalesced", SYNC),
        ("nccl:broadcast", "nccl", "broadcast", ROOTED),
        ("nccl:_broadcast_oop", "nccl", "_broadcast_oop", ROOTED),
        ("rccl:reduce", "rccl", "reduce", ROOTED),
        ("gloo:scatter", "gloo", "scatter", ROOTED),
        ("gloo:gather", "gloo", "gather", ROOTED),
        ("nccl:send 0->1", "nccl", "send", SEND),
        ("nccl:recv 3<-0", "nccl", "recv", RECV),
        ("nccl:send", "nccl", "send", SEND),
        ("nccl:recv", "nccl", "recv", RECV),
        ("nccl:coalesced", "nccl", "coalesced", P2P_CLOSER),
        ("nccl:ALLGATHER_coalesced", "nccl", "ALLGATHER_coalesced", COLLECTIVE_CLOSER),
        ("nccl:REDUCE_SCATTER_coalesced", "nccl", "REDUCE_SCATTER_coalesced", COLLECTIVE_CLOSER),
        # near misses
        ("nccl:coalesced_all_reduce", "nccl", "coalesced_all_reduce", SYNC),
        ("nccl:allreduce_coalesced", "nccl", "allreduce_coalesced", SYNC),
        ("nccl:_coalesced", "nccl", "_coalesced", SYNC),
        ("nccl:reduce_scatter", "nccl", "reduce_scatter", SYNC),
        ("nccl:sendrecv", "nccl", "sendrecv", SYNC),
        ("nccl:broadcast_object", "nccl", "broadcast_object", SYNC),
        ("nccl:all_reduce ", "", "nccl:all_reduce ", SYNC),
        ("nccl:send 0 -> 1", "", "nccl:send 0 -> 1", SYNC),
        ("nccl:send 0->", "", "nccl:send 0->", SYNC),
        ("nccl: all_reduce", "", "nccl: all_reduce", SYNC),
        ("all_reduce", "", "all_reduce", SYNC),
        (":all_reduce", "", ":all_reduce", SYNC),
        ("nccl:", "", "nccl:", SYNC),
        ("", "", "", SYNC),
        ("a:b:c", "a", "b:c", SYNC),
    ],
)
def test_a_name_is_taken_apart(text: str, backend: str, op: str, kind: int) -> None:
    name = parse_op_name(text)

    assert (name.backend, name.op, name.kind) == (backend, op, kind)


@pytest.mark.parametrize(
    ("text", "own", "peer"),
    [
        ("nccl:send 1->2", 1, 2),
        ("nccl:recv 3<-0", 3, 0),
        ("nccl:send 0->0", 0, 0),
        ("nccl:send 16383->999999999", 16_383, 999_999_999),
        ("nccl:send", -1, -1),
        ("nccl:send 1->9999999999", -1, -1),
        ("nccl:all_reduce", -1, -1),
    ],
)
def test_the_ranks_of_a_send_are_read(text: str, own: int, peer: int) -> None:
    name = parse_op_name(text)

    assert (name.own, name.peer) == (own, peer)


@pytest.mark.parametrize(
    ("op", "uneven"),
    [
        ("all_to_all", True), ("alltoall_base", True), ("gather", True), ("scatter", True),
        ("reduce_scatter", True), ("all_gather", True), ("all_gather_v", True),
        ("_all_gather_base", False), ("_reduce_scatter_base", False),
        ("all_gather_into_tensor", False), ("all_reduce", False), ("broadcast", False),
    ],
)  # fmt: skip
def test_it_is_known_which_operations_may_differ_in_size(op: str, uneven: bool) -> None:
    assert parse_op_name(f"nccl:{op}").uneven == uneven


@given(st.text(max_size=200))
def test_no_text_fails(text: str) -> None:
    name = parse_op_name(text)

    assert len(name.op) <= 120
    assert -1 <= name.own < 10**9
