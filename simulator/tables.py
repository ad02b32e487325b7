"""Everything about a run that the dump writer needs and that does not change with time.

Named tuples of arrays, since that is what numba takes.
"""

from typing import NamedTuple

import numpy as np

from simulator.callsites import Frame, stack
from simulator.operation import Op
from simulator.rendezvous import Flags, Meetings
from simulator.strings import Bytes, Strings
from simulator.topology import Floats, Ints, Topology
from triage.errors import UsageError

KEYS = (
    "version", "pg_config", "comm_lib_version", "pg_status", "entries",
    "name", "desc", "ranks",
    "last_enqueued_collective", "last_started_collective", "last_completed_collective",
    "frames", "filename", "line",
    "record_id", "pg_id", "process_group", "thread_name", "thread_id",
    "collective_seq_id", "p2p_seq_id", "op_id", "profiling_name", "time_created_ns",
    "duration_ms", "input_sizes", "input_dtypes", "output_sizes", "output_dtypes",
    "state", "time_discovered_started_ns", "time_discovered_completed_ns",
    "retired", "timeout_ms", "is_p2p",
    "scheduled", "started", "completed",
)  # fmt: skip
"""The strings 0 ... 37 of every run, in this order."""

_LIBRARY = "2.27.5"
_TIMEOUT_MS = 600_000


class Words(NamedTuple):
    """The text: ``text[start[n]:start[n + 1]]`` is string n."""

    text: Bytes
    start: Ints


class Memo(NamedTuple):
    """Which strings of ``words`` a dump has so far: per string its memo slot, or -1.

    ``used[0]`` is the next free slot, ``used[1]`` how many strings have one; their numbers
    are kept from ``used[2]`` on, to clear the memo by.
    """

    words: Words
    slots: Ints
    used: Ints


class Desk(NamedTuple):
    """The buffers that one thread writes dumps with.

    ``frame_memo`` is, per frame, its memo slot or -1. By slot of a group: ``counters`` of
    collectives, p2p and operations; ``status`` is enqueued, started, completed, set up;
    ``noticed`` is when the watchdog last saw an end. ``scratch`` is one float64.
    """

    out: Bytes
    memo: Memo
    frame_memo: Ints
    counters: Ints
    status: Ints
    noticed: Ints
    scratch: Floats


class OpTable(NamedTuple):
    """One row per operation of a plan.

    ``sizes`` holds, from ``sizes_start``, for inputs and then outputs: the number
    of tensors, and for each its number of dimensions and the dimensions.
    """

    slot: Ints
    part: Ints
    p2p: Flags
    autograd: Flags
    name: Ints
    dtype: Ints
    sizes_start: Ints
    sizes: Ints
    frames_start: Ints
    frames: Ints


class Job(NamedTuple):
    """Groups and frames; ``group_*`` are string numbers per group, ``frame_*`` per frame."""

    group_of: Ints
    group_name: Ints
    group_desc: Ints
    group_ranks: Ints
    frame_name: Ints
    frame_file: Ints
    frame_line: Ints
    pg_id: Ints
    pg_id_text: Ints
    thread_id: Ints
    thread_name: Ints


class Style(NamedTuple):
    """How dumps are written; ``library_key`` 0 leaves the library's version out."""

    version: int
    library: int
    library_key: int
    threads: int
    frames: int
    timing: int
    ring: int
    only_active: int
    timeout_ms: int


def style_for(
    strings: Strings, version: str, *, frames: int, timing: bool, ring: int, only_active: bool
) -> Style:
    """The style of dump format ``version``, 2.4 to 2.10."""
    major, _, minor = version.partition(".")
    if major != "2" or not minor.isdigit() or not 4 <= int(minor) <= 10:
        raise UsageError(f"dump version {version!r} is not one that is simulated: give 2.4 to 2.10")
    names = {True: "comm_lib_version", False: "nccl_version"}
    key = strings.number(names[int(minor) >= 8]) if int(minor) >= 6 else 0
    return Style(
        strings.number(version),
        strings.number(_LIBRARY),
        key,
        int(int(minor) >= 9),
        int(frames > 0),
        int(timing),
        ring,
        int(only_active),
        _TIMEOUT_MS,
    )


def op_table(found: Meetings, strings: Strings, frames: dict[Frame, int], depth: int) -> OpTable:
    """The rows of ``found.ops``; new frames are added to ``frames``."""
    ops = found.ops
    sizes = [_sizes(op) for op in ops]
    stacks = [stack(op.name, op.site, autograd=op.autograd, depth=depth) for op in ops]
    numbers = [frames.setdefault(frame, len(frames)) for calls in stacks for frame in calls]
    return OpTable(
        np.array([op.slot for op in ops], np.int64),
        np.array([op.part for op in ops], np.int64),
        np.array([op.is_p2p for op in ops], np.uint8),
        np.array([op.autograd for op in ops], np.uint8),
        strings.numbers(*(op.profiling_name for op in ops)),
        np.array([strings.number(op.dtype) if op.dtype else -1 for op in ops], np.int64),
        np.cumsum([0, *(len(row) for row in sizes)], dtype=np.int64),
        np.array([size for row in sizes for size in row], np.int64),
        np.cumsum([0, *(len(calls) for calls in stacks)], dtype=np.int64),
        np.array(numbers, np.int64),
    )


def _sizes(op: Op) -> list[int]:
    row: list[int] = []
    for tensors in (op.inputs, op.outputs):
        row.append(len(tensors))
        for shape in tensors:
            row += [len(shape), *shape]
    return row


def job_table(
    topology: Topology, strings: Strings, frames: dict[Frame, int], chance: np.random.Generator
) -> Job:
    """Groups, ids and threads of all ranks."""
    groups = range(len(topology.members))
    ranks = topology.shape.ranks
    has = topology.group_of >= 0
    threads = 0x7F00_0000_0000 + 0x1000 * chance.integers(0, 1 << 24, (ranks, 2)) + 0x740
    texts = [f"[{', '.join(map(str, ranks.tolist()))}]" for ranks in topology.members]
    return Job(
        topology.group_of,
        strings.numbers(*(topology.name(group) for group in groups)),
        strings.numbers(*(topology.desc(group) for group in groups)),
        strings.numbers(*texts),
        strings.numbers(*(frame.name for frame in frames)),
        strings.numbers(*(frame.filename for frame in frames)),
        np.array([frame.line for frame in frames], np.int64),
        np.where(has, np.cumsum(has, axis=1) - 1, -1).astype(np.int64),
        strings.numbers(*(str(number) for number in range(has.shape[1]))),
        strings.numbers(*(str(thread) for thread in threads.ravel())).reshape(ranks, 2),
        strings.numbers("pt_main_thread", "pt_autograd_0"),
    )
