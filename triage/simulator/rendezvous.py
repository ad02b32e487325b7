"""Which operations of different ranks meet.

Collectives meet by group and order in the group. Sends and recvs meet by
(source, destination) and order on that channel, whatever batch they are in.
Where the members of a meeting disagree on what it is, it never ends.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from triage.simulator.compiled import compiled
from triage.simulator.operation import Op, Part, Program
from triage.simulator.plan import Plan
from triage.simulator.slots import NUM_SLOTS
from triage.simulator.topology import Ints, Topology

__all__ = ["MAX_MEETINGS", "Flags", "Meetings", "meeting_of", "meetings"]

MAX_MEETINGS = 4
"""A coalesced block of a pipeline stage has at most four transfers."""

Flags = npt.NDArray[np.uint8]


@dataclass(slots=True)
class Meetings:
    """A plan as arrays.

    ``op_of[program_start[p] + i]`` is the i-th operation (an index into ``ops``)
    of program p. ``meets`` lists up to four meetings of it as (slot, source,
    destination, order), source -1 for a collective and slot -1 for none.
    A meeting's number is ``group_base[group] + order`` or ``channel_base[group] +
    (source * size + destination) * channel_depth + order``.
    """

    ops: list[Op]
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

    def length_of(self, rank: int) -> int:
        """How many entries the rank's whole program makes."""
        program = int(self.program_of[rank])
        return int(self.program_start[program + 1] - self.program_start[program])


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
    found = Meetings(
        list(ops),
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
    _judge(found, topology)
    for group, order in plan.broken:
        found.broken[group_base[group] + order] = 1
    return found


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


def _judge(found: Meetings, topology: Topology) -> None:
    signatures: dict[object, int] = {}
    of_op = np.array([signatures.setdefault(op.signature, len(signatures)) for op in found.ops])
    member_of = np.array([op.part is Part.MEMBER for op in found.ops])
    seen = np.full(len(found.need), -1, np.int64)
    _compare(
        topology.group_of,
        found.program_of,
        found.program_start,
        found.op_of,
        found.meets,
        found.group_base,
        found.channel_base,
        found.channel_depth,
        found.group_size,
        of_op.astype(np.int64),
        member_of,
        seen,
        found.need,
        found.broken,
    )


@compiled
def meeting_of(
    group: int, size: int, row: Ints, group_base: Ints, channel_base: Ints, depth: int
) -> int:
    """The number of the meeting ``row`` (slot, source, destination, order) of ``group``."""
    if row[1] < 0:
        return int(group_base[group] + row[3])
    return int(channel_base[group] + (row[1] * size + row[2]) * depth + row[3])


@compiled
def _compare(
    group_of: Ints,
    program_of: Ints,
    program_start: Ints,
    op_of: Ints,
    meets: Ints,
    group_base: Ints,
    channel_base: Ints,
    depth: int,
    group_size: Ints,
    signature_of: Ints,
    is_member: npt.NDArray[np.bool_],
    seen: Ints,
    need: Ints,
    broken: Flags,
) -> None:
    for rank in range(len(program_of)):
        program = program_of[rank]
        begin = program_start[program]
        first_member = -1
        for at in range(begin, program_start[program + 1]):
            if is_member[op_of[at]]:
                if first_member < 0:
                    first_member = at
                continue
            for turn in range(meets.shape[1]):
                row = meets[at, turn]
                if row[0] < 0:
                    break
                group = group_of[rank, row[0]]
                meeting = meeting_of(group, group_size[group], row, group_base, channel_base, depth)
                if row[1] < 0:
                    need[meeting] = group_size[group]
                speaker = at if first_member < 0 else first_member + turn
                signature = signature_of[op_of[speaker]]
                if seen[meeting] < 0:
                    seen[meeting] = signature
                elif seen[meeting] != signature:
                    broken[meeting] = 1
            first_member = -1
