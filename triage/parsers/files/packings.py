"""Packed bytes that are not unpacked here, known by how they begin.

gzip, zstd, xz and bzip2 are taken off once, in ``compression``; a second layer of them stands
here too. What is packed cannot be looked through, neither for what happened nor for secrets.
"""

import re
from typing import Final

from triage.parsers.files.compression import MAGIC, PACKERS

__all__ = ["UNPACK_IT", "packing_of"]

UNPACK_IT: Final = f"send it unpacked, or packed once with {PACKERS}"
# A few letters may begin a text as well, so of those more is asked.
PACKINGS: Final = (
    *((magic.pattern, f"packed with {name}", UNPACK_IT) for name, magic in MAGIC.items()),
    (rb"[\x50-\x5f]\x2a\x4d\x18", "packed with zstd", UNPACK_IT),
    (rb"PK(?:\x03\x04|\x05\x06|\x07\x08)", "packed with zip", UNPACK_IT),
    (rb"7z\xbc\xaf\x27\x1c", "packed with 7-Zip", UNPACK_IT),
    (rb"Rar!\x1a\x07", "packed with RAR", UNPACK_IT),
    (rb"\x04\x22\x4d\x18|\x02\x21\x4c\x18", "packed with lz4", UNPACK_IT),
    (rb"LZIP\x01", "packed with lzip", UNPACK_IT),
    # Properties, the size of a dictionary, and eight bytes of length, or of "unknown".
    (rb"\x5d\0\0[\0-\xff][\0-\x04](?:\xff{8}|[\0-\xff]{5}\0{3})", "packed with lzma", UNPACK_IT),
    (rb"\x89LZO\0\r\n\x1a\n", "packed with lzop", UNPACK_IT),
    (rb"\x1f[\x9d\xa0]", "packed with compress", UNPACK_IT),
    (rb"\xff\x06\0\0sNaPpY", "packed with snappy", UNPACK_IT),
    # It packs its longer fields, each by itself.
    (rb"LPKSHHRH", "a journal of systemd", "send what `journalctl -o json` prints of it"),
)
ANY: Final = re.compile(b"|".join(b"(%s)" % pattern for pattern, _, _ in PACKINGS))


def packing_of(head: bytes) -> tuple[str, str] | None:
    """What the bytes that begin with ``head`` are ("packed with xz"), and what to do instead.

    32 bytes are enough; None for what is packed with nothing that is known.
    """
    found = ANY.match(head)
    if found is None:
        return None
    _, what, instead = PACKINGS[(found.lastindex or 1) - 1]
    return what, instead
