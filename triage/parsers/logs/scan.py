"""One compiled pass over a chunk of a log: lines, literals, groups, templates.

A line ends at a line feed or a carriage return (progress bars redraw with it); line numbers count
line feeds alone, as editors do. A line with a literal in it joins the group of its collapse key, of
which the first and the last line are kept by their place in the buffer. With templates, every line
is also counted under its mask, whose text goes into an arena. Of lines of progress a sample is
taken, with the last two of each form.

All arrays are lent, so nothing is allocated and no interpreter lock is held.
"""

from typing import Any, Final

import numpy as np

from triage.parsers.flight_recorder.jit import (
    Word,
    compile_if_more_than,
    compiled,
    inlined,
    reads_most,
)
from triage.parsers.logs.automaton import (
    HIT_EACH,
    HIT_FLOOD,
    HIT_QUIET,
    HIT_SAME,
    HIT_STEP,
    SKIP,
    Automaton,
)
from triage.parsers.logs.coarse_keys import compute_timeless_key, compute_words_key
from triage.parsers.logs.floods import FloodTable, compute_flood_key
from triage.parsers.logs.grams import find_gram_hits
from triage.parsers.logs.mask import (
    collapse_key,
    finish,
    mask_template,
    mix,
    mix_run,
    skip_escape,
)
from triage.parsers.logs.progress.forms import SAMPLES, FormTables, take_line

# Slots of ``state``. LINE: line feeds before POS. SKIPPING: inside the rest of a line that is too
# long. EACH_LEFT: lines that may still be kept one by one. OTHER_LINES: lines whose mask found no
# room. QUIET_LEFT: quiet lines that are still told apart by more than their words.
POS, LINE, _SKIPPING, GROUPS, _EACH_LEFT, TOO_LONG, TEMPLATES, _ARENA, OTHER_LINES, HITS = range(10)
_QUIET_LEFT, _STATE_SLOTS = range(10, 12)

# Columns of ``groups``. SHAPE: the hash of the first line's template mask. TIMELESS: the first
# line's key whatever its hour, 0 for none.
_KEY, COUNT, FIRST_START, FIRST_END, FIRST_LINE, _LAST_START, _LAST_END, LAST_LINE = range(8)
_SHAPE, _TIMELESS, _GROUP_COLUMNS = range(8, 11)

# Columns of ``masks``; the text of a mask is ``arena[begin:end]``. The last four: where its first
# and last line stand in the buffer.
_MASK_HASH, _MASK_COUNT, _MASK_FIRST, _MASK_LAST, _MASK_BEGIN, _MASK_END = range(6)
_MASK_FIRST_START, _MASK_FIRST_END, _MASK_LAST_START, _MASK_LAST_END, _MASK_COLUMNS = range(6, 11)

DONE, FULL = range(2)

_LF: Final = 10
_CR: Final = 13


class Tables:
    """Scratch space of one thread. Capacities are powers of two; slots hold index + 1."""

    mask_capacity: Final = 1 << 14
    arena_bytes: Final = 4 << 20

    def __init__(self, group_capacity: int = 1 << 14, mask_bytes: int = 400) -> None:
        self.state = np.zeros(_STATE_SLOTS, np.int64)
        self.group_slots = np.zeros(group_capacity * 2, np.int32)
        self.groups = np.zeros((group_capacity, _GROUP_COLUMNS), np.int64)
        self.mask_slots = np.zeros(2, np.int32)
        self.masks = np.zeros((1, _MASK_COLUMNS), np.int64)
        self.arena = np.zeros(1, np.uint8)
        self.line = np.zeros(mask_bytes + 2, np.uint8)
        self.floods = FloodTable()
        self.steps = FormTables()

    def start(self, each: int, templates: bool, quiet: int = 0) -> None:
        """Ready for a new file, which may keep ``each`` lines one by one, and ``quiet`` apart."""
        if templates and len(self.masks) < self.mask_capacity:
            self.mask_slots = np.zeros(self.mask_capacity * 2, np.int32)
            self.masks = np.zeros((self.mask_capacity, _MASK_COLUMNS), np.int64)
            self.arena = np.zeros(self.arena_bytes, np.uint8)
        if self.state[TEMPLATES]:
            self.mask_slots[:] = 0
        self.clear_groups()
        self.floods.start()
        self.steps.start()
        self.state[:] = 0
        self.state[_EACH_LEFT] = each
        self.state[_QUIET_LEFT] = quiet

    def clear_groups(self) -> None:
        """Forget the groups: they were taken over."""
        if self.state[GROUPS]:
            self.group_slots[:] = 0
            self.state[GROUPS] = 0


