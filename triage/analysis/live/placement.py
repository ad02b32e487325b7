"""Who sits where, as looks at processes tell it: a rank beside a host, an address or a folder."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from triage.analysis.placement.host_names import parse_plain_host
from triage.analysis.placement.identity import JobPlacement
from triage.domain.live.look import Look


def with_places(fleet: JobPlacement, looks: Sequence[Look]) -> JobPlacement:
    """``fleet`` with the places of ranks that it does not know; those that looks do not agree on
    stay unknown.
    """
    homes_of: dict[int, set[str]] = defaultdict(set)
    for look in looks:
        for process in look.list_processes():
            rank, node = process.rank, process.node or process.host or look.node
            if rank is None or node is None or rank in fleet.node_by_rank:
                continue
            if fleet.world_size is not None and rank >= fleet.world_size:
                continue  # a process number in the name of a file
            homes_of[rank].add(fleet.node_of_address(node) or parse_plain_host(node))
    places = {rank: nodes.pop() for rank, nodes in homes_of.items() if len(nodes) == 1}
    if not places:
        return fleet
    homes = {**fleet.node_by_rank, **places}
    nodes = tuple(sorted({*fleet.nodes, *places.values()}))
    names = {parse_plain_host(node): node for node in places.values()}
    return replace(
        fleet,
        node_by_rank=dict(sorted(homes.items())),
        nodes=nodes,
        aliases={**names, **fleet.aliases},
        seated=fleet.seated | set(places.values()),
    )
