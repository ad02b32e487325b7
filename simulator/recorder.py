"""What one rank's recorder knows at the moment of its dump: stamps, states, counters.

The watchdog of each group looks every 100 ms and retires what has ended, in
order; the dump itself notices what it has not come round to. Without timing
events no start is ever seen.
"""

from typing import NamedTuple

import numpy as np

from simulator.compiled import compiled_plain
from simulator.operation import Part
from simulator.physics import NEVER, noise
from simulator.slots import NUM_SLOTS
from simulator.tables import OpTable
from simulator.topology import Ints

SCHEDULED, STARTED, COMPLETED, RETIRED = 0, 1, 2, 3
COLLECTIVE, P2P, OP = 0, 1, 2
_POLL_NS = 100_000_000
_MEMBER, _CLOSER = int(Part.MEMBER), int(Part.CLOSER)


class Moments(NamedTuple):
    """One stretch of a run: ``first[rank]`` on are its rows; one line per section."""

    ops: OpTable
    first: Ints
    program_of: Ints
    program_start: Ints
    op_of: Ints
    created: Ints
    entered: Ints
    ended: Ints


@compiled_plain
def count(counters: Ints, previous: int, ops: OpTable, op: int) -> None:
    """Advance the group's sequence numbers by ``op``; ``previous`` is the entry before, or -1.

    A block takes one p2p number with its first member; its closer takes none.
    """
    slot = ops.slot[op]
    if ops.part[op] == _CLOSER:
        return
    counters[slot, OP] += 1
    if not ops.p2p[op]:
        counters[slot, COLLECTIVE] += 1
    elif ops.part[op] != _MEMBER or previous < 0 or ops.part[previous] != _MEMBER:
        counters[slot, P2P] += 1


@compiled_plain
def next_poll(rank: int, slot: int, time: int) -> int:
    """When the watchdog of the rank's group in ``slot`` looks next after ``time``."""
    phase = int(_POLL_NS * noise(np.uint64(40503), rank * NUM_SLOTS + slot))
    return int(((time - phase) // _POLL_NS + 1) * _POLL_NS + phase)


@compiled_plain
def judge(
    rank: int, slot: int, entered: int, ended: int, dump_at: int, timing: int, noticed: Ints
) -> tuple[int, int]:
    """State of an operation on the device, and the time at which its end was noticed.

    ``noticed[slot]`` is the last such time in the group, and is moved on.
    """
    if ended >= NEVER or ended > dump_at:
        if timing and entered <= dump_at:
            return STARTED, -1
        return SCHEDULED, -1
    poll = next_poll(rank, slot, ended)
    seen = max(poll + 3_000, noticed[slot] + 900 + int(500 * noise(np.uint64(9973), ended)))
    if seen > dump_at:
        return COMPLETED, -1
    noticed[slot] = seen
    return RETIRED, seen
