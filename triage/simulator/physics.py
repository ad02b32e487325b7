"""Run one section of the job on all ranks: who issues, enters and finishes what, and when.

Each rank is a host that issues its program in order (ahead of its device up to
the next operation it waits for) and a device that executes it in order. A
collective ends when the devices of all members have reached it, a send when its
recv has, a coalesced block when all its transfers have. The order of work does
not change the result: it is the least fixed point of these rules, so a fault
decides by itself who ends up waiting where.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from triage.simulator.compiled import compiled, compiled_plain
from triage.simulator.operation import Part
from triage.simulator.rendezvous import Flags, Meetings, meeting_of
from triage.simulator.topology import Ints, Topology

__all__ = [
    "NEVER", "Clocks", "Costs", "Floats", "Section", "costs_of", "first_of", "noise",
    "run_section",
]  # fmt: skip

NEVER = np.iinfo(np.int64).max // 2
"""The time of what does not happen, ns."""

LAUNCH_NS = 8_000
WAKE_NS = 30_000
SPREAD_NS = 4_000

Floats = npt.NDArray[np.float64]


@dataclass(slots=True)
class Clocks:
    """Per rank: when its host issues next, and when its device is free; ns of true time."""

    host: Ints
    device: Ints

    def copy(self) -> "Clocks":
        """Clocks that can run on without touching these."""
        return Clocks(self.host.copy(), self.device.copy())


@dataclass(slots=True)
class Costs:
    """Per operation of a plan: host, compute and transfer time, and how it stands to the device."""

    gap_ns: Floats
    compute_ns: Floats
    transfer_ns: Floats
    member: Flags
    sync: Flags
    stuck: Flags


@dataclass(slots=True)
class Section:
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
    )


def first_of(found: Meetings) -> Ints:
    """Where each rank's operations start among a section's rows, and behind them the end."""
    lengths = np.diff(found.program_start)[found.program_of]
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def run_section(
    found: Meetings, costs: Costs, topology: Topology, clocks: Clocks, seed: int
) -> Section:
    """Let all ranks run ``found`` from ``clocks``, which move on to the section's end."""
    first = first_of(found)
    rows = int(first[-1])
    section = Section(first, np.full(rows, NEVER), np.full(rows, NEVER), np.full(rows, NEVER))
    _run(
        first,
        topology.group_of,
        found.program_of,
        found.program_start,
        found.op_of,
        found.meets,
        found.group_base,
        found.channel_base,
        found.channel_depth,
        found.group_size,
        found.need.copy(),
        found.broken,
        costs.gap_ns,
        costs.compute_ns,
        costs.transfer_ns,
        costs.member,
        costs.sync,
        costs.stuck,
        clocks.host,
        clocks.device,
        np.uint64(seed),
        section.created,
        section.entered,
        section.ended,
    )
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
    first: Ints,
    group_of: Ints,
    program_of: Ints,
    program_start: Ints,
    op_of: Ints,
    meets: Ints,
    group_base: Ints,
    channel_base: Ints,
    depth: int,
    group_size: Ints,
    need: Ints,
    broken: Flags,
    gap_ns: Floats,
    compute_ns: Floats,
    transfer_ns: Floats,
    member: Flags,
    sync: Flags,
    stuck: Flags,
    host: Ints,
    device: Ints,
    seed: np.uint64,
    created: Ints,
    entered: Ints,
    ended: Ints,
) -> None:
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
                host[rank] += int(gap_ns[op] * (0.6 + 0.8 * noise(seed, 3 * row)))
                created[row] = host[rank]
                if member[op]:
                    at[rank] += 1
                    continue
                work = int(compute_ns[op] * (0.95 + 0.1 * noise(seed, 3 * row + 1)))
                entered[row] = max(created[row] + LAUNCH_NS, device[rank] + work)
                ready[rank] = entered[row]
                waits_for[rank] = 0
                for turn in range(most):
                    if meets[place, turn, 0] < 0:
                        break
                    group = group_of[rank, meets[place, turn, 0]]
                    meeting = meeting_of(
                        group,
                        group_size[group],
                        meets[place, turn],
                        group_base,
                        channel_base,
                        depth,
                    )
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
            if waits_for[rank] > 0 or stuck[op]:
                break
            spread = int(SPREAD_NS * noise(seed, 3 * row + 2))
            ended[row] = ready[rank] + int(transfer_ns[op]) + spread
            device[rank] = ended[row]
            if sync[op]:
                host[rank] = ended[row] + WAKE_NS
            at[rank] += 1
    _issue_ahead(first, program_of, program_start, op_of, gap_ns, sync, at, host, seed, created)


@compiled
def _issue_ahead(
    first: Ints,
    program_of: Ints,
    program_start: Ints,
    op_of: Ints,
    gap_ns: Floats,
    sync: Flags,
    at: Ints,
    host: Ints,
    seed: np.uint64,
    created: Ints,
) -> None:
    """Behind an operation that never ends, hosts go on to the next one they wait for."""
    for rank in range(len(program_of)):
        begin = program_start[program_of[rank]]
        length = program_start[program_of[rank] + 1] - begin
        while at[rank] + 1 < length and not sync[op_of[begin + at[rank]]]:
            at[rank] += 1
            row = first[rank] + at[rank]
            gap = gap_ns[op_of[begin + at[rank]]] * (0.6 + 0.8 * noise(seed, 3 * row))
            host[rank] += int(gap)
            created[row] = host[rank]
