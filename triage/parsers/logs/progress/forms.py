"""An even sample of the lines of progress, taken by the compiled scan.

A *form* is what lines of the same words have in common. Of each form the scan keeps the
places of some lines, chosen by their number alone: the more it has seen, the fewer it
takes, so that a log of any length gives about as many. The choice is by a hash of the
number: no habit of the job (a checkpoint every hundred steps) falls in with it.
"""

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from triage.parsers.flight_recorder.jit import Word, inlined
from triage.parsers.logs.mask import finish

# So many lines of a form are all kept; beyond, every doubling adds half as many.
KEPT_OF_A_FORM: Final = 384

# Slots of ``state``.
_FORMS: Final = 0
SAMPLES: Final = 1
_ORDER: Final = 2
_STATE_SLOTS: Final = 3

# Columns of ``forms``.
_KEY: Final = 0
_COUNT: Final = 1
DEAD: Final = 2  # its lines say nothing of progress
_LAST_START: Final = 3
_LAST_END: Final = 4
_LAST_LINE: Final = 5
_LAST_ORDER: Final = 6
# The line before the last one: with it, how far a log goes on behind any of its lines is exact.
_PRIOR_START: Final = 7
_PRIOR_END: Final = 8
_PRIOR_LINE: Final = 9
_PRIOR_ORDER: Final = 10
_FORM_COLUMNS: Final = 11

# Columns of ``samples``.
_FORM: Final = 0
_INDEX: Final = 1
_START: Final = 2
_END: Final = 3
_LINE: Final = 4
_AT: Final = 5
_SAMPLE_COLUMNS: Final = 6


@dataclass(slots=True)
class FormTables:
    """Scratch space of one thread. The capacity of forms is a power of two."""

    form_capacity: int = 1 << 9
    sample_capacity: int = 1 << 13
    state: np.ndarray = field(init=False)
    slots: np.ndarray = field(init=False)
    forms: np.ndarray = field(init=False)
    samples: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.state = np.zeros(_STATE_SLOTS, np.int64)
        self.slots = np.zeros(self.form_capacity * 2, np.int32)
        self.forms = np.zeros((self.form_capacity, _FORM_COLUMNS), np.int64)
        self.samples = np.zeros((self.sample_capacity, _SAMPLE_COLUMNS), np.int64)

    def start(self) -> None:
        """Ready for a new file."""
        if self.state[_FORMS]:
            self.slots[:] = 0
            self.forms[: self.state[_FORMS]] = 0
        self.state[:] = 0


_Array = Any


@inlined
def count_trailing_zeros(number: Word) -> Word:
    """The zeros at the end of the hash of ``number``; many for 0, which is always taken."""
    if number == 0:
        return np.int64(63)
    h = np.int64(finish(np.int64(number) * np.int64(-7046029254386353131)))
    zeros = np.int64(0)
    while zeros < 62 and not h & 1:
        h >>= 1
        zeros += 1
    return zeros


@inlined
def compute_level(number: Word) -> Word:
    """How many zeros a line needs so that the sample stays small: one more per doubling."""
    level = np.int64(0)
    left = np.int64(number) // KEPT_OF_A_FORM
    while left > 0:
        level += 1
        left >>= 1
    return level


@inlined
def take_line(
    slots: _Array,
    forms: _Array,
    samples: _Array,
    state: _Array,
    key: Word,
    start: Word,
    stop: Word,
    at: Word,
) -> None:
    """One more line of the form ``key``; there is room for one more sample."""
    last = len(slots) - 1
    slot = key & last
    while slots[slot] and forms[slots[slot] - 1, _KEY] != key:
        slot = (slot + 1) & last
    index = np.int64(slots[slot]) - 1
    if index < 0:
        index = state[_FORMS]
        if index >= len(forms):
            return
        state[_FORMS] += 1
        slots[slot] = index + 1
        forms[index, _KEY] = key
    number = forms[index, _COUNT]
    forms[index, _COUNT] = number + 1
    if forms[index, DEAD]:
        return
    order = state[_ORDER]
    state[_ORDER] = order + 1
    forms[index, _PRIOR_START] = forms[index, _LAST_START]
    forms[index, _PRIOR_END] = forms[index, _LAST_END]
    forms[index, _PRIOR_LINE] = forms[index, _LAST_LINE]
    forms[index, _PRIOR_ORDER] = forms[index, _LAST_ORDER]
    forms[index, _LAST_START] = start
    forms[index, _LAST_END] = stop
    forms[index, _LAST_LINE] = at
    forms[index, _LAST_ORDER] = order
    if count_trailing_zeros(number) >= compute_level(number):
        sample = state[SAMPLES]
        state[SAMPLES] = sample + 1
        samples[sample, _FORM] = index
        samples[sample, _INDEX] = number
        samples[sample, _START] = start
        samples[sample, _END] = stop
        samples[sample, _LINE] = at
        samples[sample, _AT] = order
