"""Whether the first bytes of a file are text, in which encoding, and why they are none."""

import codecs
from typing import Final

from triage.domain.patterns import compile_re
from triage.parsers.files.compression import MAGIC, PACKERS

# Of a file's first bytes: a log that lost its disk for a moment holds pages of zeros,
# coloured bars hold many escapes, other encodings hold high bytes.
_MAX_CONTROL_SHARE: Final = 0.1
_MAX_BROKEN_SHARE: Final = 0.3
_NOT_TEXT: Final = (
    (b"\x7fELF", "a program or core dump"), (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"), (b"%PDF", "a PDF"), (b"\x93NUMPY", "an array"),
    (b"SQLite format 3\x00", "a database"),
)  # fmt: skip
_MARKS: Final = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_NOT_ASCII: Final = bytes(range(128, 256))
_TEXT: Final = bytes({9, 10, 12, 13, 27, *range(32, 127)})


def detect_encoding(head: bytes) -> str | None:
    """UTF-16 by its mark, or by a zero in every other byte of what is text otherwise."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    even, odd = head[0:2048:2], head[1:2048:2]
    for text, zeros, encoding in ((even, odd, "utf-16-le"), (odd, even, "utf-16-be")):
        if len(zeros) >= 8 and not zeros.strip(b"\0") and not text.translate(None, _TEXT):
            return encoding
    return None


def explain_no_text(head: bytes) -> str | None:
    """Why the first bytes of a file are no text; None when they are."""
    packing = detect_packing(head)
    if packing is not None:
        what, instead = packing
        return f"no text: {what}: {instead}"
    for magic, what in _NOT_TEXT:
        if head.startswith(magic):
            return f"no text: {what}"
    text = head.replace(b"\0", b"")
    if not text:
        return f"no text: its first {len(head):,} bytes are zeros"
    odd = text.translate(None, _TEXT)
    control = len(odd.translate(None, _NOT_ASCII))
    broken = text.decode("utf-8", "replace").count("\ufffd")
    if control > _MAX_CONTROL_SHARE * len(text) or broken > _MAX_BROKEN_SHARE * len(text):
        return "no text: its first bytes are binary"
    return None


# gzip, zstd, xz and bzip2 are taken off once, in ``compression``; a second layer of them stands
# here too. What is packed cannot be looked through, neither for what happened nor for secrets.

_UNPACK_IT: Final = f"send it unpacked, or packed once with {PACKERS}"
# A few letters may begin a text as well, so of those more is asked.
_PACKINGS: Final = (
    *((magic.pattern, f"packed with {name}", _UNPACK_IT) for name, magic in MAGIC.items()),
    (rb"[\x50-\x5f]\x2a\x4d\x18", "packed with zstd", _UNPACK_IT),
    (rb"PK(?:\x03\x04|\x05\x06|\x07\x08)", "packed with zip", _UNPACK_IT),
    (rb"7z\xbc\xaf\x27\x1c", "packed with 7-Zip", _UNPACK_IT),
    (rb"Rar!\x1a\x07", "packed with RAR", _UNPACK_IT),
    (rb"\x04\x22\x4d\x18|\x02\x21\x4c\x18", "packed with lz4", _UNPACK_IT),
    (rb"LZIP\x01", "packed with lzip", _UNPACK_IT),
    # Properties, the size of a dictionary, and eight bytes of length, or of "unknown".
    (rb"\x5d\0\0[\0-\xff][\0-\x04](?:\xff{8}|[\0-\xff]{5}\0{3})", "packed with lzma", _UNPACK_IT),
    (rb"\x89LZO\0\r\n\x1a\n", "packed with lzop", _UNPACK_IT),
    (rb"\x1f[\x9d\xa0]", "packed with compress", _UNPACK_IT),
    (rb"\xff\x06\0\0sNaPpY", "packed with snappy", _UNPACK_IT),
    # It packs its longer fields, each by itself.
    (rb"LPKSHHRH", "a journal of systemd", "send what `journalctl -o json` prints of it"),
)
_ANY: Final = compile_re(b"|".join(b"(%s)" % pattern for pattern, _, _ in _PACKINGS))


def detect_packing(head: bytes) -> tuple[str, str] | None:
    """What the bytes that begin with ``head`` are ("packed with xz"), and what to do instead.

    32 bytes are enough; None for what is packed with nothing that is known.
    """
    found = _ANY.match(head)
    if found is None:
        return None
    _, what, instead = _PACKINGS[(found.lastindex or 1) - 1]
    return what, instead
