"""Global ranks by NCCL's communicator of all processes, as RAS and other tools list it.

A rank in a communicator is a global rank only where the communicator holds all processes of the
job, and only where its order is that of the job: what else is known of hosts and pids must agree.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from triage.domain.live.look import Look, Tool
from triage.domain.live.process import Process

ProcessKey = tuple[str, int, int | None]
"""Host as printed, pid and GPU of one member of a communicator."""

Agrees = Callable[[int, str, int], bool | None]
"""Whether a rank may be of a host and pid: None where nothing else says it."""


def process_key(process: Process) -> ProcessKey | None:
    """Who a member is in all communicators; None where the tool does not name its process."""
    if process.host is None or process.pid is None:
        return None
    gpu = process.gpu if process.gpu is not None else process.nvml_gpu
    return process.host, process.pid, gpu


# Where more members sit elsewhere than logs say, the order is not that of the job.
_MAX_CONTRADICTED = 0.1


@dataclass(frozen=True, slots=True)
class WorldRanks:
    """``members`` has the process of each global rank, ``refused`` is how many communicators of
    the right size number their ranks otherwise than the job.
    """

    members: Mapping[int, Process]
    refused: int = 0

    @property
    def by_process(self) -> dict[ProcessKey, int]:
        """The rank of each process and GPU."""
        found: dict[ProcessKey, int] = {}
        for rank, process in self.members.items():
            key = process_key(process)
            if key is not None:
                found[key] = rank
        return found

    @property
    def by_host(self) -> dict[str, list[int]]:
        """The ranks of each host, as the tool prints it."""
        found: dict[str, list[int]] = defaultdict(list)
        for rank, process in self.members.items():
            if process.host is not None:
                found[process.host].append(rank)
        return found


def find_world_of_looks(looks: Iterable[Look]) -> int | None:
    """How many GPUs RAS says that the job has, else the size of the largest communicator where all
    processes of the others are in it; None where it is another number in each look.
    """
    sizes = {
        size for look in looks if look.tool is Tool.RAS and (size := _find_world_of_look(look))
    }
    return sizes.pop() if len(sizes) == 1 else None


def _find_world_of_look(look: Look) -> int | None:
    """The world as one look shows it."""
    if look.num_gpus is not None:
        return look.num_gpus
    largest = max(look.communicators, key=lambda one: one.size, default=None)
    if largest is None or len(largest.ranks) < largest.size:
        return None
    inside = {process_key(member.process) for member in largest.ranks}
    everybody = {process_key(one.process) for other in look.communicators for one in other.ranks}
    return largest.size if everybody <= inside else None


def find_world_ranks(looks: Sequence[Look], world: int | None, agrees: Agrees) -> WorldRanks:
    """The global ranks that communicators of all ``world`` processes give."""
    if world is None or world < 2:
        return WorldRanks({})
    members: dict[int, Process] = {}
    ranks: dict[ProcessKey, set[int]] = defaultdict(set)
    processes: dict[int, set[ProcessKey]] = defaultdict(set)
    refused = set()
    ras = (look for look in looks if look.tool is Tool.RAS)
    for communicator in (one for look in ras for one in look.communicators if one.size == world):
        named = [one for one in communicator.ranks if process_key(one.process) is not None]
        # What else is known of hosts and pids may speak against the order of ranks.
        answers = Counter(
            agrees(one.rank, one.process.host, one.process.pid)
            for one in named
            if one.process.host is not None and one.process.pid is not None
        )
        if answers[False] > _MAX_CONTRADICTED * (answers[True] + answers[False]):
            refused.add(communicator.hash)
            continue
        for member in named:
            key = process_key(member.process)
            if key is not None:
                ranks[key].add(member.rank)
                processes[member.rank].add(key)
                members.setdefault(member.rank, member.process)
    # Two communicators of all processes that number them in two ways tell no global rank, nor
    # do those of two jobs, or of two attempts.
    doubtful = {rank for found in ranks.values() if len(found) > 1 for rank in found}
    doubtful |= {rank for rank, found in processes.items() if len(found) > 1}
    return WorldRanks(
        {rank: members[rank] for rank in sorted(members) if rank not in doubtful}, len(refused)
    )
