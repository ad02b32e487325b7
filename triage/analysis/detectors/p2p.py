"""P2p mismatch: a send without its receive, or ends that differ in size.

Ends are matched by channel (source, destination) and order. An end that no peer
will ever meet is a defect when both sides are stuck in a circle, or when the peer
stands in a send/recv block that lacks it. The rank that most defects have in common
is the suspect; else the one whose block is unlike any it issued before.
"""

from collections import Counter
from collections.abc import Iterator

from triage.analysis.case import Case
from triage.analysis.p2p import Channel
from triage.analysis.waits import Place, PlaceKind
from triage.domain.category import Category, Role, VerdictKind
from triage.domain.finding import Finding
from triage.parsers.flight_recorder.reduce import FINISHED, P2P, U_SIG, U_STREAM

__all__ = ["P2pMismatch"]

MAX_REASONS = 4


class P2pMismatch:
    """One finding per end of the graph that holds defective channels.

    Silent: when a stuck block waits for a peer that has simply not come yet.
    """

    name = "fr.p2p_mismatch"

    def run(self, case: Case) -> Iterator[Finding]:
        for end, places in case.ends():
            if not any(place.kind is PlaceKind.P2P for place in places):
                continue
            ranks = {rank for place in places for rank in place.waiting}
            of_end = [c for c in case.graph.channels if c.rank in ranks]
            sizes = [c for c in of_end if c.same_size is False]
            lonely = [c for c in of_end if unmet(c) and c.peer in ranks]
            if lonely and (len(places) > 1 or self.block_lacks_it(case, lonely)):
                yield self.finding(case, end, places, lonely, "lacks its other end")
            elif sizes:
                yield self.finding(case, end, places, sizes, "differs in size or dtype")

    def block_lacks_it(self, case: Case, lonely: list[Channel]) -> bool:
        for channel in lonely:
            stuck = case.snapshot.stuck_of(channel.peer)
            if stuck is not None and stuck.p2p and stuck.group == channel.group:
                return True
        return False

    def finding(
        self, case: Case, end: int, places: list[Place], defects: list[Channel], what: str
    ) -> Finding:
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
        del places
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


def unmet(channel: Channel) -> bool:
    return not channel.matched and not channel.later and channel.peer_has_dump


def blamed(case: Case, defects: list[Channel]) -> tuple[tuple[int, ...], str | None]:
    """The rank that the defects have in common, else the one that departs from its past."""
    pairs = {tuple(sorted((c.rank, c.peer))) for c in defects}
    counts = Counter(rank for pair in pairs for rank in pair)
    (top, most), *rest = counts.most_common()
    if most > 1 and (not rest or rest[0][1] < most):
        return (top,), f"{most} such transfers have rank {top} in common"
    ranks = tuple(sorted(counts))
    unusual = [rank for rank in ranks if novel_block(case, rank)]
    if len(unusual) == 1:
        return (unusual[0],), "its peers' blocks are as in earlier steps, its own is new"
    return ranks, None


def novel_block(case: Case, rank: int) -> bool:
    """Whether the block a rank is stuck in differs from every block in its record."""
    digest = case.snapshot.digest_of(rank)
    stuck = case.snapshot.stuck_of(rank)
    if digest is None or stuck is None or not stuck.p2p or stuck.row is None:
        return False
    unit = digest.pending[stuck.row]
    past = (digest.unit_stream == unit[U_STREAM]) & ((digest.unit_flags & P2P) != 0)
    past &= (digest.unit_flags & FINISHED) != 0
    earlier = digest.unit_sig[past]
    return len(earlier) >= 2 and not bool((earlier == unit[U_SIG]).any())
