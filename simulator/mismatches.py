"""Faults in which ranks disagree on a collective: another operation, size, type, or order."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from simulator.operation import Op, Program, Sizes
from simulator.scene import Fault, Scene, Where, collectives
from simulator.slots import Slot
from triage.errors import UsageError


def mismatch_op(scene: Scene) -> Fault:
    """One member runs another operation than its peers."""

    def other(op: Op) -> Op:
        name = "broadcast" if op.name == "all_reduce" else "all_reduce"
        return replace(op, name=name, outputs=op.inputs)

    return _differs(scene, other)


def mismatch_size(scene: Scene) -> Fault:
    """One member gives a tensor of another size."""
    return _differs(scene, _longer)


def mismatch_dtype(scene: Scene) -> Fault:
    """One member gives a tensor of another type."""

    def other(op: Op) -> Op:
        return replace(op, dtype="Float" if op.dtype == "BFloat16" else "BFloat16")

    return _differs(scene, other)


def mismatch_pair(scene: Scene) -> Fault:
    """A size mismatch in a group of two; sibling groups and earlier steps show the right size."""
    shape = scene.topology.shape
    if shape.tp != 2 or shape.ranks < 4:
        raise UsageError(
            "mismatch-pair needs tensor parallel pairs with siblings: give tp 2 and 4 ranks or more"
        )
    return _differs(scene, _longer)


def mismatch_tie(scene: Scene) -> Fault:
    """Two ranks disagree in the first operation of a group of their own: nothing decides."""
    rank = scene.culprit()
    other = rank ^ 1 if rank ^ 1 < scene.topology.shape.ranks else rank - 1
    pair = sorted((rank, other))
    scene.topology.add(Slot.LATE, np.array([pair]))
    right = Op(Slot.LATE, "broadcast", ((4096,),), ((4096,),), site="exchange", dtype="Float")
    for member, op in ((rank, _longer(right)), (other, right)):
        scene.plan.give(member, (op, *scene.plan.of(member)))
    where = scene.where(rank, 0)
    return Fault(
        scene.plan,
        (rank,),
        "undecided",
        ("desync", "hang", "inconclusive"),
        "collective_mismatch",
        possible=tuple(pair),
        where=where,
    )


def swapped_order(scene: Scene) -> Fault:
    """One member runs two neighbouring operations of a group in the other order."""
    rank, program, slot = _target(scene)
    places = [
        at
        for at in collectives(program, slot)
        if at + 1 < len(program)
        and program[at + 1].slot == slot
        and program[at + 1].signature != program[at].signature
        and not program[at + 1].sync
    ]
    at = scene.one_of(places, "swapped-order needs a tp or dp group: give tp or dp of 2 or more")
    where = scene.where(rank, at)
    swapped = (*program[:at], program[at + 1], program[at], *program[at + 2 :])
    scene.plan.give(rank, swapped)
    return _mismatch(scene, rank, where)


def skipped_op(scene: Scene) -> Fault:
    """One member leaves an operation out; its next one meets the peers' skipped one."""
    rank, program, slot = _target(scene)
    places = collectives(program, slot)
    differing = [
        at
        for at, following in pairwise(places)
        if program[at].signature != program[following].signature
    ]
    at = scene.one_of(differing, "skipped-op needs a tp or dp group: give tp or dp of 2 or more")
    where = scene.where(rank, at)
    scene.plan.give(rank, (*program[:at], *program[at + 1 :]))
    return _mismatch(scene, rank, where)


def group_order(scene: Scene) -> Fault:
    """One rank runs the loss of all ranks before the last operation of its own group: a deadlock.

    Its peers wait for it in their group, it waits for them in the default group.
    """
    rank, program, slot = _target(scene)
    if slot is Slot.DEFAULT or scene.topology.shape.ranks < 3:
        raise UsageError("group-order needs a group inside the job: give 4 ranks or more, and tp 2")
    own, loss = program[-2], program[-1]
    where = scene.where(rank, len(program) - 2)
    swapped = (replace(loss, sync=False), replace(own, sync=True))
    scene.plan.give(rank, (*program[:-2], *swapped))
    return _mismatch(scene, rank, where)


def _target(scene: Scene) -> tuple[int, Program, Slot]:
    rank = scene.culprit()
    return rank, scene.plan.of(rank), scene.slot(rank)


def _differs(scene: Scene, change: Callable[[Op], Op]) -> Fault:
    rank, program, slot = _target(scene)
    at = scene.chance.choice(collectives(program, slot))
    where = scene.where(rank, at)
    scene.plan.give(rank, (*program[:at], change(program[at]), *program[at + 1 :]))
    return _mismatch(scene, rank, where)


def _mismatch(scene: Scene, rank: int, where: Where) -> Fault:
    return Fault(
        scene.plan,
        (rank,),
        "culprit",
        ("desync", "hang"),
        "collective_mismatch",
        where=where,
    )


def _longer(op: Op) -> Op:
    def grown(sizes: Sizes) -> Sizes:
        return tuple((shape[0] + 64, *shape[1:]) if shape else (2,) for shape in sizes)

    return replace(op, inputs=grown(op.inputs), outputs=grown(op.outputs))
