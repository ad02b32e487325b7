"""One look of one kind of secret: a pattern, and the four bytes that betray it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

__all__ = ["WORD_END", "WORD_START", "Check", "Secret", "secret"]

# Also behind an escape or a percent code: `\\nhf_...`, `%3Dhf_...`.
WORD_START: Final = rb"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
WORD_END: Final = rb"(?![A-Za-z0-9])"
# Whether what a pattern found is a secret: what no pattern can say in linear time.
Check = Callable[[re.Match[bytes]], bool]


@dataclass(frozen=True, slots=True)
class Secret:
    """One look of one kind; ``gates`` as in :mod:`triage.parsers.redact.gate`.

    What the group ``s`` (or ``q``) matched is replaced, else the whole match. Without gates it
    is looked for where an ``@`` is. Where ``check`` says no, nothing is replaced.
    """

    kind: str
    pattern: re.Pattern[bytes]
    gates: tuple[str, ...]
    check: Check | None = None


def secret(kind: str, pattern: bytes, *gates: str, check: Check | None = None) -> Secret:
    """A secret by the text of its pattern, of which every length is bounded."""
    return Secret(kind, re.compile(pattern), gates, check)
