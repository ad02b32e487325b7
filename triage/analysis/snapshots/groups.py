"""Process groups over all ranks, keyed by (name, ranks): names repeat.

Members come from the tables that ranks dump. Where those are empty (gloo, old
formats) they are inferred: the ranks whose entries carry the name, completed
with ranks that left no dump where the group's known size has a hole.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from triage.domain.rank_digest import MISSING, RankDigest

__all__ = ["Group", "Membership", "resolve_groups"]


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """One process group; ``ranks`` global, in group order; ``first`` its place in flat tables."""

    index: int
    name: str
    desc: str
    ranks: tuple[int, ...]
    first: int
    inferred: bool

    def global_rank(self, group_rank: int) -> int | None:
        """The global rank of a rank within the group."""
        return self.ranks[group_rank] if 0 <= group_rank < len(self.ranks) else None


@dataclass(slots=True)
class Membership:
    """All groups, and which group each rank's streams belong to."""

    groups: list[Group]
    stream_groups: list[tuple[int, ...]]
    """Per digest, the group of each of its streams; -1 where it cannot be told."""
    listed: list[dict[str, int]]
    """Per digest, its pg_config: name -> group."""
    world_size: int | None
    notes: list[str]


class Builder:
    """Collects groups; one per (name, ranks)."""

    def __init__(self) -> None:
        self.groups: list[Group] = []
        self.known: dict[tuple[str, tuple[int, ...]], int] = {}
        self.slots = 0

    def group(self, name: str, desc: str, ranks: tuple[int, ...], *, inferred: bool = False) -> int:
        key = (name, ranks)
        index = self.known.get(key)
        if index is None:
            index = self.known[key] = len(self.groups)
            self.groups.append(Group(index, name, desc, ranks, self.slots, inferred))
            self.slots += len(ranks)
        return index

    def twin(self, index: int, desc: str) -> int:
        """The other group with the name and the ranks of a known one."""
        group = self.groups[index]
        name = f"{group.name} {desc}"
        return self.group(name, desc, group.ranks, inferred=group.inferred)


def resolve_groups(
    digests: Sequence[RankDigest], ranks: Sequence[int], told_world: int | None
) -> Membership:
    """Groups of all ranks; ``told_world`` is the world size that job.json names."""
    builder = Builder()
    listed = listed_groups(digests, builder)
    world = default_world(builder.groups)
    orphans = unlisted_streams(digests, ranks, listed)
    notes = []
    inferred: dict[tuple[str, str], int] = {}
    if orphans:
        world_ranks = expected_ranks(world, told_world, ranks, orphans)
        for (label, kind), members in infer_members(orphans, world_ranks).items():
            inferred[label, kind] = builder.group(label, kind, members, inferred=True)
        if world is None:
            world = len(world_ranks)
        notes.append(
            "the dumps' group tables are empty: members were inferred from the names and ranks"
            " seen in entries"
        )
    stream_groups = [
        groups_of_streams(digest, rows, inferred, builder)
        for digest, rows in zip(digests, listed, strict=True)
    ]
    return Membership(builder.groups, stream_groups, listed, world, notes)


def listed_groups(digests: Sequence[RankDigest], builder: Builder) -> list[dict[str, int]]:
    """Per digest, the groups that its table lists: name -> group."""
    listed: list[dict[str, int]] = []
    # Dumps of one job share the tuples of rank lists, so a row is looked up by
    # the identity of its tuple before 16,384 ranks are hashed again.
    seen: dict[tuple[str, int], int] = {}
    for digest in digests:
        rows = {}
        for row in digest.groups:
            if row.ranks:
                quick = (row.name, id(row.ranks))
                index = seen.get(quick)
                if index is None:
                    index = seen[quick] = builder.group(row.name, row.desc, row.ranks)
                rows[row.name] = index
        listed.append(rows)
    return listed


def groups_of_streams(
    digest: RankDigest,
    listed: Mapping[str, int],
    inferred: Mapping[tuple[str, str], int],
    builder: Builder,
) -> tuple[int, ...]:
    """The group of each stream of a dump; -1 where it cannot be told."""
    groups = []
    shared = names_of_several(digest)
    for k, (name, desc) in enumerate(digest.stream_names):
        key = stream_key(digest, k, name, desc)
        index = listed.get(key[0], inferred.get(key, -1))
        if name in shared and index >= 0 and desc != builder.groups[index].desc:
            index = builder.twin(index, desc or "")
        groups.append(index)
    return tuple(groups)


def names_of_several(digest: RankDigest) -> set[str]:
    """Names that two groups of a rank share: their numbers are not one group's."""
    descs: dict[str, set[str]] = {}
    for name, desc in digest.stream_names:
        if name is not None:
            descs.setdefault(name, set()).add(desc or "")
    return {name for name, kinds in descs.items() if len(kinds) > 1}


