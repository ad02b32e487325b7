"""What two lines have in common when their volatile parts are looked away from.

Two masks. The *collapse key* joins lines that say the same of the same thing: it
masks clocks, process ids, channels and addresses in memory, and keeps what
identifies (PCI addresses, hosts, ranks, codes) and the hour, so that a flood is
one group an hour. The *template mask* keeps the words alone.

Both walk bytes in compiled code and never look outside ``start`` to ``end``.
"""

from typing import Any, Final

import numpy as np

from triage.parsers.flight_recorder.jit import (
    ALL_64,
    Word,
    compiled,
    convert_to_signed,
    in_python,
    inlined,
)

_Bytes = Any  # a uint8 array of compiled code

# HEX is a-f, LETTER any other letter, '_', and all of UTF-8 beyond ASCII.
_OTHER, DIGIT, HEX, LETTER, _SPACE, _CONTROL, _ESCAPE = range(7)

SEED: Final = -3750763034362895579
_PRIME: Final = 1099511628211
MASK: Final = 1  # a byte that no text holds after control characters are gone

_ESC, _BELL, BRACKET_OPEN, BRACKET_CLOSE = 27, 7, 91, 93
DASH, DOT, COLON, _COMMA, _SLASH, _SEMICOLON, _EQUALS = 45, 46, 58, 44, 47, 59, 61


def build_byte_kinds() -> np.ndarray:
    """Byte -> what it is."""
    kinds = np.full(256, _OTHER, np.uint8)
    kinds[:32] = _CONTROL
    kinds[127] = _CONTROL
    kinds[_ESC] = _ESCAPE
    kinds[ord("0") : ord("9") + 1] = DIGIT
    for first, last, kind in (("a", "f", HEX), ("g", "z", LETTER)):
        kinds[ord(first) : ord(last) + 1] = kind
        kinds[ord(first.upper()) : ord(last.upper()) + 1] = kind
    kinds[ord("_")] = LETTER
    kinds[128:] = LETTER
    kinds[[9, 32]] = _SPACE
    return kinds


KINDS: Final = build_byte_kinds()


@inlined
def get_kind(buf: _Bytes, i: Word, end: Word) -> Word:
    """The kind of the byte at ``i``; OTHER from ``end`` on."""
    return KINDS[buf[i]] if i < end else _OTHER


@inlined
def get_byte(buf: _Bytes, i: Word, end: Word) -> Word:
    """The byte at ``i``; 0 from ``end`` on."""
    return np.int64(buf[i]) if i < end else np.int64(0)


@inlined
def mix(h: Word, c: Word) -> Word:
    """The hash ``h`` with one more byte."""
    return (h ^ np.int64(c)) * _PRIME


@in_python(mix)
def _mix_by_hand(h: int, c: int) -> int:
    """:func:`mix` for integers of any size."""
    return ((h ^ c) * _PRIME) & ALL_64


@inlined
def finish(h: Word) -> Word:
    """The hash with its high bits mixed into the low ones."""
    h ^= h >> 29
    h *= -4417276706812531889
    h ^= h >> 32
    return h


@in_python(finish)
def _finish_by_hand(h: int) -> int:
    """:func:`finish` for integers of any size."""
    h = convert_to_signed(h)
    h = convert_to_signed((h ^ (h >> 29)) * -4417276706812531889)
    return h ^ (h >> 32)


@inlined
def mix_run(h: Word, buf: _Bytes, start: Word, stop: Word) -> Word:
    """The hash ``h`` with the bytes from ``start`` to ``stop``."""
    for i in range(start, stop):
        h = mix(h, buf[i])
    return h


@in_python(mix_run)
def _mix_run_by_hand(h: int, buf: memoryview, start: int, stop: int) -> int:
    """:func:`mix_run` for integers of any size."""
    for c in buf[start:stop]:
        h = ((h ^ c) * _PRIME) & ALL_64
    return h