class Scanner:
    """Runs the compiled pass with one automaton and one thread's tables."""

    def __init__(self, automaton: Automaton, tables: Tables, *, max_line: int) -> None:
        self.automaton = automaton
        self.tables = tables
        self.max_line = max_line

    def run(self, buf: np.ndarray, filled: int, cut: int, wrap: int, templates: bool) -> int:
        """Scan the lines that start in ``buf[POS:cut]``; they may end anywhere up to ``filled``.

        ``wrap`` is the width at which lines were broken, 0 for none. Says DONE, or
        FULL when the groups are to be taken over before it goes on.
        """
        one = self.automaton
        own = self.tables
        compile_if_more_than(cut - int(own.state[POS]))
        grams = one.grams
        # Rows of a broken line are one line: the automaton reads on over their ends.
        whole = len(buf) & ~7 if grams.usable and not wrap else 0
        status = _scan(
            buf, buf[:whole].view(np.uint64), filled, cut, self.max_line, wrap, templates,
            grams.bits, grams.slots, grams.entries, grams.texts,
            one.classes, one.delta, one.flags, one.shift, one.first_hit,
            own.state, own.group_slots, own.groups,
            own.mask_slots, own.masks, own.arena, own.line,
            own.floods.entries, own.floods.count,
            own.steps.slots, own.steps.forms, own.steps.samples, own.steps.state,
        )  # fmt: skip
        return int(status)


_Array = Any


@reads_most
@compiled
def _scan(
    buf: _Array, words: _Array, filled: Word, cut: Word, max_line: Word, wrap: Word,
    templates: Word,
    bits: _Array, gram_slots: _Array, entries: _Array, texts: _Array,
    classes: _Array, delta: _Array, flags: _Array, shift: Word, first_hit: Word,
    state: _Array, group_slots: _Array, groups: _Array,
    mask_slots: _Array, masks: _Array, arena: _Array, line: _Array,
    floods: _Array, num_floods: _Array,
    form_slots: _Array, forms: _Array, samples: _Array, steps: _Array,
) -> Word:  # fmt: skip
    """DONE, or FULL with everything before ``state[POS]`` counted."""
    pos = state[POS]
    number = state[LINE]
    skipping = state[_SKIPPING]
    while pos < cut:
        if skipping:
            while pos < filled and buf[pos] != _LF and buf[pos] != _CR:
                pos += 1
            if pos >= filled:
                break
            skipping = 0
            number += buf[pos] == _LF
            pos += 1
            continue
        start = pos
        stop = min(filled, start + max_line)
        row = start  # where the present row of a wrapped line starts
        rows = 0
        i, hit = find_gram_hits(buf, words, bits, gram_slots, entries, texts, start, stop)
        node: Word = 0
        if i < 0:
            hit = 0
            i = start
        else:
            stop = i
        while i < stop:
            c = np.int64(classes[buf[i]])
            if c < SKIP:
                node = np.int64(delta[node + c])
                if node >= first_hit:
                    hit |= flags[node >> shift]
                i += 1
                continue
            if c == SKIP:
                i += 1
                continue
            b = buf[i]
            if b == _LF or b == _CR:
                if wrap > 0 and i - row == wrap:
                    if b == _CR and i + 1 < filled and buf[i + 1] == _LF:
                        i += 1
                        b = _LF
                    if b == _LF:
                        i += 1
                        row = i
                        rows += 1
                        continue
                break
            # A terminal sequence moves nothing; a lone escape is one byte.
            i = skip_escape(buf, i, stop)
        i = min(i, stop)
        if i > start:
            at = number + 1
            if hit:
                if state[GROUPS] >= len(groups) or steps[SAMPLES] >= len(samples):
                    state[POS] = start
                    state[LINE] = number
                    state[_SKIPPING] = 0
                    return FULL
                words_of_line: Word = 0
                if hit & HIT_STEP:
                    words_of_line = compute_words_key(buf, start, i)
                    take_line(form_slots, forms, samples, steps, words_of_line, start, i, at)
                    hit &= ~HIT_STEP
            if hit:
                state[HITS] += 1
                if hit & HIT_EACH and state[_EACH_LEFT] > 0:
                    state[_EACH_LEFT] -= 1
                    key = finish(mix(mix_run(at, buf, start, i), start - row))
                elif hit == HIT_SAME or (hit == HIT_QUIET and state[_QUIET_LEFT] <= 0):
                    key = words_of_line if words_of_line else compute_words_key(buf, start, i)
                elif hit & HIT_FLOOD:
                    key = compute_flood_key(buf, start, i, floods, num_floods)
                else:
                    state[_QUIET_LEFT] -= hit == HIT_QUIET
                    key = collapse_key(buf, start, i)
                _enter(buf, group_slots, groups, state, line, key, start, i, at)
            if templates:
                _count_mask(buf, start, i, at, state, mask_slots, masks, arena, line)
        number += rows
        pos = i
        if i >= stop and i - start >= max_line and (i >= filled or _is_not_end(buf[i])):
            state[TOO_LONG] += 1
            skipping = 1
        elif i < filled:
            number += buf[i] == _LF
            pos = i + 1
    state[POS] = pos
    state[LINE] = number
    state[_SKIPPING] = skipping
    return DONE


