"""Faults in which somebody stops, or is slow: the operations themselves are right."""

from dataclasses import replace

import numpy as np

from simulator.operation import Op, Program
from simulator.scene import Dumped, Fault, Scene, Strangers, collectives, starts
from simulator.slots import Slot
from triage.errors import UsageError


def healthy(scene: Scene) -> Fault:
    """Everything completes; the dumps are asked for afterwards."""
    return Fault(scene.plan, (), "none", ("healthy",), "none", dumped=Dumped.AFTER)


def healthy_live(scene: Scene) -> Fault:
    """The dumps are taken in the middle of a step of a running job."""
    return Fault(scene.plan, (), "none", ("healthy",), "none", dumped=Dumped.LIVE)


def host_stall(scene: Scene) -> Fault:
    """The host of one rank stops issuing; its device finishes what it was given."""
    rank = scene.culprit()
    program = scene.plan.of(rank)
    at = scene.chance.choice(starts(program))
    where = scene.where(rank, at)
    scene.plan.give(rank, program[:at])
    return Fault(scene.plan, (rank,), "culprit", ("hang",), "host_stall", where=where)


def no_dump(scene: Scene) -> Fault:
    """One rank dies: it stops, and leaves no dump."""
    fault = host_stall(scene)
    fault.without_dump = fault.culprits
    fault.verdicts = ("hang", "crash", "inconclusive")
    fault.category, fault.also = "nccl_timeout", ("host_stall", "software_user", "gpu")
    return fault


def device_stall(scene: Scene) -> Fault:
    """One device never ends an operation that its peers end."""
    rank = scene.culprit()
    program = scene.plan.of(rank)
    slot = scene.slot(rank)
    places = [at for at in collectives(program, slot) if not program[at].sync]
    at = scene.one_of(places, "device-stall needs a tp or dp group: give tp or dp of 2 or more")
    where = scene.where(rank, at)
    stuck = replace(program[at], stuck=True)
    scene.plan.give(rank, (*program[:at], stuck, *program[at + 1 :]))
    return Fault(scene.plan, (rank,), "culprit", ("hang",), "gpu", where=where)


def fabric_stall(scene: Scene) -> Fault:
    """All members enter an operation and agree on it; it never ends."""
    rank = scene.culprit()
    slot = Slot.DP if scene.topology.has(rank, Slot.DP) else scene.slot(rank)
    at = scene.chance.choice(collectives(scene.plan.of(rank), slot))
    where = scene.where(rank, at)
    scene.plan.broken.append((where.group, where.order))
    return Fault(
        scene.plan,
        (),
        "none",
        ("hang", "inconclusive"),
        "nccl_timeout",
        ("network",),
        where=where,
    )


def setup_hang(scene: Scene) -> Fault:
    """A communicator that is set up at its first use never gets ready, for one group of several.

    The hosts of its members wait in the set-up, before the recorder is called:
    they look stopped, and the group appears in nobody's dump.
    """
    topology, shape = scene.topology, scene.topology.shape
    rows = topology.data_parallel()
    if shape.dp == 1:
        rows = np.arange(shape.ranks).reshape(-1, shape.tp if shape.tp > 1 else shape.ranks)
    topology.add(Slot.LATE, rows)
    late = Op(Slot.LATE, "all_reduce", ((1024,),), ((1024,),), site="checkpoint", dtype="Float")
    members = topology.peers(scene.culprit(), Slot.LATE)
    scene.plan.programs = [(late, *program) for program in scene.plan.programs]
    where = scene.where(members[0], 0)
    for rank in members:
        scene.plan.give(rank, ())
    return Fault(
        scene.plan,
        members,
        "undecided",
        ("hang", "inconclusive"),
        "nccl_timeout",
        ("host_stall", "network"),
        possible=members,
        where=where,
    )


def straggler(scene: Scene) -> Fault:
    """The host of one rank is late at the start of every step; nothing hangs."""
    rank = scene.culprit()
    return Fault(
        scene.plan,
        (rank,),
        "culprit",
        ("straggler",),
        "straggler",
        dumped=Dumped.AFTER,
        late_rank=rank,
    )


def slow_gpu(scene: Scene) -> Fault:
    """The device of one rank computes a few per cent longer than its peers; nothing hangs."""
    rank = scene.culprit()
    return Fault(
        scene.plan, (rank,), "culprit", ("straggler",), "straggler",
        dumped=Dumped.AFTER, slow_ranks=(rank,),
    )  # fmt: skip