@compiled
def skip_escape(buf: _Bytes, i: Word, end: Word) -> Word:
    """Where the terminal sequence that starts at ``i`` ends."""
    i += 1
    if i >= end:
        return i
    c = buf[i]
    if c == BRACKET_OPEN:  # CSI: parameters, then one letter
        i += 1
        stop = min(end, i + 64)
        while i < stop and 32 <= buf[i] < 64:
            i += 1
        return i + 1 if i < stop and 64 <= buf[i] < 127 else i
    if c == BRACKET_CLOSE:  # OSC: up to BEL
        stop = min(end, i + 512)
        j = i + 1
        while j < stop and buf[j] != _BELL and buf[j] != _ESC and buf[j] != 10 and buf[j] != 13:
            j += 1
        return j + 1 if j < stop and buf[j] == _BELL else i
    return i + 1 if 32 < c < 127 else i


@inlined
def run_end(buf: _Bytes, i: Word, end: Word) -> Word:
    """The end of the run of letters and digits at ``i``."""
    while i < end and DIGIT <= KINDS[buf[i]] <= LETTER:
        i += 1
    return i


@inlined
def find_digits_end(buf: _Bytes, i: Word, end: Word) -> Word:
    """Where the run of digits that begins at ``i`` ends."""
    while i < end and KINDS[buf[i]] == DIGIT:
        i += 1
    return i


@inlined
def _has_two_digits(buf: _Bytes, i: Word, end: Word) -> Word:
    return i + 1 < end and KINDS[buf[i]] == DIGIT and KINDS[buf[i + 1]] == DIGIT


@inlined
def _is_hex(buf: _Bytes, i: Word, end: Word) -> Word:
    return i < end and (KINDS[buf[i]] == DIGIT or KINDS[buf[i]] == HEX)


@compiled
def _find_pci_end(buf: _Bytes, start: Word, stop: Word, end: Word) -> Word:
    """The end of the PCI address whose domain is ``start`` to ``stop``; -1 where it is none."""
    n = stop - start
    if (n != 4 and n != 8) or stop + 6 > end:
        return -1
    if buf[stop] != COLON or buf[stop + 3] != COLON:
        return -1
    for i in (stop + 1, stop + 2, stop + 4, stop + 5):
        if not _is_hex(buf, i, end):
            return -1
    i = stop + 6
    if _is_hex(buf, i, end):
        return -1
    if i + 1 < end and buf[i] == DOT and _is_hex(buf, i + 1, end):
        return i + 2
    return i


@compiled
def _find_uuid_end(buf: _Bytes, start: Word, stop: Word, end: Word) -> Word:
    """The end of a bare UUID whose first eight digits are ``start`` to ``stop``, else -1."""
    if stop - start != 8 or start + 36 > end:
        return -1
    for i in range(start + 8, start + 36):
        at = i - start
        if at == 8 or at == 13 or at == 18 or at == 23:
            if buf[i] != DASH:
                return -1
        elif not _is_hex(buf, i, end):
            return -1
    return start + 36


@compiled
def _pack_word_before(buf: _Bytes, start: Word, i: Word) -> Word:
    """The last letters before ``i`` behind at most two of ``: =#[``, in lower case, as a number."""
    j = i - 1
    for _ in range(2):
        if j < start:
            break
        c = buf[j]
        if c == 32 or c == COLON or c == _EQUALS or c == 35 or c == BRACKET_OPEN or c == 34:
            j -= 1
    found = np.int64(0)
    shift = 0
    while j >= start and shift < 40:
        k = KINDS[buf[j]]
        if k != HEX and k != LETTER:
            break
        found |= np.int64(buf[j] | 32) << shift
        shift += 8
        j -= 1
    return found


# As :func:`_pack_word_before` gives them.
_RANK, _RANKS, _TASK, _TASKS, _PID = (
    int.from_bytes(text, "big") for text in (b"rank", b"ranks", b"task", b"tasks", b"pid")
)
_FOUR: Final = 0xFFFFFFFF


@inlined
def _is_rank_word(word: Word) -> Word:
    return (word & _FOUR) == _RANK or word == _RANKS or word == _TASK or word == _TASKS


@inlined
def _mix_keeping(h: Word, buf: _Bytes, start: Word, stop: Word, kept: Word) -> Word:
    """The first ``kept`` digits, then a mask."""
    return mix(mix_run(h, buf, start, min(stop, start + kept)), MASK)


