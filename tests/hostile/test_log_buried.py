# ruff: noqa: E501 - a log line is as long as it is
"""One line says why; thousands of other ranks say what follows. The answer is the one line's."""

from pathlib import Path

import pytest

import triage
from tests.hostile.log_incident import glog, job_json, stamp, write

NODES = tuple(f"n{k}" for k in range(64))
PER_NODE = 8
WORLD = len(NODES) * PER_NODE
NODE, RANK = "n37", 37 * PER_NODE + 3
HOST = f"{stamp(0)} {NODE}"

# What was printed, whom it names, and how the answer reads it.
ROOTS = {
    "xid-79": (
        [f"{HOST} kernel: NVRM: Xid (PCI:0000:13:00): 79, pid=4010, name=python3, GPU has fallen off the bus."],
        "gpu",
    ),
    "oom-kill": (
        [
            f"{HOST} kernel: python3 invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0",
            f"{HOST} kernel: Out of memory: Killed process 4010 (python3) total-vm:912345678kB, anon-rss:512345678kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:1000kB oom_score_adj:0",
        ],
        "host_oom",
    ),
    "traceback": (
        [
            f"[rank{RANK}]: Traceback (most recent call last):",
            f'[rank{RANK}]:   File "/opt/train/loop.py", line 214, in step',
            f"[rank{RANK}]:     labels = batch['labels']",
            f"[rank{RANK}]: KeyError: 'labels'",
        ],
        "software_user",
    ),
    "nic": (
        [
            f"{NODE}:4010:4099 [3] misc/ibvwrap.cc:83 NCCL WARN NET/IB : mlx5_3:1 Got async event : local catastrophic error"
        ],
        "nic",
    ),
}  # fmt: skip


def follows(k: int) -> str:
    """What rank ``k``, one of the others, says at the end of its patience."""
    rank = k % (WORLD - 1)
    rank += rank >= RANK
    shapes = (
        f"[rank{rank}]:[{glog(600 + k / 10_000)} ProcessGroupNCCL.cpp:685] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=812, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.",
        f"[rank{rank}]:[{glog(601 + k / 10_000)} ProcessGroupNCCL.cpp:620] [Rank {rank}] Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data.",
        f"{NODES[rank // PER_NODE]}:{4000 + rank}:1 [{rank % PER_NODE}] NCCL WARN socketProgress: Connection closed by remote peer {NODE}<50123>",
        f"W1121 03:14:18.000000 77 torch/distributed/elastic/multiprocessing/api.py:900] Sending process {4000 + rank} closing signal SIGTERM",
        f"[rank{rank}]: torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error",
    )
    return shapes[k // (WORLD - 1) % len(shapes) if k >= WORLD - 1 else 0]


def placement_lines() -> list[str]:
    return [
        f"{NODES[rank // PER_NODE]}:{4000 + rank}:{5000 + rank} [{rank % PER_NODE}] NCCL INFO ncclCommInitRank comm 0x55aa{rank:04x} rank {rank} nranks {WORLD} cudaDev {rank % PER_NODE} nvmlDev {rank % PER_NODE} busId {16 + rank % PER_NODE:x}000 commId 0x8fe1d2 - Init COMPLETE"
        for rank in range(WORLD)
    ]


@pytest.mark.parametrize(
    ("place", "count"),
    [
        *[(place, count) for place in ("first", "middle", "last") for count in (1, 100)],
        # Most of them before it, and enough behind it.
        ("late", 16_383),
    ],
)
@pytest.mark.parametrize("kind", ROOTS)
def test_the_one_line_is_found(kind: str, place: str, count: int, tmp_path: Path) -> None:
    lines, category = ROOTS[kind]
    others = [follows(k) for k in range(count)]
    at = {"first": 0, "middle": count // 2, "late": count * 3 // 4, "last": count}[place]
    text = "\n".join([*placement_lines(), *others[:at], *lines, *others[at:]]) + "\n"
    facts = job_json(world_size=WORLD, gpus_per_node=PER_NODE, nodes=NODES, gpu_bus_ids={})
    answer = triage.analyze(write(tmp_path, {"job.log": text, "job.json": facts})).answer
    assert answer.verdict.category == category, answer.verdict.summary
    best = answer.suspects[0]
    assert (best.node, best.role) == (NODE, "culprit"), answer.verdict.summary
    assert kind != "traceback" or best.ranks == (RANK,)
    assert [one.node for one in answer.suspects if one.role == "culprit"] == [NODE]
    assert set(answer.verdict.cordon) <= {NODE}
