"""One rank's dump, byte for byte as PyTorch's recorder writes it.

Two passes over what the rank did: the first counts and fills ``pg_status``,
the second writes the entries that are still in the ring.
"""

import numpy as np

from simulator.compiled import compiled_plain
from simulator.entry import Times, put_entry
from simulator.head import put_head
from simulator.opcodes import APPENDS, SETITEMS, STOP, put_memo
from simulator.operation import Part
from simulator.recorder import (
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
from simulator.slots import NUM_SLOTS
from simulator.tables import Desk, Job, Style
from simulator.topology import Ints

_MEMBER, _CLOSER = int(Part.MEMBER), int(Part.CLOSER)


@compiled_plain
def _survey(desk: Desk, rank: int, moments: Moments, timing: int, dump_at: int) -> int:
    """Count one stretch and bring ``status`` up to date; returns how many entries it made."""
    ops, counters, status = moments.ops, desk.counters, desk.status
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
            if ops.part[op] == _MEMBER:
                continue
            chosen = P2P if ops.p2p[op] or ops.part[op] == _CLOSER else COLLECTIVE
            status[slot, 0] = counters[slot, chosen]
            entered = moments.entered[line, row] if timing else 0
            state, _ = judge(
                rank, slot, entered, moments.ended[line, row], dump_at, timing, desk.noticed
            )
            if timing and next_poll(rank, slot, entered) <= dump_at:
                status[slot, 1] = counters[slot, chosen]
            if state == RETIRED:
                status[slot, 2] = counters[slot, chosen]
    return made


@compiled_plain
def _put_stretch(
    desk: Desk,
    at: int,
    rank: int,
    record: int,
    keep_from: int,
    moments: Moments,
    offset_ns: int,
    dump_at: int,
    job: Job,
    style: Style,
) -> tuple[int, int]:
    """The entries of one stretch from record ``keep_from`` on; also returns the next record."""
    ops = moments.ops
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
            count(desk.counters, previous, ops, op)
            previous = op
            state, noticed_at = SCHEDULED, -1
            entered = moments.entered[line, row] if style.timing else 0
            ended = moments.ended[line, row]
            if ops.part[op] != _MEMBER:
                state, noticed_at = judge(
                    rank, ops.slot[op], entered, ended, dump_at, style.timing, desk.noticed
                )
            record += 1
            if record <= keep_from or (style.only_active and state >= COMPLETED):
                continue
            started, completed, duration_ms = -1, -1, -1.0
            if state == STARTED:
                started = dump_at + offset_ns + 300 * turn
            if state >= COMPLETED:
                completed = (noticed_at if state == RETIRED else dump_at + 300 * turn) + offset_ns
                started = completed - 20 if style.timing else -1
            if state == RETIRED and style.timing:
                duration_ms = float(np.float32((ended - entered) / 1e6))
            times = Times(created + offset_ns, started, completed, duration_ms, state)
            at = put_entry(desk, at, rank, record - 1, ops, op, times, job, style)
    return at, record


@compiled_plain
def _reset(base: Ints, desk: Desk) -> None:
    """Start over with the counters at ``base`` (slot by collective, p2p, op)."""
    for slot in range(NUM_SLOTS):
        desk.noticed[slot] = 0
        for which in range(3):
            desk.counters[slot, which] = base[slot, which]


@compiled_plain
def write_dump(
    desk: Desk,
    rank: int,
    offset_ns: int,
    dump_at: int,
    base: Ints,
    skipped_entries: int,
    before: Moments,
    last: Moments,
    job: Job,
    style: Style,
) -> int:
    """The whole dump into ``desk.out``; returns its length.

    ``base`` are the counters (slot by collective, p2p, op) and ``skipped_entries``
    the records of the steps that were not simulated. The memos of ``desk`` are left clean.
    """
    _reset(base, desk)
    for slot in range(NUM_SLOTS):
        for which in range(4):
            desk.status[slot, which] = 0 if which == 3 else -1
    made = _survey(desk, rank, before, style.timing, dump_at)
    made += _survey(desk, rank, last, style.timing, dump_at)
    at = put_head(desk, rank, job, style)
    keep_from = skipped_entries + made - style.ring
    _reset(base, desk)
    record = skipped_entries
    for turn in range(2):
        at, record = _put_stretch(
            desk,
            at,
            rank,
            record,
            keep_from,
            before if turn == 0 else last,
            offset_ns,
            dump_at,
            job,
            style,
        )
    out, slots, used = desk.out, desk.memo.slots, desk.memo.used
    out[at] = APPENDS
    out[at + 1] = SETITEMS
    at = put_memo(out, at + 2, used[0], False)
    out[at] = STOP
    for turn in range(used[1]):
        slots[used[2 + turn]] = -1
    for frame in range(len(desk.frame_memo)):
        desk.frame_memo[frame] = -1
    used[0] = 0
    used[1] = 0
    return at + 1
