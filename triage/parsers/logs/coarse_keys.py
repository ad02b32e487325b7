"""Keys that join more lines than the collapse key does, for lines that weigh nothing.

The *timeless key* joins what a kernel says again at another hour; the *words key*
joins what a job says all the time, of whatever rank.
"""

from typing import Any

import numpy as np

from triage.parsers.flight_recorder.jit import Word, compiled
from triage.parsers.logs.mask import (
    BRACKET_CLOSE,
    BRACKET_OPEN,
    DASH,
    DIGIT,
    DOT,
    HEX,
    KINDS,
    LETTER,
    MASK,
    SEED,
    collapse_key,
    find_digits_end,
    finish,
    get_byte,
    get_kind,
    mix,
    mix_run,
    run_end,
)

_Bytes = Any  # a uint8 array of compiled code


@compiled
def _find_kernel_body(buf: _Bytes, start: Word, end: Word) -> Word:
    """Behind ``[12345.678901]`` near the start of a line, else -1."""
    i = start
    stop = min(end, start + 120)
    while i < stop and buf[i] != BRACKET_OPEN:
        i += 1
    i += 1
    while i < stop and buf[i] == 32:
        i += 1
    dot = find_digits_end(buf, i, stop)
    close = find_digits_end(buf, dot + 1, stop)
    if dot == i or close != dot + 7 or get_byte(buf, dot, stop) != DOT:
        return -1
    return close + 1 if get_byte(buf, close, stop) == BRACKET_CLOSE else -1


@compiled
def compute_timeless_key(buf: _Bytes, start: Word, end: Word) -> Word:
    """The collapse key of a kernel's line whatever its hour; 0 for other lines."""
    body = _find_kernel_body(buf, start, end)
    if body < 0:
        return np.int64(0)
    h = collapse_key(buf, body, end)
    i = start
    while i < body:
        if not DIGIT <= KINDS[buf[i]] <= LETTER:
            i += 1
            continue
        stop = find_digits_end(buf, i, body)
        if stop == i or get_kind(buf, stop, body) == HEX or get_kind(buf, stop, body) == LETTER:
            stop = run_end(buf, i, body)
            while (
                get_byte(buf, stop, body) == DASH
                and DIGIT <= get_kind(buf, stop + 1, body) <= LETTER
            ):
                stop = run_end(buf, stop + 1, body)
            h = mix(mix_run(h, buf, i, stop), MASK)
        i = stop
    return finish(h)


@compiled
def compute_words_key(buf: _Bytes, start: Word, end: Word) -> Word:
    """The 64-bit key of lines that have the same words: whatever holds a digit is no word."""
    h = np.int64(SEED)
    word = np.int64(SEED)
    letters = False
    digits = False
    for i in range(start, end):
        c = buf[i]
        k = KINDS[c]
        if (k == HEX or k == LETTER) and c < 128:
            word = mix(word, c)
            letters = True
        elif k == DIGIT:
            digits = True
        elif letters or digits:
            if letters and not digits:
                h = mix(h, word)
            word = np.int64(SEED)
            letters = False
            digits = False
    if letters and not digits:
        h = mix(h, word)
    return finish(h)
