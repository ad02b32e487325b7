"""One rank's dump, byte for byte as PyTorch's recorder writes it.

Two passes over what the rank did: the first counts and fills ``pg_status``,
the second writes the entries that are still in the ring.
"""

import numpy as np

from triage.simulator.compiled import compiled
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
    OP,
    P2P,
    RETIRED,
    SCHEDULED,
    STARTED,
    Moments,
    count,
    judge,
)
from triage.simulator.slots import NUM_SLOTS
from triage.simulator.strings import Bytes
from triage.simulator.tables import Job, OpTable, Style, Words
from triage.simulator.topology import Ints

__all__ = ["write_dump"]

# Keys and states, as numbered by tables.KEYS.
VERSION, PG_CONFIG, PG_STATUS, ENTRIES = 0, 1, 3, 4
NAME, DESC, RANKS, LAST_ENQUEUED, LAST_STARTED, LAST_COMPLETED = 5, 6, 7, 8, 9, 10
FRAMES, FILENAME, LINE, RECORD_ID, PG_ID, PROCESS_GROUP = 11, 12, 13, 14, 15, 16
THREAD_NAME, THREAD_ID, COLLECTIVE_SEQ_ID, P2P_SEQ_ID, OP_ID, PROFILING_NAME = (
    17,
    18,
    19,
    20,
    21,
    22,
)
CREATED, DURATION, INPUT_SIZES, INPUT_DTYPES, OUTPUT_SIZES, OUTPUT_DTYPES = 23, 24, 25, 26, 27, 28
STATE, DISCOVERED_STARTED, DISCOVERED_COMPLETED, IS_RETIRED, TIMEOUT, IS_P2P = (
    29,
    30,
    31,
    32,
    33,
    34,
)
STATE_WORD = 35
MEMBER, CLOSER = 1, 2


@compiled
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
        at = put_string(out, at, NAME, words, memo, used)
        at = put_string(out, at, job.frame_name[frame], words, memo, used)
        at = put_string(out, at, FILENAME, words, memo, used)
        at = put_string(out, at, job.frame_file[frame], words, memo, used)
        at = put_string(out, at, LINE, words, memo, used)
        at = put_int(out, at, job.frame_line[frame])
        out[at] = SETITEMS
        frame_memo[frame] = used[0]
        used[0] += 1
        at = put_memo(out, at + 1, frame_memo[frame], False)
    out[at] = APPENDS
    return at + 1


@compiled
def put_entry(
    out: Bytes, at: int, rank: int, record: int, counters: Ints, ops: OpTable, op: int,
    created: int, started: int, completed: int, duration: float, state: int,
    job: Job, words: Words, style: Style,
    memo: Ints, used: Ints, frame_memo: Ints, scratch: Floats,
) -> int:  # fmt: skip
    """One entry; a negative stamp is None, a negative duration leaves the key out."""
    slot = ops.slot[op]
    group = job.group_of[rank, slot]
    at = open_dict(out, at)
    if style.frames:
        at = put_frames(out, at, ops, op, job, words, memo, used, frame_memo)
    at = put_string(out, at, RECORD_ID, words, memo, used)
    at = put_int(out, at, record)
    at = put_string(out, at, PG_ID, words, memo, used)
    at = put_int(out, at, job.pg_id[rank, slot])
    at = put_string(out, at, PROCESS_GROUP, words, memo, used)
    at = put_string(out, at, job.group_name[group], words, memo, used)
    at = put_string(out, at, job.group_desc[group], words, memo, used)
    out[at] = TUPLE2
    at += 1
    if style.threads:
        thread = int(ops.autograd[op])
        at = put_string(out, at, THREAD_NAME, words, memo, used)
        at = put_string(out, at, job.thread_name[thread], words, memo, used)
        at = put_string(out, at, THREAD_ID, words, memo, used)
        at = put_string(out, at, job.thread_id[rank, thread], words, memo, used)
    at = put_string(out, at, COLLECTIVE_SEQ_ID, words, memo, used)
    at = put_int(out, at, counters[slot, COLLECTIVE])
    at = put_string(out, at, P2P_SEQ_ID, words, memo, used)
    at = put_int(out, at, counters[slot, P2P])
    at = put_string(out, at, OP_ID, words, memo, used)
    at = put_int(out, at, counters[slot, OP])
    at = put_string(out, at, PROFILING_NAME, words, memo, used)
    at = put_string(out, at, ops.name[op], words, memo, used)
    at = put_string(out, at, CREATED, words, memo, used)
    at = put_int(out, at, created)
    if duration >= 0.0:
        at = put_string(out, at, DURATION, words, memo, used)
        at = put_float(out, at, duration, scratch)
    sizes = ops.sizes_start[op]
    tensors = ops.sizes[sizes]
    at = put_string(out, at, INPUT_SIZES, words, memo, used)
    at, sizes = put_sizes(out, at, ops.sizes, sizes)
    at = put_string(out, at, INPUT_DTYPES, words, memo, used)
    at = put_dtypes(out, at, tensors, ops.dtype[op], words, memo, used)
    tensors = ops.sizes[sizes]
    at = put_string(out, at, OUTPUT_SIZES, words, memo, used)
    at, sizes = put_sizes(out, at, ops.sizes, sizes)
    at = put_string(out, at, OUTPUT_DTYPES, words, memo, used)
    at = put_dtypes(out, at, tensors, ops.dtype[op], words, memo, used)
    at = put_string(out, at, STATE, words, memo, used)
    at = put_string(out, at, STATE_WORD + min(state, COMPLETED), words, memo, used)
    at = put_string(out, at, DISCOVERED_STARTED, words, memo, used)
    at = put_time(out, at, started)
    at = put_string(out, at, DISCOVERED_COMPLETED, words, memo, used)
    at = put_time(out, at, completed)
    at = put_string(out, at, IS_RETIRED, words, memo, used)
    out[at] = NEWTRUE if state == RETIRED else NEWFALSE
    at = put_string(out, at + 1, TIMEOUT, words, memo, used)
    at = put_int(out, at, style.timeout_ms)
    at = put_string(out, at, IS_P2P, words, memo, used)
    out[at] = NEWTRUE if ops.p2p[op] else NEWFALSE
    out[at + 1] = SETITEMS
    return at + 2


