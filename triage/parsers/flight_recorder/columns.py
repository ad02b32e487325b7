"""The interpreter's values as columns: one row per entry, one per group.

The shape of a dump is fixed (dict -> list of entries -> dict of scalars and
small lists), so this is a walk of fixed depth. Unknown keys are passed over;
a value of the wrong type becomes MISSING and is counted, with the first place.
"""

import struct
from typing import Final

import numpy as np
from numpy.typing import NDArray

from triage.domain.rank_digest import MISSING
from triage.parsers.flight_recorder.interpreter import (
    BOOL,
    DICT,
    FLOAT,
    INT,
    LIST,
    NONE,
    STR,
    TUPLE,
)
from triage.parsers.flight_recorder.jit import (
    ALL_64,
    Bytes8,
    Rows,
    Word,
    Words64,
    compiled,
    convert_to_signed,
    in_python,
    inlined,
)

_U8 = NDArray[np.uint8]
_I32 = NDArray[np.int32]
_I64 = NDArray[np.int64]


# Columns of one entry. Times in ns since the epoch, timeout in ms; NAME, PG_NAME
# and PG_DESC are string indexes; *_SIZES, *_DTYPES and FRAMES container indexes;
# *_HASH hashes of content; STATE 0 scheduled, 1 started, 2 completed. DURATION is microseconds.
RECORD_ID, PG_ID, PG_NAME, PG_DESC, COLLECTIVE_SEQ, P2P_SEQ, OP_ID, NAME, CREATED = range(9)
STARTED, COMPLETED, STATE, RETIRED, TIMEOUT, IS_P2P, INPUT_SIZES, OUTPUT_SIZES = range(9, 17)
INPUT_DTYPES, OUTPUT_DTYPES, FRAMES, SIZES_HASH, DTYPES_HASH, DURATION, FIELDS = range(17, 24)

# Known strings. The first block are entry fields by column number.
WALK_NAMES: Final = (
    "record_id", "pg_id", "process_group", "", "collective_seq_id", "p2p_seq_id", "op_id",
    "profiling_name", "time_created_ns", "time_discovered_started_ns",
    "time_discovered_completed_ns", "state", "retired", "timeout_ms", "is_p2p",
    "input_sizes", "output_sizes", "input_dtypes", "output_dtypes", "frames", "", "",
    # 22: older names of fields
    "seq_id", "time_created_us",
    # 24: top level
    "version", "pg_config", "pg_status", "comm_lib_version", "nccl_version", "entries",
    "nccl_comm_state",
    # 31: inside groups and counters
    "name", "desc", "ranks",
    "last_enqueued_collective", "last_started_collective", "last_completed_collective",
    # 37: states
    "scheduled", "started", "completed",
    # 40: how long a kernel ran, in ms; only with timing
    "duration_ms",
)  # fmt: skip
_K_SEQ_ID, _K_CREATED_US, _K_VERSION, _K_PG_CONFIG, _K_PG_STATUS, _K_COMM_LIB = range(22, 28)
_K_NCCL_VERSION, _K_ENTRIES, _K_COMM_STATE, _K_NAME = range(28, 32)
_K_ENQUEUED: Final = 34
_K_SCHEDULED: Final = 37
_K_DURATION: Final = 40

# No kernel runs longer than what an int32 of microseconds holds: 35 minutes.
_LONGEST_MS: Final = 2_147_483.0

# Microseconds since the epoch: nanoseconds of more have no room in 64 bits.
_MOST_US: Final = 1 << 52

# A double up to this is a number of 64 bits; one of nanoseconds is known to 256 of them.
_MOST_WHOLE: Final = float(1 << 62)

_ZERO: Final = 48
_MINUS: Final = 45
# More digits than these are no number of a dump.
_MAX_DIGITS: Final = 19
# Another digit behind a number above this is more than 64 bits hold.
_MOST_TENTHS: Final = (1 << 63) // 10 - 1

# The tag that each field's value is stored as it is with; 255 for fields that need more.
_SPECIAL: Final = 255
_WANTED: Final = np.array(
    [
        INT, INT, _SPECIAL, _SPECIAL, INT, INT, INT, STR, INT, INT, INT, _SPECIAL, BOOL, INT, BOOL,
        LIST, LIST, LIST, LIST, LIST, _SPECIAL, _SPECIAL, _SPECIAL, _SPECIAL,
    ],
    np.uint8,
)  # fmt: skip

