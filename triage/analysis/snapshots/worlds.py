"""Which dumps are of one world: one default process group, in one process a rank.

A rank is a number within its world, and a folder may hold several: a trainer and its engines,
two jobs, two attempts. Their dumps differ in the default group, or two of one rank are of two
processes. Of each world that left most of its dumps an answer is made; single files of another
job or of an earlier attempt are none, and are set aside with a note.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from triage.analysis.snapshots.groups import find_default_ranks
from triage.domain.patterns import compile_re
from triage.domain.rank_digest import RankDigest
from triage.parsers.flight_recorder.naming import list_prefixes

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
    # Dumps of one job share one tuple, which is told by identity before it is hashed.
    keys: dict[int, list[RankDigest]] = defaultdict(list)
    members: dict[int, tuple[int, ...]] = {}
    for digest in digests:
        ranks = find_default_ranks(digest) or ()
        members[id(ranks)] = ranks
        keys[id(ranks)].append(digest)
    found: dict[tuple[int, ...], list[RankDigest]] = defaultdict(list)
    for key, dumps in keys.items():
        found[members[key]] += dumps
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
    """Whether a rank has dumps of two processes."""
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
