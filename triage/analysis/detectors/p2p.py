"""P2p mismatch: a send without its receive, or ends that differ in size.

Ends are matched by channel (source, destination) and order. An end that no peer
will ever meet is a defect when both sides are stuck in a circle, or when the peer
stands in a send/recv block that lacks it. The suspect is the rank that did
something else there than the same stage of the pipelines beside it; else the one
whose block is unlike any it issued before. That many wait for one rank proves
nothing: it may wait itself.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

from triage.analysis.placement.siblings import is_novel_block, is_stuck_in_p2p, is_unlike_siblings
from triage.analysis.snapshots.p2p import Channel
from triage.analysis.waiting.case import Case
from triage.analysis.waiting.waits import PlaceKind
from triage.domain.category import Category, Role, VerdictKind
from triage.domain.finding import Finding

NAME: Final = "fr.p2p_mismatch"

_MAX_REASONS = 4


def find_p2p_mismatches(case: Case) -> Iterator[Finding]:
    """One finding per end of the graph that holds defective channels.

    Silent: when a stuck block waits for a peer that has simply not come yet.
    """
    for end, places in case.troubled():
        if not any(place.kind is PlaceKind.P2P for place in places):
            continue
        ranks = {rank for place in places for rank in place.waiting}
        of_end = [c for c in case.graph.channels if c.rank in ranks]
        sizes = [c for c in of_end if c.same_size is False]
        # What a cut file lacks proves nothing.
        lonely = [
            c
            for c in of_end
            if not (c.matched or c.later or c.any_source)
            and c.peer_has_dump
            and c.peer in ranks
            and (digest := case.snapshot.digest_of(c.peer)) is not None
            and digest.partial is None
        ]
        # A peer stands in a send/recv of the same group that lacks the other end.
        stuck = [(c, case.snapshot.stuck_of(c.peer)) for c in lonely]
        lacks_it = any(at is not None and at.p2p and at.group == c.group for c, at in stuck)
        if lonely and (len(places) > 1 or lacks_it):
            # A peer that stands in a send/recv itself may still come; one that
            # stands behind its send/recvs will not.
            past = [c for c in lonely if not is_stuck_in_p2p(case, c.peer)]
            yield _make_claim(case, end, past or lonely, "lacks its other end")
        elif sizes:
            yield _make_claim(case, end, sizes, "differs in size or dtype")


def _make_claim(case: Case, end: int, defects: list[Channel], what: str) -> Finding:
    odd, how = _find_blamed(case, defects)
    decided = how is not None
    reasons = []
    for channel in defects[:_MAX_REASONS]:
        send, receive = channel.rank, channel.peer
        verb = "sends to" if channel.send else "receives from"
        text = f"rank {send} {verb} rank {receive} in {case.group_text(channel.group)}: {what}"
        if how:
            text += f"; {how}"
        reasons.append(case.because(NAME, text, channel.rank, at=case.stuck_since(channel.rank)))
    for rank in odd[:2]:
        reasons += case.stack_reason(NAME, rank, "the stuck operation came from")
    return Finding(
        detector=NAME,
        kind=VerdictKind.DESYNC,
        category=Category.COLLECTIVE_MISMATCH,
        ranks=odd,
        strength=0.9 if decided else 0.45,
        role=Role.CULPRIT if decided else Role.POSSIBLE,
        summary=(
            f"issued a send or receive that {what}"
            if decided
            else f"share a send/recv that {what}, and nothing tells which of them is wrong"
        ),
        because=tuple(reasons),
        end=end,
        ranks_disagree=True,
    )


def _find_blamed(case: Case, defects: list[Channel]) -> tuple[tuple[int, ...], str | None]:
    """The rank that the defects have in common, else the one that departs from its past."""
    pairs = {tuple(sorted((c.rank, c.peer))) for c in defects}
    counts = Counter(rank for pair in pairs for rank in pair)
    ranks = tuple(sorted(counts))
    alone = [rank for rank in ranks if is_unlike_siblings(case, rank, defects[0].group)]
    if len(alone) == 1:
        return (alone[0],), "the same stage of the other pipelines issued something else there"
    odd = _find_odd_in_ring(case, defects)
    if odd is not None:
        return (odd,), "its peers' sends and receives go round a ring, and its own do not"
    unusual = [rank for rank in ranks if is_novel_block(case, rank)]
    if len(unusual) == 1:
        shared = f"; {counts[unusual[0]]} such transfers have it in common"
        why = "its own block is new, its peers' are as in earlier steps"
        return (unusual[0],), why + (shared if counts[unusual[0]] > 1 else "")
    return ranks, None


def _find_odd_in_ring(case: Case, defects: list[Channel]) -> int | None:
    """The one rank whose ends lie at other distances than those of the ranks beside it, with as
    many sends and receives: of a pipeline's first and last stage there are fewer.
    """
    group = defects[0].group
    members = case.snapshot.groups[group].ranks
    seat = {rank: place for place, rank in enumerate(members)}
    ends: dict[int, list[tuple[bool, int]]] = defaultdict(list)
    for channel in case.graph.channels:
        if channel.group == group and channel.rank in seat and channel.peer in seat:
            far = (seat[channel.peer] - seat[channel.rank]) % len(members)
            ends[channel.rank].append((channel.send, far))
    steps = {rank: tuple(sorted(own)) for rank, own in ends.items()}
    (usual, count), *_ = Counter(steps.values()).most_common(1) or [((), 0)]
    odd = [rank for rank, own in steps.items() if own != usual]
    if len(odd) != 1 or count < 2:
        return None
    alike = sorted(send for send, _ in usual) == sorted(send for send, _ in steps[odd[0]])
    return odd[0] if alike else None