# Slots of the walk's ``out``. SHAPE: 0 is a dump; 1 not a dict or list; 2 neither version nor
# entries nor groups. SKIPPED: list items that are no entry. FULL: 1 entries, 2 groups, 3 status:
# to be doubled.
OUT_ENTRIES, OUT_GROUPS, OUT_STATUS, OUT_VERSION, OUT_COMM_LIB, OUT_SHAPE, OUT_SKIPPED = range(7)
OUT_BAD_VALUES, OUT_BAD_ENTRY, OUT_BAD_FIELD, OUT_FULL, OUT_HAS_ENTRIES = range(7, 12)
_OUT_EXTRA_KEYS, OUT_WORK, OUT_SLOTS = range(12, 15)

# Cells visited per dump. A dump of 20,000 entries needs a million; lists shared
# a thousandfold through the memo are small in memory and endless when walked.
MAX_WORK: Final = 40_000_000


def pack_known_names() -> tuple[_U8, _I32]:
    """``WALK_NAMES`` as one byte array and its offsets."""
    raw = [name.encode() for name in WALK_NAMES]
    offsets = np.zeros(len(raw) + 1, np.int32)
    offsets[1:] = np.cumsum([len(one) for one in raw])
    return np.frombuffer(b"".join(raw), np.uint8).copy(), offsets


@inlined
def mix(h: Word, value: Word) -> Word:
    """One step of the content hash of a list."""
    x = (np.uint64(h) ^ np.uint64(value)) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(x ^ (x >> np.uint64(31)))


@in_python(mix)
def _mix_by_hand(h: int, value: int) -> int:
    """:func:`mix` for integers of any size."""
    x = (((int(h) ^ int(value)) & ALL_64) * 0x9E3779B97F4A7C15) & ALL_64
    return convert_to_signed(x ^ (x >> 31))


@compiled
def _find_key(
    string: int, buf: _U8, strings: _I64, names: _U8, name_offsets: _I32, known: _I32
) -> Word:
    """Which known name a string is, -1 for none; remembered in ``known``."""
    if known[string] != -2:
        return known[string]
    length = strings[string, 1]
    start = strings[string, 0]
    found = -1
    for k in range(len(name_offsets) - 1):
        low = name_offsets[k]
        if name_offsets[k + 1] - low != length or length == 0:
            continue
        same = True
        for b in range(length):
            if buf[start + b] != names[low + b]:
                same = False
                break
        if same:
            found = k
            break
    known[string] = found
    return found


@inlined
def _list_hash(
    tag: int, container: int, depth: int, cell_tag: _U8, cell: _I64,
    containers: _I32, chunks: _I32, strings: _I64, work: _I64,
) -> Word:  # fmt: skip
    """Content hash of a list of scalars, or of lists of scalars (``depth`` 1)."""
    h: Word = np.int64(1469598103934665603)
    if tag != LIST and tag != TUPLE:
        return h
    chunk = containers[container, 0]
    while chunk >= 0:
        first = chunks[chunk, 0]
        for k in range(first, first + chunks[chunk, 1]):
            work[0] += 1
            if work[0] > MAX_WORK:
                return h
            kind = cell_tag[k]
            if kind == STR:
                h = mix(h, strings[cell[k], 2])
            elif (kind == LIST or kind == TUPLE) and depth > 0:
                inner: Word = np.int64(7)
                sub = containers[cell[k], 0]
                while sub >= 0:
                    low = chunks[sub, 0]
                    for j in range(low, low + chunks[sub, 1]):
                        work[0] += 1
                        if work[0] > MAX_WORK:
                            return h
                        inner = mix(inner, cell[j])
                    sub = chunks[sub, 2]
                h = mix(h, inner)
            else:
                h = mix(h, cell[k])
        chunk = chunks[chunk, 2]
    return h


@compiled
def hash_frames(
    container: int,
    cell_tag: _U8,
    cell: _I64,
    containers: _I32,
    chunks: _I32,
    strings: _I64,
    work: _I64,
) -> Word:
    """Content hash of a stack: the strings and line numbers of its frame dicts."""
    h: Word = np.int64(88172645463325252)
    chunk = containers[container, 0]
    while chunk >= 0:
        first = chunks[chunk, 0]
        for k in range(first, first + chunks[chunk, 1]):
            if cell_tag[k] == DICT:
                sub = containers[cell[k], 0]
                while sub >= 0:
                    low = chunks[sub, 0]
                    for j in range(low, low + chunks[sub, 1]):
                        work[0] += 1
                        if work[0] > MAX_WORK:
                            return h
                        if cell_tag[j] == STR:
                            h = mix(h, strings[cell[j], 2])
                        else:
                            h = mix(h, cell[j])
                    sub = chunks[sub, 2]
        chunk = chunks[chunk, 2]
    return h


