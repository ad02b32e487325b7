"""One entry of a dump, and the stack in it."""

from typing import NamedTuple

from simulator.compiled import compiled_plain
from simulator.opcodes import (
    APPENDS,
    NEWFALSE,
    NEWTRUE,
    SETITEMS,
    TUPLE2,
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
from simulator.recorder import COMPLETED, RETIRED
from simulator.tables import KEYS, Desk, Job, OpTable, Style

__all__ = ["Times", "put_entry"]

# Numbers of strings; an entry has the keys from record_id to is_p2p in this order.
NAME = KEYS.index("name")
FRAMES = KEYS.index("frames")
RECORD_ID = KEYS.index("record_id")
PG_ID = KEYS.index("pg_id")
PROCESS_GROUP = KEYS.index("process_group")
THREAD_NAME = KEYS.index("thread_name")
THREAD_ID = KEYS.index("thread_id")
COLLECTIVE_SEQ_ID = KEYS.index("collective_seq_id")
OP_ID = KEYS.index("op_id")
PROFILING_NAME = KEYS.index("profiling_name")
CREATED = KEYS.index("time_created_ns")
DURATION = KEYS.index("duration_ms")
INPUT_SIZES = KEYS.index("input_sizes")
INPUT_DTYPES = KEYS.index("input_dtypes")
OUTPUT_SIZES = KEYS.index("output_sizes")
OUTPUT_DTYPES = KEYS.index("output_dtypes")
STATE = KEYS.index("state")
STARTED_AT = KEYS.index("time_discovered_started_ns")
COMPLETED_AT = KEYS.index("time_discovered_completed_ns")
IS_RETIRED = KEYS.index("retired")
TIMEOUT = KEYS.index("timeout_ms")
IS_P2P = KEYS.index("is_p2p")
STATE_WORD = KEYS.index("scheduled")


class Times(NamedTuple):
    """What the recorder knows of an entry, ns since 1970; a negative stamp is None.

    A negative ``duration_ms`` leaves the key out.
    """

    created: int
    started: int
    completed: int
    duration_ms: float
    state: int


@compiled_plain
def put_frames(desk: Desk, at: int, ops: OpTable, op: int, job: Job) -> int:
    """The stack of ``op``; a frame that was written before is fetched from the memo."""
    out, memo, frame_memo = desk.out, desk.memo, desk.frame_memo
    at = put_string(out, at, FRAMES, memo)
    at = open_list(out, at)
    for place in range(ops.frames_start[op], ops.frames_start[op + 1]):
        frame = ops.frames[place]
        if frame_memo[frame] >= 0:
            at = put_memo(out, at, frame_memo[frame], True)
            continue
        at = open_dict(out, at)
        for turn in range(3):
            at = put_string(out, at, NAME if turn == 0 else FRAMES + turn, memo)
            if turn < 2:
                text = job.frame_name[frame] if turn == 0 else job.frame_file[frame]
                at = put_string(out, at, text, memo)
        at = put_int(out, at, job.frame_line[frame])
        out[at] = SETITEMS
        frame_memo[frame] = memo.used[0]
        memo.used[0] += 1
        at = put_memo(out, at + 1, frame_memo[frame], False)
    out[at] = APPENDS
    return at + 1


@compiled_plain
def put_entry(
    desk: Desk,
    at: int,
    rank: int,
    record: int,
    ops: OpTable,
    op: int,
    times: Times,
    job: Job,
    style: Style,
) -> int:
    """One entry.

    One loop over the keys, not a line for each: numba compiles it ten times faster.
    """
    out, memo = desk.out, desk.memo
    slot = ops.slot[op]
    group = job.group_of[rank, slot]
    thread = int(ops.autograd[op])
    sizes = ops.sizes_start[op]
    tensors = 0
    at = open_dict(out, at)
    if style.frames:
        at = put_frames(desk, at, ops, op, job)
    for key in range(RECORD_ID, IS_P2P + 1):
        if key == DURATION and times.duration_ms < 0.0:
            continue
        if (key == THREAD_NAME or key == THREAD_ID) and not style.threads:
            continue
        at = put_string(out, at, key, memo)
        text, number = -1, 0
        if key == RECORD_ID:
            number = record
        elif key == PG_ID:
            number = job.pg_id[rank, slot]
        elif key == PROCESS_GROUP:
            at = put_string(out, at, job.group_name[group], memo)
            text = job.group_desc[group]
        elif key == THREAD_NAME:
            text = job.thread_name[thread]
        elif key == THREAD_ID:
            text = job.thread_id[rank, thread]
        elif COLLECTIVE_SEQ_ID <= key <= OP_ID:
            number = desk.counters[slot, key - COLLECTIVE_SEQ_ID]
        elif key == PROFILING_NAME:
            text = ops.name[op]
        elif key == CREATED:
            number = times.created
        elif key == DURATION:
            at = put_float(out, at, times.duration_ms, desk.scratch)
            continue
        elif key == INPUT_SIZES or key == OUTPUT_SIZES:
            tensors = ops.sizes[sizes]
            at, sizes = put_sizes(out, at, ops.sizes, sizes)
            continue
        elif key == INPUT_DTYPES or key == OUTPUT_DTYPES:
            at = put_dtypes(out, at, tensors, ops.dtype[op], memo)
            continue
        elif key == STATE:
            text = STATE_WORD + min(times.state, COMPLETED)
        elif key == STARTED_AT:
            number = times.started
        elif key == COMPLETED_AT:
            number = times.completed
        elif key == TIMEOUT:
            number = style.timeout_ms
        else:
            yes = times.state == RETIRED if key == IS_RETIRED else ops.p2p[op] > 0
            out[at] = NEWTRUE if yes else NEWFALSE
            at += 1
            continue
        if text < 0:
            at = put_time(out, at, number)
            continue
        at = put_string(out, at, text, memo)
        if key == PROCESS_GROUP:
            out[at] = TUPLE2
            at += 1
    out[at] = SETITEMS
    return at + 1
