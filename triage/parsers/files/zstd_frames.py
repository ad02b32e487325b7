"""Where the frames of a zstd stream end, told from their headers alone (RFC 8878).

The library's streaming reader gives what it has and says nothing where a frame is
cut off. A cut body must not pass for a whole one, so its frames are walked beside it.
"""

from typing import Final

_FRAME: Final = 0xFD2FB528
_SKIPPABLE: Final = range(0x184D2A50, 0x184D2A60)
_DICTIONARY_BYTES: Final = (0, 1, 2, 4)
_CONTENT_SIZE_BYTES: Final = (0, 2, 4, 8)
_RLE: Final = 1
_CHECKSUM_BYTES: Final = 4
# How many bytes each kind of header has.
_MAGIC, _DESCRIPTOR, _BLOCK, _SKIPPED = "magic", "descriptor", "block", "skipped"
_WIDTHS: Final = {_MAGIC: 4, _DESCRIPTOR: 1, _BLOCK: 3, _SKIPPED: 4}


class FrameEnds:
    """Walks a stream in pieces of any size; never raises."""

    def __init__(self) -> None:
        self.awaited = _MAGIC
        self.have = b""
        self.skip = 0
        self.checksum = False
        self.lost = False

    @property
    def whole(self) -> bool:
        """Whether the stream may end here: no frame is open.

        Also for what is no zstd at all: to say so is the decompressor's part.
        """
        return self.lost or (self.awaited == _MAGIC and not self.have and not self.skip)

    def feed(self, data: bytes) -> None:
        """Walk over the next bytes."""
        place = 0
        while place < len(data) and not self.lost:
            if self.skip:
                step = min(self.skip, len(data) - place)
                self.skip -= step
                place += step
                continue
            wanted = _WIDTHS[self.awaited] - len(self.have)
            self.have += data[place : place + wanted]
            place += wanted
            if len(self.have) == _WIDTHS[self.awaited]:
                value = int.from_bytes(self.have, "little")
                self.have = b""
                self.header(value)

    def header(self, value: int) -> None:
        """What follows one header, whose bytes make ``value``."""
        if self.awaited == _MAGIC:
            if value == _FRAME:
                self.awaited = _DESCRIPTOR
            elif value in _SKIPPABLE:
                self.awaited = _SKIPPED
            else:
                self.lost = True
        elif self.awaited == _SKIPPED:
            self.awaited, self.skip = _MAGIC, value
        elif self.awaited == _DESCRIPTOR:
            single = value >> 5 & 1
            self.checksum = bool(value >> 2 & 1)
            size_bytes = _CONTENT_SIZE_BYTES[value >> 6] or single
            self.skip = (1 - single) + _DICTIONARY_BYTES[value & 3] + size_bytes
            self.awaited = _BLOCK
        else:
            self.skip = 1 if value >> 1 & 3 == _RLE else value >> 3
            if value & 1:
                self.skip += _CHECKSUM_BYTES if self.checksum else 0
                self.awaited = _MAGIC
