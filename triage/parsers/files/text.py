"""Whether the first bytes of a file are text, in which encoding, and why they are none."""

import codecs
from typing import Final

from triage.parsers.files.packings import packing_of

__all__ = ["encoding_of", "why_no_text"]

# Of a file's first bytes: a log that lost its disk for a moment holds pages of zeros,
# coloured bars hold many escapes, other encodings hold high bytes.
MAX_CONTROL_SHARE: Final = 0.1
MAX_BROKEN_SHARE: Final = 0.3
NOT_TEXT: Final = (
    (b"\x7fELF", "a program or core dump"), (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"), (b"%PDF", "a PDF"), (b"\x93NUMPY", "an array"),
    (b"SQLite format 3\x00", "a database"),
)  # fmt: skip
MARKS: Final = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
NOT_ASCII: Final = bytes(range(128, 256))
TEXT: Final = bytes({9, 10, 12, 13, 27, *range(32, 127)})


def encoding_of(head: bytes) -> str | None:
    """UTF-16 by its mark, or by a zero in every other byte of what is text otherwise."""
    for mark, encoding in MARKS:
        if head.startswith(mark):
            return encoding
    even, odd = head[0:2048:2], head[1:2048:2]
    for text, zeros, encoding in ((even, odd, "utf-16-le"), (odd, even, "utf-16-be")):
        if len(zeros) >= 8 and not zeros.strip(b"\0") and not text.translate(None, TEXT):
            return encoding
    return None


def why_no_text(head: bytes) -> str | None:
    """Why the first bytes of a file are no text; None when they are."""
    packing = packing_of(head)
    if packing is not None:
        what, instead = packing
        return f"no text: {what}: {instead}"
    for magic, what in NOT_TEXT:
        if head.startswith(magic):
            return f"no text: {what}"
    text = head.replace(b"\0", b"")
    if not text:
        return f"no text: its first {len(head):,} bytes are zeros"
    odd = text.translate(None, TEXT)
    control = len(odd.translate(None, NOT_ASCII))
    broken = text.decode("utf-8", "replace").count("\ufffd")
    if control > MAX_CONTROL_SHARE * len(text) or broken > MAX_BROKEN_SHARE * len(text):
        return "no text: its first bytes are binary"
    return None