def stream_key(
    digest: RankDigest, index: int, name: str | None, desc: str | None
) -> tuple[str, str]:
    """How a stream is called; formats before 2.0 have only the process-local id."""
    if name is not None:
        return name, desc or ""
    pg_id = int(digest.streams.pg_id[index])
    return (str(pg_id) if pg_id != MISSING else "0"), ""


def default_world(groups: Sequence[Group]) -> int | None:
    """Size of the default group; else None."""
    sizes = [len(group.ranks) for group in groups if group.desc == "default_pg"]
    sizes += [len(group.ranks) for group in groups if group.name == "0" and not sizes]
    return max(sizes, default=None)


Orphans = dict[tuple[str, str], tuple[list[int], int]]


def unlisted_streams(
    digests: Sequence[RankDigest], ranks: Sequence[int], listed: Sequence[dict[str, int]]
) -> Orphans:
    """Streams whose group no table describes: (name, desc) -> (ranks seen, size if measured)."""
    orphans: Orphans = {}
    for digest, rank, rows in zip(digests, ranks, listed, strict=True):
        for k, (name, desc) in enumerate(digest.stream_names):
            key = stream_key(digest, k, name, desc)
            if key[0] in rows:
                continue
            # Without names, only the default group's id means the same everywhere.
            if name is None and key[0] != "0":
                continue
            seen, size = orphans.get(key, ([], 0))
            seen.append(rank)
            orphans[key] = (seen, max(size, int(digest.streams.ratio[k])))
    return orphans


def expected_ranks(
    world: int | None, told_world: int | None, ranks: Sequence[int], orphans: Orphans
) -> tuple[int, ...]:
    """The ranks of the job: as told, else as many as the measured groups need."""
    size = world or told_world or 0
    if not size:
        size = max(ranks) + 1
        by_desc: dict[str, list[tuple[list[int], int]]] = {}
        for (_, desc), row in orphans.items():
            by_desc.setdefault(desc, []).append(row)
        for rows in by_desc.values():
            width = max(max(len(seen), measured) for seen, measured in rows)
            members = {rank for seen, _ in rows for rank in seen}
            # Every rank of a mesh is in one group of each kind: a group that
            # is short of members tells of ranks beyond the highest seen.
            if len(members) == len(ranks) and len(rows) > 1:
                size = max(size, width * len(rows))
    return tuple(range(max(size, max(ranks) + 1)))


def infer_members(
    orphans: Orphans, world: tuple[int, ...]
) -> dict[tuple[str, str], tuple[int, ...]]:
    """Complete the groups that are short of members with the ranks nobody saw."""
    by_desc: dict[str, list[tuple[str, str]]] = {}
    for key in sorted(orphans):
        by_desc.setdefault(key[1], []).append(key)
    members_of = {}
    for keys in by_desc.values():
        seen_anywhere = {rank for key in keys for rank in orphans[key][0]}
        absent = [rank for rank in world if rank not in seen_anywhere]
        width = max(max(len(orphans[key][0]), orphans[key][1]) for key in keys)
        if len(keys) == 1 and keys[0][1] in ("default_pg", "") and keys[0][0] in ("0", ""):
            width = len(world)
        stride = common_stride([sorted(orphans[key][0]) for key in keys], width)
        short = [key for key in keys if len(orphans[key][0]) < width]
        for key in keys:
            members = sorted(orphans[key][0])
            hole = width - len(members)
            if hole > 0:
                fitting = absent if len(short) == 1 else fit(members, absent, width, stride)
                members = sorted({*members, *fitting[:hole]})
            members_of[key] = tuple(members)
    return members_of


def common_stride(groups: Sequence[Sequence[int]], width: int) -> int | None:
    """The step between neighbours of the groups that are whole, if they agree."""
    steps = {high - low for group in groups if len(group) == width for low, high in pairwise(group)}
    if not steps:
        steps = {high - low for group in groups for low, high in pairwise(group)}
        return min(steps) if steps else None
    return steps.pop() if len(steps) == 1 else None


def fit(members: Sequence[int], absent: Sequence[int], width: int, stride: int | None) -> list[int]:
    """Absent ranks that continue the members' regular pattern."""
    if stride is None:
        return []
    origin = members[0]
    near = [
        rank
        for rank in absent
        if (rank - origin) % stride == 0 and abs(rank - origin) < stride * width
    ]
    # Contiguous groups start at multiples of their width.
    if stride == 1:
        block = origin // width
        near = [rank for rank in near if rank // width == block]
    return near
