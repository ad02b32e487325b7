"""What the dumps say by themselves: which of them are used, and the case that they make."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import numpy as np

from triage.analysis.registry import find_detector_claims
from triage.analysis.snapshots.build_snapshot import build_snapshot
from triage.analysis.snapshots.groups import find_default_ranks, resolve_groups
from triage.analysis.snapshots.selection import (
    Selection,
    find_earlier_attempts,
    find_world_end_ns,
    has_shared_ranks,
    place_text,
    select,
    split_by_world,
)
from triage.analysis.snapshots.snapshot import UNKNOWN, Snapshot
from triage.analysis.waiting.case import Case
from triage.analysis.waiting.live import format_ranks, judge_live
from triage.analysis.waiting.waits import wait_graph
from triage.domain.arrays import I64
from triage.domain.category import VerdictKind
from triage.domain.job import Job
from triage.domain.patterns import compile_re
from triage.domain.rank_digest import RankDigest
from triage.domain.report import Refused
from triage.parsers.flight_recorder.dump_set import DumpSet
from triage.parsers.flight_recorder.naming import parse_node, rank_in_name

# Folders that hold dumps without naming a node.
_PLAIN_FOLDERS = frozenset(
    {"fr", "dumps", "dump", "traces", "logs", "flight_recorder", "nodes", ""}
)


# A folder for each process: rank_3, 3, local_rank-0, gpu3.
OF_ONE_RANK = compile_re(
    r"(?:(?:global|local)?[_-]?rank|gpu|proc(?:ess)?)?[_.-]?\d{1,7}", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class DumpView:
    """What the dumps say by themselves: the case, and how it was selected.

    ``worlds``: where the dumps are of several, what each of them says, this one first.
    ``is_ambiguous``: a rank number stands in more than one, so that a number alone in a log is
    nobody's; ``has_map``: the map of ranks to nodes is of this one.
    """

    case: Case
    selection: Selection
    worlds: tuple[str, ...] = ()
    is_ambiguous: bool = False
    has_map: bool = True


def view_dumps(
    dumps: DumpSet, facts: Job, at: datetime | None
) -> tuple[DumpView | None, tuple[Refused, ...]]:
    """The view of the dumps that can be used, None without any, and why others cannot be.

    Of several worlds the view is of the one that stopped most surely, the latest of such.
    """
    digests, late = _select_dumps_before(dumps.digests, at)
    worlds = split_by_world(digests)
    for world in find_earlier_attempts(worlds):
        worlds.remove(world)
        late += [Refused(digest.artifact, "of an earlier attempt of the job") for digest in world]
    if len(worlds) == 1:
        only, aside = _view_world(worlds[0], dumps, facts)
        return only, (*aside, *late)
    is_ambiguous = has_shared_ranks(worlds)
    mapped = worlds
    if is_ambiguous:
        # The map of ranks is of the only one of its size, where there is one.
        size = facts.world_size or len(facts.rank_to_node)
        mapped = [world for world in worlds if len(find_default_ranks(world[0]) or ()) == size]
        mapped = mapped if len(mapped) == 1 else []
    views = []
    unused: tuple[Refused, ...] = ()
    for world in worlds:
        has_map = world in mapped
        view, aside = _view_world(world, dumps, facts if has_map else facts.without_ranks())
        unused += aside
        if view is not None:
            views.append((_judge_world(view.case), world, replace(view, has_map=has_map)))
    views.sort(key=lambda one: (one[0][0], find_world_end_ns(one[1]), len(one[1])), reverse=True)
    sentences = tuple(f"{place_text(world)}: {text}" for (_, text), world, _ in views)
    view = replace(views[0][2], worlds=sentences, is_ambiguous=is_ambiguous) if views else None
    return view, (*unused, *late)


def _judge_world(case: Case) -> tuple[float, str]:
    """How much what the dumps of a world come to weighs beside others, and that in words."""
    claims = find_detector_claims(case)
    if claims:
        claim = max(claims, key=lambda one: (_WEIGHTS.get(one.kind, 1), one.strength))
        who = format_ranks(claim.ranks) if claim.ranks else "all ranks"
        return _WEIGHTS.get(claim.kind, 1) + claim.strength, f"{who} {claim.summary}"
    if case.moving and not case.in_flight:
        return 0.5, "its dumps are of different moments and contradict each other"
    return 0, "no rank is stuck or late"


# A stop weighs more than what only slows a job down or is not known.
_WEIGHTS: Final = {
    VerdictKind.HANG: 3,
    VerdictKind.DESYNC: 3,
    VerdictKind.CRASH: 3,
    VerdictKind.STRAGGLER: 1,
    VerdictKind.INCONCLUSIVE: 2,
}


def _view_world(
    digests: Sequence[RankDigest], dumps: DumpSet, facts: Job
) -> tuple[DumpView | None, tuple[Refused, ...]]:
    """The view of the dumps of one world, and why some are not used."""
    selection = select(digests)
    unused = tuple(selection.set_aside)
    if not selection.digests:
        return None, unused
    membership = resolve_groups(selection.digests, selection.ranks, facts.world_size)
    node_of = _make_node_map(selection.digests, selection.ranks, facts)
    snapshot = build_snapshot(
        selection.digests, selection.ranks, membership, dumps.operations, facts, node_of
    )
    moving = _set_apart(snapshot)
    # The file came in, and cannot be read: the process lived to begin it.
    named = {rank_in_name(refused.artifact) for refused in dumps.refused}
    snapshot.unread = frozenset(
        rank for rank in named if rank is not None and rank not in snapshot.index_of
    )
    graph = wait_graph(snapshot)
    case = Case(snapshot, graph, moving, judge_live(snapshot, graph, moving=moving))
    return DumpView(case, selection), unused


def _select_dumps_before(
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


def _make_node_map(
    digests: Sequence[RankDigest], ranks: Sequence[int], facts: Job
) -> Callable[[int], str | None]:
    """Rank -> node: from job.json, else from folders ``nodes/<node>/`` or hosts in file names,
    else from one folder per node.
    """
    by_name: dict[int, str] = {}
    folders: dict[int, str] = {}
    for digest, rank in zip(digests, ranks, strict=True):
        node = parse_node(digest.artifact)
        if node is not None:
            by_name[rank] = node
        parent = digest.artifact.rpartition("/")[0].rpartition("/")[2]
        if parent.lower() not in _PLAIN_FOLDERS and not OF_ONE_RANK.fullmatch(parent):
            folders[rank] = parent
    if not by_name and len(set(folders.values())) > 1 and len(folders) == len(digests):
        by_name = folders

    def node_of(rank: int) -> str | None:
        return facts.node_of(rank) or by_name.get(rank)

    return node_of


# A collective that needs all members is finished by nobody before everybody has
# issued it. A rank whose record ends before what a peer has finished was dumped
# earlier, or in another attempt. One such file is set apart; if many contradict
# each other, the job was still moving while it was dumped.

# Beyond this share of contradicting dumps none of them is "the stale one".
_MOVING_SHARE = 0.2


def _set_apart(snapshot: Snapshot) -> bool:
    """Mark stale dumps in ``snapshot.apart``; True when the job was still moving.

    Repeatedly takes out the ranks that contradict most others: a stale file
    contradicts all its peers, they contradict only it.
    """
    apart: list[int] = []
    while True:
        degrees = _count_contradictions(snapshot, set(apart))
        worst = int(degrees.max(initial=0))
        if worst == 0:
            break
        marked = np.flatnonzero(degrees == worst)
        if len(marked) > 1 and worst == 1:
            # Of two that contradict each other alone, the one whose record ends earlier.
            ends = [snapshot.digests[int(index)].last_created_ns or 0 for index in marked]
            marked = marked[[int(np.argmin(ends))]]
        apart.extend(marked.tolist())
    if not apart:
        return False
    moving = len(apart) > max(1, _MOVING_SHARE * len(snapshot.digests))
    for index in sorted(apart):
        rank = int(snapshot.ranks[index])
        snapshot.apart[rank] = "its record contradicts its peers': dumped at another time"
    ranks = sorted(snapshot.apart)
    shown = ", ".join(map(str, ranks[:8])) + (" ..." if len(ranks) > 8 else "")
    if moving:
        snapshot.notes.append(
            f"{len(ranks)} dumps contradict their peers' (ranks {shown}): the job was still"
            " running while it was dumped, or the folder holds several attempts"
        )
    else:
        snapshot.notes.append(
            f"the dump of rank {shown} is of another moment or an earlier attempt: its peers"
            " finished operations that it never issued, or it finished some that they never did;"
            " it is not used"
        )
    return moving


def _count_contradictions(snapshot: Snapshot, without: set[int]) -> I64:
    """Per digest, how many peers' records contradict its own."""
    degrees = np.zeros(len(snapshot.digests), np.int64)
    gone = np.zeros(len(snapshot.digests) + 1, np.bool_)
    gone[list(without)] = True
    for group in snapshot.groups:
        rows = snapshot.rows(group.index)
        digest = snapshot.member_digest[rows]
        issued = snapshot.issued[rows]
        usable = (digest >= 0) & ~gone[digest] & (issued != UNKNOWN)
        digest, issued = digest[usable], issued[usable]
        done = snapshot.done[rows][usable]
        if len(digest) > 1 and done.max(initial=0) > issued.min():
            ahead_of_me = len(done) - np.searchsorted(np.sort(done), issued, side="right")
            degrees[digest] += ahead_of_me + np.searchsorted(np.sort(issued), done, side="left")
    return degrees
