"""A stream of bytes as pieces that end with a whole line, in one buffer."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from triage.parsers.telemetry.tally import Tally

_CHUNK_BYTES: Final = 4 << 20
# A line of a wide table of all GPUs of a large job; what is longer is not a line.
_MAX_LINE: Final = 1 << 20
_LINE_FEED: Final = 10


class Bytes(Protocol):
    """What is read from: the bytes of one file, decompressed."""

    def fill(self, view: memoryview) -> int:
        """Fill ``view`` as far as the bytes go; fewer mean the end."""
        ...


@dataclass(frozen=True, slots=True)
class Chunk:
    """``buffer[:cut]`` holds whole lines, of which the first is number ``line``."""

    buffer: np.ndarray
    cut: int
    line: int


def iterate_line_chunks(stream: Bytes, tally: Tally) -> Iterator[Chunk]:
    """The lines of ``stream``; a chunk is valid until the next is asked for.

    A line beyond 1 MiB is passed over and counted. ``tally.lines`` counts the lines.
    """
    raw = bytearray(_CHUNK_BYTES + 1)
    view = memoryview(raw)
    buffer = np.frombuffer(raw, np.uint8)
    filled = 0
    line = 1
    ended = False
    overlong = False
    while not ended:
        room = _CHUNK_BYTES - filled
        got = stream.fill(view[filled : filled + room])
        ended = got < room
        filled += got
        if ended and filled and raw[filled - 1] != _LINE_FEED:
            raw[filled] = _LINE_FEED
            filled += 1
        start = 0
        if overlong:
            start = raw.find(b"\n", 0, filled) + 1
            if start:
                overlong = False
                line += 1
            else:
                start = filled
        cut = raw.rfind(b"\n", start, filled) + 1
        if cut > start:
            raw[: filled - start] = raw[start:filled]
            filled -= start
            cut -= start
            yield Chunk(buffer, cut, line)
            line += raw.count(b"\n", 0, cut)
            start = cut
        rest = filled - start
        if rest > _MAX_LINE:
            tally.skip("too long", 1, line)
            overlong, rest = True, 0
        raw[:rest] = raw[filled - rest : filled]
        filled = rest
    tally.lines = line - 1
