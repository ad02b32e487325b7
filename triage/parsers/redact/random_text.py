"""Whether a word looks drawn at random: what tells a token from a name, a path or a number.

Words of a language keep to one kind of letter for long; a random word changes between lower
case, upper case and digits at every second or third character.
"""

import itertools
from typing import Final

__all__ = ["is_mixed", "is_random"]

LOWER, UPPER, DIGIT = 1, 2, 3
KINDS: Final = bytes(
    LOWER if 97 <= byte <= 122 else UPPER if 65 <= byte <= 90 else DIGIT if 48 <= byte <= 57 else 0
    for byte in range(256)
)
# A word of fewer changes for each character is a name with a number: `step-12000-of-99999`.
LEAST_CHANGES: Final = 0.15
FEWEST: Final = 3


def changes(word: bytes) -> int:
    """How often letters and digits change their kind; separators between them do not count."""
    kinds = word.translate(KINDS).replace(b"\0", b"")
    return sum(a != b for a, b in itertools.pairwise(kinds))


def is_random(word: bytes) -> bool:
    """Whether its letters and digits change as those of a random word do."""
    return changes(word) >= max(FEWEST, LEAST_CHANGES * len(word))


def is_mixed(word: bytes) -> bool:
    """Whether it has lower case, upper case and digits, and changes as a random word does."""
    return {LOWER, UPPER, DIGIT} <= set(word.translate(KINDS)) and is_random(word)
