"""Run one section of the job on all ranks: who issues, enters and finishes what, and when.

Each rank is a host that issues its program in order (ahead of its device up to
the next operation it waits for) and a device that executes it in order. A
collective ends when the devices of all members have reached it, a send when its
recv has, a coalesced block when all its transfers have. The order of work does
not change the result: it is the least fixed point of these rules, so a fault
decides by itself who ends up waiting where.
"""

from typing import NamedTuple

import numpy as np

from simulator.compiled import compiled, compiled_plain
from simulator.operation import Part
from simulator.rendezvous import Flags, Meetings, RendezvousTable, meeting_of
from simulator.slots import NUM_SLOTS
from simulator.topology import Floats, Ints

NEVER = np.iinfo(np.int64).max // 2
"""The time of what does not happen, ns."""

_LAUNCH_NS = 8_000
_WAKE_NS = 30_000
_SPREAD_NS = 4_000


class Clocks(NamedTuple):
    """Per rank: when its host issues next, and when its device is free; ns of true time."""

    host: Ints
    device: Ints


class Costs(NamedTuple):
    """Per operation of a plan: host, compute and transfer time, and how it stands to the device."""

    gap_ns: Floats
    compute_ns: Floats
    transfer_ns: Floats
    member: Flags
    sync: Flags
    stuck: Flags
    slot: Ints


class Speeds(NamedTuple):
    """How many times as long as usual ranks compute, and their groups transfer.

    ``compute`` is one a rank, ``transfer`` one a rank and slot.
    """

    compute: Floats
    transfer: Floats


class Section(NamedTuple):
    """When things happened (or NEVER): one row per operation, a rank's from ``first[rank]`` on."""

    first: Ints
    created: Ints
    entered: Ints
    ended: Ints


def costs_of(found: Meetings, *, run_ahead: bool) -> Costs:
    """The costs of ``found.ops``; without ``run_ahead`` the host waits for each operation."""
    ops = found.ops

    def flags(values: list[bool]) -> Flags:
        return np.array(values, np.uint8)

    return Costs(
        np.array([9_000.0 if op.part is Part.MEMBER else 45_000.0 for op in ops]),
        np.array([op.compute_us * 1e3 for op in ops]),
        np.array([op.cost_us * 1e3 for op in ops]),
        flags([op.part is Part.MEMBER for op in ops]),
        flags([op.sync or not run_ahead for op in ops]),
        flags([op.stuck for op in ops]),
        np.array([int(op.slot) for op in ops], np.int64),
    )


def usual_speeds(ranks: int) -> Speeds:
    """All alike."""
    return Speeds(np.ones(ranks), np.ones((ranks, NUM_SLOTS)))


def first_of(found: Meetings) -> Ints:
    """Where each rank's operations start among a section's rows, and behind them the end."""
    table = found.table
    lengths = np.diff(table.program_start)[table.program_of]
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def run_section(
    found: Meetings, costs: Costs, clocks: Clocks, seed: int, speeds: Speeds | None = None
) -> Section:
    """Let all ranks run ``found`` from ``clocks``, which move on to the section's end."""
    first = first_of(found)
    rows = int(first[-1])
    section = Section(first, np.full(rows, NEVER), np.full(rows, NEVER), np.full(rows, NEVER))
    table = found.table._replace(need=found.table.need.copy())
    speeds = speeds or usual_speeds(len(clocks.host))
    _run(table, costs, speeds, clocks, section, np.uint64(seed))
    return section


@compiled_plain
def noise(seed: np.uint64, number: int) -> float:
    """A number in [0, 1) that depends on its arguments alone (splitmix64)."""
    x = np.uint64(seed) + np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return float(x >> np.uint64(11)) / 9007199254740992.0


