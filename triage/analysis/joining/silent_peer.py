"""Who went first and left no word: the one peer that others lose, or that did not join them.

All there is where no cause is told: connections that were closed, PyTorch's own report of who did
not join a collective, ranks that gave up waiting, but for one, and a node that boots anew while the
others wait for its ranks.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from triage.analysis.facts.exits import find_exited_ranks
from triage.analysis.facts.stop import (
    AFTER_S,
    FAILING,
    SECOND,
    TIMEOUT_S,
    Stop,
    is_by_process,
)
from triage.analysis.joining.peers import resolve_by_elimination, strip_port
from triage.analysis.joining.place import AtNode, AtRank, Place
from triage.analysis.placement.topology import Placement
from triage.domain.category import Category
from triage.domain.evidence import Blame, Evidence, EvidenceRole, Kind, Trait

# One line alone may be of any connection ...
_MANY: Final = 2
# ... but for the word of who all tasks, nodes or ranks answer to.
_OF_A_SERVICE: Final = frozenset(
    {"xla.task_lost", "xla.barrier", "c10d.failed_barrier", "launcher.horovod_stall"}
)
_NAMING_ANOTHER: Final = frozenset({Blame.PEER, Blame.ABSENT})
# Where this share of all ranks gave up, the one that did not is no accident of a cut log.
_MOST_WAITED: Final = 0.75
_LEAST_WAITED: Final = 3
_RANKS: Final = ("rank ", "ranks ")
_STUCK_WATCHDOG: Final = "c10d.heartbeat_monitor"
_ALSO: Final = (Category.HOST_STALL, Category.HOST_OOM, Category.HOST_MAINTENANCE)


# A process that says so has waited for somebody else.
_OF_OTHERS: Final = frozenset({Blame.PEER, Blame.PAIR, Blame.ABSENT, Blame.STORE})


def find_silent_peer(
    rows: Sequence[Evidence], placement: Placement, nodes: Collection[str] = ()
) -> list[Evidence]:
    """What is said of the one place that others name and of which no process complains, as rows
    of that place, which need another source; nothing where more than one is named. Its launcher
    may say which of its ranks ended. ``nodes`` are the job's.
    """
    return _find_named_peer(rows, placement, nodes) or _did_not_wait(rows, placement)


def _find_named_peer(
    rows: Sequence[Evidence], placement: Placement, nodes: Collection[str]
) -> list[Evidence]:
    """The one that others lost, or that the report of a desync says did not join."""
    left_over = resolve_by_elimination(rows, placement, nodes)
    said_of: dict[Place | None, list[Evidence]] = defaultdict(list)
    for row in rows:
        # It follows from the loss of its peer, and is not about those who did join.
        follows = row.role is EvidenceRole.CONSEQUENCE and "stuck" not in row.fields
        if row.blame in _NAMING_ANOTHER and row.peer is not None and follows:
            node = left_over.get(strip_port(row.peer))
            place = _parse_peer(row.peer, placement) if node is None else AtNode(node)
            said_of[place].append(row)
    # Who lost somebody itself went down with that one.
    silent = said_of.keys() - _collect_complaining_places(rows)
    if len(silent) != 1:
        return []
    (place,) = silent
    telling = said_of[place]
    alone = sum(row.count for row in telling) < _MANY
    if place is None or (alone and telling[0].signature not in _OF_A_SERVICE):
        return []
    left = find_exited_ranks(rows)
    return [_promote_to_root(row, place, placement, left) for row in telling]


def _parse_peer(text: str, placement: Placement) -> Place | None:
    """The node, or the rank, that a line names; None for several, and for nobody's address."""
    if text.startswith(_RANKS):
        rank = text.removeprefix("ranks ").removeprefix("rank ")
        return AtRank(int(rank)) if rank.isdecimal() and len(rank) < 8 else None
    node = placement.node_of_address(text)
    return None if node is None else AtNode(node)


def _collect_complaining_places(rows: Iterable[Evidence]) -> set[Place]:
    """The nodes and ranks of which a process says that it waited, or lost somebody else."""
    places: set[Place] = set()
    for row in rows:
        waits = row.blame in _OF_OTHERS or Trait.TIMEOUT in row.traits
        if waits and is_by_process(row) and row.role in FAILING:
            places |= {AtNode(row.node)} if row.node is not None else set()
            places |= {AtRank(row.rank)} if row.rank is not None else set()
    return places


