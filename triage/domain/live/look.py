"""A look: all that one tool said of a job at one moment."""

from dataclasses import dataclass
from enum import StrEnum

from triage.domain.evidence import NO_STAMP, Stamp
from triage.domain.live.communicator import Communicator, Waiting
from triage.domain.live.gpu_sample import GpuSample
from triage.domain.live.process import Process, Reply
from triage.domain.live.stack import ThreadStack
from triage.domain.live.wait_counter import WaitCounter

__all__ = ["Look", "Tool"]


class Tool(StrEnum):
    """Whose output it is."""

    PY_SPY = "py_spy"
    FAULTHANDLER = "faulthandler"
    TRACEBACK = "traceback"
    GDB = "gdb"
    CUDA_GDB = "cuda_gdb"
    PROC = "proc"
    DEBUG_SERVER = "debug_server"
    WAIT_COUNTERS = "wait_counters"
    RAS = "ras"
    COMM_STATE = "comm_state"
    PROXY_TRACE = "proxy_trace"
    REPLAY = "replay"
    PROFILER = "profiler"
    INSPECTOR = "inspector"
    TRACE_TABLE = "trace_table"
    GPU_STATE = "gpu_state"
    PROCESSES = "processes"  # the list of a node's processes, and who answered what


@dataclass(frozen=True, slots=True)
class Look:
    """``stamp`` is when it was taken, and ``dated_by`` what says so (``content``, ``name``); most
    tools do not say it. ``partial`` is what of the file could not be read. ``folder`` tells looks
    of one round from another: the artifact's folder, or the time in its name. ``processes`` is who
    sits where, of a tool that only says that. ``num_gpus`` is how many GPUs the tool says that the
    job has, ``per_node`` how many processes on a node at most.
    """

    artifact: str
    tool: Tool
    stamp: Stamp = NO_STAMP
    dated_by: str | None = None
    node: str | None = None
    stacks: tuple[ThreadStack, ...] = ()
    replies: tuple[Reply, ...] = ()
    communicators: tuple[Communicator, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    gpus: tuple[GpuSample, ...] = ()
    notes: tuple[str, ...] = ()
    partial: str | None = None
    counters: tuple[WaitCounter, ...] = ()
    processes: tuple[Process, ...] = ()
    num_gpus: int | None = None
    per_node: int | None = None
