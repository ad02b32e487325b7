"""Where the host of each rank stands when its dump is taken."""

from dataclasses import dataclass
from enum import StrEnum

from simulator.operation import Op, Part
from simulator.physics import NEVER
from simulator.play import Played
from simulator.scene import Dumped
from simulator.slots import Slot

# Functions whose calls RAS counts, by the name that c10d records.
_COUNTED = {
    "all_reduce": "AllReduce",
    "broadcast": "Broadcast",
    "_all_gather_base": "AllGather",
    "_reduce_scatter_base": "ReduceScatter",
}


class Stands(StrEnum):
    """What a host does."""

    WAITS = "waits"  # in, or behind, an operation that does not end
    STOPPED = "stopped"  # somewhere outside, with operations of the step not yet issued
    GONE = "gone"  # its process is no more
    SETS_UP = "sets_up"  # in the set-up of a communicator
    WORKS = "works"  # between two operations of a job that runs


@dataclass(frozen=True, slots=True)
class Standing:
    """``op`` is the last operation that the rank issued; None where it issued none in this step."""

    stands: Stands
    op: Op | None


def _runs_on(played: Played) -> bool:
    """Whether the job moves between one look and the next."""
    return played.fault.dumped is not Dumped.TIMEOUT


def _issued_by(played: Played, rank: int, look: int) -> int:
    """How many operations of the last section the rank has issued when it is looked at.

    A job that runs is met somewhere in a step, its ranks a few operations apart.
    """
    if _runs_on(played):
        length = len(played.fault.plan.of(rank))
        at = played.request.chance(f"moves/{look}").random() * length
        apart = played.request.chance(f"moves/{look}/{rank}").randrange(4)
        return int(at + apart) % max(length, 1)
    last, until = played.timeline.last, int(played.timeline.dump_at[rank])
    begin = int(last.first[rank])
    created = last.created[begin : begin + played.timeline.final.length_of(rank)]
    return int(((created < NEVER) & (created <= until)).sum())


def standing_of(played: Played, rank: int, look: int = 0) -> Standing:
    """Where the rank stands at its ``dump_at``; of a job that runs, at the n-th ``look``."""
    program, fault = played.fault.plan.of(rank), played.fault
    issued = _issued_by(played, rank, look)
    op = program[issued - 1] if issued else None
    if _runs_on(played):
        late = rank in fault.culprits
        return Standing(Stands.STOPPED if late and not look else Stands.WORKS, op)
    if rank in fault.without_dump:
        return Standing(Stands.GONE, op)
    sets_up = fault.where is not None and fault.where.slot is Slot.LATE and not program
    if rank in fault.culprits and sets_up:
        return Standing(Stands.SETS_UP, op)
    if rank in fault.culprits and issued == len(program) < len(played.normal.of(rank)):
        return Standing(Stands.STOPPED, op)
    last = played.timeline.last
    begin = int(last.first[rank])
    is_open = bool((last.ended[begin : begin + issued] >= NEVER).any())
    return Standing(Stands.WAITS if is_open else Stands.WORKS, op)


# Between two looks at a job that runs it takes so many steps.
_STEPS_BETWEEN = 23


def launched_of(played: Played, rank: int, look: int = 0) -> dict[int, dict[str, int]]:
    """By slot, how many operations of each function the rank launched: what RAS counts."""
    program = played.fault.plan.of(rank)
    found: dict[int, dict[str, int]] = {}

    def add(ops: tuple[Op, ...], times: int) -> None:
        for op in ops:
            function = _COUNTED.get(op.name)
            if function is not None and op.part is Part.ALONE:
                own = found.setdefault(int(op.slot), {})
                own[function] = own.get(function, 0) + times

    further = look * _STEPS_BETWEEN if _runs_on(played) else 0
    add(played.normal.of(rank), played.pace.steps + further)
    add(program[: _issued_by(played, rank, look)], 1)
    return found
