"""P2p mismatch: a send without its receive, or ends that differ in size.

Ends are matched by channel (source, destination) and order. An end that no peer
will ever meet is a defect when both sides are stuck in a circle, or when the peer
stands in a send/recv block that lacks it. The suspect is the rank that did
something else there than the same stage of the pipelines beside it; else the one
whose block is unlike any it issued before. That many wait for one rank proves
nothing: it may wait itself.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from triage.analysis.case import Case
from triage.analysis.p2p import Channel
from triage.analysis.waits import PlaceKind
from triage.domain.category import Category, Role, VerdictKind
from triage.domain.finding import Finding
from triage.parsers.flight_recorder.reduce import FINISHED, P2P, U_SIG, U_STREAM

__all__ = ["P2pMismatch"]

MAX_REASONS = 4
MAX_SIBLINGS = 32
# How many of a rank's last blocks are held against its siblings'.
NEWEST = 6


class P2pMismatch:
    """One finding per end of the graph that holds defective channels.

    Silent: when a stuck block waits for a peer that has simply not come yet.
    """

    name = "fr.p2p_mismatch"

    def run(self, case: Case) -> Iterator[Finding]:
        """See the class."""
        for end, places in case.troubled():
            if not any(place.kind is PlaceKind.P2P for place in places):
                continue
            ranks = {rank for place in places for rank in place.waiting}
            of_end = [c for c in case.graph.channels if c.rank in ranks]
            sizes = [c for c in of_end if c.same_size is False]
            lonely = [c for c in of_end if unmet(c) and c.peer in ranks and whole(case, c)]
            if lonely and (len(places) > 1 or self.block_lacks_it(case, lonely)):
                # A peer that stands in a send/recv itself may still come; one that
                # stands behind its send/recvs will not.
                past = [c for c in lonely if not stands_in_p2p(case, c.peer)]
                yield self.finding(case, end, past or lonely, "lacks its other end")
            elif sizes:
                yield self.finding(case, end, sizes, "differs in size or dtype")

    def block_lacks_it(self, case: Case, lonely: list[Channel]) -> bool:
        """Whether a peer stands in a send/recv of the same group that lacks the other end."""
        for channel in lonely:
            stuck = case.snapshot.stuck_of(channel.peer)
            if stuck is not None and stuck.p2p and stuck.group == channel.group:
                return True
        return False

    def finding(self, case: Case, end: int, defects: list[Channel], what: str) -> Finding:
        """The claim in words, with its reasons."""
        odd, how = blamed(case, defects)
        decided = how is not None
        reasons = []
        for channel in defects[:MAX_REASONS]:
            send, receive = channel.rank, channel.peer
            verb = "sends to" if channel.send else "receives from"
            text = f"rank {send} {verb} rank {receive} in {case.group_text(channel.group)}: {what}"
            if how:
                text += f"; {how}"
            reasons.append(
                case.because(self.name, text, channel.rank, at=case.stuck_since(channel.rank))
            )
        for rank in odd[:2]:
            reasons += case.stack_reason(self.name, rank, "the stuck operation came from")
        return Finding(
            detector=self.name,
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
        )


def whole(case: Case, channel: Channel) -> bool:
    """Whether the peer's record is whole: what a cut file lacks proves nothing."""
    digest = case.snapshot.digest_of(channel.peer)
    return digest is not None and digest.partial is None


def stands_in_p2p(case: Case, rank: int) -> bool:
    stuck = case.snapshot.stuck_of(rank)
    return stuck is not None and stuck.p2p


def unmet(channel: Channel) -> bool:
    return not channel.matched and not channel.later and channel.peer_has_dump


def blamed(case: Case, defects: list[Channel]) -> tuple[tuple[int, ...], str | None]:
    """The rank that the defects have in common, else the one that departs from its past."""
    pairs = {tuple(sorted((c.rank, c.peer))) for c in defects}
    counts = Counter(rank for pair in pairs for rank in pair)
    ranks = tuple(sorted(counts))
    alone = [rank for rank in ranks if unlike_siblings(case, rank, defects[0].group)]
    if len(alone) == 1:
        return (alone[0],), "the same stage of the other pipelines issued something else there"
    unusual = [rank for rank in ranks if novel_block(case, rank)]
    if len(unusual) == 1:
        shared = f"; {counts[unusual[0]]} such transfers have it in common"
        why = "its own block is new, its peers' are as in earlier steps"
        return (unusual[0],), why + (shared if counts[unusual[0]] > 1 else "")
    return ranks, None


