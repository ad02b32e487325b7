"""Looks at processes with made-up stacks, for tests and benchmarks."""

from collections.abc import Iterable, Sequence

from triage.analysis.live.case import LiveCase
from triage.analysis.placement.identity import JobPlacement
from triage.domain.evidence import NO_STAMP, Stamp
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import Process, Reply, ReplyKind
from triage.domain.live.stack import StackFrame, ThreadStack

MAIN = "main (train.py:37) <module> (train.py:43)"
REDUCE = (
    "all_reduce (torch/distributed/distributed_c10d.py:3252)"
    " wrapper (torch/distributed/c10d_logger.py:83) step (train.py:24) " + MAIN
)
HALL = (
    "all_gather (torch/distributed/distributed_c10d.py:2990)"
    " wrapper (torch/distributed/c10d_logger.py:83) step (train.py:21) " + MAIN
)
DEVICE = "synchronize (torch/cuda/streams.py:105) step (train.py:27) " + MAIN
MEET = (
    "_store_based_barrier (torch/distributed/distributed_c10d.py:880)"
    " init_process_group (torch/distributed/distributed_c10d.py:1600) " + MAIN
)
LOADER = (
    "select (selectors.py:415) wait (multiprocessing/connection.py:947)"
    " get (multiprocessing/queues.py:113)"
    " _try_get_data (torch/utils/data/dataloader.py:1291)"
    " _next_data (torch/utils/data/dataloader.py:1505) " + MAIN
)
WORKER = (
    "read_block (shards.py:58) __getitem__ (shards.py:33)"
    " fetch (torch/utils/data/_utils/fetch.py:54)"
    " _worker_loop (torch/utils/data/_utils/worker.py:374)"
    " _launch (multiprocessing/popen_fork.py:71) " + MAIN
)
LOCK = "acquire (threading.py:164) flush_metrics (metrics.py:88) step (train.py:30) " + MAIN
SAVE = "_write_item (torch/distributed/checkpoint/filesystem.py:301) save (ckpt.py:61) " + MAIN
COMPUTE = "augment (augment.py:96) step (train.py:18) " + MAIN


def frames(text: str, *, native: bool = False) -> tuple[StackFrame, ...]:
    """Frames of ``name (file:line) name (file:line)``, innermost first."""
    words = text.split(") ")
    found = []
    for word in words:
        name, _, where = word.rstrip(")").partition(" (")
        file, _, line = where.rpartition(":")
        found.append(
            StackFrame(name, file or where, int(line) if line.isdecimal() else None, native)
        )
    return tuple(found)


def thread(rank: int | None, stack: str, **fields: object) -> ThreadStack:
    """The main thread of a rank; ``pid``, ``parent_pid``, ``node`` and ``command`` are the
    process's.
    """
    names = ("pid", "parent_pid", "node", "command")
    process = {name: fields.pop(name) for name in names if name in fields}
    if rank is not None:
        process.setdefault("pid", 1000 + rank)
    own: dict[str, object] = {"is_main": True, "line": 4, **fields}
    return ThreadStack(Process(rank=rank, **process), frames(stack), **own)  # type: ignore[arg-type]


def look(
    stacks: Sequence[str] | Iterable[ThreadStack],
    artifact: str = "stacks.txt",
    *,
    tool: Tool = Tool.PY_SPY,
    at_s: int | None = None,
    **fields: object,
) -> Look:
    """One look; texts are the stacks of ranks 0, 1, ..."""
    threads = [
        one if isinstance(one, ThreadStack) else thread(rank, one)
        for rank, one in enumerate(stacks)
    ]
    stamp = NO_STAMP if at_s is None else Stamp(wall_ns=at_s * 10**9)
    return Look(artifact, tool, stamp, stacks=tuple(threads), **fields)  # type: ignore[arg-type]


KINDS = {
    "y": ReplyKind.ANSWERED,
    "408": ReplyKind.SILENT,
    "503": ReplyKind.UNREACHABLE,
    "404": ReplyKind.TOOL_FAILED,
    "500": ReplyKind.TOOL_FAILED,
}


def replies(handler: str, kinds: str, artifact: str = "") -> Look:
    """What ranks 0, 1, ... answered to one handler: ``y 408 y y``; ``-`` was not asked."""
    found = tuple(
        Reply(Process(rank=rank, node=f"n{rank // 4}"), handler, KINDS[kind], line=rank + 1)
        for rank, kind in enumerate(kinds.split())
        if kind != "-"
    )
    return Look(artifact or f"{handler}.txt", Tool.DEBUG_SERVER, replies=found)


def case_of(*looks: Look, per_node: int = 4, world: int | None = None) -> LiveCase:
    """The looks at a job with ``per_node`` ranks on each of ``n0``, ``n1``, ..."""
    ranks = {
        one.process.rank
        for item in looks
        for one in (*item.stacks, *item.replies)
        if one.process.rank is not None
    }
    homes = {rank: f"n{rank // per_node}" for rank in sorted(ranks)}
    fleet = JobPlacement(node_by_rank=homes, seated=frozenset(homes.values()), world_size=world)
    return LiveCase(looks, fleet, world)
