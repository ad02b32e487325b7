"""Where a literal may lie: a filter over every second byte, and the proof.

Of each literal two runs of four bytes ("grams") are chosen that lie one byte
apart and are rare in lines of logs: one of them starts at an even place, so that
only every second place is looked up, in a table of bits, eight bytes of text at a
time. What passes is compared with the literals themselves. Unlike an automaton's,
these steps do not wait for each other, which makes them several times as fast.

Control characters are not looked through here: a line that has some, and
whatever comes too near to the end of the buffer, is left to the automaton.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np

from triage.parsers.flight_recorder.jit import ALL_64, Word, in_python, inlined

_GRAM: Final = 4
_BIT_COUNT: Final = 20
_SLOT_COUNT: Final = 14

# 64-bit words of eight bytes each.
_LOW_HALF: Final = np.uint64(0xFFFFFFFF)
_FOLD: Final = np.uint64(0x20202020)
_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)
_BITS_SHIFT: Final = np.uint64(64 - _BIT_COUNT)
_SLOTS_SHIFT: Final = np.uint64(64 - _SLOT_COUNT)
_LOW_SIX: Final = np.uint64(63)
_ONES: Final = np.uint64(0x0101010101010101)
_SPACES: Final = np.uint64(0x2020202020202020)
_DELETES: Final = np.uint64(0x7F7F7F7F7F7F7F7F)
_TOPS: Final = np.uint64(0x8080808080808080)
_U0, _U1, _U3, _U6, _U16, _U32, _U48 = map(np.uint64, (0, 1, 3, 6, 16, 32, 48))
_TAB, _LF, _CR, _DEL = 9, 10, 13, 127

# Columns of ``entries``: where the gram stands in the literal, where that begins in ``texts``.
_OFFSET, _BEGIN, _LENGTH, _FLAGS = range(4)


@dataclass(frozen=True, slots=True)
class Grams:
    """The filter: ``bits`` by hash; ``slots`` (gram + 1, first entry, last + 1); ``entries``.

    ``usable`` is false where some literal is too short for it.
    """

    bits: np.ndarray
    slots: np.ndarray
    entries: np.ndarray
    texts: np.ndarray
    usable: bool


def build_grams(literals: Sequence[str], flags: Sequence[int], usual: str = "") -> Grams:
    """The filter for lower-case ASCII ``literals``; ``usual`` is text as logs have it."""
    usable = min(map(len, literals), default=_GRAM) >= _GRAM and sys.byteorder == "little"
    seen = _Frequencies(usual + "\n" + "\n".join(literals))
    by_gram: dict[int, list[tuple[int, int, int, int]]] = {}
    begin = 0
    for text, flag in zip(literals if usable else (), flags, strict=False):
        for offset, grams in _choose_places(text, seen):
            for gram in grams:
                by_gram.setdefault(gram, []).append((offset, begin, len(text), flag))
        begin += len(text)
    listed: list[tuple[int, int, int, int]] = []
    bits = np.zeros(1 << (_BIT_COUNT - 6), np.uint64)
    slots = np.zeros((1 << _SLOT_COUNT, 3), np.int64)
    if len(by_gram) > len(slots) // 2:
        usable, by_gram = False, {}
    for gram in sorted(by_gram):
        spread = (gram * int(_SPREAD)) & 0xFFFFFFFFFFFFFFFF
        bit = spread >> int(_BITS_SHIFT)
        bits[bit >> 6] |= np.uint64(1 << (bit & 63))
        slot = spread >> int(_SLOTS_SHIFT)
        while slots[slot, 0]:
            slot = (slot + 1) % len(slots)
        slots[slot] = gram + 1, len(listed), len(listed) + len(by_gram[gram])
        listed += by_gram[gram]
    entries = np.array(listed or [(0, 0, 0, 0)], np.int64)
    texts = np.frombuffer("".join(literals).encode("ascii") + b"\0", np.uint8).copy()
    return Grams(bits, slots, entries, texts, usable)


class _Frequencies:
    """How often grams and pairs of bytes are in some text."""

    def __init__(self, text: str) -> None:
        raw = np.frombuffer(text.encode("utf-8", "replace"), np.uint8).astype(np.uint32) | 0x20
        self.pairs = np.bincount(raw[:-1] << 8 | raw[1:], minlength=1 << 16)
        full = raw[:-3] | raw[1:-2] << 8 | raw[2:-1] << 16 | raw[3:] << 24
        found, counts = np.unique(full, return_counts=True)
        self.grams = dict(zip(found.tolist(), counts.tolist(), strict=True))

    def of(self, gram: bytes) -> float:
        """The count of a gram, and less than one for how usual its pairs are."""
        pairs = [int(self.pairs[one << 8 | two]) for one, two in pairwise(gram)]
        return float(self.grams.get(int.from_bytes(gram, "little"), 0)) + min(pairs) / (1 << 20)


def _choose_places(text: str, seen: _Frequencies) -> list[tuple[int, Sequence[int]]]:
    """The two grams by which a literal is found, each with its offset."""
    raw = bytes(byte | 0x20 for byte in text.encode("ascii"))
    if len(raw) == _GRAM:  # whatever follows it
        rest = int.from_bytes(raw[1:], "little")
        return [
            (0, [int.from_bytes(raw, "little")]),
            (1, [rest | byte << 24 for byte in range(256) if byte & 0x20]),
        ]
    best = min(
        range(len(raw) - _GRAM),
        key=lambda at: seen.of(raw[at : at + _GRAM]) + seen.of(raw[at + 1 : at + 1 + _GRAM]),
    )
    return [(at, [int.from_bytes(raw[at : at + _GRAM], "little")]) for at in (best, best + 1)]


_Array = Any


@inlined
def spread(gram: Word) -> Word:
    """The hash of four bytes, whatever their case."""
    return (gram | _FOLD) * _SPREAD


@in_python(spread)
def _spread_by_hand(gram: int) -> int:
    """:func:`spread` for integers of any size."""
    return ((gram | 0x20202020) * 0x9E3779B97F4A7C15) & ALL_64


@inlined
def find_gram_hits(
    buf: _Array,
    words: _Array,
    bits: _Array,
    slots: _Array,
    entries: _Array,
    texts: _Array,
    start: Word,
    stop: Word,
) -> Word:
    """(end of the line that starts at ``start``, flags of its literals).

    The end is at most ``stop``; it is -1 where the automaton has to look.
    """
    hit = np.int64(0)
    if len(words) < 2:
        return np.int64(-1), hit
    k = np.uint64(start >> 3)
    last = np.uint64(len(words) - 1)
    end = np.uint64(stop)
    word = words[k]
    while k < last:
        following = words[k + _U1]
        one = spread(word & _LOW_HALF) >> _BITS_SHIFT
        two = spread((word >> _U16) & _LOW_HALF) >> _BITS_SHIFT
        three = spread(word >> _U32) >> _BITS_SHIFT
        four = spread((word >> _U48) | ((following << _U16) & _LOW_HALF)) >> _BITS_SHIFT
        found = (
            (bits[one >> _U6] >> (one & _LOW_SIX))
            | (bits[two >> _U6] >> (two & _LOW_SIX))
            | (bits[three >> _U6] >> (three & _LOW_SIX))
            | (bits[four >> _U6] >> (four & _LOW_SIX))
        ) & _U1
        deleted = word ^ _DELETES
        control = (((word - _SPACES) & ~word) | ((deleted - _ONES) & ~deleted)) & _TOPS
        if (found | control) != _U0:
            base = np.int64(k << _U3)
            for j in range(8):
                i = base + j
                if i < start:
                    continue
                if i >= stop:
                    return stop, hit
                if found != _U0 and not j & 1:
                    hit |= _prove_literals(buf, slots, entries, texts, i, start, stop)
                b = buf[i]
                if (b < 32 and b != _TAB) or b == _DEL:
                    if b == _LF or b == _CR:
                        return i, hit
                    return np.int64(-1), hit
        k += _U1
        if (k << _U3) >= end:
            return stop, hit
        word = following
    return np.int64(-1), hit


@inlined
def _prove_literals(
    buf: _Array, slots: _Array, entries: _Array, texts: _Array, i: Word, start: Word, stop: Word
) -> Word:
    """The flags of the literals around the gram at ``i``, between ``start`` and ``stop``."""
    hit = np.int64(0)
    gram = (
        np.uint64(buf[i])
        | np.uint64(buf[i + 1]) << np.uint64(8)
        | np.uint64(buf[i + 2]) << _U16
        | np.uint64(buf[i + 3]) << np.uint64(24)
        | _FOLD
    )
    slot = np.int64(spread(gram) >> _SLOTS_SHIFT)
    wanted = np.int64(gram) + 1
    while slots[slot, 0] != wanted:
        if slots[slot, 0] == 0:
            return hit
        slot = (slot + 1) & (len(slots) - 1)
    for entry in range(slots[slot, 1], slots[slot, 2]):
        at = i - entries[entry, _OFFSET]
        begin = entries[entry, _BEGIN]
        length = entries[entry, _LENGTH]
        if at < start or at + length > stop:
            continue
        same = 0
        while same < length:
            b = buf[at + same]
            if 65 <= b <= 90:
                b |= 32
            if b != texts[begin + same]:
                break
            same += 1
        if same == length:
            hit |= entries[entry, _FLAGS]
    return hit
