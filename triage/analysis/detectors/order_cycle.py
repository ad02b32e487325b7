"""Order: ranks wait for each other in a circle.

Two groups whose operations are issued in different order on different ranks, or a
rank that skipped an operation among equal ones. Nothing in one group tells who is
wrong; but ranks that stand at the same operation should have the same past, and ranks
of one past should stand at the same operation. The rank whose past, or whose next
operation, differs from that of most others is the suspect.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from triage.analysis.snapshots.snapshot import Stuck
from triage.analysis.waiting.case import Case
from triage.analysis.waiting.waits import WaitPlace, count_issued_before
from triage.domain.category import Category, Role, VerdictKind
from triage.domain.finding import Finding

NAME: Final = "fr.order_cycle"

_MAX_REASONS = 4
_MAX_NAMED = 16


def find_order_cycles(case: Case) -> Iterator[Finding]:
    """One finding per circle.

    Silent: when the graph's ends are single places.
    """
    pasts: dict[tuple[str, int], Counter[_Past]] | None = None
    for end, places in case.troubled():
        if len(places) < 2:
            continue
        if pasts is None:
            pasts = _count_pasts(case)
        yield _make_claim(case, end, places, pasts)


def _make_claim(
    case: Case, end: int, places: list[WaitPlace], pasts: "dict[tuple[str, int], Counter[_Past]]"
) -> Finding:
    # The ranks through which the places wait for each other.
    graph = case.graph
    links = sorted(
        {
            rank
            for place in places
            for target, ranks in graph.waits_for[place.index].items()
            if graph.component_of[target] == graph.component_of[place.index]
            for rank in ranks
        }
    )
    details = {rank: how for rank in links if (how := _describe_departure(case, rank, pasts))}
    details = details or _find_departed_ranks(
        case, {*links, *(r for p in places for r in p.waiting)}
    )
    odd = list(details)
    decided = 0 < len(odd) < max(2, len(links))
    named = tuple(odd if decided else links)[:_MAX_NAMED]
    circle = " -> ".join(case.place_text(place) for place in places[:4])
    reasons = []
    for rank in named[:_MAX_REASONS]:
        text = f"waits in a circle: {circle}"
        if rank in details and decided:
            text += f"; {details[rank]}"
        reasons += case.explain(NAME, text, rank, "the stuck operation")
    return Finding(
        detector=NAME,
        kind=VerdictKind.DESYNC,
        category=Category.COLLECTIVE_MISMATCH,
        ranks=named,
        strength=0.9 if decided else 0.4,
        role=Role.CULPRIT if decided else Role.POSSIBLE,
        summary=(
            "issued its operations in another order or number than the ranks beside it"
            if decided
            else f"wait for each other in a circle ({circle}), and nothing tells who is wrong"
        ),
        because=tuple(reasons),
        end=end,
    )


_Past = tuple[tuple[str, int], ...]


def _find_departed_ranks(case: Case, ranks: Iterable[int]) -> dict[int, str]:
    """Of ranks with one past, those that went on with another operation than most of them."""
    by_past: dict[_Past, dict[str, list[int]]] = {}
    for rank in sorted(ranks):
        if (stuck := _get_known_place(case, rank)) is not None:
            following = f"{case.snapshot.groups[stuck.group].desc} {stuck.seq}"
            turns = by_past.setdefault(count_past(case, rank), {})
            turns.setdefault(following, []).append(rank)
    found: dict[int, str] = {}
    for turns in by_past.values():
        usual = max(turns, key=lambda name: (len(turns[name]), name))
        if 2 * len(turns[usual]) <= sum(map(len, turns.values())):
            continue
        for following, there in turns.items():
            text = (
                f"after the same operations it went on with {following},"
                f" {len(turns[usual])} ranks with {usual}"
            )
            found |= dict.fromkeys(there if following != usual else (), text)
    return found


def count_past(case: Case, rank: int, stuck: Stuck | None = None) -> _Past:
    """How many operations of each kind of group stand before the one a rank is stuck in, as far
    as its record tells; without those of the kind that it is ``stuck`` in, where that is given.
    """
    own = None if stuck is None else case.snapshot.groups[stuck.group].desc
    counts: dict[str, int] = {}
    for group in case.groups_of(rank):
        desc = case.snapshot.groups[group].desc
        row = case.snapshot.row(group, rank)
        if desc == own or row < 0 or case.snapshot.has_p2p[row]:
            continue
        done = count_issued_before(case.snapshot, rank, group)
        if done >= 0:
            counts[desc] = max(counts.get(desc, 0), done)
    return tuple(sorted(counts.items()))


def _count_pasts(case: Case) -> dict[tuple[str, int], Counter[_Past]]:
    """Of all ranks stuck at one number of one kind of group, how often each past occurs."""
    found: dict[tuple[str, int], Counter[_Past]] = defaultdict(Counter)
    for rank in case.snapshot.ranks.tolist():
        if (stuck := _get_known_place(case, rank)) is not None:
            key = (case.snapshot.groups[stuck.group].desc, stuck.seq)
            found[key][count_past(case, rank, stuck)] += 1
    return found


def _get_known_place(case: Case, rank: int) -> Stuck | None:
    """The collective that a rank is stuck in. Where only counters tell of it, its place is a guess
    that says nothing of its order.
    """
    stuck = case.snapshot.stuck_of(rank)
    return None if stuck is None or stuck.p2p or stuck.inferred else stuck


def _describe_departure(
    case: Case, rank: int, pasts: dict[tuple[str, int], Counter[_Past]]
) -> str | None:
    """How a rank's past differs from the usual one at its place; None when it does not."""
    stuck = _get_known_place(case, rank)
    if stuck is None:
        return None
    here = pasts[case.snapshot.groups[stuck.group].desc, stuck.seq]
    mine = count_past(case, rank, stuck)
    usual, count = max(here.items(), key=lambda item: (item[1], item[0]))
    if usual == mine or count <= here[mine] or 2 * count <= sum(here.values()):
        return None
    theirs = dict(usual)
    for desc, number in mine:
        if desc in theirs and theirs[desc] != number:
            return (
                f"it came to {case.place_text(case.graph.places[case.graph.place_of[rank]])} after"
                f" {number} operations of {desc}, {count} ranks beside it after {theirs[desc]}"
            )
    return None
