"""An even sample of the lines of progress, taken by the compiled scan.

A *form* is what lines of the same words have in common. Of each form the scan keeps the
places of some lines, chosen by their number alone: the more it has seen, the fewer it
takes, so that a log of any length gives about as many. The choice is by a hash of the
number: no habit of the job (a checkpoint every hundred steps) falls in with it.
"""

from typing import Any, Final

import numpy as np

from triage.parsers.flight_recorder.jit import Word, inlined
from triage.parsers.logs.mask import finish

# So many lines of a form are all kept; beyond, every doubling adds half as many.
KEPT_OF_A_FORM: Final = 384

# Slots of ``state``.
_FORMS, SAMPLES, _ORDER, _STATE_SLOTS = range(4)

# Columns of ``forms``. DEAD: its lines say nothing of progress. PRIOR: the line before the last;
# with it, how far a log goes on behind any of its lines is exact.
_KEY, _COUNT, DEAD, _LAST_START, _LAST_END, _LAST_LINE, _LAST_ORDER, _PRIOR_START = range(8)
_PRIOR_END, _PRIOR_LINE, _PRIOR_ORDER, _FORM_COLUMNS = range(8, 12)

# Columns of ``samples``.
_FORM, _INDEX, _START, _END, _LINE, _AT, _SAMPLE_COLUMNS = range(7)


class FormTables:
    """Scratch space of one thread. The capacity of forms is a power of two."""

    def __init__(self, form_capacity: int = 1 << 9, sample_capacity: int = 1 << 13) -> None:
        self.state = np.zeros(_STATE_SLOTS, np.int64)
        self.slots = np.zeros(form_capacity * 2, np.int32)
        self.forms = np.zeros((form_capacity, _FORM_COLUMNS), np.int64)
        self.samples = np.zeros((sample_capacity, _SAMPLE_COLUMNS), np.int64)

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
