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
from triage.parsers.telemetry.chunks import Bytes, lines_in_chunks
from triage.parsers.telemetry.labels import key_of, labels_of, source_of, uuid_of
from triage.parsers.telemetry.numbers import (
    NO_TIME,
    SEED,
    finish,
    instant_at,
    mix,
    number_at,
)
from triage.parsers.telemetry.samples import BATCH, Samples
from triage.parsers.telemetry.series import SeriesTable, slot_of
from triage.parsers.telemetry.tally import Tally

__all__ = ["UNDATED", "read_exposition"]

# Slots of ``state``.
POS: Final = 0
OUT: Final = 1
COUNT: Final = 2  # names with labels that were met
AT: Final = 3  # the time of the scrape
LINE: Final = 4
BAD: Final = 5
FIRST_BAD: Final = 6
NO_CLOCK: Final = 7
FIRST_NO_CLOCK: Final = 8
ZONELESS: Final = 9
NEW_START: Final = 10  # the name and labels that are to be learned
NEW_STOP: Final = 11
STATE_SLOTS: Final = 12

DONE, FULL, LEARN = 0, 1, 2
LF, CR, SPACE, TAB, HASH, QUOTE, BACKSLASH, OPEN, CLOSE = 10, 13, 32, 9, 35, 34, 92, 123, 125

UNDATED: Final = "no time: put a line `# at TIME` before each scrape"
NOT_A_SAMPLE: Final = "no sample of the text exposition format"
TOO_MANY: Final = "of more series than are read"
Array = Any


@compiled
def scan(
    buf: Array,
    cut: Word,
    slots: Array,
    hashes: Array,
    of: Array,
    scale: Array,
    series: Array,
    at_ns: Array,
    values: Array,
    state: Array,
) -> Word:
    """DONE at ``cut``; FULL when the columns are to be taken over before it goes on; LEARN when
    it met a name with labels for the first time, which it looks at again when it goes on.
    """
    i = state[POS]
    room = len(hashes)
    while i < cut:
        if state[OUT] >= len(values):
            state[POS] = i
            return FULL
        state[LINE] += 1
        while buf[i] == SPACE or buf[i] == TAB:
            i += 1
        start = i
        if buf[i] == LF or buf[i] == CR or buf[i] == HASH:
            end = i
            while buf[end] != LF:
                end += 1
            if buf[i] == HASH:
                k = i + 1
                while k < end and (buf[k] == SPACE or buf[k] == TAB):
                    k += 1
                if end - k > 11 and buf[k] == 115 and buf[k + 1] == 99 and buf[k + 7] == SPACE:
                    k += 8  # scraped
                if end - k > 11 and buf[k] == 97 and buf[k + 1] == 116 and buf[k + 2] == SPACE:
                    ns, k, zoneless = instant_at(buf, k + 3, end)
                    state[AT] = ns
                    state[ZONELESS] += zoneless
            i = end + 1
            continue
        h: Word = SEED
        quoted = False
        braces = False
        c = np.int64(buf[i])
        while c != LF:
            if quoted:
                if c == BACKSLASH and buf[i + 1] != LF:
                    h = mix(h, c)
                    i += 1
                    c = np.int64(buf[i])
                elif c == QUOTE:
                    quoted = False
            elif c == QUOTE:
                quoted = True
            elif c == OPEN:
                braces = True
            elif c == CLOSE:
                h = mix(h, c)
                i += 1
                break
            elif not braces and (c == SPACE or c == TAB):
                k = i
                while buf[k] == SPACE or buf[k] == TAB:
                    k += 1
                if buf[k] != OPEN:
                    break
            h = mix(h, c)
            i += 1
            c = np.int64(buf[i])
        stop = i
        end = i
        while buf[end] != LF:
            end += 1
        while i < end and (buf[i] == SPACE or buf[i] == TAB):
            i += 1
        token = i
        while buf[token] != LF and buf[token] != SPACE and buf[token] != TAB and buf[token] != CR:
            token += 1
        value, k = number_at(buf, i, token)
        sign = np.int64(buf[i] == 43 or buf[i] == 45)
        letter = np.int64(buf[i + sign]) | 32 if i + sign < token else 0
        # NaN and Inf are values, and no samples.
        bad = i == stop or token == i or (k != token and letter != 110 and letter != 105)
        k = token
        h = finish(h)
        slot = slot_of(slots, hashes, h)
        number = np.int64(slots[slot]) - 1
        if number < 0:
            if bad:
                state[BAD] += 1
                if state[BAD] == 1:
                    state[FIRST_BAD] = state[LINE]
                i = end + 1
                continue
            if state[COUNT] >= room:
                i = end + 1
                continue
            hashes[state[COUNT]] = h
            state[COUNT] += 1
            slots[slot] = state[COUNT]
            state[NEW_START], state[NEW_STOP] = start, stop
            state[POS] = start
            state[LINE] -= 1
            return LEARN
        index = of[number, 0]
        if index < 0:
            i = end + 1
            continue
        while k < end and (buf[k] == SPACE or buf[k] == TAB or buf[k] == CR):
            k += 1
        ns = state[AT]
        if k < end and buf[k] != HASH:
            ns, k, zoneless = instant_at(buf, k + (buf[k] == 45), end)
            bad = bad or ns == NO_TIME
        if bad:
            state[BAD] += 1
            if state[BAD] == 1:
                state[FIRST_BAD] = state[LINE]
        elif value == value and abs(value) < 1e300:
            if ns == NO_TIME:
                state[NO_CLOCK] += 1
                if state[NO_CLOCK] == 1:
                    state[FIRST_NO_CLOCK] = state[LINE]
            else:
                out = state[OUT]
                series[out] = index
                at_ns[out] = ns
                values[out] = value * scale[number, 0]
                state[OUT] += 1
        i = end + 1
    state[POS] = i
    return DONE