@compiled
def _run(
    table: RendezvousTable,
    costs: Costs,
    speeds: Speeds,
    clocks: Clocks,
    section: Section,
    seed: np.uint64,
) -> None:
    program_of, program_start, op_of = table.program_of, table.program_start, table.op_of
    meets, need, broken = table.meets, table.need, table.broken
    host, device = clocks.host, clocks.device
    first, created = section.first, section.created
    entered, ended = section.entered, section.ended
    num_ranks = len(program_of)
    most = meets.shape[1]
    at = np.zeros(num_ranks, np.int64)
    waits_for = np.zeros(num_ranks, np.int64)  # meetings that the current operation still lacks
    ready = np.zeros(num_ranks, np.int64)  # when the last meeting so far was complete
    latest = np.zeros(len(need), np.int64)
    waiting = np.full(len(need), -1, np.int64)  # head of the list of ranks in a meeting
    behind = np.full(num_ranks * most, -1, np.int64)
    todo = np.empty(num_ranks, np.int64)
    for rank in range(num_ranks):
        todo[rank] = num_ranks - 1 - rank
    left = num_ranks
    while left > 0:
        left -= 1
        rank = todo[left]
        begin = program_start[program_of[rank]]
        end = program_start[program_of[rank] + 1]
        while True:
            row = first[rank] + at[rank]
            place = begin + at[rank]
            if place >= end:
                break
            op = op_of[place]
            if created[row] >= NEVER:
                host[rank] += int(costs.gap_ns[op] * (0.6 + 0.8 * noise(seed, 3 * row)))
                created[row] = host[rank]
                if costs.member[op]:
                    at[rank] += 1
                    continue
                jitter = 0.95 + 0.1 * noise(seed, 3 * row + 1)
                work = int(costs.compute_ns[op] * jitter * speeds.compute[rank])
                entered[row] = max(created[row] + _LAUNCH_NS, device[rank] + work)
                ready[rank] = entered[row]
                waits_for[rank] = 0
                for turn in range(most):
                    if meets[place, turn, 0] < 0:
                        break
                    meeting = meeting_of(table, rank, meets[place, turn])
                    need[meeting] -= 1
                    latest[meeting] = max(latest[meeting], entered[row])
                    if need[meeting] > 0 or broken[meeting]:
                        waits_for[rank] += 1
                        behind[rank * most + turn] = waiting[meeting]
                        waiting[meeting] = rank * most + turn
                        continue
                    ready[rank] = max(ready[rank], latest[meeting])
                    node = waiting[meeting]
                    while node >= 0:
                        other = node // most
                        waits_for[other] -= 1
                        ready[other] = max(ready[other], latest[meeting])
                        if waits_for[other] == 0:
                            todo[left] = other
                            left += 1
                        node = behind[node]
            if waits_for[rank] > 0 or costs.stuck[op]:
                break
            spread = int(_SPREAD_NS * noise(seed, 3 * row + 2))
            transfer = costs.transfer_ns[op] * speeds.transfer[rank, costs.slot[op]]
            ended[row] = ready[rank] + int(transfer) + spread
            device[rank] = ended[row]
            if costs.sync[op]:
                host[rank] = ended[row] + _WAKE_NS
            at[rank] += 1
    _issue_ahead(table, costs, host, at, section, seed)


@compiled
def _issue_ahead(
    table: RendezvousTable, costs: Costs, host: Ints, at: Ints, section: Section, seed: np.uint64
) -> None:
    """Behind an operation that never ends, hosts go on to the next one they wait for."""
    op_of = table.op_of
    for rank in range(len(table.program_of)):
        program = table.program_of[rank]
        begin = table.program_start[program]
        length = table.program_start[program + 1] - begin
        while at[rank] + 1 < length and not costs.sync[op_of[begin + at[rank]]]:
            at[rank] += 1
            row = section.first[rank] + at[rank]
            gap = costs.gap_ns[op_of[begin + at[rank]]] * (0.6 + 0.8 * noise(seed, 3 * row))
            host[rank] += int(gap)
            section.created[row] = host[rank]
