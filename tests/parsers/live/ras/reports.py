"""Reports of RAS for tests: the text and the JSON that NCCL prints, with made-up values."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

TITLE = """NCCL version {version} compiled with CUDA 13.0
CUDA runtime version 13000, driver version 13000

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
{row}

Communicators... (0.01s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
{groups}

Errors
======

{errors}
Warnings
========

{warnings}"""


def text_report(
    *,
    warnings: str = "",
    errors: str = "",
    size: int = 16,
    per_node: int = 4,
    version: str = "2.29.7",
    groups: Sequence[int] = (),
) -> str:
    """A report on a job of ``size`` ranks; ``groups`` are the sizes of further groups."""
    rows = "\n".join(
        f"{number:>5} {1:>9} {1:>9} {per_node:>9} {one:>9} {one:>9}   RUNNING  MISMATCH"
        for number, one in enumerate((size, *groups))
    )
    row = f"{size // per_node:>7} {per_node:>10} {1:>12} {size:>10} {size:>8}"
    return TITLE.format(version=version, row=row, groups=rows, errors=errors, warnings=warnings)


def host_of(rank: int, per_node: int) -> str:
    return f"10.1.0.{rank // per_node + 1}"


def json_rank(
    rank: int,
    counts: Mapping[str, int],
    *,
    world: int | None = None,
    per_node: int = 4,
    init_state: int = 0,
    async_error: int = 0,
) -> dict[str, Any]:
    """``rank`` of a communicator; ``world`` is the rank of its process in the job."""
    place = rank if world is None else world
    return {
        "rank": rank,
        "host": host_of(place, per_node),
        "pid": 7000 + place,
        "cuda_dev": place % per_node,
        "nvml_dev": place % per_node,
        "status": {
            "init_state": init_state,
            "async_error": async_error,
            "finalize_called": False,
            "destroy_flag": False,
            "abort_flag": False,
        },
        "collective_counts": dict(counts),
    }


def missing_rank(
    rank: int,
    *,
    world: int | None = None,
    per_node: int = 4,
    dead: bool = False,
    silent: bool = True,
) -> dict[str, Any]:
    """A rank without data."""
    whole = json_rank(rank, {}, world=world)
    del whole["collective_counts"]
    return {**whole, "status": {"unresponsive": silent, "considered_dead": dead}}


def json_report(
    communicators: Sequence[tuple[str, Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]]],
    timestamp: str = "2026-03-14 02:41:07",
    version: str = "2.29.7",
) -> str:
    """``communicators`` are (hash, ranks, missing ranks)."""
    return json.dumps(
        {
            "nccl_version": version,
            "timestamp": timestamp,
            "communicators_count": len(communicators),
            "communicators": [
                {
                    "hash": key,
                    "secondary_hash": "0x1:0x2",
                    "size": len(ranks) + len(missing),
                    "ranks_count": len(ranks),
                    "missing_ranks_count": len(missing),
                    "ranks": list(ranks),
                    "missing_ranks": list(missing),
                }
                for key, ranks, missing in communicators
            ],
            "ras": {"collection_time_sec": 0.01, "timeouts_count": 0},
        },
        indent=2,
    )
