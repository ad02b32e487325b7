"""One look of one kind of secret: a pattern, and the four bytes that betray it."""

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

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


def any_word(*words: bytes, after: bytes = b"") -> bytes:
    """The text of a pattern for any of ``words``, which are patterns that begin with a letter.

    It ignores case and matches as ``(?i:first|second)`` does, and is found many times faster:
    the search jumps to the next first letter, where it would try each word at every byte of a
    line. For that it has to begin a pattern; ``after`` is what a first letter has to fulfil.
    """
    rests: dict[bytes, list[bytes]] = {}
    for word in words:
        rests.setdefault(word[:1].lower(), []).append(word[1:])
    letters = {first: first.upper() + first for first in rests}
    branches = (
        b"(?<=[%b])(?i:%b)" % (letters[first], b"|".join(rest)) for first, rest in rests.items()
    )
    return b"[%b]%b(?:%b)" % (b"".join(letters.values()), after, b"|".join(branches))


# Words of a language keep to one kind of letter for long; a random word changes between lower
# case, upper case and digits at every second or third character.

_LOWER, _UPPER, _DIGIT = 1, 2, 3
_KINDS: Final = bytes(
    _LOWER
    if 97 <= byte <= 122
    else _UPPER
    if 65 <= byte <= 90
    else _DIGIT
    if 48 <= byte <= 57
    else 0
    for byte in range(256)
)
# A word of fewer changes for each character is a name with a number: `step-12000-of-99999`.
_LEAST_CHANGES: Final = 0.15
_FEWEST: Final = 3


def is_random(word: bytes) -> bool:
    """Whether its letters and digits change as those of a random word do."""
    # Separators between letters and digits do not count.
    kinds = word.translate(_KINDS).replace(b"\0", b"")
    changes = sum(a != b for a, b in itertools.pairwise(kinds))
    return changes >= max(_FEWEST, _LEAST_CHANGES * len(word))


def is_mixed(word: bytes) -> bool:
    """Whether it has lower case, upper case and digits, and changes as a random word does."""
    return {_LOWER, _UPPER, _DIGIT} <= set(word.translate(_KINDS)) and is_random(word)
