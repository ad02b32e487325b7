"""One rank's dump, byte for byte as PyTorch's recorder writes it.

Two passes over what the rank did: the first counts and fills ``pg_status``,
the second writes the entries that are still in the ring.
"""

import numpy as np

from triage.simulator.compiled import compiled_plain
from triage.simulator.opcodes import (
    APPENDS,
    NEWFALSE,
    NEWTRUE,
    SETITEMS,
    STOP,
    TUPLE2,
    Floats,
    open_dict,
    open_list,
    put_dtypes,
    put_float,
    put_int,
    put_memo,
    put_sizes,
    put_string,
    put_time,
)
from triage.simulator.recorder import (
    COLLECTIVE,
    COMPLETED,
    P2P,
    RETIRED,
    SCHEDULED,
    STARTED,
    Moments,
    count,
    judge,
    next_poll,
)
from triage.simulator.slots import NUM_SLOTS
from triage.simulator.strings import Bytes
from triage.simulator.tables import Job, OpTable, Style, Words
from triage.simulator.topology import Ints

__all__ = ["write_dump"]

# Keys, in the order in which an entry has them, and states, as numbered by tables.KEYS.
VERSION, PG_CONFIG, PG_STATUS, ENTRIES, NAME, LAST_ENQUEUED, FRAMES, FILENAME = (
    0,
    1,
    3,
    4,
    5,
    8,
    11,
    12,
)
RECORD_ID, PG_ID, PROCESS_GROUP, THREAD_NAME, THREAD_ID = 14, 15, 16, 17, 18
COLLECTIVE_SEQ_ID, OP_ID, PROFILING_NAME, CREATED, DURATION = 19, 21, 22, 23, 24
INPUT_SIZES, INPUT_DTYPES, OUTPUT_SIZES, OUTPUT_DTYPES, STATE = 25, 26, 27, 28, 29
STARTED_AT, COMPLETED_AT, IS_RETIRED, TIMEOUT, IS_P2P, STATE_WORD = 30, 31, 32, 33, 34, 35
MEMBER, CLOSER = 1, 2


@compiled_plain
def put_frames(
    out: Bytes, at: int, ops: OpTable, op: int, job: Job, words: Words,
    memo: Ints, used: Ints, frame_memo: Ints,
) -> int:  # fmt: skip
    """The stack of ``op``; a frame that was written before is fetched from the memo."""
    at = put_string(out, at, FRAMES, words, memo, used)
    at = open_list(out, at)
    for place in range(ops.frames_start[op], ops.frames_start[op + 1]):
        frame = ops.frames[place]
        if frame_memo[frame] >= 0:
            at = put_memo(out, at, frame_memo[frame], True)
            continue
        at = open_dict(out, at)
        for turn in range(3):
            at = put_string(out, at, NAME if turn == 0 else FRAMES + turn, words, memo, used)
            if turn < 2:
                text = job.frame_name[frame] if turn == 0 else job.frame_file[frame]
                at = put_string(out, at, text, words, memo, used)
        at = put_int(out, at, job.frame_line[frame])
        out[at] = SETITEMS
        frame_memo[frame] = used[0]
        used[0] += 1
        at = put_memo(out, at + 1, frame_memo[frame], False)
    out[at] = APPENDS
    return at + 1


