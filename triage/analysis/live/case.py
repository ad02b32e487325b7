"""The looks at one job, with the rank and node of each process where anything says them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from ipaddress import ip_address
from typing import Any, Final, TypeGuard

from triage.analysis.live.stacks.picture import StackPicture, build_picture
from triage.analysis.live.stacks.rank_stack import RankStack
from triage.analysis.placement.host_names import NamesInPaths, parse_plain_host
from triage.analysis.placement.identity import JobPlacement
from triage.domain.category import ANY_CAUSE, Category, Role
from triage.domain.finding import Finding
from triage.domain.live.look import Look, Tool, WaitCounter
from triage.domain.live.process import Process
from triage.domain.patterns import compile_re
from triage.parsers.live.process_list import SWITCHES

# "python -u pretrain.py --local_rank=1 --config ..."
_LOCAL_RANK: Final = compile_re(r"\s--local[_-]rank[= ](\d{1,4})(?:\s|$)")
_COMMAND_CHARS: Final = 8192


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class LiveCase:
    """``looks`` in the order of their artifacts; ``fleet`` says who sits where.

    ``world_size`` is None where nothing says it. ``stopped`` is whether dumps or a watchdog show
    that the job stands, ``moving`` whether dumps show that it runs.
    """

    looks: Sequence[Look]
    fleet: JobPlacement
    world_size: int | None = None
    stopped: bool = False
    moving: bool = False

    def node_of(self, process: Process, look: Look) -> str | None:
        """The node of a process: of its rank, else of its host or address, else of the file."""
        rank = self.rank_of(process, look)
        home = None if rank is None else self.fleet.node_of(rank)
        return home or self.own_node_of(process, look)

    def own_node_of(self, process: Process, look: Look) -> str | None:
        """The node that the tool's own words or the file's folder say."""
        for said in (process.node, process.host):
            if said is not None and (node := self.fleet.node_of_address(said)) is not None:
                return node
        named = process.node or look.node or process.host
        return named or self.homes.of(look.artifact)

    def is_a_node(self, name: str) -> bool:
        """Whether a name may stand for a node: an address does so only where no node is known by
        name, for else none of them is that of the address.
        """
        return name in self.fleet.seated or not (self.fleet.seated and _is_address(name))

    @cached_property
    def homes(self) -> NamesInPaths:
        """The nodes that names of files tell."""
        return NamesInPaths(self.fleet.seated)

    def rank_of(self, process: Process, look: Look) -> int | None:
        """The global rank of a process: stated, else by its pid or GPU on its node."""
        if self.may_be_rank(process.rank):
            return process.rank
        node = self.own_node_of(process, look)
        if node is None:
            return None
        if process.pid is not None:
            rank = self.fleet.rank_of_pid(node, process.pid)
            if rank is None:
                rank = self.rank_by_pid.get((node, process.pid))
            if rank is not None:
                return rank
        local = _LOCAL_RANK.search((process.command or "")[:_COMMAND_CHARS])
        return self.fleet.rank_of_local(node, int(local[1])) if local is not None else None

    def may_be_rank(self, rank: int | None) -> TypeGuard[int]:
        """Whether a number may be a rank of the job: in the name of a file it may be a pid."""
        return rank is not None and (self.world_size is None or rank < self.world_size)

    @cached_property
    def rank_by_pid(self) -> dict[tuple[str, int], int]:
        """Ranks by node and pid, as looks themselves state both."""
        found: dict[tuple[str, int], int] = {}
        for look in self.looks:
            for process in look.list_processes():
                rank, pid = process.rank, process.pid
                if pid is None or not self.may_be_rank(rank):
                    continue
                if (node := self.own_node_of(process, look)) is not None:
                    found.setdefault((node, pid), rank)
        return found

    @cached_property
    def picture(self) -> StackPicture:
        """Where each rank stands."""
        return _drop_surplus_processes(
            build_picture(self.looks, self.rank_of, self.node_of), self.fleet
        )

    @cached_property
    def memo(self) -> dict[Tool, Any]:
        """What several detectors ask of the looks of one tool, once it was found."""
        return {}

    @cached_property
    def hosts_move(self) -> bool:
        """Whether the main thread of every rank went to sleep and on again between two looks; False
        where fewer than 3 were counted twice.
        """
        moves = [
            apart_ns >= _SECOND_NS
            and switches >= max(_LEAST_SWITCHES, _LEAST_A_SECOND * apart_ns / _SECOND_NS)
            for apart_ns, switches in _count_switches(self.looks).values()
        ]
        return len(moves) >= _LEAST_RANKS and all(moves)

    @cached_property
    def ranks_asleep(self) -> frozenset[int]:
        """The ranks whose main thread did not wake once between two looks at least 3 s apart."""
        return frozenset(
            rank
            for rank, (apart_ns, switches) in _count_switches(self.looks).items()
            if not switches and apart_ns >= _LEAST_SLEEP_NS
        )


def make_look_claim(
    detector: str,
    summary: str,
    *,
    ranks: Iterable[int | None] = (),
    nodes: Iterable[str] = (),
    or_nodes: Iterable[str | None] = (),
    subject: str = "",
    convicts: bool = False,
    explained_by: frozenset[Category] = ANY_CAUSE,
    **more: Any,  # noqa: ANN401 - other fields of the claim
) -> Finding:
    """A claim as detectors of looks make it: on ranks and nodes, on ``or_nodes`` where no rank is
    known, else on nobody, of whom ``subject`` speaks in front of ``summary``. Who is unknown is not
    convicted.
    """
    of_ranks = tuple(one for one in ranks if one is not None)
    of_nodes = (*nodes, *(one for one in or_nodes if one is not None and not of_ranks))
    named = bool(of_ranks or of_nodes)
    return Finding(
        detector=detector,
        summary=summary if named or not subject else f"{subject} {summary}",
        ranks=of_ranks,
        nodes=of_nodes,
        role=Role.CULPRIT if convicts and named else Role.POSSIBLE,
        explained_by=explained_by,
        of_looks=True,
        **more,
    )


# A rank that is late in each step is seen at the same line twice, as one that is stuck is. But the
# main thread of each rank goes to sleep and wakes again in every step, and the kernel counts how
# often. Who is stuck in one call does not; who waits and looks now and then (a loader looks each
# 5 s) does so rarely. Assumption: not all ranks of a job that hangs poll; where they do, the answer
# is "slow", which accuses of less.

# Of fewer ranks nothing is said of the job.
_LEAST_RANKS: Final = 3
# A loader that waits looks each 5 s, gloo and queues not at all: more than two of that is work.
_LEAST_SWITCHES: Final = 3
_LEAST_A_SECOND: Final = 0.5
_SECOND_NS: Final = 1_000_000_000
_LEAST_SLEEP_NS: Final = 3 * _SECOND_NS


def _count_switches(looks: Sequence[Look]) -> dict[int, tuple[int, int]]:
    """Rank -> (ns between the last two looks at it, how often it woke in between).

    No time lies between the looks where there is one alone, or where they are at two processes.
    """
    counts: dict[int, list[tuple[int, WaitCounter]]] = defaultdict(list)
    for look in looks:
        at_ns = look.stamp.wall_ns
        for counter in look.counters if at_ns is not None else ():
            if counter.name == SWITCHES and counter.process.rank is not None:
                counts[counter.process.rank].append((at_ns or 0, counter))
    found = {}
    for rank, rows in counts.items():
        rows.sort(key=lambda row: row[0])
        (before_ns, before), (after_ns, after) = rows[-2:] if len(rows) > 1 else rows * 2
        same = before.process.pid == after.process.pid
        found[rank] = (after_ns - before_ns if same else 0, after.calls - before.calls)
    return found


def _drop_surplus_processes(picture: StackPicture, fleet: JobPlacement) -> StackPicture:
    """``picture`` without processes of no known rank beyond the ranks of their node, where just as
    many as it has began at one line of one program: the others are helpers.
    """
    unknown: dict[str, list[RankStack]] = defaultdict(list)
    for one in picture.ranks:
        if one.rank is None and one.node is not None and one.frames:
            unknown[one.node].append(one)
    helpers: set[int] = set()
    for node, ones in unknown.items():
        begun = Counter((one.frames[-1].filename, one.frames[-1].line) for one in ones)
        usual, most = begun.most_common(1)[0]
        if 1 < most == len(fleet.ranks_on(node)) < len(ones):
            helpers |= {
                id(one) for one in ones if (one.frames[-1].filename, one.frames[-1].line) != usual
            }
    return replace(picture, ranks=tuple(one for one in picture.ranks if id(one) not in helpers))


def with_places(fleet: JobPlacement, looks: Sequence[Look]) -> JobPlacement:
    """``fleet`` with the places of ranks that it does not know; those that looks do not agree on
    stay unknown.
    """
    homes_of: dict[int, set[str]] = defaultdict(set)
    for look in looks:
        for process in look.list_processes():
            rank, node = process.rank, process.node or process.host or look.node
            if rank is None or node is None or rank in fleet.node_by_rank:
                continue
            if fleet.world_size is not None and rank >= fleet.world_size:
                continue  # a process number in the name of a file
            homes_of[rank].add(fleet.node_of_address(node) or parse_plain_host(node))
    places = {rank: nodes.pop() for rank, nodes in homes_of.items() if len(nodes) == 1}
    if not places:
        return fleet
    homes = {**fleet.node_by_rank, **places}
    nodes = tuple(sorted({*fleet.nodes, *places.values()}))
    names = {parse_plain_host(node): node for node in places.values()}
    return replace(
        fleet,
        node_by_rank=dict(sorted(homes.items())),
        nodes=nodes,
        aliases={**names, **fleet.aliases},
        seated=fleet.seated | set(places.values()),
    )
