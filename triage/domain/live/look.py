"""A look: all that one tool said of a job at one moment."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from triage.domain.evidence import NO_STAMP, Stamp
from triage.domain.hosts import make_natural_key
from triage.domain.live.communicator import Communicator
from triage.domain.live.process import Process, Reply
from triage.domain.live.stack import ThreadStack


class Tool(StrEnum):
    """Whose output it is."""

    PY_SPY = "py_spy"
    FAULTHANDLER = "faulthandler"
    TRACEBACK = "traceback"
    GDB = "gdb"
    PROC = "proc"
    DEBUG_SERVER = "debug_server"
    WAIT_COUNTERS = "wait_counters"
    RAS = "ras"
    INSPECTOR = "inspector"
    TRACE_TABLE = "trace_table"
    GPU_STATE = "gpu_state"
    PROCESSES = "processes"  # the list of a node's processes, and who answered what


@dataclass(frozen=True, slots=True)
class WaitCounter:
    """One of PyTorch's wait counters: ``TCPStore__wait``, ``c10d.init_process_group`` ...

    ``active`` is how many threads are inside now. Two looks with other ``calls`` are a process that
    moves.
    """

    process: Process
    name: str
    active: int
    calls: int


@dataclass(frozen=True, slots=True)
class GpuSample:
    """One sample of one GPU. ``bus_id`` is ``dddd:bb:dd``; shares are in percent, power in W.

    ``memory_percent`` is the share of time in which its memory was read or written.
    ``most_power_w`` is what it drew at work before, where a record goes back so far.
    """

    node: str | None
    index: int | None
    bus_id: str | None = None
    uuid: str | None = None
    utilisation_percent: float | None = None
    memory_percent: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    at_ns: int | None = None
    line: int | None = None
    most_power_w: float | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """``stamp`` is when it was taken, which most tools do not say. ``partial`` is what of the file
    could not be read. ``processes`` is who sits where, of a tool that only says that. ``num_gpus``
    is how many GPUs the tool says that the job has, ``per_node`` how many processes on a node at
    most.
    """

    artifact: str
    tool: Tool
    stamp: Stamp = NO_STAMP
    node: str | None = None
    stacks: tuple[ThreadStack, ...] = ()
    replies: tuple[Reply, ...] = ()
    communicators: tuple[Communicator, ...] = ()
    gpus: tuple[GpuSample, ...] = ()
    notes: tuple[str, ...] = ()
    partial: str | None = None
    counters: tuple[WaitCounter, ...] = ()
    processes: tuple[Process, ...] = ()
    num_gpus: int | None = None
    per_node: int | None = None

    @property
    def order(self) -> tuple[int, object]:
        """Its time, then its name as a key to sort by: ``poll-10`` follows ``poll-9``."""
        return (self.stamp.wall_ns or 0, make_natural_key(self.artifact))

    def list_processes(self) -> Iterator[Process]:
        """Every process that it speaks of; one of many stacks or communicators comes again."""
        yield from (stack.process for stack in self.stacks)
        yield from (reply.process for reply in self.replies)
        yield from self.processes
        for communicator in self.communicators:
            yield from (member.process for member in communicator.ranks)
