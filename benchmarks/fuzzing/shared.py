"""Memory that the fuzzing parent and its child share: the input at hand, and counts."""

import mmap
import os
import time
from typing import Final, Self

import numpy as np

LARGEST: Final = 1 << 18
_STARTED, _COUNT, _SIZE, _PEAK, _SLOTS = range(5)
_HEAD: Final = 8 * 8
_BYTES: Final = _HEAD + LARGEST


class Shared:
    """Made by the parent; its children open it by the number of its descriptor."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.memory = mmap.mmap(fd, _BYTES)
        self.slots = np.frombuffer(self.memory, np.int64, _SLOTS)
        self.before = 0

    @classmethod
    def new(cls) -> Self:
        """Of a parent, with room for the largest input."""
        fd = os.memfd_create("fuzz")
        os.ftruncate(fd, _BYTES)
        return cls(fd)

    @property
    def count(self) -> int:
        """Executions so far, of all children."""
        return int(self.slots[_COUNT])

    @property
    def count_of_child(self) -> int:
        """Executions since :meth:`begin`."""
        return self.count - self.before

    @property
    def peak_mib(self) -> int:
        """The most memory that a child ever held."""
        return int(self.slots[_PEAK])

    def begin(self) -> None:
        """Another child takes over."""
        self.before = self.count
        self.slots[_STARTED] = self.slots[_SIZE] = 0

    def take(self, data: bytes) -> None:
        """The child is about to read these bytes."""
        self.memory[_HEAD : _HEAD + len(data)] = data
        self.slots[_SIZE] = len(data)
        self.slots[_STARTED] = time.time_ns()

    def done(self, peak_mib: int) -> None:
        """It has read them."""
        self.slots[_STARTED] = 0
        self.slots[_COUNT] += 1
        self.slots[_PEAK] = max(int(self.slots[_PEAK]), peak_mib)

    def seconds_at_it(self) -> float:
        """How long the child has been reading its input; 0 where it reads none."""
        started = int(self.slots[_STARTED])
        return (time.time_ns() - started) / 1e9 if started else 0.0

    def input(self) -> bytes:
        """What was read last."""
        return bytes(self.memory[_HEAD : _HEAD + int(self.slots[_SIZE])])
