"""Frames over pipes: each is its length, four bytes little-endian, and its bytes.

The child reads and writes them and may wait for ever; the parent never waits beyond
a deadline, because what it talks to may hang.
"""

import fcntl
import os
import select
import time
from typing import Final

# What a child says before it takes a request, and instead, when it holds too much memory.
READY: Final = b"ready"
SPENT: Final = b"spent"

_MAX_FRAME: Final = (1 << 32) - 1
_PIECE: Final = 1 << 20
# A pipe holds 64 KiB unless one asks for more; an incident is a hundred megabytes.
_PIPE_BYTES: Final = 1 << 20


class Closed(Exception):
    """The other end is gone."""


class TooLate(Exception):
    """The deadline passed."""


def read_frame(fd: int) -> bytes | None:
    """The next frame, however long it takes; None at the end."""
    head = _read_exactly(fd, 4)
    return None if head is None else _read_exactly(fd, int.from_bytes(head, "little"))


def _read_exactly(fd: int, size: int) -> bytes | None:
    found = bytearray()
    while len(found) < size:
        part = os.read(fd, min(size - len(found), _PIECE))
        if not part:
            return None
        found += part
    return bytes(found)


def write_frame(fd: int, data: bytes) -> None:
    """Write a frame, however long it takes. Raises OSError when the other end is gone."""
    view = memoryview(_encode_frame(data))
    while view:
        view = view[os.write(fd, view) :]


def _encode_frame(data: bytes) -> bytes:
    if len(data) > _MAX_FRAME:
        raise ValueError(f"a frame holds at most {_MAX_FRAME:,} bytes")
    return len(data).to_bytes(4, "little") + data


class Channel:
    """The parent's ends of two pipes. Deadlines are in seconds of :func:`time.monotonic`."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.read_fd = read_fd
        self.write_fd = write_fd
        self.held = bytearray()
        for fd in (read_fd, write_fd):
            os.set_blocking(fd, False)
            _widen(fd)

    def send(self, data: bytes, deadline: float) -> None:
        """Write one frame. Raises :class:`Closed` or :class:`TooLate`."""
        view = memoryview(_encode_frame(data))
        while view:
            try:
                view = view[os.write(self.write_fd, view[:_PIECE]) :]
            except BlockingIOError:
                _wait(self.write_fd, select.POLLOUT, deadline)
            except OSError as error:
                raise Closed from error
        if time.monotonic() > deadline:
            raise TooLate

    def receive(self, deadline: float) -> bytes:
        """Read one frame. Raises :class:`Closed` or :class:`TooLate`."""
        size = int.from_bytes(self.take(4, deadline), "little")
        return self.take(size, deadline)

    def take(self, size: int, deadline: float) -> bytes:
        """The next ``size`` bytes."""
        while len(self.held) < size:
            try:
                part = os.read(self.read_fd, _PIECE)
            except BlockingIOError:
                _wait(self.read_fd, select.POLLIN, deadline)
                continue
            except OSError as error:
                raise Closed from error
            if not part:
                raise Closed
            self.held += part
        found = bytes(self.held[:size])
        del self.held[:size]
        return found


def _wait(fd: int, event: int, deadline: float) -> None:
    """Wait until the pipe is ready or its other end is gone."""
    left = deadline - time.monotonic()
    poll = select.poll()
    poll.register(fd, event)
    if left <= 0 or not poll.poll(left * 1000):
        raise TooLate


def _widen(fd: int) -> None:
    """Let the pipe hold more, where the system allows it."""
    try:
        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    except (AttributeError, OSError):
        return
