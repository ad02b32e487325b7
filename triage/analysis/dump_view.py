"""What the dumps say by themselves: which of them are used, and the case that they make."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from triage.analysis.snapshots.build_snapshot import build_snapshot
from triage.analysis.snapshots.consistency import set_apart
from triage.analysis.snapshots.groups import Membership, resolve_groups
from triage.analysis.snapshots.selection import Selection, select
from triage.analysis.waiting.case import Case, build_case
from triage.analysis.waiting.waits import wait_graph
from triage.domain.job import Job
from triage.domain.rank_digest import RankDigest
from triage.domain.report import Refused
from triage.parsers.flight_recorder.dump_set import DumpSet
from triage.parsers.flight_recorder.naming import node_in_name, rank_in_name

__all__ = ["OF_ONE_RANK", "DumpView", "view_dumps"]

# Folders that hold dumps without naming a node.
PLAIN_FOLDERS = frozenset({"fr", "dumps", "dump", "traces", "logs", "flight_recorder", "nodes", ""})


# A folder for each process: rank_3, 3, local_rank-0, gpu3.
OF_ONE_RANK = re.compile(
    r"(?:(?:global|local)?[_-]?rank|gpu|proc(?:ess)?)?[_.-]?\d{1,7}", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class DumpView:
    """What the dumps say by themselves: the case, and how it was selected."""

    case: Case
    selection: Selection
    membership: Membership


def view_dumps(
    dumps: DumpSet, facts: Job, at: datetime | None
) -> tuple[DumpView | None, tuple[Refused, ...]]:
    """The view of the dumps that can be used, None without any, and why others cannot be."""
    digests, late = before(dumps.digests, at)
    selection = select(digests)
    unused = (*selection.set_aside, *late)
    if not selection.digests:
        return None, unused
    membership = resolve_groups(selection.digests, selection.ranks, facts.world_size)
    node_of = node_map(selection.digests, selection.ranks, facts)
    snapshot = build_snapshot(
        selection.digests, selection.ranks, membership, dumps.operations, facts, node_of
    )
    moving = set_apart(snapshot)
    snapshot.unread = unread_ranks(dumps, snapshot.index_of)
    case = build_case(snapshot, wait_graph(snapshot), moving=moving)
    return DumpView(case, selection, membership), unused


def unread_ranks(dumps: DumpSet, read: Collection[int]) -> frozenset[int]:
    """The ranks whose file came in, and cannot be read: their processes lived to begin it."""
    ranks = {rank_in_name(refused.artifact) for refused in dumps.refused}
    return frozenset(rank for rank in ranks if rank is not None and rank not in read)


def before(
    digests: Sequence[RankDigest], at: datetime | None
) -> tuple[list[RankDigest], list[Refused]]:
    """Dumps whose record begins no later than ``at``; the others are set aside."""
    if at is None:
        return list(digests), []
    limit = int(at.timestamp() * 1e9)
    kept = [d for d in digests if d.first_created_ns is None or d.first_created_ns <= limit]
    late = [
        Refused(d.artifact, "its record begins after the time given with --at")
        for d in digests
        if not (d.first_created_ns is None or d.first_created_ns <= limit)
    ]
    return kept, late


def node_map(
    digests: Sequence[RankDigest], ranks: Sequence[int], facts: Job
) -> Callable[[int], str | None]:
    """Rank -> node: from job.json, else from folders ``nodes/<node>/`` or hosts in file names,
    else from one folder per node.
    """
    by_name: dict[int, str] = {}
    folders: dict[int, str] = {}
    for digest, rank in zip(digests, ranks, strict=True):
        node = node_in_name(digest.artifact)
        if node is not None:
            by_name[rank] = node
        parent = digest.artifact.rpartition("/")[0].rpartition("/")[2]
        if parent.lower() not in PLAIN_FOLDERS and not OF_ONE_RANK.fullmatch(parent):
            folders[rank] = parent
    if not by_name and len(set(folders.values())) > 1 and len(folders) == len(digests):
        by_name = folders

    def node_of(rank: int) -> str | None:
        return facts.node_of(rank) or by_name.get(rank)

    return node_of
