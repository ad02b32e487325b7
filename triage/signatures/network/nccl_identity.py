"""Who is who: the lines in which libraries tell rank, GPU, process and world size.

NCCL's ``rank`` counts within the communicator that the line opens: it is the
global rank only where ``nranks`` is the world size. ``busId 9b000`` is the PCI
address ``0000:9b:00.0`` without its marks and leading zeros.
"""

import re
from collections.abc import Sequence

from triage.domain.evidence import Blame, Kind
from triage.signatures.family import Family
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES", "gpu_of_bus"]


def gpu_of_bus(bus: str) -> str | None:
    """``9b000`` as ``0000:9b:00``; None where it is no such number."""
    digits = bus.lower().removeprefix("0x")
    # Newer libraries print a device index at this place.
    if not 4 <= len(digits) <= 9 or re.fullmatch(r"[0-9a-f]+", digits) is None:
        return None
    digits = digits.zfill(9)
    return f"{digits[:4]}:{digits[4:6]}:{digits[6:8]}"


def with_gpu(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The printed bus id in the form of this house."""
    return Reading(gpu=gpu_of_bus(match["bus"]) if match["bus"] else None)


IDENTITY = Family("identity", Kind.IDENTITY)

IDENTITY.noise(
    "nccl_comm",
    r"comm (?P<comm>0x[0-9a-f]{1,16}) rank (?P<rank>\d{1,7}) nranks (?P<nranks>\d{1,7})"
    r"(?: cudaDev (?P<cuda_device>\d{1,3}))?(?: nvmlDev (?P<nvml_device>\d{1,3}))?"
    r"(?: busId (?P<bus>[0-9a-f]{1,16}))?(?: (?:commId|commHash) (?P<comm_id>0x[0-9a-f]{1,16}))?"
    r".{0,160}?- Init (?P<phase>START|COMPLETE)",
    literals=("init complete", "init start"),
    matches=(
        "NCCL INFO ncclCommInitRank comm 0x55aa rank 9 nranks 16 cudaDev 1 nvmlDev 1 busId 9b000"
        " commId 0x8fe1 - Init START",
        "NCCL INFO comm 0x55aa rank 0 nranks 2 cudaDev 0 busId 1000 - Init COMPLETE",
        "ncclCommSplit comm 0x7f01 rank 1 nranks 4 cudaDev 5 nvmlDev 5 busId bb000 parent 0x55aa"
        " splitCount 1 color 7 key 1- Init COMPLETE",
    ),
    near_misses=("NCCL INFO Init timings - ncclCommInitRank: rank 3 nranks 8 total 1.2",),
    source="NCCL: init.cc",
    each=True,
    read=with_gpu,
)
IDENTITY.noise(
    "nccl_address",
    r"(?:Bootstrap ?: Using |NET/Socket : Using \[0\]|; OOB )\[?\d{0,2}\]?"
    r"(?P<interface>[\w.-]{1,32}):"
    r"(?P<address>\[?[0-9a-fA-F.:]{3,45}\]?)<\d{1,5}>",
    literals=("bootstrap : using", "bootstrap: using", "net/socket : using", "; oob "),
    matches=(
        "NCCL INFO Bootstrap : Using eth0:10.0.0.3<0>",
        "NCCL INFO Bootstrap: Using ibp3s0:10.0.0.3<0>",
        "NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB bond0:10.4.1.9<0>",
        "NCCL INFO NET/Socket : Using [0]ens7:172.16.0.4<0>",
    ),
    near_misses=("NCCL INFO NET/Plugin : no plugin found", "Bootstrap : no socket interface found"),
    source="NCCL: bootstrap.cc, transport/net_ib.cc",
)
IDENTITY.noise(
    "nccl_channel",
    r"Channel (?P<channel>\d{1,4})(?:/\d{1,4})? ?: ?"
    r"(?P<from_rank>\d{1,7})\[(?P<from_bus>[0-9a-f]{1,12})\]"
    r" -> (?P<to_rank>\d{1,7})\[(?P<to_bus>[0-9a-f]{1,12})\]"
    r"(?: \[(?:send|receive)\])?(?: via (?P<via>\S{1,64}))?",
    literals=(" via p2p/", " via net/", " via shm"),
    matches=(
        "NCCL INFO Channel 01 : 2[3b000] -> 1[61000] via P2P/IPC/read",
        "Channel 15/0 : 0[94000] -> 1[1000] [send] via NET/Socket/7",
        "Channel 00/1 : 3[3] -> 12[4] [send] via NET/IB/2/GDRDMA",
    ),
    near_misses=("Connected all rings",),
    source="NCCL: transport/net.cc, p2p.cc",
    quiet=True,
)
IDENTITY.noise(
    "deepspeed_map",
    r"global_rank_mapping=[^{]{0,80}\{(?P<mapping>[^{}]{1,4000})\}",
    literals=("global_rank_mapping=",),
    matches=("global_rank_mapping=defaultdict(<class 'list'>, {'n0': [0, 1], 'n1': [2, 3]})",),
    near_misses=("global_rank_mapping is empty",),
    source="DeepSpeed: launcher/launch.py",
    each=True,
)
IDENTITY.noise(
    "elastic_ranks",
    r"global_ranks=\[(?P<global_ranks>[\d, ]{1,4000})\]",
    literals=("global_ranks=[",),
    matches=("  global_ranks=[8, 9, 10, 11]",),
    near_misses=("  local_ranks=[0, 1, 2, 3]",),
    source="PyTorch: elastic/agent/server/api.py",
    each=True,
)
IDENTITY.noise(
    "elastic_store",
    r"master_addr=(?P<store>[\w.:-]{1,256})",
    literals=("master_addr=",),
    matches=("  master_addr=n0.cluster",),
    near_misses=("master_port=29500",),
    source="PyTorch: elastic/agent/server/api.py",
    blame=Blame.NOBODY,
)
IDENTITY.noise(
    "framework_rank",
    r"GLOBAL_RANK: (?P<rank>\d{1,7}), MEMBER: \d{1,7}/(?P<world_size>\d{1,7})"
    r"|distributed init \(rank (?P<init_rank>\d{1,7})\)"
    r"|Process rank: (?P<process_rank>\d{1,7}), device: cuda:(?P<cuda_device>\d{1,3})"
    r"|store_based_barrier_key:\S{1,40} to store for rank: (?P<store_rank>\d{1,7})"
    r"|Rank (?P<barrier_rank>\d{1,7}): Completed store-based barrier .{0,80}? with"
    r" (?P<nodes>\d{1,7}) nodes",
    literals=(
        "global_rank: ",
        "distributed init (rank",
        "process rank: ",
        "store_based_barrier_key:",
        "completed store-based barrier",
    ),
    matches=(
        "Initializing distributed: GLOBAL_RANK: 3, MEMBER: 4/16",
        "| distributed init (rank 5): env://",
        "Process rank: 2, device: cuda:2, n_gpu: 1, distributed training: True",
    ),
    near_misses=("global rank of the writer: 3",),
    source="Lightning, torchvision, transformers, PyTorch",
    each=True,
    read=lambda match, _after: Reading(
        fields={
            "rank": next(
                match[name]
                for name in ("rank", "init_rank", "process_rank", "store_rank", "barrier_rank")
                if match[name]
            )
        }
    ),
)

SIGNATURES = IDENTITY.signatures()