@inlined
def convert_to_us(tag: int, value: Word) -> Word:
    """A duration in ms as whole microseconds; MISSING for what is none."""
    if tag == FLOAT:
        ms = np.int64(value).view(np.float64)
    elif tag == INT:
        ms = np.float64(value)
    else:
        return np.int64(MISSING)
    return np.int64(ms * 1000.0 + 0.5) if 0.0 <= ms < _LONGEST_MS else np.int64(MISSING)


@in_python(convert_to_us)
def _convert_to_us_by_hand(tag: int, value: int) -> int:
    """:func:`convert_to_us` for plain integers."""
    if tag == FLOAT:
        ms = struct.unpack("<d", struct.pack("<q", value))[0]
    elif tag == INT:
        ms = float(value)
    else:
        return MISSING
    return int(ms * 1000.0 + 0.5) if 0.0 <= ms < _LONGEST_MS else MISSING


@inlined
def _whole(value: Word) -> Word:
    """The whole number that the bits of a double say, MISSING where it says none."""
    number = np.int64(value).view(np.float64)
    if -_MOST_WHOLE <= number <= _MOST_WHOLE and number == np.floor(number):
        return np.int64(number)
    return np.int64(MISSING)


@in_python(_whole)
def _whole_by_hand(value: int) -> int:
    """:func:`whole` for plain integers."""
    number: float = struct.unpack("<d", struct.pack("<q", value))[0]
    if -_MOST_WHOLE <= number <= _MOST_WHOLE and number == int(number):
        return int(number)
    return MISSING


@compiled
def _number_in(string: int, buf: _U8, strings: _I64) -> Word:
    """The whole number that a text says in decimal, MISSING where it says none."""
    start, length = strings[string, 0], strings[string, 1]
    negative = length > 1 and buf[start] == _MINUS
    first = 1 if negative else 0
    if length == first or length > _MAX_DIGITS:
        return np.int64(MISSING)
    number = np.int64(0)
    for k in range(first, length):
        digit = np.int64(buf[start + k]) - _ZERO
        if digit < 0 or digit > 9 or number > _MOST_TENTHS:
            return np.int64(MISSING)
        number = number * 10 + digit
    return -number if negative else number


