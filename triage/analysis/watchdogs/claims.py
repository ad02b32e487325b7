"""What follows where watchdogs of one group contradict each other.

All members of a group issue the same operations under the same numbers. Who gives up waiting for
another operation, or for another size, has left the order of its peers; who finished what a peer
still waits for has finished something else; who says that it never issued the number that all
others wait for is the one they wait for.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from triage.analysis.watchdogs.positions import GroupPosition, GroupPositions
from triage.domain.category import ANY_CAUSE, SOFTWARE, Category, Role, VerdictKind
from triage.domain.finding import Finding
from triage.domain.report import Because, CollectiveAtFrontier

OTHER_OPERATION: Final = "watchdogs.mismatch"
NEVER_CAME: Final = "watchdogs.never_came"

# A majority at one number of one group; what rests on counters, or on a group that no line names:
# another group, of which nobody speaks, may hold a rank up; and where either of two may be wrong.
_MAJORITY: Final = 0.85
_BY_COUNTERS: Final = 0.7
_TIE: Final = 0.45
# More ranks than this did not stop each for itself.
_MAX_CULPRITS: Final = 16
_MAX_REASONS: Final = 4
# Of so many members one alone is odd.
_LEAST_PEERS: Final = 4
# Only the first of the ranks says where it is; members finish some of these early by right.
_ROOTED: Final = frozenset(
    {"BROADCAST", "_BROADCAST_OOP", "REDUCE", "_REDUCE_OOP", "GATHER", "SCATTER"}
)
_EXPLAINS: Final = SOFTWARE | {Category.COLLECTIVE_MISMATCH, Category.NUMERICAL}


def find_watchdog_claims(groups: Sequence[GroupPositions]) -> list[Finding]:
    """The claims of the groups whose members contradict each other, the strongest first."""
    stuck = {rank for group in groups for rank, one in group.of.items() if one.waits is not None}
    ways = (_find_other_operations, _find_gone_on, partial(_find_absent, stuck), _behind_alone)
    every = ([claim for group in groups for claim in find(group)] for find in ways)
    found = next((claims for claims in every if claims), [])
    return sorted(found, key=lambda one: (-one.strength, one.detector, one.ranks))


def _find_other_operations(group: GroupPositions) -> Iterator[Finding]:
    """The first number at which members wait for different operations, or different sizes."""
    at: dict[int, dict[int, GroupPosition]] = defaultdict(dict)
    for rank, one in group.of.items():
        if one.waits is not None and one.op is not None:
            at[one.waits][rank] = one
    for number in sorted(at):
        for part, keys in (
            ("operation", {rank: one.op for rank, one in at[number].items()}),
            ("size", {rank: one.size for rank, one in at[number].items() if one.size is not None}),
        ):
            if len(set(keys.values())) > 1:
                yield _make_mismatch(group, number, part, at[number], keys)
                return


def _make_mismatch(
    group: GroupPositions,
    number: int,
    part: str,
    positions: Mapping[int, GroupPosition],
    keys: Mapping[int, str | None],
) -> Finding:
    """The claim on the minority; without one, on all of them."""
    (usual, most), *_ = Counter(keys.values()).most_common()
    decided = 2 * most > len(keys)
    odd = [rank for rank, key in sorted(keys.items()) if key != usual or not decided]
    where = f"{_name(group)} at sequence number {number}"
    peer = next(positions[rank] for rank, key in keys.items() if key == usual)
    summary = (
        f"called a collective of {where} with another {part} than its peers"
        if decided
        else f"disagree on the {part} in {where}, and nothing tells which of them is wrong"
    )
    others = f", {most} of {len(keys)} in {_describe_operation(peer)}" if decided else ""
    reasons = _list_waits([positions[rank] for rank in odd], others)
    if decided:
        text = f"a peer waits in {_describe_operation(peer)}"
        reasons.insert(1, _make_because(OTHER_OPERATION, peer, text))
    strength = _MAJORITY if group.numbers_agree else _BY_COUNTERS
    return _make_disagreement(group, odd, summary, reasons, strength if decided else _TIE)


def _find_gone_on(group: GroupPositions) -> Iterator[Finding]:
    """Members that wait for a number which others have finished: they finished something else."""
    waiting = {rank: one for rank, one in group.of.items() if one.waits is not None}
    if not waiting or not group.numbers_agree:
        return
    first = min(one.waits or 0 for one in waiting.values())
    behind = {rank: one for rank, one in waiting.items() if one.waits == first}
    ahead = {rank: one for rank, one in group.of.items() if _get_last_finished(one) >= first}
    if not ahead:
        return
    at = next(iter(behind.values()))
    beyond = max(_get_last_finished(one) for one in ahead.values())
    # One operation ahead, a device that does not get through it looks the same.
    certain = beyond > first and not any(one.op in _ROOTED for one in behind.values())
    if not certain and all(one.op is None for one in behind.values()):
        return  # a counter of finished operations is a moment older than what was finished
    odd, others = sorted((behind, ahead), key=len)
    decided = certain and len(odd) < len(others)
    ranks = sorted(odd) if decided or len(odd) < len(others) else sorted({*behind, *ahead})
    summary = (
        f"waits for number {first} of {_name(group)}, which its peers have finished"
        if ranks == sorted(behind)
        else f"went on past number {first} of {_name(group)}, for which its peers still wait"
        if ranks == sorted(ahead)
        else f"wait for different numbers of {_name(group)}: what one of them still waits for,"
        " the other has finished"
    )
    told = [(at, f"it waits in {_describe_operation(at)} (number {first})")]
    told += [
        (one, f"it has finished number {_get_last_finished(one)} already") for one in ahead.values()
    ]
    reasons = [_make_because(OTHER_OPERATION, one, text) for one, text in told]
    yield _make_disagreement(group, ranks, summary, reasons, _BY_COUNTERS if decided else _TIE)


def _get_last_finished(one: GroupPosition) -> int:
    return max(one.completed or 0, (one.waits or 1) - 1)


def _find_absent(stuck: set[int], group: GroupPositions) -> Iterator[Finding]:
    """Members that say that they have not issued what others wait for, and wait for nothing."""
    waiting = [one for one in group.of.values() if one.waits is not None]
    if not waiting or not group.numbers_agree:
        return
    number = max(one.waits or 0 for one in waiting)
    waiting = [one for one in waiting if one.waits == number]
    late = [
        one
        for rank, one in group.of.items()
        if rank not in stuck and one.enqueued is not None and one.enqueued < number
    ]
    convicted = len(late) < len(waiting) and len(late) <= _MAX_CULPRITS
    where = _describe_operation(waiting[0])
    for one in late:
        yield _make_absence(
            one,
            f"never issued number {number} of {_name(group)}, for which its peers wait",
            f"it issued up to {one.enqueued} and finished it; {len(waiting)} of its peers"
            f" wait in {where} (number {number})",
            _make_because(NEVER_CAME, waiting[0], f"a peer waits in {where}"),
            convicted=convicted,
        )


def _behind_alone(group: GroupPositions) -> Iterator[Finding]:
    """The one member that issued less than all others, who agree with each other.

    No other group explains it where all ranks speak: it would have two members or more.
    """
    at = {rank: (one.waits or 0, one.enqueued or 0) for rank, one in group.of.items()}
    if not group.is_whole or len(at) < _LEAST_PEERS:
        return
    (usual, most), *_ = Counter(at.values()).most_common()
    odd = [rank for rank, place in at.items() if place != usual]
    if most != len(at) - 1 or at[odd[0]][0] > usual[0] or at[odd[0]][1] >= usual[1]:
        return
    one = group.of[odd[0]]
    peer = next(other for rank, other in group.of.items() if rank != one.rank)
    yield _make_absence(
        one,
        f"issued up to number {one.enqueued} of {_name(group)}, and all of its peers up"
        f" to {peer.enqueued}",
        f"it issued up to number {one.enqueued}",
        _make_because(NEVER_CAME, peer, f"a peer issued up to number {peer.enqueued}"),
        convicted=False,
    )


def _make_absence(
    one: GroupPosition, summary: str, text: str, of_a_peer: Because, *, convicted: bool
) -> Finding:
    return Finding(
        detector=NEVER_CAME,
        explained_by=ANY_CAUSE - {Category.COLLECTIVE_MISMATCH},
        kind=VerdictKind.HANG,
        category=Category.HOST_STALL,
        ranks=(one.rank,),
        strength=_BY_COUNTERS if convicted else _TIE,
        role=Role.CULPRIT if convicted else Role.POSSIBLE,
        summary=summary,
        because=(_make_because(NEVER_CAME, one, text), of_a_peer),
    )


def _make_disagreement(
    group: GroupPositions,
    ranks: Sequence[int],
    summary: str,
    reasons: Sequence[Because],
    strength: float,
) -> Finding:
    convicts = strength > _TIE and group.ranks_are_told
    return Finding(
        detector=OTHER_OPERATION,
        explained_by=_EXPLAINS,
        kind=VerdictKind.DESYNC,
        category=Category.COLLECTIVE_MISMATCH,
        ranks=tuple(ranks),
        strength=strength if convicts else _TIE,
        role=Role.CULPRIT if convicts else Role.POSSIBLE,
        summary=summary,
        because=tuple(reasons[:_MAX_REASONS]),
        ranks_disagree=True,
    )


def _list_waits(positions: Sequence[GroupPosition], others: str = "") -> list[Because]:
    """In what each of some ranks waits."""
    return [
        _make_because(OTHER_OPERATION, one, f"it waits in {_describe_operation(one)}{others}")
        for one in positions
    ]


def _make_because(detector: str, one: GroupPosition, text: str) -> Because:
    row = one.row
    return Because(detector, f"rank {one.rank}: {text}", row.artifact, row.line, row.at)


def _describe_operation(one: GroupPosition) -> str:
    """``ALLREDUCE of 8 -> 8 elements``."""
    size = f" of {one.size}" if one.size is not None else ""
    return f"{one.op}{size}" if one.op is not None else "an operation"


def _name(group: GroupPositions) -> str:
    return group.desc or (f"group {group.name}" if group.name else "one group")


def list_watchdog_collectives(
    groups: Sequence[GroupPositions], claims: Sequence[Finding]
) -> tuple[CollectiveAtFrontier, ...]:
    """The operations that ranks gave up waiting for: those that name a suspect first."""
    named = {rank for claim in claims for rank in claim.ranks}
    rows = []
    disagreeing = {rank for claim in claims if claim.ranks_disagree for rank in claim.ranks}
    for group in groups:
        numbers = {one.waits for one in group.of.values() if one.waits is not None}
        for number in sorted(numbers):
            waiting = [one for one in group.of.values() if one.waits == number]
            missing = [
                rank
                for rank, one in group.of.items()
                if group.numbers_agree and one.enqueued is not None and one.enqueued < number
            ]
            ops = Counter(one.op for one in waiting if one.op is not None).most_common(1)
            ranks = tuple(one.rank for one in waiting)
            rows.append(
                CollectiveAtFrontier(
                    group.name, group.desc, number, ops[0][0] if ops else "", ranks,
                    tuple(missing), tuple(rank for rank in ranks if rank in disagreeing),
                )
            )  # fmt: skip

    def order(one: CollectiveAtFrontier) -> tuple[bool, int, str, int]:
        unnamed = named.isdisjoint({*one.waiting, *one.missing})
        return unnamed, -len(one.waiting), one.pg, one.seq_id

    return tuple(sorted(rows, key=order)[:64])
