"""Looks at a running job as plain values for a stored extract, and back.

Frames, and whole stacks, are kept once: thousands of ranks stand at the same line.
"""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final

from triage.domain.evidence import NO_STAMP, Stamp
from triage.domain.live.communicator import (
    Communicator,
    CommunicatorRank,
    Presence,
    Waiting,
    WaitReason,
)
from triage.domain.live.look import GpuSample, Look, Tool, WaitCounter
from triage.domain.live.process import Process, Reply, ReplyKind
from triage.domain.live.stack import StackFrame, ThreadStack

_PRESENCES: Final = {str(one): one for one in Presence}
_REASONS: Final = {str(one): one for one in WaitReason}
_REPLIES: Final = {str(one): one for one in ReplyKind}
_TOOLS: Final = {str(one): one for one in Tool}
# In the order of their fields; a field that a later release adds stands behind these.
_PROCESS: Final = tuple(one.name for one in fields(Process))
_GPU: Final = tuple(one.name for one in fields(GpuSample))
_THREAD: Final = tuple(one.name for one in fields(ThreadStack)[2:])
_COUNTER: Final = tuple(one.name for one in fields(WaitCounter)[1:])


def encode_looks(looks: Sequence[Look]) -> list[Any]:
    """[frames, stacks as places among the frames, looks]."""
    frames: dict[StackFrame, int] = {}
    stacks: dict[tuple[StackFrame, ...], int] = {}
    for look in looks:
        for thread in look.stacks:
            stacks.setdefault(thread.frames, len(stacks))
            for frame in thread.frames:
                frames.setdefault(frame, len(frames))
    return [
        [[one.function, one.filename, one.line, one.native] for one in frames],
        [[frames[frame] for frame in stack] for stack in stacks],
        [_look_values(look, stacks) for look in looks],
    ]


def _look_values(look: Look, stacks: dict[tuple[StackFrame, ...], int]) -> list[Any]:
    return [
        look.artifact,
        str(look.tool),
        _stamp_values(look.stamp),
        look.dated_by,
        look.node,
        [
            [_process_values(one.process), stacks[one.frames], *(getattr(one, n) for n in _THREAD)]
            for one in look.stacks
        ],
        [
            [_process_values(one.process), one.handler, str(one.kind), one.detail, one.line]
            for one in look.replies
        ],
        [_encode_communicator(one) for one in look.communicators],
        [
            [
                f"{one.hash:x}",
                one.rank,
                _process_values(one.process),
                str(one.reason),
                one.peer,
                one.operation,
                one.since_ns,
                one.line,
            ]
            for one in look.waiting
        ],
        [[getattr(one, name) for name in _GPU] for one in look.gpus],
        list(look.notes),
        look.partial,
        [
            [_process_values(one.process), *(getattr(one, name) for name in _COUNTER)]
            for one in look.counters
        ],
        [_process_values(one) for one in look.processes],
        look.num_gpus,
        look.per_node,
    ]


def _encode_communicator(one: Communicator) -> list[Any]:
    return [
        f"{one.hash:x}",
        one.size,
        [_encode_member(member) for member in one.ranks],
        None if one.rest is None else _encode_member(one.rest),
        one.name,
        one.line,
        [[rank, list(times)] for rank, times in one.durations_us.items()],
        one.function,
        [[rank, list(numbers)] for rank, numbers in one.numbers.items()],
        [[name, [*levels.items()]] for name, levels in one.unlisted.items()],
    ]


def _encode_member(member: CommunicatorRank) -> list[Any]:
    return [
        member.rank,
        _process_values(member.process),
        str(member.presence),
        None if member.launched is None else dict(member.launched),
        None if member.completed is None else dict(member.completed),
        member.status,
        member.error,
        member.remote_error,
        member.line,
    ]


def _process_values(process: Process) -> list[Any]:
    return [getattr(process, name) for name in _PROCESS]


def _stamp_values(stamp: Stamp) -> list[Any] | None:
    if stamp == NO_STAMP:
        return None
    return [stamp.wall_ns, stamp.uptime_ns, stamp.has_year, stamp.zone_s, stamp.error_ns]


def decode_looks(values: Any) -> tuple[Look, ...]:
    """The looks of :func:`encode_looks`. ValueError, TypeError, IndexError and KeyError mean
    damage.
    """
    frame_values, stack_values, looks = values
    frames = [StackFrame(*one) for one in frame_values]
    stacks = [tuple([frames[place] for place in stack]) for stack in stack_values]
    return tuple(_decode_look(one, stacks) for one in looks)


def _decode_look(values: Any, stacks: list[tuple[StackFrame, ...]]) -> Look:
    (
        artifact, tool, stamp, dated_by, node, threads, replies, communicators, waiting, gpus,
        notes, partial, counters, processes, *later,
    ) = values  # fmt: skip
    return Look(
        artifact,
        _TOOLS[tool],
        NO_STAMP if stamp is None else Stamp(*stamp),
        dated_by,
        node,
        tuple(
            ThreadStack(Process(*process), stacks[stack], *rest)
            for process, stack, *rest in threads
        ),
        tuple(
            Reply(Process(*process), handler, _REPLIES[kind], *rest)
            for process, handler, kind, *rest in replies
        ),
        tuple(_decode_communicator(one) for one in communicators),
        tuple(
            Waiting(int(key, 16), rank, Process(*process), _REASONS[reason], *rest)
            for key, rank, process, reason, *rest in waiting
        ),
        tuple(GpuSample(*one) for one in gpus),
        tuple(notes),
        partial,
        tuple(WaitCounter(Process(*process), *rest) for process, *rest in counters),
        tuple(Process(*one) for one in processes),
        *later,
    )


def _decode_communicator(values: Any) -> Communicator:
    key, size, ranks, rest, name, line, durations, *later = values
    function, numbers, *newer = later or ("", ())
    unlisted = newer[0] if newer else ()
    return Communicator(
        int(key, 16),
        size,
        tuple(_decode_member(one) for one in ranks),
        None if rest is None else _decode_member(rest),
        name,
        line,
        {rank: tuple(map(float, times)) for rank, times in durations},
        function,
        {rank: tuple(listed) for rank, listed in numbers},
        {name: dict(levels) for name, levels in unlisted},
    )


def _decode_member(values: Any) -> CommunicatorRank:
    rank, process, presence, *rest = values
    return CommunicatorRank(rank, Process(*process), _PRESENCES[presence], *rest)
