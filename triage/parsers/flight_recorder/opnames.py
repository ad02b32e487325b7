"""Operation names as the recorder writes them: ``backend:op``, and for p2p the ranks.

``nccl:all_reduce``, ``nccl:send 1->2``, ``nccl:recv 3<-0`` (numbers are ranks
within the group, own rank first), ``nccl:coalesced``. Unknown names are kept and
taken for collectives that all members enter.
"""

from dataclasses import dataclass
from functools import lru_cache

from triage.domain.patterns import compile_re
from triage.domain.rank_digest import ANY_SOURCE
from triage.parsers.flight_recorder.reduce import (
    COLLECTIVE_CLOSER,
    P2P_CLOSER,
    RECV,
    ROOTED,
    SEND,
    SYNC,
)

# "nccl:send 0->2", "gloo:all_reduce", "nccl:recv 3<-0"
_NAME = compile_re(r"([^:]{1,40}):(\S{1,120})(?: (\d{1,9})(->|<-)(\d{1,9}|\?))?")
# "ALLGATHER_coalesced": the closing entry of a coalesced block of collectives
_COLLECTIVE_BLOCK = compile_re(r"[A-Z][A-Z_]*_coalesced")
_ROOTED_OPS = frozenset(
    {"broadcast", "_broadcast_oop", "reduce", "_reduce_oop", "scatter", "gather"}
)
# Members may pass different sizes by right: split sizes and roots.
_UNEVEN_OPS = compile_re(
    r"all_?to_?all|alltoall|scatter$|gather$|_v$|^reduce_scatter$|^all_gather$|^new_window$|^split$"
)
_EVEN_OPS = frozenset({"_all_gather_base", "_reduce_scatter_base", "all_gather_into_tensor"})


@dataclass(frozen=True, slots=True)
class OpName:
    """One parsed ``profiling_name``; ``own`` and ``peer`` are group ranks, -1 when absent; of a
    receive from whoever sends, the peer is ``ANY_SOURCE``.
    """

    backend: str
    op: str
    kind: int
    own: int = -1
    peer: int = -1
    uneven: bool = False


@lru_cache(maxsize=65_536)
def parse_op_name(text: str) -> OpName:
    """``text`` taken apart; never fails."""
    match = _NAME.fullmatch(text)
    if match is None:
        return OpName("", text[:120], SYNC)
    backend, op, own, arrow, peer = match.groups()
    if op == "coalesced":
        return OpName(backend, op, P2P_CLOSER)
    if _COLLECTIVE_BLOCK.fullmatch(op):
        return OpName(backend, op, COLLECTIVE_CLOSER)
    if arrow is not None or op in ("send", "recv"):
        kind = RECV if arrow == "<-" or (arrow is None and op == "recv") else SEND
        return OpName(
            backend, op, kind, int(own or -1), ANY_SOURCE if peer == "?" else int(peer or -1)
        )
    if op in _EVEN_OPS:
        return OpName(backend, op, SYNC)
    kind = ROOTED if op in _ROOTED_OPS else SYNC
    return OpName(backend, op, kind, uneven=_UNEVEN_OPS.search(op) is not None)