@compiled_plain
def put_entry(
    out: Bytes, at: int, rank: int, record: int, counters: Ints, ops: OpTable, op: int,
    created: int, started: int, completed: int, duration: float, state: int,
    job: Job, words: Words, style: Style,
    memo: Ints, used: Ints, frame_memo: Ints, scratch: Floats,
) -> int:  # fmt: skip
    """One entry; a negative stamp is None, a negative duration leaves the key out.

    One loop over the keys, not a line for each: numba compiles it ten times faster.
    """
    slot = ops.slot[op]
    group = job.group_of[rank, slot]
    thread = int(ops.autograd[op])
    sizes = ops.sizes_start[op]
    tensors = 0
    at = open_dict(out, at)
    if style.frames:
        at = put_frames(out, at, ops, op, job, words, memo, used, frame_memo)
    for key in range(RECORD_ID, IS_P2P + 1):
        if key == DURATION and duration < 0.0:
            continue
        if (key == THREAD_NAME or key == THREAD_ID) and not style.threads:
            continue
        at = put_string(out, at, key, words, memo, used)
        text, number = -1, 0
        if key == RECORD_ID:
            number = record
        elif key == PG_ID:
            number = job.pg_id[rank, slot]
        elif key == PROCESS_GROUP:
            at = put_string(out, at, job.group_name[group], words, memo, used)
            text = job.group_desc[group]
        elif key == THREAD_NAME:
            text = job.thread_name[thread]
        elif key == THREAD_ID:
            text = job.thread_id[rank, thread]
        elif COLLECTIVE_SEQ_ID <= key <= OP_ID:
            number = counters[slot, key - COLLECTIVE_SEQ_ID]
        elif key == PROFILING_NAME:
            text = ops.name[op]
        elif key == CREATED:
            number = created
        elif key == DURATION:
            at = put_float(out, at, duration, scratch)
            continue
        elif key == INPUT_SIZES or key == OUTPUT_SIZES:
            tensors = ops.sizes[sizes]
            at, sizes = put_sizes(out, at, ops.sizes, sizes)
            continue
        elif key == INPUT_DTYPES or key == OUTPUT_DTYPES:
            at = put_dtypes(out, at, tensors, ops.dtype[op], words, memo, used)
            continue
        elif key == STATE:
            text = STATE_WORD + min(state, COMPLETED)
        elif key == STARTED_AT:
            number = started
        elif key == COMPLETED_AT:
            number = completed
        elif key == TIMEOUT:
            number = style.timeout_ms
        else:
            yes = state == RETIRED if key == IS_RETIRED else ops.p2p[op] > 0
            out[at] = NEWTRUE if yes else NEWFALSE
            at += 1
            continue
        if text < 0:
            at = put_time(out, at, number)
            continue
        at = put_string(out, at, text, words, memo, used)
        if key == PROCESS_GROUP:
            out[at] = TUPLE2
            at += 1
    out[at] = SETITEMS
    return at + 1


@compiled_plain
def put_groups(
    out: Bytes, at: int, rank: int, status: Ints, job: Job, words: Words, key: int,
    memo: Ints, used: Ints,
) -> int:  # fmt: skip
    """``pg_config`` or ``pg_status``: one dict of three values per group that is set up."""
    at = put_string(out, at, key, words, memo, used)
    at = open_dict(out, at)
    for slot in range(NUM_SLOTS):
        if status[slot, 3] == 0:
            continue
        group = job.group_of[rank, slot]
        config = key == PG_CONFIG
        name = job.group_name[group] if config else job.pg_id_text[job.pg_id[rank, slot]]
        at = put_string(out, at, name, words, memo, used)
        at = open_dict(out, at)
        for turn in range(3):
            inner = NAME if config else LAST_ENQUEUED
            at = put_string(out, at, inner + turn, words, memo, used)
            if config:
                text = name
                if turn > 0:
                    text = job.group_desc[group] if turn == 1 else job.group_ranks[group]
                at = put_string(out, at, text, words, memo, used)
            else:
                at = put_int(out, at, status[slot, turn])
        out[at] = SETITEMS
        at += 1
    out[at] = SETITEMS
    return at + 1


@compiled_plain
def put_head(
    out: Bytes, rank: int, status: Ints, job: Job, words: Words, style: Style,
    memo: Ints, used: Ints,
) -> int:  # fmt: skip
    """Everything before the entries; ``status[slot]`` is enqueued, started, completed, set up."""
    out[0] = 0x80
    out[1] = 2
    at = open_dict(out, 2)
    at = put_string(out, at, VERSION, words, memo, used)
    at = put_string(out, at, style.version, words, memo, used)
    at = put_groups(out, at, rank, status, job, words, PG_CONFIG, memo, used)
    if style.library_key:
        at = put_string(out, at, style.library_key, words, memo, used)
        at = put_string(out, at, style.library, words, memo, used)
    at = put_groups(out, at, rank, status, job, words, PG_STATUS, memo, used)
    at = put_string(out, at, ENTRIES, words, memo, used)
    return open_list(out, at)


@compiled_plain
def survey(
    rank: int, moments: Moments, ops: OpTable, timing: int, dump_at: int,
    counters: Ints, status: Ints, noticed: Ints,
) -> int:  # fmt: skip
    """Count one stretch and bring ``status`` up to date; returns how many entries it made."""
    start = moments.program_start[moments.program_of[rank]]
    length = moments.program_start[moments.program_of[rank] + 1] - start
    made = 0
    for line in range(moments.created.shape[0]):
        previous = -1
        for turn in range(length):
            row = moments.first[rank] + turn
            if moments.created[line, row] > dump_at:
                break
            op = moments.op_of[start + turn]
            count(counters, previous, ops, op)
            previous = op
            made += 1
            slot = ops.slot[op]
            status[slot, 3] = 1
            if ops.part[op] == MEMBER:
                continue
            chosen = P2P if ops.p2p[op] or ops.part[op] == CLOSER else COLLECTIVE
            status[slot, 0] = counters[slot, chosen]
            entered = moments.entered[line, row] if timing else 0
            state, _ = judge(
                rank, slot, entered, moments.ended[line, row], dump_at, timing, noticed
            )
            if timing and next_poll(rank, slot, entered) <= dump_at:
                status[slot, 1] = counters[slot, chosen]
            if state == RETIRED:
                status[slot, 2] = counters[slot, chosen]
    return made