@compiled
def _walk_entry(
    row: Rows, container: int, buf: _U8, cell_tag: _U8, cell: _I64, containers: _I32, chunks: _I32,
    strings: _I64, names: _U8, name_offsets: _I32, known: _I32, out: _I64, work: _I64, number: int,
) -> None:  # fmt: skip
    """Fill one entry's row from its dict."""
    row[:] = MISSING
    chunk = containers[container, 0]
    while chunk >= 0:
        first = chunks[chunk, 0]
        for k in range(first, first + chunks[chunk, 1] - 1, 2):
            work[0] += 1
            if cell_tag[k] != STR:
                continue
            key = known[cell[k]]
            if key == -2:
                key = _find_key(cell[k], buf, strings, names, name_offsets, known)
            tag = cell_tag[k + 1]
            value = cell[k + 1]
            if key == _K_DURATION:
                row[DURATION] = convert_to_us(tag, value)
            if key < 0 or key > _K_CREATED_US:
                continue
            want = _WANTED[key]
            good = True
            if tag == want:
                row[key] = value
            elif tag == NONE:
                continue
            elif want == LIST and tag == TUPLE:
                row[key] = value
            elif key == PG_NAME:
                good = (tag == TUPLE or tag == LIST) and containers[value, 2] >= 1
                if good:
                    at = chunks[containers[value, 0], 0]
                    if cell_tag[at] == STR:
                        row[PG_NAME] = cell[at]
                    if chunks[containers[value, 0], 1] > 1 and cell_tag[at + 1] == STR:
                        row[PG_DESC] = cell[at + 1]
            elif key == STATE and tag == STR:
                state = known[value]
                if state == -2:
                    state = _find_key(value, buf, strings, names, name_offsets, known)
                state -= _K_SCHEDULED
                good = state >= 0
                if good:
                    row[STATE] = state
            elif want == INT and tag == STR:
                # Tools that write a dump anew write its numbers as text.
                row[key] = _number_in(value, buf, strings)
                good = row[key] != MISSING
            elif want == INT and tag == FLOAT:
                # So do tools that keep entries in a table, once a number is missing in it.
                row[key] = _whole(value)
                good = row[key] != MISSING
            elif key == _K_SEQ_ID and tag == INT:
                if row[COLLECTIVE_SEQ] == MISSING:
                    row[COLLECTIVE_SEQ] = value
            elif key == _K_CREATED_US and tag == INT:
                if row[CREATED] == MISSING and -_MOST_US < value < _MOST_US:
                    row[CREATED] = value * 1000
            else:
                good = False
            if not good:
                if out[OUT_BAD_VALUES] == 0:
                    out[OUT_BAD_ENTRY] = number
                    out[OUT_BAD_FIELD] = key
                out[OUT_BAD_VALUES] += 1
        chunk = chunks[chunk, 2]
    # Stamps of 0 are how JSON says "none".
    if row[STARTED] <= 0:
        row[STARTED] = MISSING
    if row[COMPLETED] <= 0:
        row[COMPLETED] = MISSING
    sizes: Word = np.int64(3)
    for key in (INPUT_SIZES, OUTPUT_SIZES):
        if row[key] != MISSING:
            tag = containers[row[key], 3]
            sizes = mix(
                sizes,
                _list_hash(tag, row[key], 1, cell_tag, cell, containers, chunks, strings, work),
            )
    row[SIZES_HASH] = sizes
    dtypes: Word = np.int64(5)
    for key in (INPUT_DTYPES, OUTPUT_DTYPES):
        if row[key] != MISSING:
            tag = containers[row[key], 3]
            dtypes = mix(
                dtypes,
                _list_hash(tag, row[key], 0, cell_tag, cell, containers, chunks, strings, work),
            )
    row[DTYPES_HASH] = dtypes


@compiled
def _walk_pairs(
    table: _I64, low_key: int, container: int, key_cell: int, count: int, buf: _U8,
    cell_tag: _U8, cell: _I64, containers: _I32, chunks: _I32, strings: _I64, names: _U8,
    name_offsets: _I32, known: _I32, work: _I64,
) -> None:  # fmt: skip
    """One row of groups (name, desc, ranks) or of counters (three integers), with its key."""
    # Text by its index, the ids of older formats as -2 and below; others are no ids.
    table[count, 0] = -1
    if cell_tag[key_cell] == STR:
        table[count, 0] = cell[key_cell]
    elif 0 <= cell[key_cell] < 1 << 31:
        table[count, 0] = -2 - cell[key_cell]
    table[count, 1] = MISSING
    table[count, 2] = MISSING
    table[count, 3] = MISSING
    want = STR if low_key == _K_NAME else INT
    chunk = containers[container, 0]
    while chunk >= 0 and work[0] <= MAX_WORK:
        first = chunks[chunk, 0]
        for k in range(first, first + chunks[chunk, 1] - 1, 2):
            work[0] += 1
            if work[0] > MAX_WORK:
                return
            if cell_tag[k] == STR:
                key = _find_key(cell[k], buf, strings, names, name_offsets, known)
                if low_key <= key < low_key + 3:
                    if cell_tag[k + 1] == want:
                        table[count, 1 + key - low_key] = cell[k + 1]
                    elif want == INT and cell_tag[k + 1] == STR:
                        number = _number_in(cell[k + 1], buf, strings)
                        table[count, 1 + key - low_key] = number
                    elif want == INT and cell_tag[k + 1] == FLOAT:
                        table[count, 1 + key - low_key] = _whole(cell[k + 1])
        chunk = chunks[chunk, 2]


