"""Stacks of made-up processes, printed as the tools print them."""

from collections.abc import Sequence

# Innermost first: (function, file, line).
Frame = tuple[str, str, int]
LOADER: Sequence[Frame] = (
    ("Queue.get", "multiprocessing/queues.py", 113),
    ("_MultiProcessingDataLoaderIter._next_data", "torch/utils/data/dataloader.py", 1505),
    ("main", "pretrain.py", 37),
    ("<module>", "pretrain.py", 43),
)
REDUCE: Sequence[Frame] = (
    ("all_reduce", "torch/distributed/distributed_c10d.py", 3252),
    ("train_step", "pretrain.py", 24),
    ("main", "pretrain.py", 38),
    ("<module>", "pretrain.py", 43),
)


def py_spy_text(
    pid: int,
    frames: Sequence[Frame] = REDUCE,
    *,
    command: str = "python pretrain.py",
    parent: int | None = None,
    state: str = "idle",
) -> str:
    """What ``py-spy dump`` prints of a process with a main thread and one of its own."""
    above = "" if parent is None else f"Parent Process {parent}: {command}\n"
    own = "".join(f"    {name} ({file}:{line})\n" for name, file, line in frames)
    return (
        f"Process {pid}: {command}\nPython v3.11.7 (/usr/local/bin/python3.11)\n{above}\n"
        f'Thread {pid} ({state}): "MainThread"\n{own}'
        f'Thread {pid + 90} (idle): "QueueFeederThread"\n'
        "    Condition.wait (threading.py:327)\n    Thread._bootstrap (threading.py:1002)\n"
    )


def faulthandler_text(frames: Sequence[Frame] = REDUCE, *, first: int = 0x7F5EE27FC6C0) -> str:
    """What faulthandler prints of a process with a main thread, the last, and one of its own."""
    own = "".join(
        f'  File "/w/{file}", line {line} in {name.rpartition(".")[2]}\n'
        for name, file, line in frames
    )
    return (
        f"Thread {first:#018x} (most recent call first):\n"
        '  File "/usr/local/lib/python3.11/threading.py", line 327 in wait\n'
        '  File "/usr/local/lib/python3.11/threading.py", line 1002 in _bootstrap\n\n'
        f"Current thread {first + 0x1000:#018x} (most recent call first):\n{own}"
    )


def server_file(handler: str, bodies: Sequence[str]) -> str:
    """A periodic file of the debug server: the answers of ranks 0, 1, ... on nodes of two."""
    return "".join(
        f"=== Rank {rank}: http://gpu-n{rank // 2 + 1:02}:{41700 + rank % 999}/handler/{handler}?"
        f" ===\n{body}\n"
        for rank, body in enumerate(bodies)
    ).removesuffix("\n")
