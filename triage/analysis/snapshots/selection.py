"""Which of the dumps belong together: one per rank, of one job.

Two dumps of one rank, a file of another job and a file that cannot be placed
are set aside with a note. None of them accuses anybody. Of two dumps of one rank
the one whose name goes with far more of the files is of the job that is asked about.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from triage.analysis.snapshots.groups import find_default_ranks, find_kinds_numbered_within
from triage.domain.patterns import compile_re
from triage.domain.rank_digest import RankDigest
from triage.domain.report import Refused
from triage.parsers.flight_recorder.naming import list_prefixes, mask_name_numbers

_SHOWN = 6


@dataclass(slots=True)
class Selection:
    """One digest per rank, ascending; what was set aside and why."""

    digests: list[RankDigest] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)
    set_aside: list[Refused] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def select(digests: Sequence[RankDigest]) -> Selection:
    """Choose by content only, so that the order of the files does not matter."""
    result = Selection()
    ours = _select_same_job(digests, result)
    by_rank: dict[int, list[RankDigest]] = {}
    sets: dict[int, frozenset[int]] = {}
    homeless: list[_UnplacedDump] = []
    within = find_kinds_numbered_within(ours)
    for digest in ours:
        rank = _place_dump(digest, sets, within)
        if isinstance(rank, _UnplacedDump):
            homeless.append(rank)
        else:
            by_rank.setdefault(rank, []).append(digest)
    for worked_out, digests_of in _work_out(homeless, by_rank, result).items():
        by_rank.setdefault(worked_out, []).extend(digests_of)
    sets_of = Counter(mask_name_numbers(digest.artifact) for digest in ours)

    def order(digest: RankDigest) -> tuple[int, tuple[int, int, int, int, str]]:
        return sets_of[mask_name_numbers(digest.artifact)].bit_length(), _get_preference(digest)

    doubled: list[str] = []
    for rank in sorted(by_rank):
        best, *others = sorted(by_rank[rank], key=order, reverse=True)
        result.ranks.append(rank)
        result.digests.append(best)
        for other in others:
            # The same entries (a pickle and its JSON form), and the same dump twice, as the digest
            # of a node and then the dump itself.
            is_alike = _get_record(best) == _get_record(other)
            twice = ("partial", "counters", "streams", "pending")
            if is_alike and all(getattr(best, n) == getattr(other, n) for n in twice):
                continue
            if not is_alike:
                why = f"a second dump of rank {rank}; {best.artifact} is used"
                result.set_aside.append(Refused(other.artifact, why))
            doubled.append(f"rank {rank}: {best.artifact} used, {other.artifact} set aside")
    if doubled:
        more = f"; and {len(doubled) - _SHOWN} more" if len(doubled) > _SHOWN else ""
        result.notes.append(
            f"two dumps of one rank, of which the one of the larger set of files is used, else the"
            f" later one: {'; '.join(doubled[:_SHOWN])}{more}"
        )
    return result


def _get_preference(digest: RankDigest) -> tuple[int, int, int, int, str]:
    """The later record wins, then the whole one, then the one with stacks, then the name."""
    last_ns, whole = digest.last_created_ns or 0, digest.partial is None
    return last_ns, whole, digest.num_entries, len(digest.stack), digest.artifact


def _get_record(digest: RankDigest) -> tuple[int, int | None, int | None]:
    return digest.num_entries, digest.first_created_ns, digest.last_created_ns


def _select_same_job(digests: Sequence[RankDigest], result: Selection) -> list[RankDigest]:
    """The dumps whose default group most dumps share; the later one on a tie."""
    worlds = _group_by_default_group(digests)
    homeless = worlds.pop((), [])
    if len(worlds) < 2:
        return list(digests)
    chosen = max(
        worlds, key=lambda world: (len(worlds[world]), find_world_end_ns(worlds[world]), world)
    )
    kept = {id(digest) for digest in (*worlds[chosen], *homeless)}
    aside = [digest for digest in digests if id(digest) not in kept]
    result.set_aside += [
        Refused(
            digest.artifact,
            f"of another job: its default group has {len(find_default_ranks(digest) or ())} ranks,"
            f" that of most dumps {len(chosen)}",
        )
        for digest in aside
    ]
    result.notes.append(f"{len(aside)} dumps of another job or another world size were set aside")
    return [digest for digest in digests if id(digest) in kept]


def _find_smallest_common(
    digest: RankDigest, sets: dict[int, frozenset[int]], within: frozenset[str]
) -> frozenset[int] | None:
    """The ranks that all groups of a dump have in common: the writer is one of them."""
    common: frozenset[int] | None = None
    rows = [
        row.ranks
        for row in digest.groups
        if row.ranks and len(row.ranks) > 1 and row.desc not in within and row.name
    ]
    for ranks in sorted(rows, key=len):
        members = sets.get(id(ranks))
        if members is None:
            members = sets[id(ranks)] = frozenset(ranks)
        common = members if common is None else common & members
        if len(common) <= 1:
            break
    return common


class _UnplacedDump(NamedTuple):
    """A dump whose file name gives no rank that fits it; ``members`` are the ranks it can be."""

    digest: RankDigest
    members: frozenset[int] | None
    why: str


def _place_dump(
    digest: RankDigest, sets: dict[int, frozenset[int]], within: frozenset[str]
) -> int | _UnplacedDump:
    """The rank of a dump: its file name's, checked against the groups it lists; not against
    those of the kinds ``within``, whose lists count from 0 in each group.
    """
    members = _find_smallest_common(digest, sets, within)
    named = digest.rank
    if named < 0:
        return _UnplacedDump(digest, members, "no rank in its name")
    if members is None or named in members:
        return named
    world = find_default_ranks(digest)
    if world and named not in world:
        why = f"its name says rank {named}, beyond the {len(world)} ranks of its job"
    else:
        why = f"its name says rank {named}, but that rank is in none of its smallest groups"
    return _UnplacedDump(digest, members, why)


def _work_out(
    homeless: Sequence[_UnplacedDump],
    by_rank: Mapping[int, Sequence[RankDigest]],
    result: Selection,
) -> dict[int, list[RankDigest]]:
    """The ranks of dumps that their groups tell, or that no other file leaves open.

    What is left is set aside, and says so.
    """
    by_groups: dict[int, list[RankDigest]] = {}
    notes: list[str] = []
    left: list[_UnplacedDump] = []
    rest = sorted(homeless, key=lambda dump: dump.digest.artifact)
    while len(rest) != len(left):
        left, rest = rest, []
        for dump in left:
            free = dump.members or frozenset()
            if len(free) > 1:
                free = free - by_rank.keys() - by_groups.keys()
            if len(free) != 1:
                rest.append(dump)
                continue
            (rank,) = free
            by_groups.setdefault(rank, []).append(dump.digest)
            notes.append(f"{dump.digest.artifact}: {dump.why}; by its groups it is rank {rank}")
    for digest, members, why in rest:
        count = "" if members is None else f" (one of {len(members)})"
        text = (
            f"{why}, and which rank it is does not follow from its groups{count}:"
            " rename it so that the name ends in the rank"
        )
        result.set_aside.append(Refused(digest.artifact, text))
    result.notes += notes[:_SHOWN]
    if len(notes) > _SHOWN:
        result.notes.append(
            f"and {len(notes) - _SHOWN} more dumps whose names give no rank that fits"
        )
    return by_groups


# Which dumps are of one world: one default process group, in one process a rank.
#
# A rank is a number within its world, and a folder may hold several: a trainer and its engines,
# two jobs, two attempts. Their dumps differ in the default group, or two of one rank are of two
# processes. Of each world that left most of its dumps an answer is made; single files of another
# job or of an earlier attempt are none, and are set aside with a note.

# A world left its dumps where at least so many of its ranks did, and this share of them.
_LEAST_DUMPS: Final = 2
_LEAST_SHARE: Final = 0.5


def split_by_world(digests: Sequence[RankDigest]) -> list[list[RankDigest]]:
    """The dumps of each world; all of them as one where fewer than two left theirs."""
    worlds: list[list[RankDigest]] = []
    rest: list[RankDigest] = []
    for members, dumps in _group_by_default_group(digests).items():
        for part in _split_by_name(dumps, len(members)) if members else [dumps]:
            if members and _is_most_of_a_world(part, len(members)):
                worlds.append(part)
            else:
                rest += part
    if len(worlds) < 2:
        return [list(digests)]
    for digest in rest:
        folder = digest.artifact.rpartition("/")[0]
        beside = [
            world
            for world in worlds
            if any(one.artifact.rpartition("/")[0] == folder for one in world)
        ]
        max(beside or worlds, key=len).append(digest)
    return worlds


def _group_by_default_group(
    digests: Iterable[RankDigest],
) -> dict[tuple[int, ...], list[RankDigest]]:
    """The dumps by the members of their default group; nothing where they list none."""
    # Dumps of one job share one tuple, so it is told by identity first: hashing 16,384 ranks once
    # per dump would cost more than reading the dump.
    keys: dict[int, tuple[tuple[int, ...], list[RankDigest]]] = {}
    for digest in digests:
        ranks = find_default_ranks(digest) or ()
        keys.setdefault(id(ranks), (ranks, []))[1].append(digest)
    found: dict[tuple[int, ...], list[RankDigest]] = defaultdict(list)
    for ranks, dumps in keys.values():
        found[ranks] += dumps
    return found


def _is_most_of_a_world(dumps: Iterable[RankDigest], num_members: int) -> bool:
    """Whether dumps are of so many ranks of a world that they are no left-over files."""
    num_ranks = len({digest.rank for digest in dumps})
    return num_ranks >= max(_LEAST_DUMPS, _LEAST_SHARE * num_members)


def _split_by_name(dumps: list[RankDigest], num_members: int) -> list[list[RankDigest]]:
    """The dumps of each process a rank: by the first part of their names that tells them apart.

    All together where no rank has dumps of two processes, or no part of the names tells.
    """
    if not _has_doubled_rank(dumps):
        return [dumps]
    depth = max(len(list_prefixes(digest.artifact)) for digest in dumps)
    for level in range(depth):
        parts: dict[str, list[RankDigest]] = defaultdict(list)
        for digest in dumps:
            names = list_prefixes(digest.artifact)
            parts[names[min(level, len(names) - 1)]].append(digest)
        apart = all(_is_most_of_a_world(part, num_members) for part in parts.values())
        if len(parts) > 1 and apart and not any(map(_has_doubled_rank, parts.values())):
            return list(parts.values())
    return [dumps]


def _has_doubled_rank(dumps: Iterable[RankDigest]) -> bool:
    first: dict[int, RankDigest] = {}
    for digest in dumps:
        other = first.setdefault(digest.rank, digest)
        if other is digest:
            continue
        # Two dumps of one process hold an operation that was issued at the same nanosecond; a
        # record that holds nothing may be anybody's.
        mine, theirs = digest.history.read().created, other.history.read().created
        if len(mine) and len(theirs) and not np.isin(mine, theirs).any():
            return True
    return False


# attempt_0/, restart-1/: folders in which launchers keep what each attempt left.
_ATTEMPT: Final = compile_re(r"(?:^|/)(?:attempt|restart|retry|try)[_.-]?(?P<number>\d{1,4})/")


def find_earlier_attempts(worlds: Sequence[list[RankDigest]]) -> list[list[RankDigest]]:
    """The worlds that another attempt of the same ranks came after.

    Their folder is one of an attempt, with a lower number than that of the other, or than none;
    and the last operation in them is older than the first in the other. Records alone do not tell:
    the ring of an engine that goes on may begin behind the end of one that stopped.
    """
    if len(worlds) < 2:
        return []
    return [one for one in worlds if any(_is_attempt_before(one, other) for other in worlds)]


def _is_attempt_before(one: Sequence[RankDigest], other: Sequence[RankDigest]) -> bool:
    numbers = [_ATTEMPT.search(world[0].artifact) for world in (one, other)]
    if numbers[0] is None or find_default_ranks(one[0]) != find_default_ranks(other[0]):
        return False
    if numbers[1] is not None and int(numbers[0]["number"]) >= int(numbers[1]["number"]):
        return False
    ended = find_world_end_ns(one)
    begun = [digest.first_created_ns for digest in other if digest.first_created_ns is not None]
    return bool(begun) and 0 < ended < min(begun)


def find_world_end_ns(world: Iterable[RankDigest]) -> int:
    """When the last operation of a world was issued; 0 where no dump says."""
    return max((digest.last_created_ns or 0 for digest in world), default=0)


def has_shared_ranks(worlds: Sequence[Sequence[RankDigest]]) -> bool:
    """Whether a rank number stands in more than one of them."""
    ranks = [{digest.rank for digest in world} for world in worlds]
    return sum(map(len, ranks)) > len(set().union(*ranks))


def place_text(world: Sequence[RankDigest]) -> str:
    """Where the dumps of a world lie: ``8 dumps in engine1/``."""
    names = Counter(name for digest in world for name in list_prefixes(digest.artifact))
    everywhere = [name for name, count in names.items() if count >= len(world)]
    folders = [name for name in everywhere if world[0].artifact.startswith(f"{name}/")]
    if folders:
        return f"{len(world)} dumps in {max(folders, key=len)}/"
    return f"{len(world)} dumps {everywhere[0]}*" if everywhere else f"{len(world)} dumps"
