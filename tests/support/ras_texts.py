"""Reports of NCCL RAS on made-up jobs, as text and as JSON, and the log of such a job."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

NAMES = ("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce")
HEAD = """NCCL version {version} compiled with CUDA 12.9
CUDA runtime version 12090, driver version 12090

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      {nodes}          {per_node}            1          {ranks}        {ranks}

Communicators... (0.01s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1 {nodes:9} {per_node:9} {ranks:9} {ranks:9}   RUNNING  {errors:>8}

Errors
======

Warnings
========

"""
Counts = Sequence[Mapping[str, int]]


def behind(rank: int, *, ranks: int = 8, at: int = 5000, by: int = 1) -> list[dict[str, int]]:
    """``AllReduce`` launched by each rank: one is ``by`` behind."""
    return [{"AllReduce": at - by * (one == rank)} for one in range(ranks)]


def ras_json(counts: Counts, at: str, *, per_node: int = 4, net: str = "10.4.7") -> str:
    """What ``ncclras -f json`` prints of one communicator of all ranks."""
    running = {"init_state": 0, "async_error": 0, "finalize_called": False,
               "destroy_flag": False, "abort_flag": False}  # fmt: skip
    ranks = [
        {
            "rank": rank, "host": f"{net}.{11 + rank // per_node}", "pid": 4000 + rank,
            "cuda_dev": rank % per_node, "nvml_dev": rank % per_node, "status": running,
            "collective_counts": {name: launched.get(name, 0) for name in NAMES},
        }
        for rank, launched in enumerate(counts)
    ]  # fmt: skip
    one = {"hash": "0x5e2b7741c09fd3af", "secondary_hash": "0x13:0x1", "size": len(ranks),
           "ranks_count": len(ranks), "missing_ranks_count": 0, "ranks": ranks,
           "missing_ranks": []}  # fmt: skip
    return json.dumps(
        {"nccl_version": "2.29.7", "cuda_runtime_version": 13000, "cuda_driver_version": 13000,
         "timestamp": at, "communicators_count": 1, "communicators": [one],
         "ras": {"collection_time_sec": 0.01, "timeouts_count": 0}},
        indent=2,
    )  # fmt: skip


def ras_text(
    counts: Counts, *, per_node: int = 4, net: str = "10.4.7", version: str = "2.27.7"
) -> str:
    """What ``ncclras`` prints of it; an operation in which ranks differ has a block."""
    ranks = len(counts)
    blocks = []
    for name in NAMES:
        launched = [one.get(name, 0) for one in counts]
        levels = sorted(set(launched))
        if len(levels) < 2:
            continue
        text = f"  Communicator ranks have different {name} operation counts\n"
        for level in sorted(levels, key=lambda one: -launched.count(one)):
            mine = [rank for rank in range(ranks) if launched[rank] == level]
            if len(mine) > 1:
                text += f"  {len(mine)} ranks have launched up to operation {level}\n"
                if len(mine) > ranks // 4:
                    continue
            for rank in mine:
                text += (
                    f"  {'  ' * (len(mine) > 1)}Rank {rank}"
                    + (f" has launched up to operation {level}" if len(mine) == 1 else "")
                    + f" -- GPU {rank % per_node} managed by process {4000 + rank} on node"
                    f" {net}.{11 + rank // per_node}\n"
                )
        blocks.append(text)
    head = HEAD.format(version=version, nodes=-(-ranks // per_node), per_node=per_node,
                       ranks=ranks, errors="MISMATCH" if blocks else "OK")  # fmt: skip
    return head + ("#0-0 (5e2b7741c09fd3af) MISMATCH\n" + "\n".join(blocks) if blocks else "")


def steps_text(
    last: str, *, count: int = 40, each_s: float = 2.0, line: str = "[{at}] iteration {step}/9000"
    " | elapsed time per iteration (ms): 2000.0 | lm loss: 2.2", form: str = "%Y-%m-%d %H:%M:%S",
) -> str:  # fmt: skip
    """A job log whose last step was printed at ``last``; ``line`` may print no time."""
    end = datetime.fromisoformat(last)
    return "".join(
        line.format(at=(end - timedelta(seconds=each_s * (count - 1 - k))).strftime(form), step=k)
        + "\n"
        for k in range(count)
    )
