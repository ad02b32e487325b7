"""What each rank issues in one training step, as a list of operations.

Either layers that are gathered and scattered (fully sharded), or tensor and pipeline parallel
micro-batches in one-forward-one-backward order.
"""

import random
from dataclasses import dataclass, field, replace

from benchmarks.field.dumps.mesh import Mesh


@dataclass(frozen=True, slots=True)
class Op:
    """One issue of a rank. `kind`: coll, p2p (one send or recv) or batch (a coalesced block)."""

    kind: str
    group: int
    name: str
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    dtype: str = "BFloat16"
    members: tuple[tuple[bool, int], ...] = ()  # (is a send, global peer)
    cost: float = 0.002  # device seconds before it is reached
    sync: bool = False  # the host waits for its device first
    blocking: bool = True
    phase: str = "forward"

    def numel(self) -> tuple[int, int]:
        """Elements in and out, as the watchdog prints them."""
        a = b = 1
        for x in self.inputs:
            a *= x
        for x in self.outputs:
            b *= x
        return a, b


@dataclass(slots=True)
class Program:
    """Operations of one step for every rank, and what kind of job it is."""

    steps: list[list[Op]]
    moe: bool = False
    style: str = "fsdp"
    extra: dict[str, int] = field(default_factory=dict)


def _coll(mesh: Mesh, rank: int, role: str, name: str, size: int, **kw: object) -> Op | None:
    group = mesh.group(rank, role)
    if group is None or len(group.ranks) < 2:
        return None
    n = len(group.ranks)
    inputs, outputs = (size,), (size,)
    if "gather" in name:
        outputs = (size * n,)
    elif "scatter" in name:
        inputs = (size * n,)
    op = Op("coll", group.key, name, inputs, outputs)
    return replace(op, **kw)  # type: ignore[arg-type]


def _p2p(mesh: Mesh, rank: int, members: list[tuple[bool, int]], size: int, batched: bool) -> Op:
    group = mesh.groups[mesh.of[rank]["pp"]]
    if batched:
        return Op("batch", group.key, "coalesced", (size,), (size,), members=tuple(members))
    send, _ = members[0]
    name = "send" if send else "recv"
    return Op("p2p", group.key, name, (size,), (size,), members=tuple(members), blocking=not send)


def fsdp(mesh: Mesh, rank: int, layers: int, size: int, comm: float) -> list[Op]:
    """Gather each layer, scatter its gradient; tensor and expert parallel inside the layer."""
    ops: list[Op | None] = []
    role = "dp" if mesh.dp > 1 else "world"
    gather = "_all_gather_base" if mesh.style != "mesh" else "all_gather_into_tensor_coalesced"
    scatter = "_reduce_scatter_base" if mesh.style != "mesh" else "reduce_scatter_tensor_coalesced"
    for layer in range(layers):
        grow = size + 4096 * layer
        ops.append(_coll(mesh, rank, role, gather, grow, cost=comm, sync=layer == 0))
        ops.append(_coll(mesh, rank, "tp", "all_reduce", grow // 2, cost=comm))
        if "ep" in mesh.of[rank]:
            ops.append(_coll(mesh, rank, "ep", "all_to_all", grow // 4, cost=comm, sync=True))
            ops.append(_coll(mesh, rank, "ep", "all_to_all", grow // 4, cost=comm))
    for layer in reversed(range(layers)):
        grow = size + 4096 * layer
        ops.append(_coll(mesh, rank, role, gather, grow, cost=comm, phase="backward"))
        ops.append(_coll(mesh, rank, "tp", "all_reduce", grow // 2, cost=comm, phase="backward"))
        ops.append(
            _coll(mesh, rank, role, scatter, grow, cost=comm * 2, blocking=False, phase="backward")
        )
    if "mp" in mesh.of[rank]:
        ops.append(_coll(mesh, rank, "mp", "all_reduce", 1, dtype="Float", phase="norm"))
    ops.append(_coll(mesh, rank, "world", "all_reduce", 1, dtype="Float", phase="norm"))
    return [op for op in ops if op is not None]


def _layer(mesh: Mesh, rank: int, size: int, comm: float, phase: str, moe: bool) -> list[Op]:
    made = [
        _coll(mesh, rank, "tp", "_all_gather_base", size, cost=comm, phase=phase),
        _coll(mesh, rank, "tp", "_reduce_scatter_base", size // 2, cost=comm, phase=phase),
    ]
    if moe and "ep" in mesh.of[rank]:
        # The split sizes are read on the host, so it waits for its device.
        made.append(
            _coll(mesh, rank, "ep", "all_to_all", size // 4, cost=comm, sync=True, phase=phase)
        )
    return [op for op in made if op is not None]


def pipeline(mesh: Mesh, rank: int, micro: int, size: int, comm: float, batched: bool) -> list[Op]:
    """One-forward-one-backward over the stages of a pipeline, then gradients and the norm."""
    tp, stage, dp = mesh.place(rank)
    last = mesh.pp - 1
    before = mesh.at(tp, stage - 1, dp) if stage else -1
    after = mesh.at(tp, stage + 1, dp) if stage < last else -1
    ops: list[Op] = []

    def talk(*members: tuple[bool, int]) -> None:
        real = [m for m in members if m[1] >= 0]
        if not real:
            return
        if batched:
            ops.append(_p2p(mesh, rank, real, size, True))
        else:
            ops.extend(_p2p(mesh, rank, [m], size, False) for m in real)

    def forward() -> None:
        ops.extend(_layer(mesh, rank, size, comm, "forward", mesh.ep > 1))

    def backward() -> None:
        ops.extend(_layer(mesh, rank, size + 512, comm * 2, "backward", mesh.ep > 1))

    warm = min(micro, last - stage)
    for _ in range(warm):
        talk((False, before))
        forward()
        talk((True, after))
    steady = micro - warm
    if steady:
        talk((False, before))
    for i in range(steady):
        forward()
        talk((True, after), (False, after))
        backward()
        talk((True, before), (False, before if i < steady - 1 else -1))
    for _ in range(warm):
        talk((False, after))
        backward()
        talk((True, before))
    tail = [
        _coll(mesh, rank, "dp", "_reduce_scatter_base", size * 8, cost=comm, phase="grads"),
        _coll(mesh, rank, "mp", "all_reduce", 1, dtype="Float", phase="norm"),
        _coll(mesh, rank, "dp", "_all_gather_base", size * 8, cost=comm, phase="params"),
        _coll(mesh, rank, "world", "all_reduce", 1, dtype="Float", phase="loss"),
    ]
    ops.extend(op for op in tail if op is not None)
    if ops:
        ops[0] = replace(ops[0], sync=True)
    return ops


def draw(rng: random.Random, mesh: Mesh) -> Program:
    """The program of a job on this mesh."""
    size = 4096 * rng.choice([256, 512, 1024, 1536])
    comm = rng.uniform(0.004, 0.03)
    if mesh.pp > 1:
        micro = rng.choice([2, 3, 4])
        batched = rng.random() < 0.6
        steps = [pipeline(mesh, r, micro, size, comm, batched) for r in range(mesh.world)]
        return Program(steps, mesh.ep > 1, "pipeline", {"micro": micro, "batched": int(batched)})
    layers = rng.randrange(3, 8) if mesh.ep == 1 else rng.randrange(2, 5)
    steps = [fsdp(mesh, r, layers, size, comm) for r in range(mesh.world)]
    return Program(steps, mesh.ep > 1, "fsdp", {"layers": layers})
