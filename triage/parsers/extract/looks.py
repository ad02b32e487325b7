"""Looks at a running job as plain values for a stored extract, and back.

Frames, and whole stacks, are kept once: thousands of ranks stand at the same line.
"""

from collections.abc import Sequence
from typing import Any, Final

from triage.domain.live.communicator import Communicator
from triage.domain.live.look import Look
from triage.domain.live.stack import StackFrame, ThreadStack
from triage.domain.packing import AS_IT_IS, Packing, Way, make_listed

_HASH: Final = Way("{:x}".format, lambda text: int(text, 16))
_FRAME: Final = Packing(StackFrame)
_THREAD: Final = Packing(ThreadStack, frames=AS_IT_IS)
_FRAMES: Final = _THREAD.names.index("frames")
_COMMUNICATOR: Final = Packing(Communicator, hash=_HASH)
_LOOK: Final = Packing(
    Look,
    stacks=AS_IT_IS,
    communicators=make_listed(Way(_COMMUNICATOR.encode, _COMMUNICATOR.decode), tuple),
)
_STACKS: Final = _LOOK.names.index("stacks")


def encode_looks(looks: Sequence[Look]) -> list[Any]:
    """[frames, stacks as places among the frames, looks]."""
    frames: dict[StackFrame, int] = {}
    stacks: dict[tuple[StackFrame, ...], int] = {}
    found = []
    for look in looks:
        values = _LOOK.encode(look)
        values[_STACKS] = threads = [_THREAD.encode(one) for one in look.stacks]
        for thread in threads:
            for frame in thread[_FRAMES]:
                frames.setdefault(frame, len(frames))
            thread[_FRAMES] = stacks.setdefault(thread[_FRAMES], len(stacks))
        found.append(values)
    listed = [[frames[frame] for frame in stack] for stack in stacks]
    return [[_FRAME.encode(one) for one in frames], listed, found]


def decode_looks(values: Any) -> tuple[Look, ...]:
    """The looks of :func:`encode_looks`. ValueError, TypeError, IndexError and KeyError mean
    damage.
    """
    frame_values, stack_values, looks = values
    frames = [_FRAME.decode(one) for one in frame_values]
    stacks = [tuple([frames[place] for place in stack]) for stack in stack_values]
    found = []
    for look in looks:
        values = _LOOK.read(look)
        threads = [_THREAD.read(thread) for thread in values[_STACKS]]
        for thread in threads:
            thread[_FRAMES] = stacks[thread[_FRAMES]]
        values[_STACKS] = tuple([ThreadStack(*thread) for thread in threads])
        found.append(Look(*values))
    return tuple(found)
