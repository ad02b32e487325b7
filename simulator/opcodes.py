"""PyTorch's C++ pickler, as far as flight-recorder dumps use it, into a byte buffer.

Protocol 2, no framing. Strings are memoised by content and frames by identity;
other containers are not. Each function writes at ``at`` and returns what follows.
"""

import numpy as np

from simulator.compiled import compiled_plain
from simulator.strings import Bytes
from simulator.tables import Memo
from simulator.topology import Floats, Ints

MARK = 0x28
STOP = 0x2E
NONE = 0x4E
EMPTY_LIST = 0x5D
APPENDS = 0x65
SETITEMS = 0x75
EMPTY_DICT = 0x7D
TUPLE2 = 0x86
NEWTRUE = 0x88
NEWFALSE = 0x89
_BINFLOAT = 0x47
_BININT = 0x4A
_BININT1 = 0x4B
_BININT2 = 0x4D
_BINUNICODE = 0x58
_BINGET = 0x68
_LONG_BINGET = 0x6A
_BINPUT = 0x71
_LONG_BINPUT = 0x72
_LONG1 = 0x8A


@compiled_plain
def open_dict(out: Bytes, at: int) -> int:
    """An empty dict and the mark before its items."""
    out[at] = EMPTY_DICT
    out[at + 1] = MARK
    return at + 2


@compiled_plain
def open_list(out: Bytes, at: int) -> int:
    """An empty list and the mark before its items."""
    out[at] = EMPTY_LIST
    out[at + 1] = MARK
    return at + 2


@compiled_plain
def _put_little(out: Bytes, at: int, value: int, width: int) -> int:
    """``value`` in ``width`` bytes, little end first, two's complement."""
    for turn in range(width):
        out[at + turn] = (value >> (8 * turn)) & 0xFF
    return at + width


@compiled_plain
def put_int(out: Bytes, at: int, value: int) -> int:
    """The shortest of the pickler's integer forms."""
    if 0 <= value <= 0xFF:
        out[at] = _BININT1
        return _put_little(out, at + 1, value, 1)
    if 0 <= value <= 0xFFFF:
        out[at] = _BININT2
        return _put_little(out, at + 1, value, 2)
    if -0x80000000 <= value <= 0x7FFFFFFF:
        out[at] = _BININT
        return _put_little(out, at + 1, value, 4)
    out[at] = _LONG1
    out[at + 1] = 8
    return _put_little(out, at + 2, value, 8)


@compiled_plain
def put_time(out: Bytes, at: int, value: int) -> int:
    """A stamp, or None for a negative one."""
    if value < 0:
        out[at] = NONE
        return at + 1
    return put_int(out, at, value)


@compiled_plain
def put_float(out: Bytes, at: int, value: float, scratch: Floats) -> int:
    """A double, big end first; ``scratch`` is one float64."""
    scratch[0] = value
    raw = scratch.view(np.uint8)
    out[at] = _BINFLOAT
    for turn in range(8):
        out[at + 1 + turn] = raw[7 - turn]
    return at + 9


@compiled_plain
def put_memo(out: Bytes, at: int, slot: int, get: bool) -> int:
    """Store to, or with ``get`` fetch from, memo ``slot``."""
    if slot <= 0xFF:
        out[at] = _BINGET if get else _BINPUT
        return _put_little(out, at + 1, slot, 1)
    out[at] = _LONG_BINGET if get else _LONG_BINPUT
    return _put_little(out, at + 1, slot, 4)


@compiled_plain
def put_string(out: Bytes, at: int, number: int, memo: Memo) -> int:
    """String ``number``: in full the first time, then by its memo slot."""
    words, slots, used = memo.words, memo.slots, memo.used
    if slots[number] >= 0:
        return put_memo(out, at, slots[number], True)
    begin, end = words.start[number], words.start[number + 1]
    out[at] = _BINUNICODE
    at = _put_little(out, at + 1, end - begin, 4)
    for place in range(begin, end):
        out[at] = words.text[place]
        at += 1
    slots[number] = used[0]
    used[2 + used[1]] = number
    used[0] += 1
    used[1] += 1
    return put_memo(out, at, slots[number], False)


@compiled_plain
def put_sizes(out: Bytes, at: int, sizes: Ints, begin: int) -> tuple[int, int]:
    """The shapes of one side of an operation; also returns where the next side begins."""
    tensors = sizes[begin]
    begin += 1
    at = open_list(out, at)
    for _ in range(tensors):
        dimensions = sizes[begin]
        at = open_list(out, at)
        for turn in range(dimensions):
            at = put_int(out, at, sizes[begin + 1 + turn])
        out[at] = APPENDS
        at += 1
        begin += 1 + dimensions
    out[at] = APPENDS
    return at + 1, begin


@compiled_plain
def put_dtypes(out: Bytes, at: int, count: int, dtype: int, memo: Memo) -> int:
    """The same type for each of ``count`` tensors."""
    at = open_list(out, at)
    for _ in range(count):
        at = put_string(out, at, dtype, memo)
    out[at] = APPENDS
    return at + 1
