"""The groups of the next round: each node in at most one, all run at the same time.

Groups that are disjoint and carry the same suspicion tell most together. So nodes that carry as
much as a whole group are tested alone, beside partners that are cleaner by far, and the rest is
cut into groups of equal suspicion, likely ones first (an ordered partition: Hwang 1975). How many
groups: the fewest that still reach single nodes in as few rounds as the most would, for one bad
node among ``n`` in ``k`` rounds that is the k-th root of ``n`` (Dorfman 1943; Li 1962). Nodes of
equal suspicion change partners from round to round: the groups of a round cut across the last.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from triage.domain.arrays import F64, I64, Flags
from triage.fleet.isolation.cuts import equal_cuts, half_of, number_of_groups, spread
from triage.fleet.isolation.options import IsolationOptions, PlaceRule
from triage.fleet.isolation.places import Places

__all__ = ["NodesSeen", "groups_of_round"]

CLEANER: Final = 2.5
"""A partner is so many times less suspect, at least, than the node that it is tested with."""
IDLE_SHARE: Final = 0.2
"""Tested nodes that together hold this share of what may stay unsure are not tested again."""
TRUE_ALARMS: Final = 0.5
"""True failures of a group to each false one, at least: with fewer, the group becomes larger."""
DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class NodesSeen:
    """What came before: nodes that can be tested now, that were tested, and where in their group.

    ``position`` is the place of a node in the group that it was last in, 0 before any.
    """

    available: Flags
    tested: Flags
    position: I64


@dataclass(slots=True)
class Round:
    """Groups that are being formed; ``room`` is how many more there may be."""

    room: int
    groups: list[I64] = field(default_factory=list)

    def add(self, nodes: Sequence[int]) -> None:
        self.groups.append(np.array(sorted(nodes), dtype=np.int64))
        self.room -= 1


def groups_of_round(
    bad: F64, nobody: float, seen: NodesSeen, places: Places | None, options: IsolationOptions
) -> list[I64]:
    """The members of each group, ascending; the most suspect group first.

    ``bad`` has the probability of each node that it is bad, ``nobody`` that none is. Nothing is
    returned where no group of the sizes and places asked for would tell anything.
    """
    usable = seen.available if places is None else seen.available & (places.of_node >= 0)
    suspicion = np.round(np.log(np.maximum(bad, 1e-300)), DIGITS)
    order = np.lexsort((np.arange(len(bad)), seen.position, -suspicion))
    order = order[usable[order]]
    pools = [order]
    if places is not None and places.rule is PlaceRule.WITHIN:
        of = places.of_node[order]
        pools = [order[of == place] for place in dict.fromkeys(of.tolist())]
    room = options.tests_of_a_round(len(order))
    # Each place has a group of its own at least, unless that is more than was allowed.
    made = Round(room if options.max_tests else max(room, 2 * len(pools)))
    num_alone = alone_by_share(bad[order], made.room)
    worth = bad[order[:num_alone]] >= worth_testing(options)
    likely = set(order[:num_alone][worth].tolist())
    forming = [Pool(bad, pool, likely, seen, places, options) for pool in pools]
    for pool in forming:
        for group in pool.alone():
            if made.room > 0:
                made.add(group)
    idle = not_again(bad, order, seen, options)
    for pool in forming:
        pool.leave_idle(idle)
    share_out(forming, made, nobody)
    made.groups.sort(key=lambda group: (-round(float(bad[group].max()), DIGITS), int(group[0])))
    return made.groups


def alone_by_share(likely: F64, most: int) -> int:
    """How many of ``likely`` (falling) carry as much as a group of the rest would."""
    left = np.cumsum(likely[::-1])[::-1][:most]
    fair = left / (most - np.arange(len(left)))
    carries = likely[: len(left)] >= fair * (1 - 1e-9)
    return len(carries) if carries.all() else int(np.argmin(carries))


def worth_testing(options: IsolationOptions) -> float:
    """The suspicion of a group below which its failure would say little."""
    return TRUE_ALARMS * options.false_alarm / options.recall


def not_again(bad: F64, order: I64, seen: NodesSeen, options: IsolationOptions) -> set[int]:
    """Nodes that are clean enough together to leave them out."""
    rising = order[::-1]
    rising = rising[seen.tested[rising]]
    unsure = np.cumsum(bad[rising])
    return set(rising[unsure <= IDLE_SHARE * (1 - options.certainty)].tolist())


class Pool:
    """Nodes that may be tested together, the likeliest first, and what becomes of them."""

    def __init__(
        self, bad: F64, order: I64, likely: set[int], seen: NodesSeen, places: Places | None,
        options: IsolationOptions,
    ) -> None:  # fmt: skip
        self.bad = bad
        self.order: list[int] = order.tolist()
        self.likely = likely
        self.seen = seen
        self.across = places if places and places.rule is PlaceRule.ACROSS else None
        self.options = options
        self.used: set[int] = set()
        self.idle: set[int] = set()

    def alone(self) -> Iterator[list[int]]:
        """Each likely node with partners that are much cleaner, as long as there are some."""
        needed = self.options.min_size - 1
        if needed == 0 and self.across is None:
            for node in self.order:
                if node in self.likely:
                    self.used.add(node)
                    yield [node]
            return
        clean = self.order[::-1]
        for node in self.order:
            if node not in self.likely or node in self.used:
                return
            partners = self.partners(node, clean, max(needed, 1))
            if partners is None:
                return
            self.used.update((node, *partners))
            yield [node, *partners]

    def partners(self, node: int, clean: list[int], needed: int) -> list[int] | None:
        """The cleanest ``needed`` nodes, one of another place where groups span several.

        They are taken out of ``clean``; None where there are too few.
        """
        found: list[int] = []
        at = 0
        while at < len(clean) and len(found) < needed:
            one = clean[at]
            if self.bad[one] * CLEANER > min(self.bad[node], 1 - self.bad[node]):
                break
            if found or self.across is None or self.elsewhere(one, node):
                found.append(one)
                del clean[at]
            else:
                at += 1
        if len(found) == needed:
            return found
        clean[:0] = found
        return None

    def elsewhere(self, one: int, other: int) -> bool:
        of = () if self.across is None else self.across.of_node
        return self.across is None or bool(of[one] != of[other])

    def spans(self, group: Sequence[int]) -> bool:
        """Whether a group is over several places, where it has to be."""
        return self.across is None or any(self.elsewhere(node, group[0]) for node in group)

    def leave_idle(self, idle: set[int]) -> None:
        """The rest without those that are clean enough."""
        self.idle = idle

    @property
    def rest(self) -> list[int]:
        return [node for node in self.order if node not in self.used and node not in self.idle]


def share_out(pools: Sequence[Pool], made: Round, nobody: float) -> None:
    """Cut what is left of each pool into groups, as its suspicion asks."""
    rests = [pool.rest for pool in pools]
    masses = [
        float(sum(pool.bad[node] for node in rest)) for pool, rest in zip(pools, rests, strict=True)
    ]
    total, count = sum(masses), sum(map(len, rests))
    if count == 0 or made.room <= 0:
        return
    wanted = number_of_groups(count, made.room)
    if lowest := worth_testing(pools[0].options):
        wanted = max(1, min(wanted, int(total / lowest)))
    for at in sorted(range(len(pools)), key=lambda at: -masses[at]):
        if made.room <= 0:
            return
        share = masses[at] / total if total > 0 else len(rests[at]) / count
        one_of_all = not made.groups and len([rest for rest in rests if rest]) == 1
        for group in cut(
            pools[at], rests[at], max(1, round(wanted * share)), made.room, nobody, one_of_all
        ):
            if pools[at].spans(group):
                made.add(group)


def cut(
    pool: Pool, rest: list[int], wanted: int, room: int, nobody: float, only: bool
) -> Iterator[list[int]]:
    """Groups of equal suspicion out of ``rest``, of the sizes that are allowed."""
    options = pool.options
    if not rest:
        return
    smallest = max(options.min_size, 2 if pool.across else 1)
    if len(rest) < smallest:
        yield from filled(pool, rest, smallest)
        return
    largest = options.max_size or len(rest)
    if options.min_size == 1 and len(rest) <= room and pool.across is None:
        wanted = len(rest)
    wanted = max(wanted, -(-len(rest) // largest))
    num_groups = min(wanted, len(rest) // smallest, room)
    if num_groups == 1 and only and len(rest) >= smallest and nobody < 0.5:
        # A test of all suspects at once fails for sure: some of them tell something.
        half = half_of(pool.bad[rest], smallest, min(largest, len(rest) - 1))
        if half is not None:
            yield rest[half]
        elif len(rest) < len(pool.order):
            yield rest
        return
    if pool.across is not None:
        yield from spread(pool.across, rest, num_groups, largest)
        return
    start = 0
    for size in equal_cuts(pool.bad[rest], num_groups, smallest, largest):
        yield rest[start : start + size]
        start += size


def filled(pool: Pool, rest: list[int], size: int) -> Iterator[list[int]]:
    """Too few nodes for a group, with clean ones to make one."""
    clean = [node for node in reversed(pool.order) if node in pool.idle and node not in pool.used]
    partners = pool.partners(rest[0], clean, size - len(rest))
    if partners is not None:
        pool.used.update(partners)
        yield [*rest, *partners]