def unlike_siblings(case: Case, rank: int, number: int) -> bool:
    """Whether a rank's newest blocks differ from those of the same member of other groups
    of this kind: pipelines side by side do the same.
    """
    snapshot = case.snapshot
    group = snapshot.groups[number]
    member = group.ranks.index(rank) if rank in group.ranks else None
    digest = snapshot.digest_of(rank)
    if member is None or not group.desc or digest is None or digest.partial is not None:
        return False
    if unlike_count(case, rank, number, member):
        return True
    mine = newest_blocks(case, rank, number)
    for seq in sorted(mine):
        theirs: Counter[int] = Counter()
        for other in snapshot.groups:
            if other.index == number or other.desc != group.desc:
                continue
            if len(other.ranks) != len(group.ranks):
                continue
            block = block_at(case, other.ranks[member], other.index, seq)
            if block is not None:
                theirs[block] += 1
            if theirs.total() >= MAX_SIBLINGS:
                break
        if theirs:
            usual, count = theirs.most_common(1)[0]
            if usual != mine[seq] and 2 * count > theirs.total():
                return True
    return False


def has_siblings(case: Case, number: int) -> bool:
    """Whether there are other groups of this kind and size: pipelines side by side."""
    group = case.snapshot.groups[number]
    return bool(group.desc) and any(
        other.index != number and other.desc == group.desc and len(other.ranks) == len(group.ranks)
        for other in case.snapshot.groups
    )


def unlike_count(case: Case, rank: int, number: int, member: int) -> bool:
    """Whether a rank came to the collective it is stuck in after fewer or more send/recvs
    than the same stage of the other pipelines.
    """
    stuck = case.snapshot.stuck_of(rank)
    if stuck is None or stuck.p2p:
        return False
    group = case.snapshot.groups[number]
    place = (case.snapshot.groups[stuck.group].desc, stuck.seq)
    counts: Counter[int] = Counter()
    for other in case.snapshot.groups:
        if other.index == number or other.desc != group.desc:
            continue
        if len(other.ranks) != len(group.ranks):
            continue
        sibling = case.snapshot.stuck_of(other.ranks[member])
        if sibling is None or sibling.p2p:
            continue
        if (case.snapshot.groups[sibling.group].desc, sibling.seq) == place:
            counts[last_finished(case, other.ranks[member], other.index)] += 1
        if counts.total() >= MAX_SIBLINGS:
            break
    if not counts:
        return False
    usual, count = counts.most_common(1)[0]
    return 2 * count > counts.total() and usual != last_finished(case, rank, number)


def last_finished(case: Case, rank: int, number: int) -> int:
    """The number of a rank's last finished send/recv: all before the one it is stuck in."""
    digest = case.snapshot.digests[case.snapshot.index_of[rank]]
    streams = case.snapshot.group_streams(case.snapshot.index_of[rank], number)
    done = P2P | FINISHED
    ours = np.isin(digest.unit_stream, streams) & ((digest.unit_flags & done) == done)
    return int(digest.unit_seq[ours].max(initial=-1))


def newest_blocks(case: Case, rank: int, number: int) -> dict[int, int]:
    """p2p sequence number -> signature of the newest send/recv of a rank in one group."""
    index = case.snapshot.index_of[rank]
    digest = case.snapshot.digests[index]
    streams = case.snapshot.group_streams(index, number)
    ours = np.isin(digest.unit_stream, streams) & ((digest.unit_flags & P2P) != 0)
    seqs, sigs = digest.unit_seq[ours][-NEWEST:], digest.unit_sig[ours][-NEWEST:]
    return dict(zip(seqs.tolist(), sigs.tolist(), strict=True))


def block_at(case: Case, rank: int, number: int, seq: int) -> int | None:
    """Signature of a rank's send/recv with this p2p sequence number."""
    index = case.snapshot.index_of.get(rank)
    if index is None:
        return None
    digest = case.snapshot.digests[index]
    streams = case.snapshot.group_streams(index, number)
    hit = np.isin(digest.unit_stream, streams) & (digest.unit_seq == seq)
    hit &= (digest.unit_flags & P2P) != 0
    return int(digest.unit_sig[np.argmax(hit)]) if hit.any() else None


def novel_block(case: Case, rank: int) -> bool:
    """Whether the block a rank is stuck in differs from every block in its record."""
    digest = case.snapshot.digest_of(rank)
    stuck = case.snapshot.stuck_of(rank)
    if digest is None or stuck is None or not stuck.p2p or stuck.row is None:
        return False
    if digest.partial is not None:
        return False
    unit = digest.pending[stuck.row]
    past = (digest.unit_stream == unit[U_STREAM]) & ((digest.unit_flags & P2P) != 0)
    past &= (digest.unit_flags & FINISHED) != 0
    earlier = digest.unit_sig[past]
    return len(earlier) >= 2 and not bool((earlier == unit[U_SIG]).any())
