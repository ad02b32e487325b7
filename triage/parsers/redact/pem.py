"""A private key over many lines of a log, whatever stands before each line.

The lines of a key are told by their content, since other ranks write between them, and
each is replaced on its own: line numbers stay true.
"""

import re
from typing import Final

__all__ = ["PemBlock"]

# The last word of a line, in base64.
BODY: Final = re.compile(
    rb"(?<![A-Za-z0-9+/=])(?P<s>[A-Za-z0-9+/]{4,4096}={0,2})(?:\\n|[\s\"',])*$"
)
# Proc-Type: 4,ENCRYPTED and DEK-Info: AES-256-CBC,0123...
HEADER: Final = re.compile(rb"(?P<s>DEK-Info: [A-Z0-9-]{1,40},[0-9A-F]{1,64})")
END: Final = re.compile(rb"-----END [A-Z0-9 ]{0,80}-----|Private-(?:MAC|Hash):")
# As long as this, a word at a line's end is taken for a key's line wherever it stands.
LONG_WORD: Final = 24
# Of an RSA key of 16,384 bits, with room for what other ranks write.
MOST_LINES: Final = 2000
MOST_OTHERS: Final = 50


class PemBlock:
    """Between the begin of a key, with ``prefix`` bytes before it, and its end."""

    def __init__(self, prefix: int) -> None:
        self.prefix = prefix
        self.lines = 0
        self.others = 0
        self.open = True

    def span(self, line: bytes) -> tuple[int, int] | None:
        """What of the next line belongs to the key."""
        self.lines += 1
        ended = END.search(line)
        if ended:
            self.open = False
            return ended.start() if ended.start() <= self.prefix else 0, ended.end()
        found = HEADER.search(line) or BODY.search(line, max(0, len(line) - 4200))
        if found and self.belongs(found.start("s"), found.end("s")):
            self.others = 0
            return found.span("s")
        self.others += 1
        self.open = self.lines < MOST_LINES and self.others < MOST_OTHERS
        return None

    def belongs(self, start: int, end: int) -> bool:
        """Whether a word in base64, from ``start`` to ``end``, is a line of the key."""
        # The last line may be of any length; it stands where the others do.
        return end - start >= LONG_WORD or start == self.prefix
