"""Which operations of different ranks meet.

Collectives meet by group and order in the group. Sends and recvs meet by
(source, destination) and order on that channel, whatever batch they are in.
Where the members of a meeting disagree on what it is, it never ends.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simulator.compiled import compiled
from simulator.operation import Op, Part, Program
from simulator.plan import Plan
from simulator.slots import NUM_SLOTS
from simulator.topology import Ints, Topology

MAX_MEETINGS = 4
"""A coalesced block of a pipeline stage has at most four transfers."""

Flags = npt.NDArray[np.uint8]


class RendezvousTable(NamedTuple):
    """A plan as arrays.

    ``op_of[program_start[p] + i]`` is the i-th operation (an index into ``Meetings.ops``)
    of program p. ``meets`` lists up to four meetings of it as (slot, source,
    destination, order), source -1 for a collective and slot -1 for none.
    A meeting's number is ``group_base[group] + order`` or ``channel_base[group] +
    (source * size + destination) * channel_depth + order``; ``need`` is how many ranks it
    takes, ``broken`` whether it never ends.
    """

    group_of: Ints
    op_of: Ints
    program_start: Ints
    program_of: Ints
    meets: Ints
    group_base: Ints
    channel_base: Ints
    channel_depth: int
    group_size: Ints
    need: Ints
    broken: Flags


@dataclass(slots=True)
class Meetings:
    """A plan's operations, each once, and how those of different ranks meet."""

    ops: list[Op]
    table: RendezvousTable

    def length_of(self, rank: int) -> int:
        """How many entries the rank's whole program makes."""
        starts, program = self.table.program_start, int(self.table.program_of[rank])
        return int(starts[program + 1] - starts[program])


def meetings(plan: Plan, topology: Topology) -> Meetings:
    """Number the meetings of ``plan`` and find those that cannot end."""
    ops: dict[Op, int] = {}
    op_of = np.array([ops.setdefault(op, len(ops)) for p in plan.programs for op in p], np.int64)
    start = np.cumsum([0, *(len(program) for program in plan.programs)], dtype=np.int64)
    rows = [_meets(program) for program in plan.programs]
    meets = np.concatenate([row for row, _, _ in rows]) if len(op_of) else np.zeros((0, 4, 4), int)
    counts = np.array([count for _, count, _ in rows], np.int64)
    depth = max((depth for _, _, depth in rows), default=0)
    sizes = np.array([len(ranks) for ranks in topology.members], np.int64)
    group_base, channel_base, total = _number(plan, topology, counts, sizes, depth)
    table = RendezvousTable(
        topology.group_of,
        op_of,
        start,
        plan.program_of,
        meets.astype(np.int64),
        group_base,
        channel_base,
        depth,
        sizes,
        np.full(total, 2, np.int64),
        np.zeros(total, np.uint8),
    )
    signatures: dict[object, int] = {}
    of_op = np.array([signatures.setdefault(op.signature, len(signatures)) for op in ops])
    member_of = np.array([op.part is Part.MEMBER for op in ops])
    _compare(table, of_op.astype(np.int64), member_of, np.full(total, -1, np.int64))
    for group, order in plan.broken:
        table.broken[group_base[group] + order] = 1
    return Meetings(list(ops), table)


def _meets(program: Program) -> tuple[Ints, list[int], int]:
    rows = np.full((len(program), MAX_MEETINGS, 4), -1, np.int64)
    collectives = [0] * NUM_SLOTS
    channels: dict[tuple[int, int, int], int] = {}
    waiting: list[tuple[int, int, int, int]] = []
    for at, op in enumerate(program):
        if op.is_p2p:
            ends = (op.own, op.peer) if op.name == "send" else (op.peer, op.own)
            order = channels.get((op.slot, *ends), 0)
            channels[(op.slot, *ends)] = order + 1
            waiting.append((op.slot, *ends, order))
        elif op.part is not Part.CLOSER:
            waiting.append((op.slot, -1, -1, collectives[op.slot]))
            collectives[op.slot] += 1
        if op.part is not Part.MEMBER:
            rows[at, : len(waiting)] = waiting
            waiting = []
    return rows, collectives, max(channels.values(), default=0)


def _number(
    plan: Plan, topology: Topology, counts: Ints, sizes: Ints, depth: int
) -> tuple[Ints, Ints, int]:
    most = np.zeros(len(sizes), np.int64)
    talks = np.zeros(len(sizes), np.bool_)
    chatty = np.array(
        [
            [any(op.is_p2p and op.slot == slot for op in program) for slot in range(NUM_SLOTS)]
            for program in plan.programs
        ]
    )
    for slot in range(NUM_SLOTS):
        groups = topology.group_of[:, slot]
        inside = groups >= 0
        np.maximum.at(most, groups[inside], counts[plan.program_of[inside], slot])
        np.logical_or.at(talks, groups[inside], chatty[plan.program_of[inside], slot])
    room = most + np.where(talks, sizes * sizes * depth, 0)
    ends = np.cumsum(room)
    base = ends - room
    return base, base + most, int(ends[-1]) if len(ends) else 0


@compiled
def meeting_of(table: RendezvousTable, rank: int, row: Ints) -> int:
    """The number of the meeting ``row`` (slot, source, destination, order) of ``rank``."""
    group = table.group_of[rank, row[0]]
    if row[1] < 0:
        return int(table.group_base[group] + row[3])
    channel = row[1] * table.group_size[group] + row[2]
    return int(table.channel_base[group] + channel * table.channel_depth + row[3])


@compiled
def _compare(
    table: RendezvousTable, signature_of: Ints, is_member: npt.NDArray[np.bool_], seen: Ints
) -> None:
    """Set ``need`` of collectives, and ``broken`` where members disagree on what it is."""
    op_of, meets = table.op_of, table.meets
    for rank in range(len(table.program_of)):
        program = table.program_of[rank]
        first_member = -1
        for at in range(table.program_start[program], table.program_start[program + 1]):
            if is_member[op_of[at]]:
                if first_member < 0:
                    first_member = at
                continue
            for turn in range(meets.shape[1]):
                row = meets[at, turn]
                if row[0] < 0:
                    break
                meeting = meeting_of(table, rank, row)
                if row[1] < 0:
                    table.need[meeting] = table.group_size[table.group_of[rank, row[0]]]
                speaker = at if first_member < 0 else first_member + turn
                signature = signature_of[op_of[speaker]]
                if seen[meeting] < 0:
                    seen[meeting] = signature
                elif seen[meeting] != signature:
                    table.broken[meeting] = 1
            first_member = -1
