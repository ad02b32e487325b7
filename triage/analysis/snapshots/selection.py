"""Which of the dumps belong together: one per rank, of one job.

Two dumps of one rank, a file of another job and a file that cannot be placed
are set aside with a note. None of them accuses anybody. Of two dumps of one rank
the one whose name goes with far more of the files is of the job that is asked about.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from triage.analysis.snapshots.groups import find_default_ranks, find_kinds_numbered_within
from triage.domain.rank_digest import RankDigest
from triage.domain.report import Refused
from triage.parsers.flight_recorder.naming import mask_name_numbers

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
    return (
        digest.last_created_ns or 0,
        digest.partial is None,
        digest.num_entries,
        len(digest.stack),
        digest.artifact,
    )


def _get_record(digest: RankDigest) -> tuple[int, int | None, int | None]:
    """How many entries a dump holds, and of when."""
    return digest.num_entries, digest.first_created_ns, digest.last_created_ns


def _select_same_job(digests: Sequence[RankDigest], result: Selection) -> list[RankDigest]:
    """The dumps whose default group most dumps share; the later one on a tie."""
    # Dumps of one job share one tuple, so it is counted by identity first: hashing
    # 16,384 ranks once per dump would cost more than reading the dump.
    worlds = [find_default_ranks(digest) for digest in digests]
    by_identity = Counter(id(world) for world in worlds if world)
    tuples = {id(world): world for world in worlds if world}
    counts: Counter[tuple[int, ...]] = Counter()
    for key, count in by_identity.items():
        counts[tuples[key]] += count
    if len(counts) < 2:
        return list(digests)
    latest: dict[tuple[int, ...], int] = {}
    for key, members in tuples.items():
        ends = [
            digest.last_created_ns or 0
            for digest, other in zip(digests, worlds, strict=True)
            if id(other) == key
        ]
        latest[members] = max(latest.get(members, 0), *ends)
    chosen = max(counts, key=lambda world: (counts[world], latest[world], world))
    kept = []
    for digest, world in zip(digests, worlds, strict=True):
        if world is None or world == chosen:
            kept.append(digest)
        else:
            result.set_aside.append(
                Refused(
                    digest.artifact,
                    f"of another job: its default group has {len(world)} ranks,"
                    f" that of most dumps {len(chosen)}",
                )
            )
    aside = len(digests) - len(kept)
    result.notes.append(f"{aside} dumps of another job or another world size were set aside")
    return kept


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


@dataclass(frozen=True, slots=True)
class _UnplacedDump:
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
    named = digest.rank if digest.rank >= 0 else None
    if named is None:
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
    left = sorted(homeless, key=lambda dump: dump.digest.artifact)
    while True:
        rest = []
        for dump in left:
            free = dump.members
            if free is not None and len(free) > 1:
                free = free - by_rank.keys() - by_groups.keys()
            if free is None or len(free) != 1:
                rest.append(dump)
                continue
            rank = next(iter(free))
            by_groups.setdefault(rank, []).append(dump.digest)
            notes.append(f"{dump.digest.artifact}: {dump.why}; by its groups it is rank {rank}")
        if len(rest) == len(left):
            break
        left = rest
    for dump in left:
        count = "" if dump.members is None else f" (one of {len(dump.members)})"
        result.set_aside.append(
            Refused(
                dump.digest.artifact,
                f"{dump.why}, and which rank it is does not follow from its groups{count}:"
                " rename it so that the name ends in the rank",
            )
        )
    result.notes += notes[:_SHOWN]
    if len(notes) > _SHOWN:
        result.notes.append(
            f"and {len(notes) - _SHOWN} more dumps whose names give no rank that fits"
        )
    return by_groups
