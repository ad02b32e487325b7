"""What each operation of a step waits for: streams, data, and those who meet.

* Computing is one stream of a worker, each kind of send or receive one, collectives of all
  replicas one: an operation waits for the one before it in its stream.
* A forward or backward waits for its receive; a send waits for what it sends. A receive is posted
  when the compute before its own is done. The first forward of a chunk waits for its parameters.
* Behind the last backward come, one after the other: garbage collection, the small all-reduces,
  the reduce-scatter of gradients (unless it overlaps), clipping, and the optimizer.
* A send meets its receive; the embedding's all-reduce joins the first and the last stage; clipping
  all stages. Collectives of data parallelism join all replicas of a stage.

The order in the streams is that of the first step of the first replica.
"""

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

from benchmarks.replay.operations import Kind, Planes, StageOp
from triage.errors import UsageError


@dataclass(frozen=True, slots=True)
class Rendezvous:
    """Nodes that end together, once all have started; of all replicas, or of each by itself."""

    nodes: tuple[int, ...]
    of_all_replicas: bool


@dataclass(frozen=True, slots=True)
class Graph:
    """What each node waits for, who meets, and an order to go by."""

    waits_for: list[list[int]]
    meetings: list[Rendezvous]
    order: list[int]
    """Meetings as ``-1 - number``, nodes that meet nobody by their own number."""


def graph_of(planes: Planes) -> Graph:
    """The graph of one step. Raises :class:`UsageError` for a schedule that is not understood."""
    builder = _Builder(planes)
    for stage in range(planes.num_stages):
        builder.streams(stage)
        builder.transfers(stage)
        builder.parameters(stage)
        builder.end_of_step(stage)
    builder.join()
    meets = [-1] * len(planes.nodes)
    for number, meeting in enumerate(builder.meetings):
        for node in meeting.nodes:
            meets[node] = number
    waits_for = [sorted(builder.waits_for[node]) for node in range(len(planes.nodes))]
    return Graph(waits_for, builder.meetings, _order_of(waits_for, meets))


