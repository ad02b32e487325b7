"""Numbers, times and hashes in bytes, for compiled loops over lines of telemetry.

Nothing here looks at or behind ``end``. What is no number is NaN, what is no time is
:data:`NO_TIME`; both say where they stopped.

Whoever edits this file has to remove the caches of those that inline it (``*.nb?``).
"""

from typing import Any, Final

import numpy as np

from triage.parsers.flight_recorder.jit import Word, inlined

_Bytes = Any  # a uint8 array of compiled code

NO_TIME: Final = -(1 << 62)
_SECOND: Final = 1_000_000_000
# Beyond, in 2262, ns since the epoch do not fit; as far before 1970 neither.
LAST_S: Final = 9_223_372_035
_MAX_DIGITS: Final = 18
_POWERS: Final = np.array([10.0**k for k in range(23)])
SEED: Final = -3750763034362895579
_PRIME: Final = 1099511628211
_SPACE, _QUOTE, _PLUS, _MINUS, _DOT, _COLON, _SLASH = 32, 34, 43, 45, 46, 58, 47


@inlined
def mix_hash(h: Word, c: Word) -> Word:
    """The hash ``h`` with one byte more."""
    return (h ^ np.int64(c)) * _PRIME


@inlined
def finish(h: Word) -> Word:
    """The hash with its high bits spread over the low ones."""
    h ^= h >> 29
    h *= -4417276706812531889
    h ^= h >> 32
    return h


@inlined
def has_same_bytes(buf: _Bytes, start: Word, end: Word, text: _Bytes) -> Word:
    """Whether ``buf[start:end]`` is ``text``."""
    if end - start != len(text):
        return False
    k: Word = 0
    while k < len(text) and buf[start + k] == text[k]:
        k += 1
    return k == len(text)


@inlined
def _read_digit(buf: _Bytes, i: Word, end: Word) -> Word:
    """The digit at ``i``; -1 for none."""
    if i >= end:
        return -1
    c = np.int64(buf[i]) - 48
    return c if 0 <= c <= 9 else -1


@inlined
def _read_digits(buf: _Bytes, i: Word, end: Word, most: Word) -> tuple[Word, Word]:
    """(value, behind) of at most ``most`` digits; the value is -1 without any."""
    value: Word = 0
    start = i
    while i - start < most and _read_digit(buf, i, end) >= 0:
        value = value * 10 + _read_digit(buf, i, end)
        i += 1
    return (value if i > start else np.int64(-1)), i


@inlined
def _read_hexadecimal(buf: _Bytes, i: Word, end: Word) -> tuple[float, Word]:
    """(value, behind) of what follows ``0x``."""
    value: Word = 0
    start = i
    while i < end and i - start < 16:
        c = np.int64(buf[i])
        if 48 <= c <= 57:
            c -= 48
        elif 65 <= c <= 70:
            c -= 55
        elif 97 <= c <= 102:
            c -= 87
        else:
            break
        value = value * 16 + c
        i += 1
    return (float(value) if i > start and value >= 0 else np.nan), i


@inlined
def _read_word(buf: _Bytes, i: Word, end: Word) -> float:
    """What a word says of yes or no: Active, Yes, true; Not Active, No, false."""
    c = np.int64(buf[i]) | 32
    if end - i >= 4 and c == 116:  # true
        return 1.0 if (np.int64(buf[i + 1]) | 32) == 114 else np.nan
    if end - i >= 3 and c == 121:  # yes
        return 1.0 if (np.int64(buf[i + 1]) | 32) == 101 else np.nan
    if end - i >= 6 and c == 97:  # active
        return 1.0 if (np.int64(buf[i + 1]) | 32) == 99 else np.nan
    if end - i >= 5 and c == 102:  # false
        return 0.0 if (np.int64(buf[i + 1]) | 32) == 97 else np.nan
    if end - i >= 2 and c == 110 and (np.int64(buf[i + 1]) | 32) == 111:  # no, not active
        if end - i == 2:
            return 0.0
        third = np.int64(buf[i + 2]) | 32
        if third == 116 and end - i >= 5 and (np.int64(buf[i + 4]) | 32) == 97:
            return 0.0
        return np.nan if 97 <= third <= 122 else 0.0
    return np.nan


@inlined
def number_at(buf: _Bytes, i: Word, end: Word) -> tuple[float, Word]:
    """(value, behind) of a decimal number, ``0x4`` or a word of yes or no at ``i``.

    A unit behind a number is left where it stands. ``NaN``, ``[N/A]`` and infinity are NaN.
    """
    if i >= end:
        return np.nan, i
    first = np.int64(buf[i])
    negative = first == _MINUS
    if negative or first == _PLUS:
        i += 1
    if i + 1 < end and buf[i] == 48 and (buf[i + 1] | 32) == 120:
        return _read_hexadecimal(buf, i + 2, end)
    mantissa: Word = 0
    digits: Word = 0
    scale: Word = 0
    point = False
    start = i
    while i < end:
        c = np.int64(buf[i]) - 48
        if 0 <= c <= 9:
            if digits < _MAX_DIGITS:
                mantissa = mantissa * 10 + c
                digits += mantissa > 0
                scale -= point
            else:
                scale += not point
        elif c == _DOT - 48 and not point:
            point = True
        else:
            break
        i += 1
    if i - start - point < 1:
        return (_read_word(buf, start, end) if start < end else np.nan), i
    if i + 1 < end and (buf[i] | 32) == 101:  # e
        sign: Word = 1
        k = i + 1
        if buf[k] == _MINUS or buf[k] == _PLUS:
            sign = -1 if buf[k] == _MINUS else 1
            k += 1
        exponent, k = _read_digits(buf, k, end, 4)
        if exponent >= 0:
            scale += sign * exponent
            i = k
    value: Any = float(mantissa)
    if scale < 0:
        value = value / _POWERS[-scale] if scale >= -22 else value * 10.0 ** float(scale)
    elif scale > 0:
        value = value * _POWERS[scale] if scale <= 22 else value * 10.0 ** float(scale)
    return (-value if negative else value), i