def _is_own_failure(row: Evidence) -> bool:
    """Whether a process says why it failed. That a launcher saw it end, or that its own watchdog
    hangs, says no more than its silence.
    """
    if not is_by_process(row) or row.role not in FAILING or row.signature == _STUCK_WATCHDOG:
        return False
    return not (row.kind is Kind.ELASTIC and row.role is EvidenceRole.CONSEQUENCE)


def _has_given_up(row: Evidence) -> bool:
    """Whether a rank waited in vain: in an operation, or for the others to set up a group."""
    is_setup = Trait.RENDEZVOUS in row.traits and row.role is EvidenceRole.CONSEQUENCE
    return Trait.TIMEOUT in row.traits or is_setup


def _did_not_wait(rows: Sequence[Evidence], placement: Placement) -> list[Evidence]:
    """The one rank that does not say that it waited, where nearly all others do."""
    waited = {row.rank: row for row in rows if _has_given_up(row) and row.rank is not None}
    world = placement.world_size
    if world is None or len(waited) < max(_LEAST_WAITED, _MOST_WAITED * world):
        return []
    missing = [rank for rank in range(world) if rank not in waited]
    if len(missing) != 1:
        return []
    if any(row.rank == missing[0] and _is_own_failure(row) for row in rows):
        return []
    spoke = any(row.rank == missing[0] and is_by_process(row) for row in rows)
    silence = "does not say so" if spoke else "says nothing"
    text = f"{len(waited)} of {world} ranks gave up waiting; rank {missing[0]} {silence}"
    telling = min(waited.values(), key=lambda row: (row.at_ns or 0, row.artifact, row.line or 0))
    return [
        replace(_promote_to_root(telling, AtRank(missing[0]), placement, {}), text=text, count=1)
    ]


# How a log shows that its node came up.
_BOOTS: Final = frozenset({"boot.kernel_version", "boot.boot_mark"})


def find_reboot_at_stop(
    rows: Sequence[Evidence], placement: Placement, stop: Stop
) -> list[Evidence]:
    """The boot of the one node that came up while the others waited, as a root of that node, which
    needs another source: it had gone down. Nothing where more than one did, or a process of it
    still spoke.
    """
    if stop.start_ns is None:
        return []
    until_ns = stop.given_up_ns or stop.end_ns or stop.start_ns
    if until_ns <= stop.start_ns:
        until_ns = stop.start_ns + TIMEOUT_S * SECOND
    boots: dict[str, Evidence] = {}
    for row in rows:
        if row.signature in _BOOTS and row.node is not None and row.at_ns is not None:
            early_ns = stop.start_ns - AFTER_S * SECOND
            if early_ns < row.at_ns <= until_ns:
                boots.setdefault(row.node, row)
    waited = any(Trait.TIMEOUT in row.traits or row.blame in _OF_OTHERS for row in rows)
    if len(boots) != 1 or not waited:
        return []
    ((node, boot),) = boots.items()
    ranks = set(placement.ranks_on(node))
    # A log without times, or one of the minutes before, says nothing of the time since.
    spoke = (
        is_by_process(row)
        and (row.node == node or row.rank in ranks)
        and (row.at_ns is None or row.at_ns > stop.start_ns + AFTER_S * SECOND)
        and row.role in FAILING
        for row in rows
    )
    if any(spoke):
        return []
    return [_promote_to_root(boot, AtNode(node), placement, {})]


def _promote_to_root(
    row: Evidence, place: Place, placement: Placement, left: Mapping[str, int]
) -> Evidence:
    """``row`` as a root of a node, or of a rank; ``left`` is node -> the one rank that ended."""
    node, rank = None, None
    if isinstance(place, AtRank):
        node, rank = placement.node_of(place.rank), place.rank
    elif isinstance(place, AtNode):
        node, rank = place.node, left.get(place.node)
    return replace(
        row,
        role=EvidenceRole.ROOT,
        weak=True,
        blame=Blame.SELF,
        node=node,
        rank=rank,
        local_rank=None,
        category=Category.NCCL_TIMEOUT,
        also=_ALSO,
    )
