"""The long texts of the dumps before: the rank list of a hundred thousand ranks is a megabyte, and
every dump of the job has it.

Comparing it with the one before takes a quarter of the time of its hash, and what it says need not
be looked up by its bytes once more. A text is known by all of its bytes, never by a hash alone.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from triage.parsers.flight_recorder.jit import Word, checked, inlined

_U8 = NDArray[np.uint8]
_I64 = NDArray[np.int64]

# Bytes from which on a text is long: the list of five thousand ranks, which is hashed in 10 us.
LONG_TEXT: Final = 1 << 15
MAX_TEXTS: Final = 16
# Room for two of the longest texts that are read.
ROOM: Final = 4 << 20
# Columns of a row: where the text begins, its length, its hash, and its index among the strings of
# the present dump, -1 where that has not had it.
_T_OFFSET, _T_LENGTH, T_HASH, T_STRING, _TEXT_FIELDS = range(5)
_BLOCK: Final = 256


class LongTexts:
    """Long texts with the ranks they list. Belongs to one decoder; full, it begins again."""

    def __init__(self) -> None:
        self.data: _U8 = np.empty(ROOM, np.uint8)
        self.rows: _I64 = np.zeros((MAX_TEXTS, _TEXT_FIELDS), np.int64)
        self.ranks: list[tuple[int, ...] | None] = []

    def clear(self) -> None:
        """Forget all texts."""
        self.rows[:] = 0
        self.ranks.clear()

    def row_of(self, string: int) -> int | None:
        """Which text the string of the present dump is; None where it is a new one."""
        strings = self.rows[: len(self.ranks), T_STRING].tolist()
        return strings.index(string) if string in strings else None

    def add(self, text: _U8, text_hash: int, ranks: tuple[int, ...] | None) -> None:
        """Keep a text of at least LONG_TEXT bytes, and what ranks it lists."""
        if len(text) > ROOM:
            return
        begin = int(self.rows[:, [_T_OFFSET, _T_LENGTH]].sum(axis=1).max())
        if begin + len(text) > ROOM or len(self.ranks) == MAX_TEXTS:
            self.clear()
            begin = 0
        self.data[begin : begin + len(text)] = text
        self.rows[len(self.ranks)] = (begin, len(text), text_hash, -1)
        self.ranks.append(ranks)


@checked
def find_known_row(buf: _U8, start: Word, length: Word, data: _U8, rows: _I64) -> Word:
    """The row of the text with these bytes, -1 where there is none."""
    if start < 0 or length < 0 or start + length > len(buf):
        raise IndexError
    for row in range(len(rows)):
        if rows[row, _T_LENGTH] == length and is_same_bytes(buf, start, data, rows[row, 0], length):
            return row
    return -1


@inlined
def is_same_bytes(buf: _U8, start: Word, other: _U8, begin: Word, length: Word) -> bool:
    """Whether two stretches of this length, which lie within their arrays, are the same."""
    # Unsigned places are never counted from the end, so that whole blocks are compared at once.
    at, to = np.uint64(start), np.uint64(begin)
    for _ in range(length // _BLOCK):
        apart = np.uint8(0)
        for b in range(_BLOCK):
            apart |= buf[at + np.uint64(b)] ^ other[to + np.uint64(b)]
        if apart != 0:
            return False
        at += np.uint64(_BLOCK)
        to += np.uint64(_BLOCK)
    for b in range(length % _BLOCK):  # noqa: SIM110 - compiled by numba
        if buf[at + np.uint64(b)] != other[to + np.uint64(b)]:
            return False
    return True