@inlined
def _count_days(year: Word, month: Word, day: Word) -> Word:
    """Days since 1970 of a date of the Gregorian calendar."""
    year -= month <= 2
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


@inlined
def _read_fraction(buf: _Bytes, i: Word, end: Word) -> tuple[Word, Word]:
    """(ns, behind) of a fraction of a second that begins with its point or comma, if any."""
    if i >= end or (buf[i] != _DOT and buf[i] != 44) or _read_digit(buf, i + 1, end) < 0:
        return np.int64(0), i
    i += 1
    ns: Word = 0
    unit: Word = _SECOND
    while _read_digit(buf, i, end) >= 0:
        unit //= 10
        ns += _read_digit(buf, i, end) * unit
        i += 1
    return ns, i


@inlined
def _read_zone(buf: _Bytes, i: Word, end: Word) -> tuple[Word, Word]:
    """(seconds ahead of UTC, behind) of ``Z``, ``+01:00``, ``-0530``; -1 where none is printed."""
    k = i
    while k < end and buf[k] == _SPACE:
        k += 1
    if k < end and (buf[k] | 32) == 122:
        return np.int64(0), k + 1
    if k + 2 < end and buf[k] == 85 and buf[k + 1] == 84 and buf[k + 2] == 67:
        return np.int64(0), k + 3
    if k < end and (buf[k] == _PLUS or buf[k] == _MINUS):
        sign = -1 if buf[k] == _MINUS else 1
        hours, j = _read_digits(buf, k + 1, end, 2)
        if hours >= 0 and j == k + 3:
            if j < end and buf[j] == _COLON:
                j += 1
            minutes, j = _read_digits(buf, j, end, 2)
            return sign * (hours * 3600 + max(minutes, 0) * 60), j
    return np.int64(-1), i


@inlined
def _date_at(buf: _Bytes, year: Word, i: Word, end: Word) -> tuple[Word, Word, Word]:
    """(ns, behind, whether no zone is printed) of a date whose year was read, at its separator."""
    month, i = _read_digits(buf, i + 1, end, 2)
    day, i = _read_digits(buf, i + 1, end, 2)
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return NO_TIME, i, False
    hour, i = _read_digits(buf, i + 1, end, 2)
    minute, i = _read_digits(buf, i + 1, end, 2)
    second, i = _read_digits(buf, i + 1, end, 2)
    if not (0 <= hour <= 23 and 0 <= minute <= 59 and second <= 60):
        return NO_TIME, i, False
    ns, i = _read_fraction(buf, i, end)
    zone, i = _read_zone(buf, i, end)
    seconds = _count_days(year, month, day) * 86400 + hour * 3600 + minute * 60 + max(second, 0)
    if not -LAST_S <= seconds <= LAST_S:
        return NO_TIME, i, False
    return (seconds - (zone if zone != -1 else 0)) * _SECOND + ns, i, zone == -1


@inlined
def read_instant(buf: _Bytes, i: Word, end: Word) -> tuple[Word, Word, Word]:
    """(ns since the epoch, behind, whether it prints no zone) of a time at ``i``.

    A date and time with ``-`` or ``/``, ``T`` or a space, read as UTC where no zone stands; or a
    number since the epoch, of seconds, ms, us or ns by its size.
    """
    value, k = _read_digits(buf, i, end, 19)
    if value < 0:
        return NO_TIME, i, False
    if k - i == 4 and k < end and (buf[k] == _MINUS or buf[k] == _SLASH):
        return _date_at(buf, value, k, end)
    ns, k = _read_fraction(buf, k, end)
    if k < end and (buf[k] | 32) == 101:  # 1.7e9 loses what it should say
        return NO_TIME, k, False
    if _read_digit(buf, k, end) >= 0:  # more digits than a time has
        return NO_TIME, k, False
    if value < 100_000_000_000:
        return (value * _SECOND + ns if value <= LAST_S else NO_TIME), k, False
    if value < 100_000_000_000_000:
        return (value * 1_000_000 + ns // 1_000 if value <= LAST_S * 1_000 else NO_TIME), k, False
    if value < 100_000_000_000_000_000:
        return (value * 1_000 if value <= LAST_S * 1_000_000 else NO_TIME), k, False
    return value, k, False
