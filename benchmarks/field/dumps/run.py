"""Hosts and devices of all ranks through some steps, with a fault at a moment.

The host issues ahead of its device until it has to wait for it; a device takes operations in
order; an operation ends when all its members have reached it. Times are seconds from the start.
"""

import math
import random
from collections import deque
from dataclasses import dataclass, field, replace

from benchmarks.field.dumps.mesh import Mesh
from benchmarks.field.dumps.program import Op, Program

NEVER = math.inf


@dataclass(slots=True)
class Fault:
    """What goes wrong. Absent keys: nothing."""

    host_stops: dict[int, float] = field(default_factory=dict)
    device_stops: dict[int, float] = field(default_factory=dict)
    cut_ranks: frozenset[int] = frozenset()  # cannot talk to ranks outside the set
    cut_at: float = NEVER
    stuck_at: float = NEVER  # operations over several nodes end no more
    late: dict[int, float] = field(default_factory=dict)  # host seconds lost in every step
    slow: dict[int, float] = field(default_factory=dict)  # the device takes so many times as long
    changed: dict[tuple[int, int], Op] = field(default_factory=dict)  # (rank, index) -> other op
    swapped: dict[int, tuple[int, int]] = field(default_factory=dict)  # rank -> two indexes
    skipped: dict[int, int] = field(default_factory=dict)  # rank -> index that is not issued


@dataclass(slots=True)
class Run:
    """What happened: one list per rank over all operations of all steps."""

    mesh: Mesh
    ops: list[list[Op]]
    per_step: list[int]
    created: list[list[float | None]]
    arrived: list[list[float | None]]
    done: list[list[float | None]]

    def stuck(self, rank: int, at: float = NEVER) -> int | None:
        """Index of the oldest issued operation of a rank that has not ended by then."""
        for i, made in enumerate(self.created[rank]):
            if made is None or made > at:
                return None
            ended = self.done[rank][i]
            if ended is None or ended > at:
                return i
        return None


class _Meet:
    __slots__ = ("broken", "came", "need", "sign")

    def __init__(self, need: int) -> None:
        self.need = need
        self.came: list[tuple[int, int, float]] = []
        self.sign: tuple[object, ...] | None = None
        self.broken = False


