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

# Numbers of strings; an entry has the keys from record_id to is_p2p in this order.
_NAME = KEYS.index("name")
_FRAMES = KEYS.index("frames")
_RECORD_ID = KEYS.index("record_id")
_PG_ID = KEYS.index("pg_id")
_PROCESS_GROUP = KEYS.index("process_group")
_THREAD_NAME = KEYS.index("thread_name")
_THREAD_ID = KEYS.index("thread_id")
_COLLECTIVE_SEQ_ID = KEYS.index("collective_seq_id")
_OP_ID = KEYS.index("op_id")
_PROFILING_NAME = KEYS.index("profiling_name")
_CREATED = KEYS.index("time_created_ns")
_DURATION = KEYS.index("duration_ms")
_INPUT_SIZES = KEYS.index("input_sizes")
_INPUT_DTYPES = KEYS.index("input_dtypes")
_OUTPUT_SIZES = KEYS.index("output_sizes")
_OUTPUT_DTYPES = KEYS.index("output_dtypes")
_STATE = KEYS.index("state")
_STARTED_AT = KEYS.index("time_discovered_started_ns")
_COMPLETED_AT = KEYS.index("time_discovered_completed_ns")
_IS_RETIRED = KEYS.index("retired")
_TIMEOUT = KEYS.index("timeout_ms")
_IS_P2P = KEYS.index("is_p2p")
_STATE_WORD = KEYS.index("scheduled")


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
def _put_frames(desk: Desk, at: int, ops: OpTable, op: int, job: Job) -> int:
    """The stack of ``op``; a frame that was written before is fetched from the memo."""
    out, memo, frame_memo = desk.out, desk.memo, desk.frame_memo
    at = put_string(out, at, _FRAMES, memo)
    at = open_list(out, at)
    for place in range(ops.frames_start[op], ops.frames_start[op + 1]):
        frame = ops.frames[place]
        if frame_memo[frame] >= 0:
            at = put_memo(out, at, frame_memo[frame], True)
            continue
        at = open_dict(out, at)
        for turn in range(3):
            at = put_string(out, at, _NAME if turn == 0 else _FRAMES + turn, memo)
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
        at = _put_frames(desk, at, ops, op, job)
    for key in range(_RECORD_ID, _IS_P2P + 1):
        if key == _DURATION and times.duration_ms < 0.0:
            continue
        if (key == _THREAD_NAME or key == _THREAD_ID) and not style.threads:
            continue
        at = put_string(out, at, key, memo)
        text, number = -1, 0
        if key == _RECORD_ID:
            number = record
        elif key == _PG_ID:
            number = job.pg_id[rank, slot]
        elif key == _PROCESS_GROUP:
            at = put_string(out, at, job.group_name[group], memo)
            text = job.group_desc[group]
        elif key == _THREAD_NAME:
            text = job.thread_name[thread]
        elif key == _THREAD_ID:
            text = job.thread_id[rank, thread]
        elif _COLLECTIVE_SEQ_ID <= key <= _OP_ID:
            number = desk.counters[slot, key - _COLLECTIVE_SEQ_ID]
        elif key == _PROFILING_NAME:
            text = ops.name[op]
        elif key == _CREATED:
            number = times.created
        elif key == _DURATION:
            at = put_float(out, at, times.duration_ms, desk.scratch)
            continue
        elif key == _INPUT_SIZES or key == _OUTPUT_SIZES:
            tensors = ops.sizes[sizes]
            at, sizes = put_sizes(out, at, ops.sizes, sizes)
            continue
        elif key == _INPUT_DTYPES or key == _OUTPUT_DTYPES:
            at = put_dtypes(out, at, tensors, ops.dtype[op], memo)
            continue
        elif key == _STATE:
            text = _STATE_WORD + min(times.state, COMPLETED)
        elif key == _STARTED_AT:
            number = times.started
        elif key == _COMPLETED_AT:
            number = times.completed
        elif key == _TIMEOUT:
            number = style.timeout_ms
        else:
            yes = times.state == RETIRED if key == _IS_RETIRED else ops.p2p[op] > 0
            out[at] = NEWTRUE if yes else NEWFALSE
            at += 1
            continue
        if text < 0:
            at = put_time(out, at, number)
            continue
        at = put_string(out, at, text, memo)
        if key == _PROCESS_GROUP:
            out[at] = TUPLE2
            at += 1
    out[at] = SETITEMS
    return at + 1
