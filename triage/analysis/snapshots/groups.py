"""Process groups over all ranks, keyed by (name, ranks): names repeat.

Members come from the tables that ranks dump. Where those are empty (gloo, old
formats) they are inferred: the ranks whose entries carry the name, completed
with ranks that left no dump where the group's known size has a hole.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from triage.domain.arrays import I64
from triage.domain.rank_digest import MISSING, P2P, RETIRED_BIT, S_FINISHED, RankDigest


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


class _Builder:
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
        """The other group with the name and the ranks of a known one; no table lists it."""
        group = self.groups[index]
        name = f"{group.name} {desc}"
        return self.group(name, desc, group.ranks, inferred=True)


def resolve_groups(
    digests: Sequence[RankDigest], ranks: Sequence[int], told_world: int | None
) -> Membership:
    """Groups of all ranks; ``told_world`` is the world size that job.json names."""
    builder = _Builder()
    within = find_kinds_numbered_within(digests)
    listed = _collect_listed_groups(digests, builder, within)
    world = _find_default_world(builder.groups)
    _place_within(digests, ranks, listed, builder, within)
    orphans = _collect_unlisted_streams(digests, ranks, listed)
    notes = []
    inferred: dict[tuple[str, str], int] = {}
    if orphans:
        world_ranks = _find_expected_ranks(world, told_world, ranks, orphans)
        for (label, kind), members in _infer_members(orphans, world_ranks).items():
            inferred[label, kind] = builder.group(label, kind, members, inferred=True)
        if world is None:
            world = len(world_ranks)
        notes.append(
            "the dumps' group tables are empty: members were inferred from the names and ranks"
            " seen in entries"
        )
    renewed = _find_renewed_groups(digests)
    stream_groups = [
        _assign_streams_to_groups(digest, rows, inferred, builder, renewed)
        for digest, rows in zip(digests, listed, strict=True)
    ]
    if renewed:
        notes.append(
            "a process group was set up anew in running processes: what was issued in the one"
            " before it is not compared"
        )
    return Membership(builder.groups, stream_groups, listed, world, notes)


def find_kinds_numbered_within(digests: Sequence[RankDigest]) -> frozenset[str]:
    """The kinds of groups whose tables list ranks within the group, as a hook writes them.

    More ranks list such a group than it has members, and each list counts from 0.
    """
    writers: dict[str, set[int]] = defaultdict(set)
    sizes: dict[str, set[int]] = defaultdict(set)
    for digest in digests:
        world = len(find_default_ranks(digest) or ())
        for row in digest.groups:
            if row.desc and row.ranks and len(row.ranks) < world:
                counted = row.ranks[0] == 0 and row.ranks[-1] == len(row.ranks) - 1
                sizes[row.desc].add(len(row.ranks) if counted else 0)
                writers[row.desc].add(digest.rank)
    return frozenset(
        desc
        for desc, lengths in sizes.items()
        if 0 not in lengths and len(writers[desc]) > max(lengths)
    )


def _place_within(
    digests: Sequence[RankDigest],
    ranks: Sequence[int],
    listed: Sequence[dict[str, int]],
    builder: _Builder,
    within: frozenset[str],
) -> None:
    """Give groups that are listed by ranks within them the ranks of those who list them."""
    orphans: _Orphans = {}
    for digest, rank in zip(digests, ranks, strict=True):
        for row in digest.groups:
            if row.desc in within and row.ranks:
                seen, size = orphans.get((row.name, row.desc), ([], 0))
                seen.append(rank)
                orphans[row.name, row.desc] = (seen, max(size, len(row.ranks)))
    if not orphans:
        return
    world = _find_expected_ranks(_find_default_world(builder.groups), None, ranks, orphans)
    found = {
        key: builder.group(*key, members, inferred=True)
        for key, members in _infer_members(orphans, world).items()
    }
    for digest, rows in zip(digests, listed, strict=True):
        for row in digest.groups:
            if (row.name, row.desc) in found:
                rows[row.name] = found[row.name, row.desc]


def find_default_ranks(digest: RankDigest) -> tuple[int, ...] | None:
    """The members of the default group as this dump lists them."""
    for row in digest.groups:
        if row.desc == "default_pg" and row.ranks:
            return row.ranks
    return None


def _collect_listed_groups(
    digests: Sequence[RankDigest], builder: _Builder, within: frozenset[str]
) -> list[dict[str, int]]:
    """Per digest, the groups that its table lists: name -> group."""
    listed: list[dict[str, int]] = []
    names = _common_names(digests, within)
    # Dumps of one job share the tuples of rank lists, so a row is looked up by
    # the identity of its tuple before 16,384 ranks are hashed again.
    seen: dict[tuple[str, int], int] = {}
    for digest in digests:
        rows = {}
        # A row without a name is what a recorder wrote before it knew the group.
        named = any(row.name for row in digest.groups)
        for row in digest.groups:
            if row.ranks and row.desc not in within and (row.name or not named):
                quick = (row.name, id(row.ranks))
                index = seen.get(quick)
                if index is None:
                    name = names.get((row.name, row.desc, row.ranks), row.name)
                    index = seen[quick] = builder.group(name, row.desc, row.ranks)
                rows[row.name] = index
        listed.append(rows)
    return listed


def _common_names(
    digests: Sequence[RankDigest], within: frozenset[str]
) -> dict[tuple[str, str, tuple[int, ...]], str]:
    """(name, kind, ranks) -> the name that a group is known by, where dumps call it differently.

    A group is its kind and its ranks, where no dump lists two of these and what dumps record of
    them is of one time: a group that was set up anew is another one.
    """
    # As in the tables: members are counted by identity, and hashed once each.
    counts: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    several: set[tuple[str, tuple[int, ...]]] = set()
    known: dict[tuple[str, int], tuple[str, tuple[int, ...]]] = {}
    for digest in digests:
        own: dict[tuple[str, int], str] = {}
        for row in digest.groups:
            if not (row.ranks and row.name and row.desc) or row.desc in within:
                continue
            quick = row.desc, id(row.ranks)
            if quick not in known:
                known[quick] = row.desc, row.ranks
            if own.setdefault(quick, row.name) != row.name:
                several.add(known[quick])
        for quick, name in own.items():
            counts[quick][name] += 1
    names: dict[tuple[str, tuple[int, ...]], Counter[str]] = defaultdict(Counter)
    for quick, called in counts.items():
        names[known[quick]].update(called)
    found: dict[tuple[str, str, tuple[int, ...]], str] = {}
    for group, called in names.items():
        if len(called) > 1 and group not in several and _are_of_one_time(digests, group[0], called):
            common = min(called, key=lambda name: (-called[name], name))
            found |= {(name, *group): common for name in called if name != common}
    return found


def _are_of_one_time(digests: Sequence[RankDigest], desc: str, names: Collection[str]) -> bool:
    """Whether what dumps record of groups of these names was issued in one stretch of time."""
    issued: dict[str | None, list[int]] = defaultdict(list)
    for digest in digests:
        for k, (name, kind) in enumerate(digest.stream_names):
            if name in names and kind == desc and len(created := _created_in(digest, k)):
                issued[name] += (int(created.min()), int(created.max()))
    times = issued.values()
    return not issued or max(map(min, times)) <= min(map(max, times))


def _assign_streams_to_groups(
    digest: RankDigest,
    listed: Mapping[str, int],
    inferred: Mapping[tuple[str, str], int],
    builder: _Builder,
    renewed: Mapping[str, int],
) -> tuple[int, ...]:
    """The group of each stream of a dump; -1 where it cannot be told, or is over."""
    groups: list[int] = []
    # Names that two groups of a rank share: their numbers are not one group's.
    descs: dict[str | None, set[str]] = defaultdict(set)
    for name, desc in digest.stream_names:
        descs[name].add(desc or "")
    # Streams of groups that were set up anew since, by this process or by its peers.
    over: set[int] = set()
    for group, streams in _streams_by_group(digest).items():
        over.update(streams[:-1])
        if group in renewed and len(streams) == 1:
            created = _created_in(digest, streams[0])
            if len(created) and int(created.max()) < renewed[group]:
                over.add(streams[0])
    for k, (name, desc) in enumerate(digest.stream_names):
        key = _stream_key(digest, k, name, desc)
        index = _get_nth_group(listed, int(digest.streams.pg_id[k])) if name == "" else -1
        if index < 0:
            index = listed.get(key[0], inferred.get(key, -1))
        is_shared = name is not None and len(descs[name]) > 1
        if is_shared and index >= 0 and desc != builder.groups[index].desc:
            index = builder.twin(index, desc or "")
        groups.append(-1 if k in over else index)
    rows = list(digest.streams)
    for k, index in enumerate(groups):
        # Two recorders of one group count apart; the one that tells no ends stands beside.
        told = MISSING if index < 0 else rows[k].last
        ends = rows[k].finished != MISSING or rows[k].pending != MISSING
        if told != MISSING and not ends and groups.count(index) > 1:
            groups[k] = builder.twin(index, f"{builder.groups[index].desc} (as dispatched)")
    return tuple(groups)


def _get_nth_group(listed: Mapping[str, int], pg_id: int) -> int:
    """The group with this place in the order in which a process made its groups; -1 where the
    names, which are counted up, do not tell the order.
    """
    names = [name for name in listed if name]
    if not 0 <= pg_id < len(names) or not all(name.isdecimal() for name in names):
        return -1
    return listed[sorted(names, key=int)[pg_id]]


def _streams_by_group(digest: RankDigest) -> dict[str, list[int]]:
    """The streams of each named group, in the order in which their records begin: a group that was
    given up goes on under the name of the one that took its place.
    """
    found: dict[str, list[int]] = {}
    keys: dict[int, str] = {}
    replaced = dict(_find_renamed_groups(digest))
    for k, (name, desc) in enumerate(digest.stream_names):
        if name:
            # A process has one default group at a time, whatever its name.
            key = desc if desc == "default_pg" else f"{name} {desc}"
            keys[k] = keys.get(replaced.get(k, k), key)
            found.setdefault(keys[k], []).append(k)
    return found


def _find_renewed_groups(digests: Sequence[RankDigest]) -> dict[str, int]:
    """Groups that processes set up anew, and when the newest one began, ns."""
    began: dict[str, int] = {}
    for digest in digests:
        for key, streams in _streams_by_group(digest).items():
            if len(streams) > 1 and len(created := _created_in(digest, streams[-1])):
                first = int(created.min())
                began[key] = min(began.get(key, first), first)
    return began


def _created_in(digest: RankDigest, stream: int) -> I64:
    """When the operations of a stream that are remembered were issued, ns."""
    past = digest.history.read()
    found: I64 = past.created[past.stream == stream]
    return found


def _find_renamed_groups(digest: RankDigest) -> Iterator[tuple[int, int]]:
    """(stream, the one that it replaces) for groups of which the watchdog gave up a collective, and
    after which one of the same kind and members begins under another name, in which work ends.
    """
    pending = digest.pending
    given_up = {
        int(stream)
        for stream in pending.stream[(pending.flags & (RETIRED_BIT | P2P)) == RETIRED_BIT]
    }
    if digest.eventless or not given_up:
        return
    members = {row.name: row.ranks for row in digest.groups}
    ends = digest.streams.values[:, S_FINISHED]
    for old in given_up:
        name, desc = digest.stream_names[old]
        own = _created_in(digest, old)
        for new, (other, kind) in enumerate(digest.stream_names):
            begun = _created_in(digest, new)
            if not name or other in (None, name) or kind != desc or not len(begun) or not len(own):
                continue
            alike = members.get(name) in (None, members.get(other or ""))
            if alike and ends[new] != MISSING and begun.min() > own.max():
                yield new, old


def _stream_key(
    digest: RankDigest, index: int, name: str | None, desc: str | None
) -> tuple[str, str]:
    """How a stream is called; formats before 2.0 have only the process-local id."""
    if name is not None:
        return name, desc or ""
    pg_id = int(digest.streams.pg_id[index])
    return (str(pg_id) if pg_id != MISSING else "0"), ""


def _find_default_world(groups: Sequence[Group]) -> int | None:
    """Size of the default group; else None."""
    sizes = [len(group.ranks) for group in groups if group.desc == "default_pg"]
    sizes += [len(group.ranks) for group in groups if group.name == "0" and not sizes]
    return max(sizes, default=None)


_Orphans = dict[tuple[str, str], tuple[list[int], int]]


def _collect_unlisted_streams(
    digests: Sequence[RankDigest], ranks: Sequence[int], listed: Sequence[dict[str, int]]
) -> _Orphans:
    """Streams whose group no table describes: (name, desc) -> (ranks seen, size if measured)."""
    orphans: _Orphans = {}
    for digest, rank, rows in zip(digests, ranks, listed, strict=True):
        for k, (name, desc) in enumerate(digest.stream_names):
            key = _stream_key(digest, k, name, desc)
            if key[0] in rows or (
                name == "" and _get_nth_group(rows, int(digest.streams.pg_id[k])) >= 0
            ):
                continue
            # Without names, only the default group's id means the same everywhere.
            if name is None and key[0] != "0":
                continue
            seen, size = orphans.get(key, ([], 0))
            seen.append(rank)
            orphans[key] = (seen, max(size, int(digest.streams.ratio[k])))
    return orphans


def _find_expected_ranks(
    world: int | None, told_world: int | None, ranks: Sequence[int], orphans: _Orphans
) -> tuple[int, ...]:
    """The ranks of the job: as told, else as many as the measured groups need."""
    size = world or told_world or 0
    if not size:
        size = max(ranks) + 1
        by_desc: dict[str, list[tuple[list[int], int]]] = defaultdict(list)
        for (_, desc), row in orphans.items():
            by_desc[desc].append(row)
        for rows in by_desc.values():
            width = max(max(len(seen), measured) for seen, measured in rows)
            members = {rank for seen, _ in rows for rank in seen}
            # Every rank of a mesh is in one group of each kind: a group that
            # is short of members tells of ranks beyond the highest seen.
            if len(members) == len(ranks) and len(rows) > 1:
                size = max(size, width * len(rows))
    return tuple(range(max(size, max(ranks) + 1)))


def _infer_members(
    orphans: _Orphans, world: tuple[int, ...]
) -> dict[tuple[str, str], tuple[int, ...]]:
    """Complete the groups that are short of members with the ranks nobody saw."""
    by_desc: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for key in sorted(orphans):
        by_desc[key[1]].append(key)
    members_of = {}
    for keys in by_desc.values():
        seen_anywhere = {rank for key in keys for rank in orphans[key][0]}
        absent = [rank for rank in world if rank not in seen_anywhere]
        width = max(max(len(orphans[key][0]), orphans[key][1]) for key in keys)
        if len(keys) == 1 and keys[0][1] in ("default_pg", "") and keys[0][0] in ("0", ""):
            width = len(world)
        stride = _find_common_stride([sorted(orphans[key][0]) for key in keys], width)
        short = [key for key in keys if len(orphans[key][0]) < width]
        for key in keys:
            members = sorted(orphans[key][0])
            hole = width - len(members)
            if hole > 0:
                fitting = absent if len(short) == 1 else _fit(members, absent, width, stride)
                members = sorted({*members, *fitting[:hole]})
            members_of[key] = tuple(members)
    return members_of


def _find_common_stride(groups: Sequence[Sequence[int]], width: int) -> int | None:
    """The step between neighbours of the groups that are whole, if they agree."""
    steps = {high - low for group in groups if len(group) == width for low, high in pairwise(group)}
    if not steps:
        steps = {high - low for group in groups for low, high in pairwise(group)}
        return min(steps) if steps else None
    return steps.pop() if len(steps) == 1 else None


def _fit(
    members: Sequence[int], absent: Sequence[int], width: int, stride: int | None
) -> list[int]:
    if stride is None:
        return []
    origin = members[0]
    return [
        rank
        for rank in absent
        if (rank - origin) % stride == 0
        and abs(rank - origin) < stride * width
        # Contiguous groups start at multiples of their width.
        and (stride > 1 or rank // width == origin // width)
    ]
