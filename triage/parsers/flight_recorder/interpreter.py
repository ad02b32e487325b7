"""The pickle opcodes that dumps use, run over plain integer arrays.

A dump is a pickle written by C++ (protocol 2), or rewritten by a Python tool (protocols 2 to 5).
Nothing here can call, hash a tuple, recurse or allocate by a declared length: an opcode either
appends to bounded arrays or ends the run with a code and the byte where it stands.

Values are pairs ``(tag, payload)``. The payload of a container is its index;
its items lie in ``cell_*``, in chunks chained by ``chunk_next`` because a list
may be appended to in several batches. Strings are interned by content, so two
equal strings have one index however often the writer repeated them.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from triage.parsers.flight_recorder.jit import (
    ALL_64,
    Bytes8,
    Word,
    Words64,
    checked,
    convert_to_signed,
    in_python,
    inlined,
    reads_most,
)
from triage.parsers.flight_recorder.long_texts import (
    LONG_TEXT,
    T_HASH,
    T_STRING,
    find_known_row,
    is_same_bytes,
)

_U8 = NDArray[np.uint8]
_I32 = NDArray[np.int32]
_I64 = NDArray[np.int64]

# Tags of values. BOOL is kept apart from INT: JSON and pickle agree on it.
NONE, BOOL, INT, FLOAT, STR, LIST, TUPLE, DICT = range(8)

# How a run ended.
_OK: Final = 0
CUT: Final = 1  # the bytes end before STOP, or only zeros follow: whole entries are kept
# scratch arrays to be doubled, then the run is repeated
FULL_STACK, FULL_CELLS, FULL_CONTAINERS, FULL_STRINGS, FULL_MEMO = range(10, 15)
BAD_OPCODE, _BAD_PROTOCOL, _BAD_MEMO, _BAD_STACK, _BAD_KEY, _BAD_INTEGER = range(20, 26)
_BAD_TARGET, _TRAILING = range(26, 28)
_TOO_LONG_TEXT, _TOO_DEEP, _COLLIDING = range(31, 34)

CODE_NAMES: Final = {
    BAD_OPCODE: "opcode 0x{detail:02x} is not one that dumps use",
    _BAD_PROTOCOL: "pickle protocol {detail} is not 2 to 5",
    _BAD_MEMO: "memo index {detail} was never stored, or is not the next one",
    _BAD_STACK: "an opcode takes more values than there are",
    _BAD_KEY: "a dict key is neither text nor a small integer",
    _BAD_INTEGER: "an integer of {detail} bytes; at most 8 are read",
    _BAD_TARGET: "items are added to something that is no list or dict",
    _TRAILING: "{detail} bytes follow the end of the dump",
    _TOO_LONG_TEXT: "a string of {detail:,} bytes",
    _TOO_DEEP: "containers nested more than {detail} deep",
    _COLLIDING: "strings made to collide in the table of strings",
}

# Slots looked at for one string. The table is at most a quarter full, where a
# run of thirty is rare; the hash has no key, so strings can be made to share it.
_MAX_PROBES: Final = 500

# Slots of the ``out`` array.
OUT_CODE, OUT_OFFSET, OUT_DETAIL, OUT_STRINGS, _OUT_CONTAINERS, _OUT_CELLS, OUT_ROOT_TAG = range(7)
OUT_ROOT, OUT_ZERO_TAIL, _OUT_SLOTS = range(7, 10)


class Scratch:
    """The arrays of one decoding thread, reused from dump to dump."""

    def __init__(self) -> None:
        self.stack_tag: _U8 = np.empty(1 << 14, np.uint8)
        self.stack: _I64 = np.empty(1 << 14, np.int64)
        self.memo_tag: _U8 = np.empty(1 << 12, np.uint8)
        self.memo: _I64 = np.empty(1 << 12, np.int64)
        self.cell_tag: _U8 = np.empty(1 << 17, np.uint8)
        self.cell: _I64 = np.empty(1 << 17, np.int64)
        self.containers: _I32 = np.empty((1 << 15, 4), np.int32)
        self.chunks: _I32 = np.empty((1 << 15, 3), np.int32)
        self.strings: _I64 = np.empty((1 << 10, 3), np.int64)
        self.string_slots: _I32 = np.empty(1 << 12, np.int32)
        self.marks: _I64 = np.empty(256, np.int64)
        self.out: _I64 = np.zeros(_OUT_SLOTS, np.int64)

    @property
    def interpreted(
        self,
    ) -> tuple[_U8, _I64, _U8, _I64, _U8, _I64, _I32, _I32, _I64, _I32, _I64]:
        """The arrays as :func:`interpret` takes them, behind its bounds."""
        stacks = self.stack_tag, self.stack, self.memo_tag, self.memo
        tables = self.containers, self.chunks, self.strings, self.string_slots, self.marks
        return (*stacks, self.cell_tag, self.cell, *tables)

    @property
    def values(self) -> tuple[_U8, _I64, _I32, _I32, _I64]:
        """The arrays that hold the values of a dump, once it was interpreted."""
        return self.cell_tag, self.cell, self.containers, self.chunks, self.strings

    def grow(self, code: int, times: int) -> None:
        """Make the array that ``code`` says is full so many times as large."""
        if code == FULL_STACK:
            size = len(self.stack) * times
            self.stack_tag, self.stack = np.empty(size, np.uint8), np.empty(size, np.int64)
        elif code == FULL_CELLS:
            size = len(self.cell) * times
            self.cell_tag, self.cell = np.empty(size, np.uint8), np.empty(size, np.int64)
        elif code == FULL_CONTAINERS:
            size = len(self.containers) * times
            self.containers = np.empty((size, 4), np.int32)
            self.chunks = np.empty((size, 3), np.int32)
        elif code == FULL_STRINGS:
            size = len(self.strings) * times
            self.strings = np.empty((size, 3), np.int64)
            self.string_slots = np.empty(size * 4, np.int32)
        elif code == FULL_MEMO:
            size = len(self.memo) * times
            self.memo_tag, self.memo = np.empty(size, np.uint8), np.empty(size, np.int64)


@checked
def hash_bytes(buf: _U8, start: Word, length: Word) -> Word:
    """A 64-bit content hash, eight bytes at a time; for tables, not for secrets."""
    if start < 0 or length < 0 or start + length > len(buf):
        raise IndexError
    return _hash_within(buf, start, length)


@inlined
def _hash_within(buf: _U8, start: Word, length: Word) -> Word:
    """:func:`hash_bytes` of what lies in the buffer: the rank list of a hundred thousand ranks is
    a megabyte in every dump, and checking each index took three times as long.
    """
    h = np.uint64(0x9E3779B97F4A7C15) ^ (np.uint64(length) * np.uint64(0xFF51AFD7ED558CCD))
    words = length >> 3
    # Unsigned places are never counted from the end, so that eight bytes are read as one word.
    at = np.uint64(start)
    for _ in range(words):
        word = np.uint64(0)
        for b in range(8):
            word |= np.uint64(buf[at + np.uint64(b)]) << np.uint64(8 * b)
        h = (h ^ word) * np.uint64(0xC4CEB9FE1A85EC53)
        h ^= h >> np.uint64(29)
        at += np.uint64(8)
    word = np.uint64(0)
    for b in range(length & 7):
        word |= np.uint64(buf[at + np.uint64(b)]) << np.uint64(8 * b)
    h = (h ^ word) * np.uint64(0xC4CEB9FE1A85EC53)
    h ^= h >> np.uint64(32)
    return np.int64(h)


@in_python(_hash_within)
def _hash_of_bytes(buf: memoryview, start: int, length: int) -> int:
    """:func:`hash_within` for integers of any size."""
    h = 0x9E3779B97F4A7C15 ^ ((length * 0xFF51AFD7ED558CCD) & ALL_64)
    whole = start + (length & ~7)
    for at in range(start, whole, 8):
        h = ((h ^ int.from_bytes(buf[at : at + 8], "little")) * 0xC4CEB9FE1A85EC53) & ALL_64
        h ^= h >> 29
    h = ((h ^ int.from_bytes(buf[whole : start + length], "little")) * 0xC4CEB9FE1A85EC53) & ALL_64
    return convert_to_signed(h ^ (h >> 32))


@checked
def intern_string(
    buf: _U8, start: Word, length: Word, strings: _I64, slots: _I32, count: Word,
    long_data: _U8, long_rows: _I64,
) -> Word:  # fmt: skip
    """Index of the string with this content; ``count`` when it is new, -1 when the
    table is full, -2 when too many strings share its place in the table.

    A long one that an earlier dump had is not hashed again, and its row says the index.
    """
    row: Word = -1
    if length >= LONG_TEXT:
        row = find_known_row(buf, start, length, long_data, long_rows)
    if row >= 0:
        h = long_rows[row, T_HASH]
    else:
        h = hash_bytes(buf, start, length)
    mask = len(slots) - 1
    slot = h & mask
    probes = 0
    while slots[slot] >= 0:
        probes += 1
        if probes > _MAX_PROBES:
            return -2
        known = slots[slot]
        alike = strings[known, 2] == h and strings[known, 1] == length
        if alike and is_same_bytes(buf, start, buf, strings[known, 0], length):
            return known
        slot = (slot + 1) & mask
    if count >= len(strings):
        return -1
    strings[count, 0] = start
    strings[count, 1] = length
    strings[count, 2] = h
    slots[slot] = count
    if row >= 0:
        long_rows[row, T_STRING] = count
    return count


@inlined
def wrap_to_64_bits(value: Word) -> Word:
    """``value`` as the 64 bits that it has."""
    return value


@in_python(wrap_to_64_bits)
def _wrap_to_64_bits_by_hand(value: int) -> int:
    """:func:`wrap_to_64_bits` for integers of any size."""
    return convert_to_signed(value)


@inlined
def _append_cells(
    target: int, base: int, top: int, stack_tag: _U8, stack: _I64, cell_tag: _U8, cell: _I64,
    containers: _I32, chunks: _I32, num_chunks: int, num_cells: int,
) -> None:  # fmt: skip
    """Move ``stack[base:top]`` into a new chunk of container ``target``."""
    for k in range(top - base):
        cell_tag[num_cells + k] = stack_tag[base + k]
        cell[num_cells + k] = stack[base + k]
    chunks[num_chunks, 0] = num_cells
    chunks[num_chunks, 1] = top - base
    chunks[num_chunks, 2] = -1
    if containers[target, 0] < 0:
        containers[target, 0] = num_chunks
    else:
        chunks[containers[target, 1], 2] = num_chunks
    containers[target, 1] = num_chunks
    containers[target, 2] += top - base


@checked
def is_only_zeros(buf: _U8, start: int, end: int) -> bool:
    """Whether the tail is what a node that lost power leaves behind."""
    for k in range(start, end):  # noqa: SIM110 - compiled by numba
        if buf[k] != 0:
            return False
    return True


@reads_most
@checked
def interpret(
    buf: _U8, size: int, max_text: int, max_depth: int,
    stack_tag: Bytes8, stack: Words64, memo_tag: Bytes8, memo: Words64, cell_tag: _U8, cell: _I64,
    containers: _I32, chunks: _I32, strings: _I64, slots: _I32, marks: Words64, long_data: _U8,
    long_rows: _I64, out: _I64,
) -> None:  # fmt: skip
    """Run the opcodes of ``buf[:size]``; ``out`` says how it ended and where.

    ``containers`` rows are (first chunk, last chunk, items, tag); ``chunks``
    rows (first cell, cells, next chunk); ``strings`` rows (offset, length, hash);
    ``marks`` holds one height of the stack per open container. ``long_rows`` are those of
    :class:`LongTexts` over ``long_data``. All of ``slots`` and of their T_STRING is -1.
    """
    num_marks = 0
    sp = 0
    pos = 2
    num_memo = 0
    num_cells = 0
    num_containers = 0
    num_chunks = 0
    num_strings = 0
    code = CUT
    index: Word = 0
    value: Word = 0
    length: Word = 0
    detail: Word = 0
    at = 0
    if size >= 2 and (buf[1] < 2 or buf[1] > 5):
        code = _BAD_PROTOCOL
        detail = buf[1]
        pos = size
        at = 1
    room = len(stack) - 4
    cells_room = len(cell)
    while pos < size:
        at = pos
        op = buf[pos]
        pos += 1
        if sp >= room:
            code = FULL_STACK
            break
        if op == 0x68:  # BINGET; they come in runs: a stack is nothing else
            bad = False
            while True:
                if pos + 1 > size:
                    break
                index = np.int64(buf[pos])
                if index >= num_memo:
                    bad = True
                    break
                pos += 1
                stack_tag[sp] = memo_tag[index]
                stack[sp] = memo[index]
                sp += 1
                if pos >= size or buf[pos] != 0x68 or sp >= room:
                    break
                at = pos
                pos += 1
            if bad:
                code = _BAD_MEMO
                detail = index
                break
            if pos >= size:
                break
        elif op == 0x4B:  # BININT1
            if pos + 1 > size:
                break
            stack_tag[sp] = INT
            stack[sp] = buf[pos]
            sp += 1
            pos += 1
        elif op == 0x6A:  # LONG_BINGET
            if pos + 4 > size:
                break
            index = (
                np.int64(buf[pos])
                | np.int64(buf[pos + 1]) << 8
                | np.int64(buf[pos + 2]) << 16
                | np.int64(buf[pos + 3]) << 24
            )
            pos += 4
            if index >= num_memo:
                code = _BAD_MEMO
                detail = index
                break
            stack_tag[sp] = memo_tag[index]
            stack[sp] = memo[index]
            sp += 1
        elif op == 0x28:  # MARK
            if num_marks >= max_depth:
                code = _TOO_DEEP
                detail = max_depth
                break
            marks[num_marks] = sp
            num_marks += 1
        elif op == 0x5D or op == 0x7D or op == 0x29:  # EMPTY_LIST, EMPTY_DICT, EMPTY_TUPLE
            if num_containers >= len(containers):
                code = FULL_CONTAINERS
                break
            tag = LIST if op == 0x5D else (DICT if op == 0x7D else TUPLE)
            containers[num_containers, 0] = -1
            containers[num_containers, 1] = -1
            containers[num_containers, 2] = 0
            containers[num_containers, 3] = tag
            stack_tag[sp] = tag
            stack[sp] = num_containers
            sp += 1
            num_containers += 1
        elif op == 0x65 or op == 0x75 or op == 0x61 or op == 0x73:
            # APPENDS, SETITEMS, APPEND, SETITEM
            if op == 0x65 or op == 0x75:
                if num_marks == 0:
                    code = _BAD_STACK
                    break
                num_marks -= 1
                base = marks[num_marks]
            else:
                base = sp - 1 if op == 0x61 else sp - 2
            floor = marks[num_marks - 1] if num_marks > 0 else 0
            if base - 1 < floor or base > sp:
                code = _BAD_STACK
                break
            want = LIST if op == 0x65 or op == 0x61 else DICT
            if stack_tag[base - 1] != want:
                code = _BAD_TARGET
                break
            if want == DICT:
                if (sp - base) & 1:
                    code = _BAD_STACK
                    break
                bad_key = False
                for k in range(base, sp, 2):
                    if stack_tag[k] != STR and stack_tag[k] != INT:
                        bad_key = True
                        break
                if bad_key:
                    code = _BAD_KEY
                    break
            if sp == base:
                continue  # an empty batch would be a step that no walk counts
            if num_cells + (sp - base) > cells_room:
                code = FULL_CELLS
                break
            if num_chunks >= len(chunks):
                code = FULL_CONTAINERS
                break
            _append_cells(
                stack[base - 1], base, sp, stack_tag, stack, cell_tag, cell,
                containers, chunks, num_chunks, num_cells,
            )  # fmt: skip
            num_chunks += 1
            num_cells += sp - base
            sp = base
        elif op == 0x85 or op == 0x86 or op == 0x87 or op == 0x74:  # TUPLE1, 2, 3, TUPLE
            if op == 0x74:
                if num_marks == 0:
                    code = _BAD_STACK
                    break
                num_marks -= 1
                base = marks[num_marks]
            else:
                base = sp - (op - 0x84)
            floor = marks[num_marks - 1] if num_marks > 0 else 0
            if base < floor or base > sp:
                code = _BAD_STACK
                break
            if num_containers >= len(containers) or num_chunks >= len(chunks):
                code = FULL_CONTAINERS
                break
            if num_cells + (sp - base) > cells_room:
                code = FULL_CELLS
                break
            containers[num_containers, 0] = -1
            containers[num_containers, 1] = -1
            containers[num_containers, 2] = 0
            containers[num_containers, 3] = TUPLE
            _append_cells(
                num_containers, base, sp, stack_tag, stack, cell_tag, cell,
                containers, chunks, num_chunks, num_cells,
            )  # fmt: skip
            num_chunks += 1
            num_cells += sp - base
            sp = base
            stack_tag[sp] = TUPLE
            stack[sp] = num_containers
            sp += 1
            num_containers += 1
        elif op == 0x8A or op == 0x8B:  # LONG1, LONG4
            width = 1 if op == 0x8A else 4
            if pos + width > size:
                break
            length = np.int64(buf[pos])
            if width == 4:
                length |= (
                    np.int64(buf[pos + 1]) << 8
                    | np.int64(buf[pos + 2]) << 16
                    | np.int64(buf[pos + 3]) << 24
                )
            pos += width
            if length > 8:
                code = _BAD_INTEGER
                detail = length
                break
            if pos + length > size:
                break
            value = np.int64(0)
            for k in range(length):
                value |= np.int64(buf[pos + k]) << (8 * k)
            if 0 < length < 8 and buf[pos + length - 1] & 0x80:
                value -= np.int64(1) << (8 * length)
            value = wrap_to_64_bits(value)
            pos += length
            stack_tag[sp] = INT
            stack[sp] = value
            sp += 1
        elif op == 0x4E:  # NONE
            stack_tag[sp] = NONE
            stack[sp] = 0
            sp += 1
        elif op == 0x88 or op == 0x89:  # NEWTRUE, NEWFALSE
            stack_tag[sp] = BOOL
            stack[sp] = 1 if op == 0x88 else 0
            sp += 1
        elif op == 0x4A:  # BININT
            if pos + 4 > size:
                break
            value = (
                np.int64(buf[pos])
                | np.int64(buf[pos + 1]) << 8
                | np.int64(buf[pos + 2]) << 16
                | np.int64(buf[pos + 3]) << 24
            )
            if value >= 1 << 31:
                value -= np.int64(1) << 32
            pos += 4
            stack_tag[sp] = INT
            stack[sp] = value
            sp += 1
        elif op == 0x4D:  # BININT2
            if pos + 2 > size:
                break
            stack_tag[sp] = INT
            stack[sp] = np.int64(buf[pos]) | np.int64(buf[pos + 1]) << 8
            sp += 1
            pos += 2
        elif op == 0x47:  # BINFLOAT, big-endian: kept as its bits
            if pos + 8 > size:
                break
            value = np.int64(0)
            for k in range(8):
                value = (value << 8) | np.int64(buf[pos + k])
            pos += 8
            value = wrap_to_64_bits(value)
            stack_tag[sp] = FLOAT
            stack[sp] = value
            sp += 1
        elif op == 0x58 or op == 0x8C or op == 0x8D:  # BINUNICODE, SHORT_, BINUNICODE8
            width = 4 if op == 0x58 else (1 if op == 0x8C else 8)
            if pos + width > size:
                break
            length = np.int64(0)
            for k in range(width):
                length |= np.int64(buf[pos + k]) << (8 * k)
            pos += width
            if length < 0 or length > max_text:
                code = _TOO_LONG_TEXT
                detail = length
                break
            if pos + length > size:
                break
            index = intern_string(
                buf, pos, length, strings, slots, num_strings, long_data, long_rows
            )
            if index < 0:
                code = FULL_STRINGS if index == -1 else _COLLIDING
                break
            if index == num_strings:
                num_strings += 1
            pos += length
            stack_tag[sp] = STR
            stack[sp] = index
            sp += 1
        elif op == 0x71 or op == 0x72 or op == 0x94:  # BINPUT, LONG_BINPUT, MEMOIZE
            if op == 0x71:
                if pos + 1 > size:
                    break
                index = np.int64(buf[pos])
                pos += 1
            elif op == 0x72:
                if pos + 4 > size:
                    break
                index = (
                    np.int64(buf[pos])
                    | np.int64(buf[pos + 1]) << 8
                    | np.int64(buf[pos + 2]) << 16
                    | np.int64(buf[pos + 3]) << 24
                )
                pos += 4
            else:
                index = num_memo
            floor = marks[num_marks - 1] if num_marks > 0 else 0
            if sp <= floor:
                code = _BAD_STACK
                break
            if index > num_memo:
                code = _BAD_MEMO
                detail = index
                break
            if index >= len(memo):
                code = FULL_MEMO
                break
            memo_tag[index] = stack_tag[sp - 1]
            memo[index] = stack[sp - 1]
            if index == num_memo:
                num_memo += 1
        elif op == 0x95:  # FRAME: a hint for readers of files; the bytes are here
            if pos + 8 > size:
                break
            pos += 8
        elif op == 0x80:  # PROTO once more, at the start of a frame
            if pos + 1 > size:
                break
            if buf[pos] < 2 or buf[pos] > 5:
                code = _BAD_PROTOCOL
                detail = buf[pos]
                break
            pos += 1
        elif op == 0x2E:  # STOP
            if sp != 1 or num_marks != 0:
                code = _BAD_STACK
                break
            code = _OK
            if pos < size:
                if is_only_zeros(buf, pos, size):
                    out[OUT_ZERO_TAIL] = 1
                else:
                    code = _TRAILING
                    detail = size - pos
                    at = pos
            break
        else:
            if op == 0 and is_only_zeros(buf, at, size):
                out[OUT_ZERO_TAIL] = 1
                break
            code = BAD_OPCODE
            detail = op
            break
    if code == CUT:
        # Close what was open, from the inside out: the top level and the list of
        # entries (or the table of groups) keep their whole items; what is deeper
        # is an item that was being written, and goes.
        keep = 2 if num_marks > 0 and marks[0] > 0 and stack_tag[marks[0] - 1] == DICT else 1
        if num_marks > keep:
            sp = marks[keep] - 1
            num_marks = keep
        while num_marks > 0:
            num_marks -= 1
            base = marks[num_marks]
            if base < 1 or base > sp:
                sp = min(sp, base)
                continue
            tag = stack_tag[base - 1]
            if tag == DICT and (sp - base) & 1:
                sp -= 1
            whole = tag == DICT or tag == LIST
            if tag == DICT:
                for k in range(base, sp, 2):
                    if stack_tag[k] != STR and stack_tag[k] != INT:
                        whole = False
            if num_cells + (sp - base) > cells_room:
                code = FULL_CELLS
                break
            if num_chunks >= len(chunks):
                code = FULL_CONTAINERS
                break
            if whole:
                _append_cells(
                    stack[base - 1], base, sp, stack_tag, stack, cell_tag, cell,
                    containers, chunks, num_chunks, num_cells,
                )  # fmt: skip
                num_chunks += 1
                num_cells += sp - base
            sp = base
    out[OUT_CODE] = code
    out[OUT_OFFSET] = at
    out[OUT_DETAIL] = detail
    out[OUT_STRINGS] = num_strings
    out[_OUT_CONTAINERS] = num_containers
    out[_OUT_CELLS] = num_cells
    out[OUT_ROOT_TAG] = stack_tag[0] if sp > 0 else NONE
    out[OUT_ROOT] = stack[0] if sp > 0 else 0
