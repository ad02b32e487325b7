"""Seats that nobody tells, from those that are told and the order that launchers give them."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from itertools import pairwise
from typing import Any, Final

from triage.domain.hosts import make_natural_key
from triage.domain.job import Job

# This many nodes stand in the order of their names by chance once in 120 times.
_MIN_HOMES: Final = 5
_MOST_PER_NODE: Final = 72


def fill_by_order(node_by_rank: dict[int, str], job: Job, world: int | None) -> None:
    """With as many ranks on each node, ranks that nothing places sit with their neighbours."""
    per_node = _estimate_ranks_per_node(node_by_rank, job, world)
    for block, node in _map_blocks_to_nodes(node_by_rank, job, world).items():
        for rank in range(block * per_node, min((block + 1) * per_node, world or 0)):
            node_by_rank.setdefault(rank, node)


def fill_by_names(
    node_by_rank: dict[int, str], job: Job, world: int | None, nodes: Collection[str]
) -> list[str]:
    """Nodes that no rank is known of take the places that are left for them, where schedulers'
    order of names shows in all others; a note of each.
    """
    homes = _map_blocks_to_nodes(node_by_rank, job, world)
    left = set(nodes) - set(homes.values())
    if world is None or not homes or not left:
        return []
    per_node = _estimate_ranks_per_node(node_by_rank, job, world)
    blocks = -(-world // per_node)
    free = set(range(blocks)) - set(homes)
    ways: set[tuple[tuple[int, str], ...]]
    if len(homes) < _MIN_HOMES:
        if not len(free) == len(left) == 1:
            return []
        ways = {((free.pop(), next(iter(left))),)}
        how = "as it is the one that is left"
    else:
        how = "by the order of names"
        ways = {
            tuple(sorted(way.items()))
            for key in (make_natural_key, str)
            if (way := _fill_gap(homes, left, blocks, key)) is not None
        }
    if len(ways) != 1:
        return []
    notes = []
    for block, node in ways.pop():
        ranks = range(block * per_node, min((block + 1) * per_node, world))
        node_by_rank.update(dict.fromkeys(ranks, node))
        notes.append(f"ranks {ranks[0]} to {ranks[-1]} are on {node} {how}")
    return notes


def _fill_gap(
    homes: Mapping[int, str], left: Collection[str], blocks: int, key: Callable[[str], Any]
) -> dict[int, str] | None:
    """Block -> node for those of ``left`` that fill a gap between known ones exactly; None where
    the known ones are in another order.
    """
    nodes_between = sorted(homes)
    keys = [key(homes[block]) for block in nodes_between]
    if keys != sorted(keys):
        return None
    free = sorted((key(name), name) for name in left)
    bounds = [0, *(bisect_left(free, (one,)) for one in keys), len(free)]
    found: dict[int, str] = {}
    for (before, after), (low, high) in zip(
        pairwise((-1, *nodes_between, blocks)), pairwise(bounds), strict=True
    ):
        if high - low == after - before - 1:
            names = (name for _, name in free[low:high])
            found |= dict(zip(range(before + 1, after), names, strict=True))
    return found


def _map_blocks_to_nodes(
    node_by_rank: Mapping[int, str], job: Job, world: int | None
) -> dict[int, str]:
    """Which node the ranks of each block are on; empty where ranks do not sit in blocks, or all
    of them are known.
    """
    if not node_by_rank or world is None or job.nodes or len(node_by_rank) == world:
        return {}
    per_node = _estimate_ranks_per_node(node_by_rank, job, world)
    homes: dict[int, set[str]] = defaultdict(set)
    for rank, node in node_by_rank.items():
        homes[rank // per_node].add(node)
    if any(len(nodes) > 1 for nodes in homes.values()):
        return {}
    if len({node for nodes in homes.values() for node in nodes}) < len(homes):
        return {}
    return {block: node for block, (node,) in homes.items()}


def find_ranks_per_node(node_by_rank: Mapping[int, str], job: Job, world: int | None) -> int | None:
    """How many ranks a node has, where that is told, or shown by all ranks; else None."""
    if job.gpus_per_node:
        return job.gpus_per_node
    counts = set(Counter(node_by_rank.values()).values())
    return counts.pop() if len(node_by_rank) == world and len(counts) == 1 else None


def _estimate_ranks_per_node(
    node_by_rank: Mapping[int, str], job: Job, world: int | None = None
) -> int:
    """How many ranks a node has as far as they are known, at least 1."""
    if job.gpus_per_node:
        return job.gpus_per_node
    most = max(Counter(node_by_rank.values()).values(), default=1)
    fitting = list_fitting_sizes(node_by_rank, world)
    return fitting[0] if len(fitting) == 1 else max(most, 1)


def list_fitting_sizes(node_by_rank: Mapping[int, str], world: int | None) -> list[int]:
    """The numbers of ranks a node by which all known ones sit in blocks, one node a block."""
    ends: dict[str, tuple[int, int]] = {}
    for rank, node in node_by_rank.items():
        low, high = ends.get(node, (rank, rank))
        ends[node] = min(low, rank), max(high, rank)
    if world is None or len(ends) < 2:
        return []
    widest = max(high - low + 1 for low, high in ends.values())
    if widest < 2:
        return []
    return [
        size
        for size in range(widest, _MOST_PER_NODE + 1)
        if world % size == 0
        and all(low // size == high // size for low, high in ends.values())
        and len({low // size for low, _ in ends.values()}) == len(ends)
    ]
