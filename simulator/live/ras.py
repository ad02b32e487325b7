"""What ``ncclras -v -f json`` prints of a job that hangs, as NCCL 2.29 writes it."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from simulator.live.stacks import pid_of
from simulator.live.standing import Stands, launched_of, standing_of
from simulator.play import Played

FUNCTIONS = ("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce")
_RUNNING = {
    "init_state": 0,
    "async_error": 0,
    "finalize_called": False,
    "destroy_flag": False,
    "abort_flag": False,
}


def address_of(node: int) -> str:
    """The address of a node, as RAS prints it."""
    return f"10.20.{node // 200}.{11 + node % 200}"


def ras_json(
    played: Played, at_ns: int, look: int = 0, *, address: Callable[[int], str] = address_of
) -> str:
    """The report at ``at_ns``; ``address`` gives that of a node by its number."""
    topology, request = played.topology, played.request
    chance = request.chance("communicators")
    per_node = request.gpus_per_node
    ranks = range(request.shape.ranks)
    launched = [launched_of(played, rank, look) for rank in ranks]
    gone = {rank for rank in ranks if standing_of(played, rank).stands is Stands.GONE}

    def peer(rank: int, group_rank: int) -> dict[str, Any]:
        return {
            "rank": group_rank,
            "host": address(rank // per_node),
            "pid": pid_of(rank, per_node),
            "cuda_dev": rank % per_node,
            "nvml_dev": rank % per_node,
        }

    communicators = []
    for group, members in enumerate(topology.members):
        slot = int(topology.slots[group])
        here = [(place, int(rank)) for place, rank in enumerate(members.tolist())]
        present = [one for one in here if one[1] not in gone]
        missing = [one for one in here if one[1] in gone]
        key = chance.getrandbits(62)
        if not any(slot in launched[rank] for _, rank in here):
            continue  # a communicator comes up with its first operation
        communicators.append(
            {
                "hash": f"{key:#x}",
                "secondary_hash": f"{chance.getrandbits(62):#x}:{chance.getrandbits(40):#x}",
                "size": len(members),
                "ranks_count": len(present),
                "missing_ranks_count": len(missing),
                "ranks": [
                    {
                        **peer(rank, place),
                        "status": _RUNNING,
                        "collective_counts": {
                            name: launched[rank].get(slot, {}).get(name, 0) for name in FUNCTIONS
                        },
                    }
                    for place, rank in present
                ],
                "missing_ranks": [
                    {
                        **peer(rank, place),
                        "status": {"unresponsive": True, "considered_dead": True},
                    }
                    for place, rank in missing
                ],
            }
        )
    report = {
        "nccl_version": "2.29.7",
        "cuda_runtime_version": 13000,
        "cuda_driver_version": 13000,
        "timestamp": datetime.fromtimestamp(at_ns // 10**9, UTC).strftime("%Y-%m-%d %H:%M:%S"),
        "communicators_count": len(communicators),
        "communicators": communicators,
        "ras": {"collection_time_sec": 0.012, "timeouts_count": 0},
    }
    return json.dumps(report, indent=2) + "\n"