class _Builder:
    """Collects the edges, stage by stage."""

    def __init__(self, planes: Planes) -> None:
        self.planes = planes
        self.at = {node: number for number, node in enumerate(planes.nodes)}
        self.waits_for: dict[int, set[int]] = defaultdict(set)
        self.meetings: list[Rendezvous] = []
        self.pairs: dict[tuple[str, int, int], list[int]] = defaultdict(list)
        first = planes.start[:, 0, 0]
        kinds = sorted({node.kind for node in planes.nodes})
        place = {kind: number for number, kind in enumerate(kinds)}
        self.rows: dict[tuple[int, str], list[int]] = defaultdict(list)
        self.key = {
            number: (float(first[number]), node.number, place[node.kind])
            for number, node in enumerate(planes.nodes)
        }
        for number, node in enumerate(planes.nodes):
            self.rows[node.stage, node.kind].append(number)
        for some in self.rows.values():
            some.sort(key=lambda number: planes.nodes[number].number)

    def of(self, stage: int, *kinds: str) -> list[int]:
        """The nodes of some kinds on a stage, in the order in which they started."""
        found = [number for kind in kinds for number in self.rows[stage, kind]]
        return sorted(found, key=lambda number: self.key[number])

    def chain(self, nodes: list[int]) -> None:
        for one, other in pairwise(nodes):
            self.waits_for[other].add(one)

    def streams(self, stage: int) -> None:
        self.chain(self.of(stage, *Kind.COMPUTE))
        for kind in Kind.TRANSFERS:
            self.chain(self.of(stage, kind))
        if self.replicated:
            self.chain(self.of(stage, Kind.GATHER, Kind.SCATTER))

    @property
    def replicated(self) -> bool:
        """Whether there is data parallelism to wait for: operations of it are recorded."""
        return any(node.kind in (Kind.GATHER, Kind.SCATTER) for node in self.planes.nodes)

    def transfers(self, stage: int) -> None:
        """Sends and receives beside what is computed with them, and who is at their other end."""
        planes, stages = self.planes, self.planes.num_stages
        last_chunk = int(planes.chunk.max())
        for compute, send, receive, ahead in (
            (Kind.FORWARD, Kind.SENDS[0], Kind.RECEIVES[0], 1),
            (Kind.BACKWARD, Kind.SENDS[1], Kind.RECEIVES[1], -1),
        ):
            work = self.rows[stage, compute]
            for kind, towards in ((send, ahead), (receive, -ahead)):
                moved = self.of(stage, kind)
                if not moved:
                    continue
                if len(moved) != len(work):
                    raise UsageError(
                        f"stage {stage}: {len(moved)} of {kind} for {len(work)} of {compute}"
                    )
                turn = 0
                for place, number in enumerate(moved):
                    if kind == send:
                        self.waits_for[number].add(work[place])
                    else:
                        self.waits_for[work[place]].add(number)
                        if place:
                            self.waits_for[number].add(work[place - 1])
                    peer_chunk = int(planes.chunk[work[place]]) + towards
                    if not 0 <= peer_chunk <= last_chunk:
                        self.meetings.append(Rendezvous((number,), of_all_replicas=False))
                        continue
                    sender = stage if kind == send else (stage + towards) % stages
                    self.pairs[send, sender, turn].append(number)
                    turn += 1
        self.first_backward(stage)

    def first_backward(self, stage: int) -> None:
        """The pipeline turns round: its first backward transfers are posted one forward early."""
        work = self.of(stage, *Kind.COMPUTE)
        turn = next(
            (k for k, one in enumerate(work) if self.planes.nodes[one].kind == Kind.BACKWARD), 0
        )
        if turn < 2:
            return
        for kind in (Kind.SENDS[1], Kind.RECEIVES[1]):
            node = self.at.get(StageOp(kind, 0, stage))
            if node is not None:
                self.waits_for[node].add(work[turn - 2])

    def parameters(self, stage: int) -> None:
        """The first forward of each chunk waits for the last gather of its parameters."""
        work = self.rows[stage, Kind.FORWARD]
        last_of: dict[int, int] = {}
        for number in self.rows[stage, Kind.GATHER]:
            last_of[int(self.planes.chunk[number])] = number
        for chunk, gather in last_of.items():
            same = [one for one in work if self.planes.chunk[one] == chunk]
            if same:
                self.waits_for[min(same, key=lambda one: self.key[one])].add(gather)

    def end_of_step(self, stage: int) -> None:
        work = self.of(stage, *Kind.COMPUTE)
        if not work:
            raise UsageError(f"stage {stage} computes nothing")
        last = max(work, key=lambda one: float(self.planes.end[one, 0, 0]))
        scatters = self.rows[stage, Kind.SCATTER]
        overlaps = bool(self.rows[stage, Kind.SEPARATE])
        small = [*self.rows[stage, Kind.LAYER_NORM], *self.rows[stage, Kind.EMBEDDING]]
        middle = self.rows[stage, Kind.SEPARATE] if overlaps else scatters
        ends = [*self.rows[stage, Kind.CLIP], *self.rows[stage, Kind.OPTIMIZER]]
        chain = [last, *self.rows[stage, Kind.COLLECTION], *small, *middle, *ends]
        if not self.rows[stage, Kind.OPTIMIZER]:
            raise UsageError(f"stage {stage} has no {Kind.OPTIMIZER}, which ends a step")
        self.chain(chain)
        if overlaps and scatters:
            behind = [*small, *middle, *ends][0]
            self.waits_for[behind].add(scatters[-1])
            for number in scatters:
                same = [
                    one
                    for one in self.rows[stage, Kind.BACKWARD]
                    if self.planes.chunk[one] == self.planes.chunk[number]
                ]
                if same:
                    self.waits_for[number].add(
                        max(same, key=lambda one: float(self.planes.end[one, 0, 0]))
                    )

    def join(self) -> None:
        """Who meets whom."""
        for (send, sender, turn), some in self.pairs.items():
            if len(some) != 2:
                raise UsageError(f"{send} {turn} of stage {sender} has no receive")
            self.meetings.append(Rendezvous(tuple(sorted(some)), of_all_replicas=False))
        stages = range(self.planes.num_stages)
        for stage in stages:
            for kind in (Kind.GATHER, Kind.SCATTER, Kind.SEPARATE):
                for number in self.rows[stage, kind]:
                    self.meetings.append(Rendezvous((number,), of_all_replicas=True))
        for kind, everywhere in ((Kind.EMBEDDING, False), (Kind.CLIP, True)):
            by_number: dict[int, list[int]] = defaultdict(list)
            for stage in stages:
                for number in self.rows[stage, kind]:
                    by_number[self.planes.nodes[number].number].append(number)
            for nodes in by_number.values():
                self.meetings.append(Rendezvous(tuple(nodes), of_all_replicas=everywhere))


def _order_of(waits_for: list[list[int]], meets: list[int]) -> list[int]:
    """Nodes and meetings so that each comes behind all that it waits for.

    A meeting stands for all its nodes. Raises :class:`UsageError` where they wait in a circle.
    """
    unit = [number if meets[number] < 0 else -1 - meets[number] for number in range(len(waits_for))]
    needs: dict[int, set[int]] = {one: set() for one in unit}
    for number, some in enumerate(waits_for):
        needs[unit[number]] |= {unit[one] for one in some} - {unit[number]}
    behind: dict[int, list[int]] = defaultdict(list)
    for one, others in needs.items():
        for other in others:
            behind[other].append(one)
    left = {one: len(some) for one, some in needs.items()}
    order = [one for one, count in left.items() if not count]
    for one in order:  # grows on the way
        for other in behind[one]:
            left[other] -= 1
            if not left[other]:
                order.append(other)
    if len(order) != len(needs):
        raise UsageError("operations of a step wait for each other in a circle")
    return order
