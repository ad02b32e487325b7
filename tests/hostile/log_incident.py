"""A small incident in logs alone: a GPU of n2 falls off the bus under 16 ranks on four nodes.

Every test of hostile logs starts from these files, adds or changes some, and looks
whether the answer is still the same.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import triage

NODES = ("n0", "n1", "n2", "n3")
PER_NODE = 4
WORLD = len(NODES) * PER_NODE
BUSES = ("0000:1b:00", "0000:3d:00", "0000:5d:00", "0000:bb:00")
STOP = datetime(2026, 11, 21, 3, 4, 15, tzinfo=UTC)
GUILTY, GUILTY_RANK = "n2", 10

Files = Mapping[str, str | bytes]


def stamp(seconds: float) -> str:
    """A time of journald, ``seconds`` after the stop."""
    return (STOP + timedelta(seconds=seconds)).isoformat(timespec="microseconds")


def glog(seconds: float) -> str:
    at = STOP + timedelta(seconds=seconds)
    return f"E{at:%m%d %H:%M:%S}.{at.microsecond:06d}000"


def kernel(node: str, lines: Iterable[tuple[float, str]]) -> str:
    """A kernel log with lines of ordinary life around ``lines`` (seconds after the stop, text)."""
    life = [
        (-3600.0 + 97 * k, f'audit: type=1400 audit({k}): apparmor="STATUS" pid={900 + k}')
        for k in range(36)
    ]
    return "".join(f"{stamp(at)} {node} kernel: {text}\n" for at, text in sorted([*life, *lines]))


def watchdog(rank: int, seconds: float = 600.0) -> str:
    """What a waiting rank says when it gives up."""
    return (
        f"[rank{rank}]:[{glog(seconds + rank / 100)} ProcessGroupNCCL.cpp:685] [Rank {rank}]"
        " Watchdog caught collective operation timeout: WorkNCCL(SeqNum=812, OpType=ALLREDUCE,"
        f" NumelIn=1048576, NumelOut=1048576, Timeout(ms)=600000) ran for {600_000 + rank}"
        " milliseconds before timing out.\n"
    )


def init_lines() -> str:
    return "".join(
        f"{NODES[rank // PER_NODE]}:{4000 + rank}:{5000 + rank} [{rank % PER_NODE}] NCCL INFO"
        f" ncclCommInitRank comm 0x55aa{rank:02x} rank {rank} nranks {WORLD} cudaDev"
        f" {rank % PER_NODE} nvmlDev {rank % PER_NODE} busId {BUSES[rank % PER_NODE][5:7]}000"
        " commId 0x8fe1d2 - Init COMPLETE\n"
        for rank in range(WORLD)
    )


def steps(count: int = 20) -> str:
    return "".join(
        f"{stamp(-200 + 10 * k)[:23].replace('T', ' ').replace('.', ',')} [rank0]: step {100 + k}"
        f" loss {3 - k / 50:.3f}\n"
        for k in range(count)
    )


def job_json(**more: object) -> str:
    facts = {
        "job_id": "4711",
        "world_size": WORLD,
        "gpus_per_node": PER_NODE,
        "nodes": list(NODES),
        "gpu_bus_ids": {node: list(BUSES) for node in NODES},
        "failed_at": stamp(601),
        "exit_code": 134,
    }
    return json.dumps(facts | more)


XID_79 = f"NVRM: Xid (PCI:{BUSES[2]}): 79, pid=4010, name=python3, GPU has fallen off the bus."


def good() -> dict[str, str | bytes]:
    """The files of the incident."""
    files: dict[str, str | bytes] = {
        f"nodes/{node}/kernel.log": kernel(node, [(-0.4, XID_79)] if node == GUILTY else [])
        for node in NODES
    }
    files["job.json"] = job_json()
    files["job.log"] = (
        init_lines()
        + steps()
        + "".join(watchdog(rank) for rank in range(WORLD) if rank != GUILTY_RANK)
    )
    return files


def write(folder: Path, files: Files) -> Path:
    """``files`` below ``folder``."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def named(report: triage.Report) -> tuple[object, ...]:
    """Who and what is named, without how sure it is."""
    answer = report.answer
    culprits = [(one.node, one.ranks, one.gpus) for one in answer.suspects if one.role == "culprit"]
    return answer.verdict.kind, answer.verdict.category, answer.verdict.cordon, culprits