def read_exposition(stream: Bytes, tally: Tally, node: str | None) -> Iterator[Samples]:
    """Batches of samples; ``node`` is whose they are where no label says it."""
    table = SeriesTable(gpus=tally.gpus)
    state = np.zeros(STATE_SLOTS, np.int64)
    state[AT] = NO_TIME
    columns = fresh()
    for chunk in lines_in_chunks(stream, tally):
        state[POS], state[LINE] = 0, chunk.line - 1
        status = FULL
        while status != DONE:
            table.make_room()
            status = scan(
                chunk.buffer,
                chunk.cut,
                table.slots,
                table.hashes,
                table.of,
                table.scale,
                *columns,
                state,
            )
            table.count = int(state[COUNT])
            if status == LEARN:
                text = chunk.buffer[state[NEW_START] : state[NEW_STOP]].tobytes()
                learn(table, table.count - 1, text, node)
            elif state[OUT] == BATCH:
                yield batch(table, columns, BATCH, tally)
                columns, state[OUT] = fresh(), 0
    if state[OUT]:
        yield batch(table, columns, int(state[OUT]), tally)
    tally.zoneless += int(state[ZONELESS])
    tally.skip(NOT_A_SAMPLE, int(state[BAD]), int(state[FIRST_BAD]))
    tally.skip(UNDATED, int(state[NO_CLOCK]), int(state[FIRST_NO_CLOCK]))
    if table.full:
        tally.notes.append(TOO_MANY)


def fresh() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.empty(BATCH, np.int32), np.empty(BATCH, np.int64), np.empty(BATCH)


def batch(
    table: SeriesTable, columns: tuple[np.ndarray, np.ndarray, np.ndarray], count: int, tally: Tally
) -> Samples:
    tally.samples += count
    series, at_ns, values = columns
    return Samples(table.series, series[:count], at_ns[:count], values[:count])


def learn(table: SeriesTable, number: int, raw: bytes, node: str | None) -> None:
    """Read the name and labels of a line that was not met before."""
    name, _, inside = raw.decode("utf-8", "replace").partition("{")
    labels = labels_of(inside.rstrip().removesuffix("}")) if inside else {}
    if labels is None:
        return
    source = source_of(name.strip(), labels)
    if source is not None:
        key = key_of(source, labels, node)
        table.add(number, 0, source, key)
        table.gpus.add(uuid_of(labels), key.node, key.gpu)
