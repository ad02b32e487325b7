"""Keys of lines of which a node may print thousands an hour: Xids, each with other numbers.

The first lines of a host and hour are told apart by all that the collapse key keeps, those behind
them by what they are about, the GPU and the code. No machine has as many GPUs and codes as are told
apart then; what goes on after that is garbage, told apart by its code, and at last by nothing.
"""

from typing import Any, Final

import numpy as np

from triage.parsers.flight_recorder.jit import Word, compiled
from triage.parsers.logs.mask import (
    COLON,
    HEX,
    KINDS,
    LETTER,
    MASK,
    SEED,
    collapse_key,
    find_digits_end,
    finish,
    mix,
    mix_run,
)

# So many lines of one host and hour are told apart by all, then so many GPUs with their codes, and
# so many codes.
MOST_ALIKE: Final = 192

# Columns of the table. One entry for what stands before each Xid, which is a host and an hour, and
# one for each key that was given behind the first lines.
_KEY, _LINES, _PLACES, _CODES, _COLUMNS = range(5)

_X, _LETTER_I, _D, _OPEN, _CLOSE, _SPACE = (ord(one) for one in "xid() ")
_LOWER: Final = 32

_Array = Any  # of compiled code


class FloodTable:
    """What was seen of floods in one file; ``count`` holds the number of entries."""

    def __init__(self, capacity: int = 1 << 14) -> None:
        self.entries = np.zeros((capacity, _COLUMNS), np.int64)
        self.count = np.zeros(1, np.int64)

    def start(self) -> None:
        """Ready for a new file."""
        if self.count[0]:
            self.entries[:] = 0
            self.count[0] = 0


@compiled
def _find_xid(buf: _Array, start: Word, end: Word) -> Word:
    """Where ``Xid`` with a bracket behind it stands, in any case; -1 where it does not."""
    for i in range(start, end - 4):
        named = (buf[i] | _LOWER) == _X and (buf[i + 1] | _LOWER) == _LETTER_I
        if named and (buf[i + 2] | _LOWER) == _D and (buf[i + 3] == _OPEN or buf[i + 4] == _OPEN):
            of_a_switch = i > start and HEX <= KINDS[buf[i - 1]] <= LETTER  # "SXid ("
            return -1 if of_a_switch else i
    return -1


@compiled
def _find_slot(entries: _Array, key: Word) -> Word:
    """The entry of ``key``, or the free one in which it belongs."""
    last = len(entries) - 1
    slot = key & last
    while entries[slot, _KEY] and entries[slot, _KEY] != key:
        slot = (slot + 1) & last
    return slot


@compiled
def _is_apart(entries: _Array, count: _Array, owner: Word, column: Word, key: Word) -> Word:
    """Whether ``key`` is kept apart: it was before, or few of its kind have been so far."""
    slot = _find_slot(entries, key)
    if entries[slot, _KEY]:
        return True
    if entries[owner, column] >= MOST_ALIKE or count[0] >= len(entries) // 2:
        return False
    entries[owner, column] += 1
    entries[slot, _KEY] = key
    count[0] += 1
    return True


@compiled
def compute_flood_key(buf: _Array, start: Word, end: Word, entries: _Array, count: _Array) -> Word:
    """The key of one more line with an Xid in it."""
    place = _find_xid(buf, start, end)
    if place < 0:
        return collapse_key(buf, start, end)
    before = collapse_key(buf, start, place)
    owner = _find_slot(entries, before)
    if not entries[owner, _KEY]:
        if count[0] >= len(entries) // 2:
            before = np.int64(SEED)  # whatever stands before it
            owner = _find_slot(entries, before)
        count[0] += entries[owner, _KEY] == 0
        entries[owner, _KEY] = before
    entries[owner, _LINES] += 1
    if entries[owner, _LINES] <= MOST_ALIKE:
        return collapse_key(buf, start, end)
    close = place
    while close < end and buf[close] != _CLOSE:
        close += 1
    stop = close + 1
    while stop < end and (buf[stop] == COLON or buf[stop] == _SPACE):
        stop += 1
    stop = find_digits_end(buf, stop, end)
    key = finish(mix_run(before, buf, place, min(stop, end)))
    if _is_apart(entries, count, owner, _PLACES, key):
        return key
    key = finish(mix_run(before, buf, close, min(stop, end)))
    if _is_apart(entries, count, owner, _CODES, key):
        return key
    return finish(mix(before, MASK))
