"""Lines of the protocol between client and server that a raw capture of RAS begins with."""

import re
from typing import Final

__all__ = ["behind_protocol"]

# OK / SERVER PROTOCOL 2 / CLIENT PROTOCOL 2 / SET FORMAT json / TIMEOUT 5 / VERBOSE STATUS
PROTOCOL: Final = re.compile(
    r"\s*(?:(?:OK|(?:SERVER|CLIENT) PROTOCOL \d{1,9}|TIMEOUT \d{1,9}|SET FORMAT \w{1,20}"
    r"|(?:VERBOSE )?STATUS|MONITOR[ \w,]{0,80})[ \t]*\r?\n)",
    re.IGNORECASE,
)
MAX_LINES: Final = 16


def behind_protocol(text: str) -> int:
    r"""Where a report begins behind the lines of the protocol.

    >>> behind_protocol("OK\nSERVER PROTOCOL 2\nNCCL version")
    21
    """
    place = 1 if text.startswith("\ufeff") else 0
    for _ in range(MAX_LINES):
        found = PROTOCOL.match(text, place)
        if found is None:
            break
        place = found.end()
    return place
