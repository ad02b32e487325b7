"""Memory that the fuzzing parent and its child share: the input at hand, and counts."""

import mmap
import os
import time
from typing import Final, Self

import numpy as np

__all__ = ["LARGEST", "Shared"]

LARGEST: Final = 1 << 18
STARTED, COUNT, SIZE, PEAK, SLOTS = range(5)
HEAD: Final = 8 * 8
BYTES: Final = HEAD + LARGEST


class Shared:
    """Made by the parent; its children open it by the number of its descriptor."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.memory = mmap.mmap(fd, BYTES)
        self.slots = np.frombuffer(self.memory, np.int64, SLOTS)
        self.before = 0

    @classmethod
    def new(cls) -> Self:
        """Of a parent, with room for the largest input."""
        fd = os.memfd_create("fuzz")
        os.ftruncate(fd, BYTES)
        return cls(fd)

    @property
    def count(self) -> int:
        """Executions so far, of all children."""
        return int(self.slots[COUNT])

    @property
    def count_of_child(self) -> int:
        """Executions since :meth:`begin`."""
        return self.count - self.before

    @property
    def peak_mib(self) -> int:
        """The most memory that a child ever held."""
        return int(self.slots[PEAK])

    def begin(self) -> None:
        """Another child takes over."""
        self.before = self.count
        self.slots[STARTED] = self.slots[SIZE] = 0

    def take(self, data: bytes) -> None:
        """The child is about to read these bytes."""
        self.memory[HEAD : HEAD + len(data)] = data
        self.slots[SIZE] = len(data)
        self.slots[STARTED] = time.time_ns()

    def done(self, peak_mib: int) -> None:
        """It has read them."""
        self.slots[STARTED] = 0
        self.slots[COUNT] += 1
        self.slots[PEAK] = max(int(self.slots[PEAK]), peak_mib)

    def seconds_at_it(self) -> float:
        """How long the child has been reading its input; 0 where it reads none."""
        started = int(self.slots[STARTED])
        return (time.time_ns() - started) / 1e9 if started else 0.0

    def input(self) -> bytes:
        """What was read last."""
        return bytes(self.memory[HEAD : HEAD + int(self.slots[SIZE])])
