"""Who went first and left no word: the one peer that others lose, or that did not join them.

All there is where no cause is told: connections that were closed, PyTorch's own report of who did
not join a collective, and ranks that gave up waiting, but for one.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from triage.analysis.exits import TERMINATED
from triage.analysis.joining.hypothesis import Seats
from triage.analysis.joining.place import AtNode, AtRank, Place
from triage.analysis.stop import FAILING, of_a_process
from triage.domain.category import Category
from triage.domain.evidence import Blame, Evidence, EvidenceRole, Kind, Trait

__all__ = ["silent_peer"]

MANY: Final = 2
# Of so many ranks that gave up, the one that did not is no accident of a log cut short.
MOST_WAITED: Final = 0.75
LEAST_WAITED: Final = 3
RANK: Final = "rank "
ALSO: Final = (Category.HOST_STALL, Category.HOST_OOM, Category.HOST_MAINTENANCE)


def silent_peer(rows: Sequence[Evidence], seats: Seats) -> list[Evidence]:
    """What is said of the one place that others name and of which no process complains, as rows
    of that place, which need another source; nothing where more than one is named. Its launcher
    may say which of its ranks ended.
    """
    return named_by_others(rows, seats) or did_not_wait(rows, seats)


def named_by_others(rows: Sequence[Evidence], seats: Seats) -> list[Evidence]:
    """The one that others lost, or that the report of a desync says did not join."""
    said_of: dict[Place | None, list[Evidence]] = defaultdict(list)
    for row in rows:
        if row.blame is Blame.PEER and row.peer is not None and not is_there(row):
            said_of[peer_of(row.peer, seats)].append(row)
    # Who lost somebody itself went down with that one.
    silent = [place for place in said_of if place is None or not complains(place, rows)]
    place = silent[0] if len(silent) == 1 else None
    told = said_of[place]
    if place is None or sum(row.count for row in told) < MANY:
        return []
    return [accusing(row, place, rows, seats) for row in told]


def is_there(row: Evidence) -> bool:
    """Whether it is no consequence, or speaks of those who did join."""
    return row.role is not EvidenceRole.CONSEQUENCE or "stuck" in row.fields


def peer_of(text: str, seats: Seats) -> Place | None:
    """The node, or the rank, that a line names; None for several, and for nobody's address."""
    if text.startswith(RANK):
        rank = text.removeprefix(RANK)
        return AtRank(int(rank)) if rank.isdecimal() and len(rank) < 8 else None
    node = seats.node_of_address(text)
    return None if node is None else AtNode(node)


def did_not_wait(rows: Sequence[Evidence], seats: Seats) -> list[Evidence]:
    """The one rank that does not say that it waited, where nearly all others do."""
    waited = {row.rank: row for row in rows if Trait.TIMEOUT in row.traits and row.rank is not None}
    world = seats.world_size
    if world is None or len(waited) < max(LEAST_WAITED, MOST_WAITED * world):
        return []
    missing = [rank for rank in range(world) if rank not in waited]
    if len(missing) != 1:
        return []
    if any(row.rank == missing[0] and of_a_process(row) and row.role in FAILING for row in rows):
        return []
    text = f"{len(waited)} of {world} ranks gave up waiting; rank {missing[0]} says nothing"
    told = min(waited.values(), key=lambda row: (row.at_ns or 0, row.artifact, row.line or 0))
    return [replace(accusing(told, AtRank(missing[0]), rows, seats), text=text, count=1)]


# Whoever says so has waited for somebody else.
OF_OTHERS: Final = frozenset({Blame.PEER, Blame.PAIR, Blame.ABSENT, Blame.STORE})


def complains(place: Place, rows: Iterable[Evidence]) -> bool:
    """Whether a process of a place says that it waited, or lost somebody else."""
    return any(
        (row.blame in OF_OTHERS or Trait.TIMEOUT in row.traits)
        and of_a_process(row)
        and row.role in FAILING
        and place in (AtNode(row.node or ""), None if row.rank is None else AtRank(row.rank))
        for row in rows
    )


def rank_that_left(node: str, rows: Iterable[Evidence]) -> int | None:
    """The one rank of a node of which its launcher says that it ended, and was not ended."""
    left = {
        row.rank
        for row in rows
        if row.node == node and row.kind is Kind.ELASTIC
        and row.fields.get("exit_code", "0") not in ("0", TERMINATED)
    }  # fmt: skip
    return left.pop() if len(left) == 1 else None


def accusing(row: Evidence, place: Place, rows: Sequence[Evidence], seats: Seats) -> Evidence:
    """``row`` as a root of ``place``."""
    rank = place.rank if isinstance(place, AtRank) else None
    if rank is not None:
        node = seats.node_of(rank)
    else:
        node = place.node if isinstance(place, AtNode) else None
        rank = None if node is None else rank_that_left(node, rows)
    return replace(
        row, role=EvidenceRole.ROOT, weak=True, blame=Blame.SELF, node=node, rank=rank,
        local_rank=None, category=Category.NCCL_TIMEOUT, also=ALSO,
    )  # fmt: skip