@compiled_plain
def put_stretch(
    out: Bytes, at: int, rank: int, record: int, keep_from: int, moments: Moments, ops: OpTable,
    offset_ns: int, dump_at: int, job: Job, words: Words, style: Style, counters: Ints,
    noticed: Ints, memo: Ints, used: Ints, frame_memo: Ints, scratch: Floats,
) -> tuple[int, int]:  # fmt: skip
    """The entries of one stretch from record ``keep_from`` on; also returns the next record."""
    start = moments.program_start[moments.program_of[rank]]
    length = moments.program_start[moments.program_of[rank] + 1] - start
    for line in range(moments.created.shape[0]):
        previous = -1
        for turn in range(length):
            row = moments.first[rank] + turn
            created = moments.created[line, row]
            if created > dump_at:
                break
            op = moments.op_of[start + turn]
            count(counters, previous, ops, op)
            previous = op
            state, noticed_at = SCHEDULED, -1
            entered = moments.entered[line, row] if style.timing else 0
            ended = moments.ended[line, row]
            if ops.part[op] != MEMBER:
                state, noticed_at = judge(
                    rank, ops.slot[op], entered, ended, dump_at, style.timing, noticed
                )
            record += 1
            if record <= keep_from or (style.only_active and state >= COMPLETED):
                continue
            started, completed, duration = -1, -1, -1.0
            if state == STARTED:
                started = dump_at + offset_ns + 300 * turn
            if state >= COMPLETED:
                completed = (noticed_at if state == RETIRED else dump_at + 300 * turn) + offset_ns
                started = completed - 20 if style.timing else -1
            if state == RETIRED and style.timing:
                duration = float(np.float32((ended - entered) / 1e6))
            at = put_entry(
                out, at, rank, record - 1, counters, ops, op, created + offset_ns, started,
                completed, duration, state, job, words, style, memo, used, frame_memo, scratch,
            )  # fmt: skip
    return at, record


@compiled_plain
def reset(base: Ints, counters: Ints, noticed: Ints) -> None:
    """Start over with ``counters`` at ``base`` (slot by collective, p2p, op)."""
    for slot in range(NUM_SLOTS):
        noticed[slot] = 0
        for which in range(3):
            counters[slot, which] = base[slot, which]


@compiled_plain
def write_dump(
    out: Bytes, rank: int, offset_ns: int, dump_at: int, base: Ints, skipped_entries: int,
    before: Moments, before_ops: OpTable, last: Moments, last_ops: OpTable,
    job: Job, words: Words, style: Style,
    memo: Ints, used: Ints, frame_memo: Ints,
    counters: Ints, status: Ints, noticed: Ints, scratch: Floats,
) -> int:  # fmt: skip
    """The whole dump into ``out``; returns its length.

    ``base`` are the counters (slot by collective, p2p, op) and ``skipped_entries``
    the records of the steps that were not simulated. What comes after ``style`` is
    scratch; ``memo``, ``used`` and ``frame_memo`` are left clean.
    """
    reset(base, counters, noticed)
    for slot in range(NUM_SLOTS):
        for which in range(4):
            status[slot, which] = 0 if which == 3 else -1
    made = survey(rank, before, before_ops, style.timing, dump_at, counters, status, noticed)
    made += survey(rank, last, last_ops, style.timing, dump_at, counters, status, noticed)
    at = put_head(out, rank, status, job, words, style, memo, used)
    keep_from = skipped_entries + made - style.ring
    reset(base, counters, noticed)
    record = skipped_entries
    at, record = put_stretch(
        out, at, rank, record, keep_from, before, before_ops, offset_ns, dump_at, job, words,
        style, counters, noticed, memo, used, frame_memo, scratch,
    )  # fmt: skip
    at, record = put_stretch(
        out, at, rank, record, keep_from, last, last_ops, offset_ns, dump_at, job, words,
        style, counters, noticed, memo, used, frame_memo, scratch,
    )  # fmt: skip
    out[at] = APPENDS
    out[at + 1] = SETITEMS
    at = put_memo(out, at + 2, used[0], False)
    out[at] = STOP
    for turn in range(used[1]):
        memo[used[2 + turn]] = -1
    for frame in range(len(frame_memo)):
        frame_memo[frame] = -1
    used[0] = 0
    used[1] = 0
    return at + 1
