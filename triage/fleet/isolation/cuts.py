"""Cuts of nodes into groups: how many, and of which sizes."""

import math
from collections.abc import Iterator

import numpy as np

from triage.domain.arrays import F64
from triage.fleet.isolation.places import Places

__all__ = ["equal_cuts", "half_of", "number_of_groups", "spread"]


def number_of_groups(num_nodes: int, most: int) -> int:
    """The fewest groups that reach one node of ``num_nodes`` in as few rounds as ``most`` do."""
    if most < 2 or num_nodes < 2:
        return 1
    rounds = max(1, math.ceil(math.log(num_nodes) / math.log(most) - 1e-9))
    if num_nodes <= most:
        rounds = 2
    fewest = math.ceil(math.pow(num_nodes, 1 / rounds) - 1e-9)
    return max(2, fewest)


def equal_cuts(bad: F64, num_groups: int, smallest: int, largest: int) -> list[int]:
    """Sizes of ``num_groups`` groups of about the same sum of ``bad``, in order.

    Where more nodes are there than the groups may hold, the last ones are left out.
    """
    count = min(len(bad), num_groups * largest)
    summed = np.cumsum(bad[:count])
    sizes: list[int] = []
    start = 0
    for left in range(num_groups, 0, -1):
        done = float(summed[start - 1]) if start else 0.0
        goal = done + (float(summed[-1]) - done) / left
        size = int(np.searchsorted(summed[start:], goal * (1 - 1e-12))) + 1
        low = max(smallest, count - start - (left - 1) * largest)
        high = min(largest, count - start - (left - 1) * smallest)
        sizes.append(max(low, min(size, high)))
        start += sizes[-1]
    return sizes


def half_of(bad: F64, smallest: int, largest: int) -> slice | None:
    """The first or the last nodes of ``bad`` (falling) that hold a bad one half of the time."""
    found: slice | None = None
    nearest = np.inf
    first, last = np.cumprod(1 - bad), np.cumprod((1 - bad)[::-1])
    for size in range(smallest, largest + 1):
        for part, good in ((slice(0, size), first), (slice(len(bad) - size, None), last)):
            if (far := abs(float(good[size - 1]) - 0.5)) < nearest - 1e-9:
                found, nearest = part, far
    return found


def spread(places: Places, rest: list[int], num_groups: int, largest: int) -> Iterator[list[int]]:
    """Groups over several places: each place is dealt out to all groups in turn."""
    count = min(len(rest), num_groups * largest)
    by_place: dict[int, list[int]] = {}
    for node in rest[:count]:
        by_place.setdefault(int(places.of_node[node]), []).append(node)
    groups: list[list[int]] = [[] for _ in range(num_groups)]
    dealt = 0
    for nodes in sorted(by_place.values(), key=len, reverse=True):
        for node in nodes:
            groups[dealt % num_groups].append(node)
            dealt += 1
    yield from groups
