"""One incident as the detectors see it: snapshot, wait-for graph, and words for both."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from triage.analysis.snapshots.snapshot import Snapshot
from triage.analysis.waiting.live import Live
from triage.analysis.waiting.waits import PlaceKind, WaitGraph, WaitPlace, count_issued_before
from triage.domain.report import Because

# Missing ranks that one place may be looked at for, each as the end of its waits.
_MAX_BEYOND = 64


def make_timestamp(ns: int | None) -> datetime | None:
    """Ns since the epoch as a UTC time; None when absent or not of this era."""
    if ns is None or not 0 < ns < 4_102_444_800_000_000_000:
        return None
    return datetime.fromtimestamp(ns / 1e9, UTC)


def describe_waiting(count: int) -> str:
    """``1 rank waits``, ``7 ranks wait``."""
    return f"{count} rank waits" if count == 1 else f"{count} ranks wait"


@dataclass(slots=True)
class Case:
    """What a detector reads. ``moving``: many dumps contradict each other; ``live``: how sure
    the dumps are that the job still ran. ``gave_up_in`` are the numbers of the operations in which
    a rank's own watchdog gave up, as logs print them.
    """

    snapshot: Snapshot
    graph: WaitGraph
    moving: bool
    live: Live
    gave_up_in: Mapping[int, frozenset[int]] = field(default_factory=dict)

    @property
    def in_flight(self) -> bool:
        """Whether what is unfinished is taken to be on its way, and not to be stuck."""
        return self.live.likely

    def end_places(self, end: int) -> list[WaitPlace]:
        """The places of one end of the graph."""
        return [self.graph.places[k] for k in self.graph.components[self.graph.ends[end]]]

    def ends(self) -> Iterable[tuple[int, list[WaitPlace]]]:
        """All ends of the graph with their places."""
        return ((end, self.end_places(end)) for end in range(len(self.graph.ends)))

    def troubled(self) -> Iterable[tuple[int, list[WaitPlace]]]:
        """The ends, and what waits for nobody but ranks without a dump.

        An absent member may stand there with the others; what is odd about those who
        dumped is then the better explanation of that end.
        """
        yield from self.ends()
        sinks = (PlaceKind.NO_DUMP, PlaceKind.APART)
        gone = [bool(self.silent_at(end)) for end in range(len(self.graph.ends))]
        end_of = {number: end for end, number in enumerate(self.graph.ends)}
        for number, members in enumerate(self.graph.components):
            places = [self.graph.places[k] for k in members]
            if number in end_of or places[0].kind is PlaceKind.IDLE:
                continue
            beyond = {
                target
                for k in members
                for target in self.graph.waits_for[k]
                if self.graph.component_of[target] != number
            }
            # A circle holds itself, whatever else its ranks wait for on the way.
            if len(members) > 1:
                bits = self.graph.reach[number]
                ends = [end for end in range(bits.bit_length()) if bits >> end & 1]
                if all(gone[end] for end in ends):
                    for end in ends[: None if len(ends) <= _MAX_BEYOND else 1]:
                        yield end, places
                continue
            if all(self.graph.places[target].kind in sinks for target in beyond):
                # Where most files are missing, one of them stands for all.
                for target in sorted(beyond)[: None if len(beyond) <= _MAX_BEYOND else 1]:
                    yield end_of[self.graph.component_of[target]], places

    def silent_at(self, end: int) -> list[int]:
        """The ranks at an end of which nobody knows what they do there.

        One that left no dump, or whose record was cut before it says: its counters put it
        there.
        """
        places = self.end_places(end)
        if places[0].kind in (PlaceKind.NO_DUMP, PlaceKind.APART):
            return places[0].waiting
        if len(places) > 1 or places[0].kind is not PlaceKind.COLLECTIVE:
            return []
        return [
            rank
            for rank in places[0].waiting
            if (digest := self.snapshot.digest_of(rank)) is not None
            and digest.partial is not None
            and self.snapshot.signature(rank, places[0].group, places[0].seq) is None
        ]

    def waiters(self, place: WaitPlace) -> list[WaitPlace]:
        """The places that wait directly for this one."""
        waited = self.graph.waited_by
        return [self.graph.places[k] for k in waited[place.index]]

    def victims_of(self, end: int) -> list[int]:
        """Ranks that wait, directly or not, for this end alone or among others."""
        bit = 1 << end
        victims: list[int] = []
        for component, members in enumerate(self.graph.components):
            if self.graph.reach[component] & bit:
                for k in members:
                    place = self.graph.places[k]
                    if place.kind in (PlaceKind.COLLECTIVE, PlaceKind.P2P):
                        victims.extend(place.waiting)
        return sorted(victims)

    def group_text(self, group: int) -> str:
        """``mesh_tp (pg 3)``."""
        named = self.snapshot.groups[group]
        return f"{named.desc} (pg {named.name})" if named.desc else f"pg {named.name}"

    def place_text(self, place: WaitPlace) -> str:
        """``all_reduce 87 of mesh_tp (pg 3)``."""
        if place.kind is PlaceKind.P2P:
            return f"send/recv of {self.group_text(place.group)}"
        return f"{self.op_name(place)} {place.seq} of {self.group_text(place.group)}"

    def op_name(self, place: WaitPlace) -> str:
        """The operation that ranks wait in; "collective" where no entry says it."""
        for rank in place.waiting[:8]:
            signature = self.snapshot.signature(rank, place.group, place.seq)
            described = self.snapshot.describe(signature)
            if described is not None:
                return described.op
        return "collective"

    def artifact(self, rank: int) -> str | None:
        """The file of a rank's dump."""
        index = self.snapshot.index_of.get(rank)
        return None if index is None else self.snapshot.digests[index].artifact

    def stack_text(self, rank: int) -> str | None:
        """The innermost lines of user code of a rank's stuck or last operation."""
        digest = self.snapshot.digest_of(rank)
        if digest is None or not digest.stack:
            return None
        frames = [f for f in digest.stack if "/torch/" not in f.filename] or list(digest.stack)
        return " < ".join(str(frame) for frame in frames[:4])

    def stopped_at(self, rank: int) -> datetime | None:
        """When a rank issued its last operation, by its own clock."""
        digest = self.snapshot.digest_of(rank)
        return make_timestamp(digest.last_created_ns) if digest else None

    def stuck_since(self, rank: int) -> datetime | None:
        """When a rank issued the operation it is stuck in, by its own clock."""
        digest = self.snapshot.digest_of(rank)
        if digest is None or not len(digest.pending):
            return None
        return make_timestamp(int(digest.pending.created[0]))

    def because(
        self, detector: str, text: str, rank: int | None = None, *, at: datetime | None = None
    ) -> Because:
        """A reason that points into a rank's dump."""
        return Because(detector, text, None if rank is None else self.artifact(rank), None, at)

    def explain(self, detector: str, text: str, rank: int, what: str) -> list[Because]:
        """A reason of where a rank is stuck, with its stack: ``what`` came from there."""
        reason = self.because(detector, text, rank, at=self.stuck_since(rank))
        return [reason, *self.stack_reason(detector, rank, f"{what} came from")]

    def stack_reason(self, detector: str, rank: int, what: str) -> list[Because]:
        """The stack as a reason of its own, where the dump has one."""
        stack = self.stack_text(rank)
        return [self.because(detector, f"{what}: {stack}", rank)] if stack else []

    def precedes(self, early: WaitPlace, late: WaitPlace) -> bool:
        """Whether ranks reach ``early`` before ``late``, as the ranks in ``late`` tell.

        A rank that waits in ``late`` has its own group of the same kind as
        ``early``'s; if it issued that number there before, so would everybody.
        """
        if early.kind is not PlaceKind.COLLECTIVE:
            return True
        desc = self.snapshot.groups[early.group].desc
        for rank in late.waiting[:16]:
            for group in self.groups_of(rank):
                if self.snapshot.groups[group].desc == desc:
                    return count_issued_before(self.snapshot, rank, group) >= early.seq
        return True

    def groups_of(self, rank: int) -> list[int]:
        """The groups a rank is a member of, as its own dump lists them."""
        index = self.snapshot.index_of.get(rank)
        if index is None:
            return [group.index for group in self.snapshot.groups if rank in group.ranks]
        listed = set(self.snapshot.membership.listed[index].values())
        return sorted(listed | set(self.snapshot.membership.stream_groups[index]) - {-1})
