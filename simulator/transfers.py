"""Faults in the pipeline's sends and recvs."""

from collections.abc import Iterable
from dataclasses import replace

from simulator.operation import Op, Part, Program
from simulator.scene import Fault, Scene
from triage.errors import UsageError


def p2p_wrong_peer(scene: Scene) -> Fault:
    """One rank receives from a stage that sends it nothing."""
    rank = _culprit(scene)
    program = scene.plan.of(rank)
    at = scene.chance.choice(_named(program, "recv"))
    op = program[at]
    stages = range(scene.topology.shape.pp)
    wrong = [stage for stage in stages if stage not in (op.own, op.peer, op.own - 1, op.own + 1)]
    wrong = wrong or [stage for stage in stages if stage not in (op.own, op.peer)]
    peer = scene.one_of(wrong, "p2p-wrong-peer needs a third pipeline stage: give pp of 3 or more")
    return _edited(scene, rank, at, (replace(op, peer=peer),))


def p2p_missing_send(scene: Scene) -> Fault:
    """One rank leaves out the last send to a neighbour in the step."""
    rank = _culprit(scene)
    program = scene.plan.of(rank)
    last: dict[int, int] = {program[at].peer: at for at in _named(program, "send")}
    at = scene.chance.choice(sorted(last.values()))
    return _edited(scene, rank, at, ())


def p2p_size(scene: Scene) -> Fault:
    """One rank sends a tensor of another size than its neighbour expects."""
    rank = _culprit(scene)
    program = scene.plan.of(rank)
    at = scene.chance.choice(_named(program, "send"))
    shape = (program[at].inputs[0][0] // 2, *program[at].inputs[0][1:])
    return _edited(scene, rank, at, (replace(program[at], inputs=(shape,), outputs=(shape,)),))


def _culprit(scene: Scene) -> int:
    if scene.topology.shape.pp < 2:
        raise UsageError("this kind is about pipeline send and recv: give pp of 2 or more")
    return scene.culprit()


def _named(program: Iterable[Op], name: str) -> list[int]:
    return [at for at, op in enumerate(program) if op.name == name]


def _edited(scene: Scene, rank: int, at: int, instead: Program) -> Fault:
    program = scene.plan.of(rank)
    where = scene.where(rank, at)
    rest = program[at + 1 :]
    alone_in_block = (
        not instead
        and program[at].part is Part.MEMBER
        and rest[0].part is Part.CLOSER
        and (at == 0 or program[at - 1].part is not Part.MEMBER)
    )
    scene.plan.give(rank, (*program[:at], *instead, *rest[alone_in_block:]))
    return Fault(
        scene.plan,
        (rank,),
        "culprit",
        ("desync", "hang"),
        "collective_mismatch",
        ("host_stall",) if not instead else (),
        where=where,
    )