@inlined
def _is_not_end(c: Word) -> Word:
    return c != _LF and c != _CR


@compiled
def _enter(
    buf: _Array, slots: _Array, groups: _Array, state: _Array, line: _Array,
    key: Word, start: Word, stop: Word, at: Word,
) -> None:  # fmt: skip
    """One more line of the group ``key``."""
    last = len(slots) - 1
    slot = key & last
    while slots[slot] and groups[slots[slot] - 1, _KEY] != key:
        slot = (slot + 1) & last
    index = slots[slot] - 1
    if index < 0:
        index = state[GROUPS]
        state[GROUPS] += 1
        slots[slot] = index + 1
        groups[index, _KEY] = key
        groups[index, COUNT] = 0
        groups[index, FIRST_START] = start
        groups[index, FIRST_END] = stop
        groups[index, FIRST_LINE] = at
        groups[index, _SHAPE] = mask_template(buf, start, stop, line)[0]
        groups[index, _TIMELESS] = compute_timeless_key(buf, start, stop)
    groups[index, COUNT] += 1
    groups[index, _LAST_START] = start
    groups[index, _LAST_END] = stop
    groups[index, LAST_LINE] = at


@compiled
def _count_mask(
    buf: _Array, start: Word, stop: Word, at: Word, state: _Array,
    slots: _Array, masks: _Array, arena: _Array, line: _Array,
) -> None:  # fmt: skip
    """One more line of its template mask."""
    key, length = mask_template(buf, start, stop, line)
    if length == 0:
        return
    last = len(slots) - 1
    slot = key & last
    while slots[slot] and masks[slots[slot] - 1, _MASK_HASH] != key:
        slot = (slot + 1) & last
    index = np.int64(slots[slot]) - 1
    if index < 0:
        index = state[TEMPLATES]
        used = state[_ARENA]
        if index >= len(masks) or used + length > len(arena):
            state[OTHER_LINES] += 1
            return
        state[TEMPLATES] += 1
        state[_ARENA] = used + length
        slots[slot] = index + 1
        for i in range(length):
            arena[used + i] = line[i]
        masks[index, _MASK_HASH] = key
        masks[index, _MASK_COUNT] = 0
        masks[index, _MASK_FIRST] = at
        masks[index, _MASK_BEGIN] = used
        masks[index, _MASK_END] = used + length
        masks[index, _MASK_FIRST_START] = start
        masks[index, _MASK_FIRST_END] = stop
    masks[index, _MASK_COUNT] += 1
    masks[index, _MASK_LAST] = at
    masks[index, _MASK_LAST_START] = start
    masks[index, _MASK_LAST_END] = stop
