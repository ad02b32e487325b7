"""Where a secret may be: four bytes of it, looked up at every place of the text.

Almost no line of a log holds a secret, so what counts is how fast lines are passed
over. One array operation hashes the four bytes at every place and looks them up; only
lines with a hit meet the patterns, and only those that the hit stands for.
"""

from collections.abc import Mapping
from itertools import product
from typing import Final

import numpy as np

_FOLD: Final = 0x20202020
_MIX: Final = 0x9E3779B1
_SECOND_MIX: Final = 0x85EBCA6B
_HASH_BITS: Final = 17
_GRAM: Final = 4
_Words = np.ndarray[tuple[int], np.dtype[np.uint32]]
# In a gate's four characters: any byte that is no letter or digit, and what may stand
# between a name and its value.
NON_WORD: Final = "^"
# What mostly stands before a word of a log: few values, for gates of three bytes.
_BEFORE: Final = "~"
SEPARATOR: Final = "%"
# A letter or digit, a digit of a hex number, and a tilde.
_ALPHANUMERIC, _HEX, _TILDE = "*", "#", "!"
_WORD: Final = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_CLASSES: Final = {
    NON_WORD: bytes(byte for byte in range(256) if byte not in _WORD),
    _BEFORE: b" \t\n\"'=:,([/`",
    SEPARATOR: b"=:\"'\\ \t>%&`",
    _ALPHANUMERIC: bytes(_WORD),
    _HEX: b"0123456789abcdef",
    _TILDE: b"~",
}


def _list_gate_values(gate: str) -> set[int]:
    """The folded four-byte words that ``gate`` stands for."""
    choices = [_CLASSES.get(char, char.encode()) for char in gate]
    if len(choices) != _GRAM:
        raise ValueError(f"a gate has four characters: {gate!r}")
    return {int.from_bytes(bytes(word), "little") | _FOLD for word in product(*choices)}


def _compute_hashes(folded: _Words, mix: int) -> _Words:
    """As many bits of each as the tables have room for."""
    return (folded * np.uint32(mix)) >> np.uint32(32 - _HASH_BITS)


class Gate:
    """Which of numbered things a text may hold, by line; bits are 1 << number."""

    def __init__(self, gates: Mapping[str, int], at_bits: int) -> None:
        self.at_bits = at_bits
        self.bits: dict[int, int] = {}
        for gate, bits in gates.items():
            for value in _list_gate_values(gate):
                self.bits[value] = self.bits.get(value, 0) | bits
        values = np.array(list(self.bits), dtype=np.uint32)
        self.table = np.zeros(1 << _HASH_BITS, dtype=np.bool_)
        self.table[_compute_hashes(values, _MIX)] = True
        # One place in two hundred passes the first by chance; what passes both is counted.
        self.second = np.zeros(1 << _HASH_BITS, dtype=np.bool_)
        self.second[_compute_hashes(values, _SECOND_MIX)] = True

    def whole(self, text: bytes) -> int:
        """Bits of all of ``text``, as one line."""
        bits = 0
        for _, found in self.hits(b"\n" + text):
            bits |= found
        return bits

    def lines(self, text: bytes, into: dict[int, int]) -> None:
        """Adds to ``into`` the bits of each line of ``text``, by its number from 0."""
        # A line feed stands before every line but the first.
        hits = self.hits(b"\n" + text)
        if not hits:
            return
        feeds = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == 10)
        # A hit may begin at the line feed before its line.
        numbers = np.searchsorted(feeds, np.array([place for place, _ in hits], dtype=np.int64))
        for number, (_, bits) in zip(numbers.tolist(), hits, strict=True):
            into[number] = into.get(number, 0) | bits

    def hits(self, text: bytes) -> list[tuple[int, int]]:
        """(place in the text behind its first byte, bits)."""
        found: list[tuple[int, int]] = []
        known = self.bits.get
        for shift in range(_GRAM):
            count = (len(text) - shift) // _GRAM
            if count < 1:
                break
            folded = np.frombuffer(text, dtype="<u4", count=count, offset=shift) | np.uint32(_FOLD)
            places = np.flatnonzero(self.table.take(_compute_hashes(folded, _MIX)))
            places = places[self.second.take(_compute_hashes(folded[places], _SECOND_MIX))]
            for place, value in zip(places.tolist(), folded[places].tolist(), strict=True):
                if bits := known(value):
                    # The first byte may be the line feed; the second is the line's.
                    found.append((place * _GRAM + shift, bits))
        if b"@" in text:
            places = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == 64)
            found.extend((place - 1, self.at_bits) for place in places.tolist())
        return found
