"""Run the job of an incident into its fault: when it happened, and who waits for what."""

from dataclasses import replace

import numpy as np

from simulator.incidents.story import Story, StuckOperation
from simulator.incidents.world import SECOND
from simulator.kinds import kind_named, shape_for
from simulator.operation import Op, Part
from simulator.physics import NEVER, Section
from simulator.play import Played, play
from simulator.rendezvous import Meetings
from simulator.request import Request
from simulator.run import Run, steps_counted
from simulator.topology import Ints
from triage.errors import UsageError


def run_into_fault(
    story: Story, kind_name: str, *, seed: int, entries: int, frames: int
) -> tuple[Played, Run] | None:
    """A job with a fault of that kind, and its dumps; ``story`` learns when it was and who waits.

    None where the job's shape does not allow the fault.
    """
    world, kind = story.world, kind_named(kind_name)
    request = Request(
        kind,
        shape_for(kind, world.ranks, None, None, None),
        culprit=story.culprit,
        seed=seed,
        entries=entries,
        frames=frames,
        timing=kind.timing,
        gpus_per_node=world.gpus_per_node,
    )
    try:
        played = play(request)
    except UsageError:
        return None
    story.iteration = played.pace.steps
    waits = _waits(played)
    since = min((wait.since_ns for wait in waits.values()), default=0)
    begin = story.fault_ns - since
    story.waits = {
        rank: replace(wait, since_ns=wait.since_ns + begin) for rank, wait in waits.items()
    }
    story.hang = bool(waits)
    story.fault_ns += int(story.chance.uniform(-0.5, 0.4) * SECOND) if waits else 0
    story.end_ns = begin + int(played.timeline.dump_at.max())
    story.without_dump |= set(played.fault.without_dump)
    nodes = np.arange(world.ranks) // world.gpus_per_node
    skew: Ints = np.array([node.skew_ns for node in world.nodes], np.int64)
    return played, played.run(begin + skew[nodes])


def _waits(played: Played) -> dict[int, StuckOperation]:
    """Each rank's oldest open operation, as c10d counts it; since when, on the run's clock."""
    topology, last = played.topology, played.timeline.last
    waits: dict[int, StuckOperation] = {}
    for rank in range(topology.shape.ranks):
        oldest = _oldest_open(played.timeline.final, last, rank)
        if oldest is None:
            continue
        at, order, op, enqueued = oldest
        group = int(topology.group_of[rank, op.slot])
        before = steps_counted(list(played.normal.of(rank)))
        passed = played.pace.steps * int(before[op.slot, 0])
        numel = [int(np.prod(shapes[0])) if shapes else 0 for shapes in (op.inputs, op.outputs)]
        waits[rank] = StuckOperation(
            pg=topology.name(group),
            desc=topology.desc(group),
            group_rank=int(topology.group_rank_of[rank, op.slot]),
            seq=passed + order,
            op=op.name,
            numel_in=numel[0],
            numel_out=numel[1],
            since_ns=int(last.created[int(last.first[rank]) + at]),
            enqueued=passed + max(enqueued, order),
            completed=passed + order - 1,
        )
    return waits


def _oldest_open(found: Meetings, last: Section, rank: int) -> tuple[int, int, Op, int] | None:
    """Of the first operation that does not end: place, number in its group, itself.

    Behind them the number of the last collective that the rank issued in that group.
    """
    begin = int(found.table.program_start[found.table.program_of[rank]])
    done: dict[int, int] = {}
    oldest: tuple[int, int, Op] | None = None
    enqueued = 0
    for at in range(found.length_of(rank)):
        row = int(last.first[rank]) + at
        if last.created[row] >= NEVER:
            break
        op = found.ops[int(found.table.op_of[begin + at])]
        stays_open = oldest is None and last.ended[row] >= NEVER
        if op.part is not Part.ALONE or op.is_p2p:
            if op.part is not Part.MEMBER and stays_open:
                oldest = (at, 1, op)
            continue
        done[op.slot] = done.get(op.slot, 0) + 1
        if stays_open:
            oldest = (at, done[op.slot], op)
        if oldest is not None and oldest[2].slot == op.slot:
            enqueued = done[op.slot]
    return None if oldest is None else (*oldest, enqueued)