@compiled
def _walk_table(
    table: _I64, low_key: int, container: int, buf: _U8, cell_tag: _U8, cell: _I64,
    containers: _I32, chunks: _I32, strings: _I64, names: _U8, name_offsets: _I32, known: _I32,
    work: _I64,
) -> Word:  # fmt: skip
    """All rows of ``pg_config`` or ``pg_status``; -1 when ``table`` is too small."""
    count = 0
    chunk = containers[container, 0]
    while chunk >= 0:
        first = chunks[chunk, 0]
        for k in range(first, first + chunks[chunk, 1] - 1, 2):
            work[0] += 1
            if work[0] > MAX_WORK:
                return count
            if cell_tag[k + 1] != DICT:
                continue
            if count >= len(table):
                return -1
            _walk_pairs(
                table, low_key, cell[k + 1], k, count, buf, cell_tag, cell,
                containers, chunks, strings, names, name_offsets, known, work,
            )  # fmt: skip
            count += 1
        chunk = chunks[chunk, 2]
    return count


@compiled
def walk(
    root_tag: int, root: int, buf: _U8, cell_tag: Bytes8, cell: Words64, containers: _I32,
    chunks: _I32, strings: _I64, names: _U8, name_offsets: _I32, known: _I32, work: _I64,
    entries: Rows, groups: _I64, status: _I64, out: _I64,
) -> None:  # fmt: skip
    """Fill the tables from the root value; ``out`` says how many rows and what was odd.

    ``out`` holds zeros, ``known`` -2 everywhere.
    """
    out[OUT_VERSION] = -1
    out[OUT_COMM_LIB] = -1
    work[0] = 0
    listing = np.int64(-1)
    if root_tag == LIST:
        listing = np.int64(root)
    elif root_tag == DICT:
        ours = 0
        chunk = containers[root, 0]
        while chunk >= 0:
            first = chunks[chunk, 0]
            for k in range(first, first + chunks[chunk, 1] - 1, 2):
                work[0] += 1
                if work[0] > MAX_WORK:
                    out[OUT_WORK] = work[0]
                    return
                if cell_tag[k] != STR:
                    continue
                key = _find_key(cell[k], buf, strings, names, name_offsets, known)
                tag = cell_tag[k + 1]
                value = cell[k + 1]
                if key == _K_VERSION and tag == STR:
                    out[OUT_VERSION] = value
                elif (key == _K_COMM_LIB or key == _K_NCCL_VERSION) and tag == STR:
                    out[OUT_COMM_LIB] = value
                elif key == _K_ENTRIES and tag == LIST:
                    listing = value
                    ours += 1
                elif key == _K_PG_CONFIG and tag == DICT:
                    ours += 1
                    out[OUT_GROUPS] = _walk_table(
                        groups, _K_NAME, value, buf, cell_tag, cell,
                        containers, chunks, strings, names, name_offsets, known, work,
                    )  # fmt: skip
                    if out[OUT_GROUPS] < 0:
                        out[OUT_FULL] = 2
                        return
                elif key == _K_PG_STATUS and tag == DICT:
                    ours += 1
                    out[OUT_STATUS] = _walk_table(
                        status, _K_ENQUEUED, value, buf, cell_tag, cell,
                        containers, chunks, strings, names, name_offsets, known, work,
                    )  # fmt: skip
                    if out[OUT_STATUS] < 0:
                        out[OUT_FULL] = 3
                        return
                elif key != _K_COMM_STATE:
                    out[_OUT_EXTRA_KEYS] += 1
            chunk = chunks[chunk, 2]
        if ours == 0:
            out[OUT_SHAPE] = 2
            return
    else:
        out[OUT_SHAPE] = 1
        return
    out[OUT_WORK] = work[0]
    if listing < 0:
        return
    out[OUT_HAS_ENTRIES] = 1
    if containers[listing, 2] > len(entries):
        out[OUT_FULL] = 1
        out[OUT_ENTRIES] = containers[listing, 2]
        return
    count = 0
    number = 0
    chunk = containers[listing, 0]
    while chunk >= 0:
        first = chunks[chunk, 0]
        for k in range(first, first + chunks[chunk, 1]):
            if cell_tag[k] == DICT:
                _walk_entry(
                    entries[count], cell[k], buf, cell_tag, cell, containers, chunks,
                    strings, names, name_offsets, known, out, work, number,
                )  # fmt: skip
                if entries[count, NAME] != MISSING:
                    count += 1
                else:
                    out[OUT_SKIPPED] += 1
            else:
                out[OUT_SKIPPED] += 1
            number += 1
            if work[0] > MAX_WORK:
                out[OUT_WORK] = work[0]
                return
        chunk = chunks[chunk, 2]
    out[OUT_ENTRIES] = count
    out[OUT_WORK] = work[0]