class _Sim:
    def __init__(
        self, mesh: Mesh, program: Program, steps: int, seed: int, fault: Fault, per_node: int
    ) -> None:
        self.mesh, self.fault, self.per_node = mesh, fault, per_node
        rng = random.Random(seed)
        world = mesh.world
        self.ops: list[list[Op]] = []
        for rank in range(world):
            mine = program.steps[rank] * steps
            for (who, i), op in fault.changed.items():
                if who == rank:
                    mine[i] = op
            if rank in fault.swapped:
                a, b = fault.swapped[rank]
                mine[a], mine[b] = mine[b], mine[a]
            if rank in fault.skipped:
                del mine[fault.skipped[rank]]
            self.ops.append(mine)
        self.sizes = [len(program.steps[r]) for r in range(world)]
        self.created: list[list[float | None]] = [[None] * len(o) for o in self.ops]
        self.arrived: list[list[float | None]] = [[None] * len(o) for o in self.ops]
        self.done: list[list[float | None]] = [[None] * len(o) for o in self.ops]
        self.left = [[0] * len(o) for o in self.ops]
        self.host_at = [rng.uniform(0, 0.05) for _ in range(world)]
        self.dev_free = [0.0] * world
        self.h = [0] * world
        self.d = [0] * world
        self.pending = [0] * world
        self.last_done = [0.0] * world
        self.block = [-1] * world
        self.over = [False] * world  # this host issues nothing more
        self.dead = [False] * world  # this device reaches nothing more
        self.meets: dict[tuple[int, ...], _Meet] = {}
        self.count: list[dict[tuple[int, int], int]] = [{} for _ in range(world)]
        self.pace = [1 + rng.uniform(-0.01, 0.01) for _ in range(world)]
        self.jitter = [1 + rng.uniform(0, 0.08) for _ in range(509)]
        self.work: deque[int] = deque(range(world))

    def go(self) -> Run:
        while self.work:
            self._advance(self.work.popleft())
        return Run(self.mesh, self.ops, self.sizes, self.created, self.arrived, self.done)

    def _advance(self, rank: int) -> None:
        moved = True
        while moved:
            moved = self._host(rank)
            moved = self._device(rank) or moved

    def _host(self, rank: int) -> bool:
        ops, made = self.ops[rank], self.created[rank]
        i, start = self.h[rank], self.h[rank]
        stop = self.fault.host_stops.get(rank, NEVER)
        late = self.fault.late.get(rank, 0.0)
        while i < len(ops) and not self.over[rank]:
            op = ops[i]
            now = self.host_at[rank]
            if op.sync:
                if self.pending[rank]:
                    break
                now = max(now, self.last_done[rank])
                if i % self.sizes[rank] == 0:
                    now += 0.004 + late
            now += 0.00006 * self.jitter[(i * 7 + rank) % 509]
            if now > stop:
                self.over[rank] = True
                break
            made[i] = self.host_at[rank] = now
            self.pending[rank] += 1
            i += 1
        self.h[rank] = i
        return i > start

    def _device(self, rank: int) -> bool:
        start = self.d[rank]
        stop = self.fault.device_stops.get(rank, NEVER)
        slow = self.fault.slow.get(rank, 1.0) * self.pace[rank]
        while self.d[rank] < self.h[rank] and self.block[rank] < 0 and not self.dead[rank]:
            i = self.d[rank]
            op = self.ops[rank][i]
            made = self.created[rank][i]
            now = max(made or 0.0, self.dev_free[rank])
            now += op.cost * slow * self.jitter[(i * 13 + rank * 5) % 509]
            if now > stop:
                self.dead[rank] = True
                break
            self.arrived[rank][i] = now
            self.d[rank] = i + 1
            self.dev_free[rank] = now
            if op.blocking:
                self.block[rank] = i
            self._reach(rank, i, op, now)
        return self.d[rank] > start

    def _reach(self, rank: int, i: int, op: Op, now: float) -> None:
        counts = self.count[rank]
        if op.kind == "coll":
            self.left[rank][i] = 1
            k = counts[(op.group, -1)] = counts.get((op.group, -1), 0) + 1
            sign: tuple[object, ...] = (op.name, op.inputs, op.outputs, op.dtype)
            if op.name == "all_to_all":
                sign = (op.name, op.dtype)
            need = len(self.mesh.groups[op.group].ranks)
            self._join((op.group, k), need, sign, rank, i, now)
            return
        self.left[rank][i] = len(op.members)
        for send, peer in op.members:
            src, dst = (rank, peer) if send else (peer, rank)
            k = counts[(src, dst)] = counts.get((src, dst), 0) + 1
            self._join((src, dst, k, 0), 2, (op.inputs, op.dtype), rank, i, now)

    def _join(
        self, key: tuple[int, ...], need: int, sign: tuple[object, ...], rank: int, i: int,
        now: float,
    ) -> None:  # fmt: skip
        meet = self.meets.get(key)
        if meet is None:
            meet = self.meets[key] = _Meet(need)
            meet.sign = sign
        elif meet.sign != sign:
            meet.broken = True
        meet.came.append((rank, i, now))
        if len(meet.came) < meet.need or meet.broken:
            return
        del self.meets[key]
        ended = max(t for _, _, t in meet.came) + 0.0006
        if self._never(meet, ended):
            return
        for who, j, _ in meet.came:
            self.left[who][j] -= 1
            if not self.left[who][j]:
                self.done[who][j] = ended
                self.pending[who] -= 1
                self.last_done[who] = max(self.last_done[who], ended)
                if self.block[who] == j:
                    self.block[who] = -1
                    self.dev_free[who] = max(self.dev_free[who], ended)
                self.work.append(who)

    def _never(self, meet: _Meet, ended: float) -> bool:
        fault = self.fault
        who = [r for r, _, _ in meet.came]
        if any(fault.device_stops.get(r, NEVER) < ended for r in who):
            return True
        if ended > fault.cut_at:
            inside = sum(r in fault.cut_ranks for r in who)
            if 0 < inside < len(who) or (inside and len({r // self.per_node for r in who}) > 1):
                return True
        return ended > fault.stuck_at and len({r // self.per_node for r in who}) > 1


def simulate(
    mesh: Mesh, program: Program, steps: int, seed: int, per_node: int, fault: Fault | None = None
) -> Run:
    """The run of a job through some steps; the same seed gives the same times."""
    return _Sim(mesh, program, steps, seed, fault or Fault(), per_node).go()


def altered(op: Op, what: str) -> Op:
    """The same operation as a rank with other code or data would issue it."""
    if what == "size":
        grow = tuple(x + 128 for x in op.inputs), tuple(x + 128 for x in op.outputs)
        return replace(op, inputs=grow[0], outputs=grow[1])
    if what == "dtype":
        return replace(op, dtype="Float" if op.dtype != "Float" else "Half")
    other = "broadcast" if op.name != "broadcast" else "all_reduce"
    return replace(op, name=other, outputs=op.inputs)