@compiled
def _find_kmsg_head(buf: _Bytes, start: Word, end: Word) -> Word:
    """Where the microseconds of ``6,3964,206764307,-;`` begin, else -1."""
    i = find_digits_end(buf, start, min(end, start + 4))
    if i == start or i >= end or buf[i] != _COMMA:
        return -1
    j = find_digits_end(buf, i + 1, min(end, i + 21))
    if j == i + 1 or j >= end or buf[j] != _COMMA:
        return -1
    k = find_digits_end(buf, j + 1, min(end, j + 21))
    if k == j + 1 or k >= end or buf[k] != _COMMA:
        return -1
    return j + 1


@compiled
def collapse_key(buf: _Bytes, start: Word, end: Word) -> Word:
    """The 64-bit key that lines share which differ in their volatile parts alone."""
    h = np.int64(SEED)
    spaced = False
    i = start
    head = _find_kmsg_head(buf, start, end)
    if head >= 0:
        i = find_digits_end(buf, start, end)
        h = mix_run(h, buf, start, i)
        stop = find_digits_end(buf, head, end)
        h = _mix_keeping(h, buf, head, stop, max(0, stop - head - 9))
        i = stop
    while i < end:
        c = buf[i]
        k = KINDS[c]
        if k == _SPACE:
            if not spaced:
                h = mix(h, 32)
            spaced = True
            i += 1
            continue
        if k == _CONTROL:
            i += 1
            continue
        if k == _ESCAPE:
            i = skip_escape(buf, i, end)
            continue
        spaced = False
        if k == _OTHER:
            if c == COLON and i >= start + 2 and _is_clock_tail(buf, start, i, end):
                h = mix(mix(h, COLON), MASK)
                i += 6
                if (get_byte(buf, i, end) == DOT or get_byte(buf, i, end) == _COMMA) and (
                    get_kind(buf, i + 1, end) == DIGIT
                ):
                    i = find_digits_end(buf, i + 1, end)
                continue
            h = mix(h, c)
            i += 1
            continue
        h, i = _mix_word(h, buf, start, i, end)
    return finish(h)


@compiled
def _is_clock_tail(buf: _Bytes, start: Word, i: Word, end: Word) -> Word:
    """Whether the colon at ``i`` stands behind the hour of ``hh:mm:ss``."""
    if not _has_two_digits(buf, i - 2, i) or (i - 3 >= start and KINDS[buf[i - 3]] == DIGIT):
        return False
    if not _has_two_digits(buf, i + 1, end) or get_byte(buf, i + 3, end) != COLON:
        return False
    return _has_two_digits(buf, i + 4, end) and get_kind(buf, i + 6, end) != DIGIT


@compiled
def _mix_word(h: Word, buf: _Bytes, start: Word, i: Word, end: Word) -> Word:
    """(hash, end) of the run of letters and digits at ``i`` and what belongs to it."""
    stop = i
    digits = 0
    letters = 0
    while stop < end:
        k = KINDS[buf[stop]]
        if k == DIGIT:
            digits += 1
        elif k == LETTER:
            letters += 1
        elif k != HEX:
            break
        stop += 1
    n = stop - i
    first_is_digit = KINDS[buf[i]] == DIGIT
    if letters == 0 and digits:
        pci = _find_pci_end(buf, i, stop, end)
        if pci >= 0:
            return mix_run(h, buf, i, pci), pci
        uuid = _find_uuid_end(buf, i, stop, end)
        if uuid >= 0:
            return mix(h, MASK), uuid
        if i >= start + 3 and buf[i - 1] == _EQUALS and buf[i - 3] == _SEMICOLON:
            return mix(h, MASK), stop  # a cursor of journald: ";i=4e1f;"
    if digits == n:
        return _mix_number(h, buf, start, i, stop, end)
    if letters == 0 and digits:
        if n >= 6:
            return mix(h, MASK), stop
        return mix_run(h, buf, i, stop), stop
    if not first_is_digit:
        # "[   T1946]": which thread the kernel was on
        if letters == 1 and digits == n - 1 and get_byte(buf, stop, end) == BRACKET_CLOSE:
            return mix(h, MASK), stop
        if letters == 0 and digits == n - 1 and get_byte(buf, stop, end) == BRACKET_CLOSE:
            return mix(h, MASK), stop
        # Names hold together: "GPU-3f2a...", "node-00123", "ip-10-0-3-7".
        while get_byte(buf, stop, end) == DASH and DIGIT <= get_kind(buf, stop + 1, end) <= LETTER:
            stop = run_end(buf, stop + 1, end)
        return mix_run(h, buf, i, stop), stop
    if n > 2 and buf[i] == 48 and (buf[i + 1] | 32) == 120:  # 0x...
        return mix(h, MASK), stop
    number = find_digits_end(buf, i, stop)
    if number - i >= 4 and stop - number <= 3:  # "600012ms"
        return mix_run(mix(h, MASK), buf, number, stop), stop
    return mix_run(h, buf, i, stop), stop


