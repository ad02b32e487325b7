"""NCCL's operations as NCCL writes them."""

from typing import Final

_NAMES: Final = {
    "allreduce": "AllReduce",
    "allgather": "AllGather",
    "reducescatter": "ReduceScatter",
    "broadcast": "Broadcast",
    "reduce": "Reduce",
    "alltoall": "AllToAll",
    "send": "Send",
    "recv": "Recv",
    "sendrecv": "SendRecv",
    "all": "operations",
}


def normalize_operation(operation: str) -> str:
    """``AllReduce`` of ``allreduce``; any other word as it is."""
    return _NAMES.get(operation, operation)