def slow_link(scene: Scene) -> Fault:
    """All operations of one data parallel group take longer to transfer; nothing hangs."""
    rank = scene.culprit()
    slot = Slot.DP if scene.topology.has(rank, Slot.DP) else scene.slot(rank)
    group = scene.group(rank, slot)
    members = scene.topology.peers(rank, slot)
    return Fault(
        scene.plan, (), "undecided", ("straggler", "healthy"), "network", ("straggler", "none"),
        possible=members, dumped=Dumped.AFTER, slow_groups=(group,),
    )  # fmt: skip


def slow_stage(scene: Scene) -> Fault:
    """Every device of one pipeline stage computes longer: more layers than the others."""
    shape = scene.topology.shape
    stage = shape.stage(scene.culprit())
    ranks = tuple(rank for rank in range(shape.ranks) if shape.stage(rank) == stage)
    return Fault(
        scene.plan, (), "none", ("healthy", "straggler"), "none", ("straggler",),
        dumped=Dumped.AFTER, slow_ranks=ranks,
    )  # fmt: skip


def input_bound(scene: Scene) -> Fault:
    """Every host waits for its data at the start of every step, all equally long."""
    return Fault(
        scene.plan, (), "none", ("healthy", "straggler"), "none", ("straggler",),
        dumped=Dumped.AFTER, all_late=True,
    )  # fmt: skip


def slow_since(scene: Scene) -> Fault:
    """Every device computes longer from some step on, as under a power cap."""
    return Fault(
        scene.plan, (), "none", ("healthy", "straggler"), "none", ("straggler",),
        dumped=Dumped.AFTER, slow_ranks=tuple(range(scene.topology.shape.ranks)), slow_from=0.5,
    )  # fmt: skip


def two_culprits(scene: Scene) -> Fault:
    """Two hosts stop on their own, in places that do not wait for each other."""
    shape = scene.topology.shape
    first = scene.culprit()
    near = set(scene.topology.peers(first, Slot.TP)) | {first}
    far = [rank for rank in range(shape.ranks) if shape.replica(rank) != shape.replica(first)]
    others = far or [rank for rank in range(shape.ranks) if rank not in near]
    second = scene.one_of(
        others, "two-culprits needs two tp groups: give more ranks, or a smaller tp"
    )
    where = None
    for rank in (first, second):
        program = scene.plan.of(rank)
        at = scene.chance.choice(_before_others(program) if far and shape.ep == 1 else [0])
        where = where or scene.where(rank, at)
        scene.plan.give(rank, program[:at])
    culprits = tuple(sorted((first, second)))
    return Fault(scene.plan, culprits, "culprit", ("hang",), "host_stall", where=where)


def _before_others(program: Program) -> list[int]:
    """Where a host can stop before it has met another model replica."""
    shared = (Slot.DEFAULT, Slot.DP, Slot.EP)
    limit = next((at for at, op in enumerate(program) if op.slot in shared), 0)
    return [at for at in starts(program) if at <= limit]


def early_stall(scene: Scene) -> Fault:
    """One host stopped long ago: replicas that did not need it went on past their rings."""
    shape = scene.topology.shape
    if shape.dp < 2 or shape.tp * shape.pp < 2:
        raise UsageError(
            "early-stall needs replicas that go on without the culprit: "
            f"give tp * pp of 2 or more that leaves {shape.ranks} ranks at least two replicas"
        )
    rank = scene.culprit()
    program = scene.plan.of(rank)
    inner = len(program) // scene.style.inner
    at = scene.chance.choice([place for place in starts(program) if place < inner])
    where = scene.where(rank, at)
    scene.plan.give(rank, program[:at])
    return Fault(scene.plan, (rank,), "culprit", ("hang",), "host_stall", where=where)


def stale_dump(scene: Scene) -> Fault:
    """A host stall, and the file of one innocent rank is left over from an earlier attempt."""
    fault = host_stall(scene)
    fault.strangers = Strangers.STALE
    return fault


def mixed_jobs(scene: Scene) -> Fault:
    """A host stall, and a few files of another job lie in the same folder."""
    fault = host_stall(scene)
    fault.strangers = Strangers.FOREIGN
    return fault