@compiled
def _mix_number(h: Word, buf: _Bytes, start: Word, i: Word, stop: Word, end: Word) -> Word:
    """(hash, end) of the digits from ``i`` to ``stop`` and the parts behind a dot or dash."""
    n = stop - i
    after = get_byte(buf, stop, end)
    if n == 4 and after == DASH and get_byte(buf, stop + 3, end) == DASH:
        dated = _has_two_digits(buf, stop + 1, end) and _has_two_digits(buf, stop + 4, end)
        if dated:
            return mix_run(h, buf, i, stop + 6), stop + 6
    if after == DOT and get_kind(buf, stop + 1, end) == DIGIT:
        j = stop
        dots = 0
        while get_byte(buf, j, end) == DOT and get_kind(buf, j + 1, end) == DIGIT:
            j = find_digits_end(buf, j + 1, end)
            dots += 1
        if dots > 1:
            return mix_run(h, buf, i, j), j  # an address, a version
        if n == 2 and j == stop + 2 and i > start and buf[i - 1] == COLON:
            return mix_run(h, buf, i, j), j  # "5d:00.0"
        before = i - 1
        while before >= start and buf[before] == 32:
            before -= 1
        if before >= start and buf[before] == BRACKET_OPEN and get_byte(buf, j, end) == 93:
            return _mix_keeping(h, buf, i, stop, max(0, n - 3)), j  # seconds since boot
        return mix(h, MASK), j
    if n <= 3:
        if _pack_word_before(buf, start, i) == _PID:
            return mix(h, MASK), stop
        return mix_run(h, buf, i, stop), stop
    if _is_rank_word(_pack_word_before(buf, start, i)) or (i == start and after == COLON):
        return mix_run(h, buf, i, stop), stop
    if after == BRACKET_CLOSE and get_byte(buf, stop + 1, end) == 60:  # "[1,1234]<stdout>"
        return mix_run(h, buf, i, stop), stop
    if (n == 13 or n == 16 or n == 19) and buf[i] == 49:  # an epoch in ms, us or ns
        return _mix_keeping(h, buf, i, stop, 7), stop
    return mix(h, MASK), stop


@compiled
def mask_template(buf: _Bytes, start: Word, end: Word, out: _Bytes) -> Word:
    """(hash, length) of the words of a line, written to ``out``.

    What holds a digit, and what is a path, becomes one mark; marks that only
    separators part become one, so a list is the same at any length.
    """
    n = 0
    kept = 0  # the length behind the last word or mark
    marked = False  # whether that was a mark
    i = start
    room = len(out) - 2
    while i < end and n < room:
        c = buf[i]
        k = KINDS[c]
        if k == _CONTROL:
            i += 1
            continue
        if k == _ESCAPE:
            i = skip_escape(buf, i, end)
            continue
        if k == _SPACE:
            if n > 0 and out[n - 1] != 32:
                out[n] = 32
                n += 1
            i += 1
            continue
        if k == _OTHER and c != _SLASH and c != DASH:
            out[n] = c
            n += 1
            i += 1
            continue
        volatile = False
        first = n
        while i < end and n < room:
            c = buf[i]
            k = KINDS[c]
            if k == DIGIT or c == _SLASH:
                volatile = True
            elif (k == _OTHER and c != DASH and c != DOT and c != COLON) or k >= _SPACE:
                break
            out[n] = c
            n += 1
            i += 1
        while n > first + 1 and (out[n - 1] == COLON or out[n - 1] == DOT):
            n -= 1
            i -= 1
        if volatile and not (n == first + 1 and out[first] == _SLASH):
            if marked:
                n = kept
            else:
                out[first] = MASK
                n = first + 1
            marked = True
        else:
            marked = False
        kept = n
    if n > 0 and out[n - 1] == 32:
        n -= 1
    return finish(mix_run(np.int64(SEED), out, 0, n)), n
