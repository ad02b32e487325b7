"""Prometheus text exposition: what dcgm-exporter, node_exporter and their like print.

::

    # at 2026-11-21T03:04:15Z
    # TYPE DCGM_FI_DEV_GPU_TEMP gauge
    DCGM_FI_DEV_GPU_TEMP{gpu="0",pci_bus_id="00000000:1B:00.0",Hostname="n3"} 61
    DCGM_FI_DEV_POWER_USAGE{gpu="0",Hostname="n3"} 690.1 1795143855000

A time stands behind the value (ms since the epoch), else in the last comment ``# at TIME`` or
``# scraped at TIME`` above, as a loop that appends scrape to scrape writes it. A sample
without either is of no use here and is counted. Assumes that one set of labels is
written in one way all through a file.
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from triage.parsers.flight_recorder.jit import Word, compiled
from triage.parsers.telemetry.labels import find_source, parse_labels
from triage.parsers.telemetry.numbers import (
    NO_TIME,
    SEED,
    finish,
    mix_hash,
    number_at,
    read_instant,
)
from triage.parsers.telemetry.samples import BATCH, Bytes, Samples, Tally, iterate_line_chunks
from triage.parsers.telemetry.series import SeriesTable, find_slot

# Slots of ``state``.
_POS: Final = 0
_OUT: Final = 1
_COUNT: Final = 2  # names with labels that were met
_AT: Final = 3  # the time of the scrape
_LINE: Final = 4
_BAD: Final = 5
_FIRST_BAD: Final = 6
_NO_CLOCK: Final = 7
_FIRST_NO_CLOCK: Final = 8
_ZONELESS: Final = 9
_NEW_START: Final = 10  # the name and labels that are to be learned
_NEW_STOP: Final = 11
_STATE_SLOTS: Final = 12

_DONE, _FULL, _LEARN = 0, 1, 2
_LF, _CR, _SPACE, _TAB, _HASH, _QUOTE = 10, 13, 32, 9, 35, 34
_BACKSLASH, _OPEN, _CLOSE = 92, 123, 125

UNDATED: Final = "no time: put a line `# at TIME` before each scrape"
NOT_A_SAMPLE: Final = "no sample of the text exposition format"
_TOO_MANY: Final = "of more series than are read"
_Array = Any


@compiled
def _scan(
    buf: _Array,
    cut: Word,
    slots: _Array,
    hashes: _Array,
    of: _Array,
    scale: _Array,
    series: _Array,
    at_ns: _Array,
    values: _Array,
    state: _Array,
) -> Word:
    """DONE at ``cut``; FULL when the columns are to be taken over before it goes on; LEARN when
    it met a name with labels for the first time, which it looks at again when it goes on.
    """
    i = state[_POS]
    room = len(hashes)
    while i < cut:
        if state[_OUT] >= len(values):
            state[_POS] = i
            return _FULL
        state[_LINE] += 1
        while buf[i] == _SPACE or buf[i] == _TAB:
            i += 1
        start = i
        if buf[i] == _LF or buf[i] == _CR or buf[i] == _HASH:
            end = i
            while buf[end] != _LF:
                end += 1
            if buf[i] == _HASH:
                k = i + 1
                while k < end and (buf[k] == _SPACE or buf[k] == _TAB):
                    k += 1
                if end - k > 11 and buf[k] == 115 and buf[k + 1] == 99 and buf[k + 7] == _SPACE:
                    k += 8  # scraped
                if end - k > 11 and buf[k] == 97 and buf[k + 1] == 116 and buf[k + 2] == _SPACE:
                    ns, k, zoneless = read_instant(buf, k + 3, end)
                    state[_AT] = ns
                    state[_ZONELESS] += zoneless
            i = end + 1
            continue
        h: Word = SEED
        quoted = False
        braces = False
        c = np.int64(buf[i])
        while c != _LF:
            if quoted:
                if c == _BACKSLASH and buf[i + 1] != _LF:
                    h = mix_hash(h, c)
                    i += 1
                    c = np.int64(buf[i])
                elif c == _QUOTE:
                    quoted = False
            elif c == _QUOTE:
                quoted = True
            elif c == _OPEN:
                braces = True
            elif c == _CLOSE:
                h = mix_hash(h, c)
                i += 1
                break
            elif not braces and (c == _SPACE or c == _TAB):
                k = i
                while buf[k] == _SPACE or buf[k] == _TAB:
                    k += 1
                if buf[k] != _OPEN:
                    break
            h = mix_hash(h, c)
            i += 1
            c = np.int64(buf[i])
        stop = i
        end = i
        while buf[end] != _LF:
            end += 1
        while i < end and (buf[i] == _SPACE or buf[i] == _TAB):
            i += 1
        token = i
        while (
            buf[token] != _LF and buf[token] != _SPACE and buf[token] != _TAB and buf[token] != _CR
        ):
            token += 1
        value, k = number_at(buf, i, token)
        sign = np.int64(buf[i] == 43 or buf[i] == 45)
        letter = np.int64(buf[i + sign]) | 32 if i + sign < token else 0
        # NaN and Inf are values, and no samples.
        bad = i == stop or token == i or (k != token and letter != 110 and letter != 105)
        k = token
        h = finish(h)
        slot = find_slot(slots, hashes, h)
        number = np.int64(slots[slot]) - 1
        if number < 0:
            if bad:
                state[_BAD] += 1
                if state[_BAD] == 1:
                    state[_FIRST_BAD] = state[_LINE]
                i = end + 1
                continue
            if state[_COUNT] >= room:
                i = end + 1
                continue
            hashes[state[_COUNT]] = h
            state[_COUNT] += 1
            slots[slot] = state[_COUNT]
            state[_NEW_START], state[_NEW_STOP] = start, stop
            state[_POS] = start
            state[_LINE] -= 1
            return _LEARN
        index = of[number, 0]
        if index < 0:
            i = end + 1
            continue
        while k < end and (buf[k] == _SPACE or buf[k] == _TAB or buf[k] == _CR):
            k += 1
        ns = state[_AT]
        if k < end and buf[k] != _HASH:
            ns, k, zoneless = read_instant(buf, k + (buf[k] == 45), end)
            bad = bad or ns == NO_TIME
        if bad:
            state[_BAD] += 1
            if state[_BAD] == 1:
                state[_FIRST_BAD] = state[_LINE]
        elif value == value and abs(value) < 1e300:
            if ns == NO_TIME:
                state[_NO_CLOCK] += 1
                if state[_NO_CLOCK] == 1:
                    state[_FIRST_NO_CLOCK] = state[_LINE]
            else:
                out = state[_OUT]
                series[out] = index
                at_ns[out] = ns
                values[out] = value * scale[number, 0]
                state[_OUT] += 1
        i = end + 1
    state[_POS] = i
    return _DONE


def read_exposition(stream: Bytes, tally: Tally, node: str | None) -> Iterator[Samples]:
    """Batches of samples; ``node`` is whose they are where no label says it."""
    table = SeriesTable(gpus=tally.gpus)
    state = np.zeros(_STATE_SLOTS, np.int64)
    state[_AT] = NO_TIME
    columns = _allocate_batch()
    for chunk in iterate_line_chunks(stream, tally):
        state[_POS], state[_LINE] = 0, chunk.line - 1
        status = _FULL
        while status != _DONE:
            table.make_room()
            status = _scan(
                chunk.buffer,
                chunk.cut,
                table.slots,
                table.hashes,
                table.of,
                table.scale,
                *columns,
                state,
            )
            table.count = int(state[_COUNT])
            if status == _LEARN:
                text = chunk.buffer[state[_NEW_START] : state[_NEW_STOP]].tobytes()
                _learn(table, table.count - 1, text, node)
            elif state[_OUT] == BATCH:
                yield _batch(table, columns, BATCH, tally)
                columns, state[_OUT] = _allocate_batch(), 0
    if state[_OUT]:
        yield _batch(table, columns, int(state[_OUT]), tally)
    tally.zoneless += int(state[_ZONELESS])
    tally.skip(NOT_A_SAMPLE, int(state[_BAD]), int(state[_FIRST_BAD]))
    tally.skip(UNDATED, int(state[_NO_CLOCK]), int(state[_FIRST_NO_CLOCK]))
    if table.full:
        tally.notes.append(_TOO_MANY)


def _allocate_batch() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.empty(BATCH, np.int32), np.empty(BATCH, np.int64), np.empty(BATCH)


def _batch(
    table: SeriesTable, columns: tuple[np.ndarray, np.ndarray, np.ndarray], count: int, tally: Tally
) -> Samples:
    tally.samples += count
    series, at_ns, values = columns
    return Samples(table.series, series[:count], at_ns[:count], values[:count])


def _learn(table: SeriesTable, number: int, raw: bytes, node: str | None) -> None:
    """Read the name and labels of a line that was not met before."""
    name, _, inside = raw.decode("utf-8", "replace").partition("{")
    labels = parse_labels(inside.rstrip().removesuffix("}")) if inside else {}
    if labels is None:
        return
    source = find_source(name.strip(), labels)
    if source is not None:
        table.add(number, 0, source, labels, node)
