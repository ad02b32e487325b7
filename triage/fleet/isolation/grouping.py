"""The groups of the next round: each node in at most one, all run at the same time.

Groups that are disjoint and carry the same suspicion tell most together. So nodes that carry as
much as a whole group are tested alone, beside partners that are cleaner by far, and the rest is
cut into groups of equal suspicion, likely ones first (an ordered partition: Hwang 1975). How many
groups: the fewest that still reach single nodes in as few rounds as the most would, for one bad
node among ``n`` in ``k`` rounds that is the k-th root of ``n`` (Dorfman 1943; Li 1962). Nodes of
equal suspicion change partners from round to round: the groups of a round cut across the last.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from triage.domain.arrays import F64, I64, Flags
from triage.fleet.isolation.options import IsolationOptions

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


def groups_of_round(
    bad: F64, nobody: float, seen: NodesSeen, options: IsolationOptions
) -> list[I64]:
    """The members of each group, ascending; the most suspect group first.

    ``bad`` has the probability of each node that it is bad, ``nobody`` that none is. Nothing is
    returned where no group of the allowed sizes would tell anything.
    """
    suspicion = np.round(np.log(np.maximum(bad, 1e-300)), DIGITS)
    order = np.lexsort((np.arange(len(bad)), seen.position, -suspicion))
    order = order[seen.available[order]]
    room = options.tests_of_a_round(len(order))
    # The suspicion of a group below which its failure would say little.
    worth = TRUE_ALARMS * options.false_alarm / options.recall
    most_alone = min(count_alone(bad[order], room), int((bad[order] >= worth).sum()))
    left: list[int] = order.tolist()
    groups: list[list[int]] = []
    while left and len(groups) < most_alone:
        group = add_partners(bad, left[:1], left[1:], options.min_size)
        if not group:
            break
        groups.append(group)
        left = left[1 : len(left) + 1 - len(group)]
    # Nodes that are clean enough together are not tested again.
    rising = order[::-1][seen.tested[order[::-1]]]
    idle = set(rising[np.cumsum(bad[rising]) <= IDLE_SHARE * (1 - options.certainty)].tolist())
    rest = [node for node in left if node not in idle]
    room -= len(groups)
    if rest and room > 0 and len(rest) < options.min_size:
        clean = [node for node in left if node in idle]
        groups.append(add_partners(bad, rest, clean, options.min_size))
    elif rest and room > 0:
        wanted = number_of_groups(len(rest), room)
        if worth:
            wanted = max(1, min(wanted, int(float(bad[rest].sum()) / worth)))
        if options.min_size == 1 and len(rest) <= room:
            wanted = len(rest)
        wanted = max(wanted, -(-len(rest) // (options.max_size or len(rest))))
        num_groups = min(wanted, len(rest) // options.min_size, room)
        if num_groups == 1 and not groups and nobody < 0.5:
            # A test of all suspects at once fails for sure: some of them tell something.
            groups = [half_of(bad, rest, options) or (rest if idle else [])]
        else:
            groups += cut(bad, rest, num_groups, options)
    found = [np.array(sorted(group), dtype=np.int64) for group in groups if group]
    return sorted(found, key=lambda group: (-round(float(bad[group].max()), DIGITS), group[0]))


def count_alone(likely: F64, most: int) -> int:
    """How many of ``likely`` (falling) carry as much as a group of the rest would."""
    left = np.cumsum(likely[::-1])[::-1][:most]
    fair = left / (most - np.arange(len(left)))
    carries = likely[: len(left)] >= fair * (1 - 1e-9)
    return len(carries) if carries.all() else int(np.argmin(carries))


def add_partners(bad: F64, nodes: list[int], clean: list[int], size: int) -> list[int]:
    """``nodes`` with the last of ``clean`` (falling); empty where these are few or suspect."""
    needed = size - len(nodes)
    cleanest = clean[len(clean) - needed :]
    most = min(bad[nodes[0]], 1 - bad[nodes[0]])
    if len(clean) < needed or (needed and bad[cleanest[0]] * CLEANER > most):
        return []
    return [*nodes, *cleanest]


def number_of_groups(num_nodes: int, most: int) -> int:
    """The fewest groups that reach one node of ``num_nodes`` in as few rounds as ``most`` do."""
    if most < 2 or num_nodes < 2:
        return 1
    rounds = max(1, math.ceil(math.log(num_nodes) / math.log(most) - 1e-9))
    rounds = 2 if num_nodes <= most else rounds
    return max(2, math.ceil(math.pow(num_nodes, 1 / rounds) - 1e-9))


def cut(
    bad: F64, rest: list[int], num_groups: int, options: IsolationOptions
) -> Iterator[list[int]]:
    """``num_groups`` groups of about the same suspicion, in order.

    Where there are more nodes than the groups may hold, the last ones are left out.
    """
    smallest, largest = options.min_size, options.max_size or len(rest)
    count = min(len(rest), num_groups * largest)
    summed = np.cumsum(bad[rest[:count]])
    start, done = 0, 0.0
    for left in range(num_groups, 0, -1):
        goal = done + (float(summed[-1]) - done) / left
        size = int(np.searchsorted(summed[start:], goal * (1 - 1e-12))) + 1
        low = max(smallest, count - start - (left - 1) * largest)
        high = min(largest, count - start - (left - 1) * smallest)
        end = start + max(low, min(size, high))
        yield rest[start:end]
        start, done = end, float(summed[end - 1])


def half_of(bad: F64, rest: list[int], options: IsolationOptions) -> list[int]:
    """The first or the last of ``rest`` (falling) that hold a bad node half of the time."""
    largest = min(options.max_size or len(rest), len(rest) - 1)
    sizes = np.arange(options.min_size, largest + 1)
    if not len(sizes):
        return []
    good = [np.cumprod(1 - bad[side])[sizes - 1] for side in (rest, rest[::-1])]
    nearest = np.argmin(np.round(np.abs(np.stack(good, axis=1) - 0.5), DIGITS))
    size = int(sizes[nearest // 2])
    return rest[-size:] if nearest % 2 else rest[:size]
