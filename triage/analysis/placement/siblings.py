"""What ranks side by side do: groups of one kind run one program, stage by stage.

Of two that disagree the odd one is told by what the same member of other groups of the
kind issued there, and by what it issued itself before.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from triage.analysis.snapshots.groups import Group
from triage.analysis.waiting.case import Case
from triage.analysis.waiting.waits import WaitPlace
from triage.domain.arrays import I64
from triage.domain.patterns import compile_re
from triage.domain.rank_digest import FINISHED, P2P, OpDescription

# Members of other groups that are asked for one collective, and for one send/recv.
_MAX_SIBLINGS = 64
_MAX_STAGES = 32
# Operations before the difference that siblings must share.
_PAST = 6
# How many of a rank's last blocks are held against its siblings'.
_NEWEST = 6

Form = tuple[str, ...]

_SHAPE = compile_re(r"\[([\d, ]*)\]")


def make_form(described: OpDescription | None) -> Form | None:
    """What must agree between members: operation, dtypes, numbers of elements.

    Not the shapes: a library is given a pointer and a count.
    """
    if described is None:
        return None
    return described.op, described.dtypes, _format_counts(format_shapes(described))


def format_shapes(described: OpDescription) -> str:
    """The shapes of an operation; empty where members may differ in them by right."""
    return "" if described.uneven else f"{described.sizes} -> {described.output_sizes}"


@lru_cache(maxsize=4096)
def _format_counts(shapes: str) -> str:
    """The text with the number of elements in place of each shape."""
    return _SHAPE.sub(
        lambda match: str(prod(int(number) for number in re.findall(r"\d+", match[1]))), shapes
    )


def find_sibling_signature(case: Case, place: WaitPlace, witness: int | None = None) -> int | None:
    """What most members of other groups of this kind issued at this number.

    ``witness``: the rank whose past they are held against, the first that waits by default.
    """
    # Numbers of another stage of a pipeline mean other operations: only groups that
    # did the same right before are compared.
    past = list_signatures_before(
        case, place.waiting[0] if witness is None else witness, place.group, place.seq
    )
    if past.count(None) > _PAST // 2:
        return None
    seen: Counter[int] = Counter()
    for other in list_siblings(case, place.group):
        for rank in other.ranks[:2]:
            sig = case.snapshot.signature(rank, other.index, place.seq)
            if (
                sig is not None
                and list_signatures_before(case, rank, other.index, place.seq) == past
            ):
                seen[sig] += 1
        if seen.total() >= _MAX_SIBLINGS:
            break
    return find_majority(seen)


def find_majority(counts: Counter[int]) -> int | None:
    """What more than half of all are; None without such a majority."""
    usual = max(counts, key=lambda value: counts[value], default=None)
    return usual if usual is not None and 2 * counts[usual] > counts.total() else None


def list_signatures_before(case: Case, rank: int, group: int, seq: int) -> tuple[int | None, ...]:
    """The signatures of the operations right before a number."""
    return tuple(case.snapshot.signature(rank, group, seq - k) for k in range(1, _PAST + 1))


def list_siblings(case: Case, number: int) -> Iterator[Group]:
    """The other groups of this kind and size: pipelines side by side."""
    group = case.snapshot.groups[number]
    for other in case.snapshot.groups if group.desc else ():
        alike = other.desc == group.desc and len(other.ranks) == len(group.ranks)
        if alike and other.index != number:
            yield other


def is_unlike_siblings(case: Case, rank: int, number: int) -> bool:
    """Whether a rank's newest blocks differ from those of the same member of other groups
    of this kind: pipelines side by side do the same.
    """
    snapshot = case.snapshot
    group = snapshot.groups[number]
    member = group.ranks.index(rank) if rank in group.ranks else None
    digest = snapshot.digest_of(rank)
    if member is None or not group.desc or digest is None or digest.partial is not None:
        return False
    if _has_unlike_count(case, rank, number, member):
        return True
    seqs, sigs, _ = _read_blocks(case, rank, number)
    mine = dict(zip(seqs[-_NEWEST:].tolist(), sigs[-_NEWEST:].tolist(), strict=True))
    for seq in sorted(mine):
        theirs: Counter[int] = Counter()
        for other in list_siblings(case, number):
            if other.ranks[member] in snapshot.index_of:
                seqs, sigs, _ = _read_blocks(case, other.ranks[member], other.index)
                theirs.update(sigs[seqs == seq][:1].tolist())
            if theirs.total() >= _MAX_STAGES:
                break
        if find_majority(theirs) not in (None, mine[seq]):
            return True
    return False


def _has_unlike_count(case: Case, rank: int, number: int, member: int) -> bool:
    """Whether a rank came to the collective it is stuck in after fewer or more send/recvs
    than the same stage of the other pipelines.
    """
    stuck = case.snapshot.stuck_of(rank)
    if stuck is None or stuck.p2p:
        return False
    place = (case.snapshot.groups[stuck.group].desc, stuck.seq)
    counts: Counter[int] = Counter()
    for other in list_siblings(case, number):
        sibling = case.snapshot.stuck_of(other.ranks[member])
        if sibling is None or sibling.p2p:
            continue
        if (case.snapshot.groups[sibling.group].desc, sibling.seq) == place:
            counts[_last_finished(case, other.ranks[member], other.index)] += 1
        if counts.total() >= _MAX_STAGES:
            break
    usual = find_majority(counts)
    return usual is not None and usual != _last_finished(case, rank, number)


def _last_finished(case: Case, rank: int, number: int) -> int:
    """The number of a rank's last finished send/recv: all before the one it is stuck in."""
    seqs, _, flags = _read_blocks(case, rank, number)
    return int(seqs[(flags & FINISHED) != 0].max(initial=-1))


def _read_blocks(
    case: Case, rank: int, number: int
) -> tuple[NDArray[np.int32], I64, NDArray[np.uint8]]:
    """Numbers, signatures and flags of the send/recvs of a rank in one group, oldest first."""
    index = case.snapshot.index_of[rank]
    past = case.snapshot.digests[index].history.read()
    streams = case.snapshot.group_streams(index, number)
    ours = np.isin(past.stream, streams) & ((past.flags & P2P) != 0)
    return past.seq[ours], past.sig[ours], past.flags[ours]


def is_novel_block(case: Case, rank: int) -> bool:
    """Whether the block a rank is stuck in differs from every block in its record."""
    digest = case.snapshot.digest_of(rank)
    stuck = case.snapshot.stuck_of(rank)
    if digest is None or stuck is None or not stuck.p2p or stuck.row is None:
        return False
    if digest.partial is not None:
        return False
    unit = digest.pending[stuck.row]
    past = digest.history.read()
    over = (past.stream == unit.stream) & ((past.flags & P2P) != 0)
    over &= (past.flags & FINISHED) != 0
    earlier = past.sig[over]
    return len(earlier) >= 2 and not bool((earlier == unit.sig).any())


def is_stuck_in_p2p(case: Case, rank: int) -> bool:
    """Whether a send/recv is what a rank is stuck in."""
    stuck = case.snapshot.stuck_of(rank)
    return stuck is not None and stuck.p2p
