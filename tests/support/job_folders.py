"""Folders of a job of 16 ranks on four nodes, written line by line: whose line is it?

The clock of all lines is UTC; the job moves until ``10:00:00`` on its day.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import triage

HOSTS = ("cn01", "cn02", "cn03", "cn04")
BUSES = ("0000:19:00", "0000:5d:00", "0000:ab:00", "0000:db:00")
DAY = "2026-09-17"
GROUP = 4


def node_of(rank: int) -> str:
    """The node of a rank by the order of nodes."""
    return HOSTS[rank // GROUP]


def facts(**more: Any) -> dict[str, Any]:
    """A ``job.json``; what is None is left out."""
    known = {"job_id": "5150", "world_size": 16, "nodes": list(HOSTS), "gpus_per_node": GROUP,
             "exit_code": 1}  # fmt: skip
    return {key: value for key, value in {**known, **more}.items() if value is not None}


def at(second: float) -> str:
    """A time of day, in seconds from 10:00:00."""
    whole = 36_000_000 + round(second * 1000)
    seconds, ms = divmod(whole, 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{ms:03}"


def init_lines(ranks: Iterable[int] = range(16), nranks: int = 16) -> list[str]:
    """How NCCL tells who sits where."""
    lines = []
    for rank in ranks:
        k = rank % GROUP
        process = f"{node_of(rank)}:{7000 + rank}:{8000 + rank} [{k}] NCCL INFO"
        gpu = f"cudaDev {k} nvmlDev {k} busId {BUSES[k][5:7]}000"
        lines.append(
            f"{process} ncclCommInitRank comm 0x5a00{rank:02x} rank {rank} nranks {nranks} {gpu}"
            " commId 0x77ab12 - Init COMPLETE"
        )
    return lines


def steps(first: int = -300, last: int = 0, every: int = 10) -> list[str]:
    """Steps of the job up to a second."""
    return [
        f"[{DAY} {at(second)[:8]}] step {100 + k}: loss {2.5 - k / 1000:.4f}, 10.0 s"
        for k, second in enumerate(range(first, last, every))
    ]


def traceback(rank: int | None, error: str, second: float = 0.5) -> list[str]:
    """A rank's last words."""
    before = "" if rank is None else f"[rank{rank}]: "
    lines = ("Traceback (most recent call last):", '  File "/srv/train.py", line 88, in <module>',
             "    run()", error)  # fmt: skip
    return [f"[{DAY} {at(second)[:8]}] about to save nothing", *(before + line for line in lines)]


def watchdogs(ranks: Iterable[int], second: float = 600.0, seq: int = 900) -> list[str]:
    """What ranks say that waited ten minutes."""
    return [
        f"[rank{rank}]:[E917 {at(second)}000 ProcessGroupNCCL.cpp:685] [Rank {rank}] Watchdog"
        f" caught collective operation timeout: WorkNCCL(SeqNum={seq}, OpType=ALLREDUCE,"
        f" NumelIn=4096, NumelOut=4096, Timeout(ms)=600000) ran for 600021 milliseconds before"
        " timing out."
        for rank in ranks
    ]


def kernel(host: str, *lines: tuple[float, str]) -> list[str]:
    """A syslog of a kernel, with a little of every day."""
    usual = [(-3000.0, "perf: interrupt took too long (2503 > 2500)"), (-900.0, "eth0: link is up")]
    return [
        f"{DAY}T{at(second)}000+00:00 {host} kernel: {text}"
        for second, text in sorted([*usual, *lines])
    ]


KERNELS = {f"nodes/{host}/kernel.log": kernel(host) for host in HOSTS}
"""What kernels log where nothing happens."""


def write_folder(
    path: Path, files: Mapping[str, Sequence[str]], job: Mapping[str, Any] | None
) -> Path:
    """The files, one line each, and ``job.json``."""
    for name, lines in files.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    if job is not None:
        (path / "job.json").write_text(json.dumps(job), "utf-8")
    return path


def said(path: Path, files: Mapping[str, Sequence[str]], job: Mapping[str, Any] | None) -> Any:
    """The answer to a folder of these files, in its wire form."""
    return triage.analyze(str(write_folder(path, files, job))).to_dict()


def ended_by(wire: Any, role: str = "culprit") -> list[tuple[str | None, list[int], str]]:
    """(node, ranks, category) of the suspects of a role."""
    return [
        (one["node"], list(one["ranks"]), one["category"])
        for one in wire["suspects"]
        if one["role"] == role
    ]