@compiled
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
    at = put_string(out, at, PG_CONFIG, words, memo, used)
    at = open_dict(out, at)
    for slot in range(NUM_SLOTS):
        if status[slot, 3] == 0:
            continue
        group = job.group_of[rank, slot]
        at = put_string(out, at, job.group_name[group], words, memo, used)
        at = open_dict(out, at)
        at = put_string(out, at, NAME, words, memo, used)
        at = put_string(out, at, job.group_name[group], words, memo, used)
        at = put_string(out, at, DESC, words, memo, used)
        at = put_string(out, at, job.group_desc[group], words, memo, used)
        at = put_string(out, at, RANKS, words, memo, used)
        at = put_string(out, at, job.group_ranks[group], words, memo, used)
        out[at] = SETITEMS
        at += 1
    out[at] = SETITEMS
    at += 1
    if style.library_key:
        at = put_string(out, at, style.library_key, words, memo, used)
        at = put_string(out, at, style.library, words, memo, used)
    at = put_string(out, at, PG_STATUS, words, memo, used)
    at = open_dict(out, at)
    for slot in range(NUM_SLOTS):
        if status[slot, 3] == 0:
            continue
        at = put_string(out, at, job.pg_id_text[job.pg_id[rank, slot]], words, memo, used)
        at = open_dict(out, at)
        for which in range(3):
            at = put_string(out, at, LAST_ENQUEUED + which, words, memo, used)
            at = put_int(out, at, status[slot, which])
        out[at] = SETITEMS
        at += 1
    out[at] = SETITEMS
    at = put_string(out, at + 1, ENTRIES, words, memo, used)
    return open_list(out, at)


@compiled
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
            if timing and state != SCHEDULED:
                status[slot, 1] = counters[slot, chosen]
            if state >= COMPLETED:
                status[slot, 2] = counters[slot, chosen]
    return made


@compiled
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


@compiled
def write_dump(
    out: Bytes, rank: int, offset_ns: int, dump_at: int, base: Ints, skipped_entries: int,
    before: Moments, before_ops: OpTable, last: Moments, last_ops: OpTable,
    job: Job, words: Words, style: Style, memo: Ints, used: Ints, frame_memo: Ints,
) -> int:  # fmt: skip
    """The whole dump into ``out``; returns its length.

    ``base`` are the counters (slot by collective, p2p, op) and ``skipped_entries``
    the records of the steps that were not simulated. ``memo``, ``used`` and
    ``frame_memo`` are scratch, and are left clean.
    """
    scratch = np.zeros(1, np.float64)
    status = np.full((NUM_SLOTS, 4), -1, np.int64)
    status[:, 3] = 0
    counters = base.copy()
    noticed = np.zeros(NUM_SLOTS, np.int64)
    made = survey(rank, before, before_ops, style.timing, dump_at, counters, status, noticed)
    made += survey(rank, last, last_ops, style.timing, dump_at, counters, status, noticed)
    at = put_head(out, rank, status, job, words, style, memo, used)
    keep_from = skipped_entries + made - style.ring
    counters[:, :] = base
    noticed[:] = 0
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
    frame_memo[:] = -1
    used[0] = 0
    used[1] = 0
    return at + 1
