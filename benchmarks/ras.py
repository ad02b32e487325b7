"""How long two reports of NCCL RAS on a large job take to be read and judged.

::

    python -m benchmarks.ras --ranks 16384

Each rank is in the communicator of all, in a tensor group of 8 and in a data group of 64. One rank
is behind in all of its groups. Status 1 where it is not named, or where it takes more than 5 s for
one report.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from triage.report import analyze

TENSOR = 8
DATA = 64
MOST_S = 5.0


def groups_of(ranks: int) -> list[list[int]]:
    """The members of each communicator, as global ranks."""
    groups = [list(range(ranks))]
    groups += [list(range(first, first + TENSOR)) for first in range(0, ranks, TENSOR)]
    replica = ranks // min(DATA, ranks // TENSOR)
    groups += [list(range(first, ranks, replica)) for first in range(replica)]
    return groups


def rank_values(place: int, rank: int, launched: int) -> dict[str, Any]:
    """One member as RAS prints it."""
    node, gpu = divmod(rank, TENSOR)
    names = ("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce")
    return {
        "rank": place,
        "host": f"10.{20 + node // 62_500}.{node // 250 % 250}.{1 + node % 250}",
        "pid": 40_000 + rank,
        "cuda_dev": gpu,
        "nvml_dev": gpu,
        "status": {
            "init_state": 0,
            "async_error": 0,
            "finalize_called": False,
            "destroy_flag": False,
            "abort_flag": False,
        },
        "collective_counts": {name: 0 if name != "AllReduce" else launched for name in names},
    }


def report(ranks: int, behind: int, timestamp: str) -> Mapping[str, Any]:
    """A report in which ``behind`` has not launched the last operation of its groups, and its
    tensor group not that of their data groups.
    """
    home = behind // TENSOR
    communicators = []
    for number, members in enumerate(groups_of(ranks)):
        is_data = len(members) not in (ranks, TENSOR) or number > ranks // TENSOR
        late = [rank == behind or (is_data and rank // TENSOR == home) for rank in members]
        communicators.append(
            {
                "hash": f"{0xC4F19D2A87BE310 + number:#x}",
                "size": len(members),
                "ranks_count": len(members),
                "missing_ranks_count": 0,
                "ranks": [
                    rank_values(place, rank, 9000 - late[place])
                    for place, rank in enumerate(members)
                ],
                "missing_ranks": [],
            }
        )
    return {
        "nccl_version": "2.29.7",
        "timestamp": timestamp,
        "communicators_count": len(communicators),
        "communicators": communicators,
        "ras": {"collection_time_sec": 1.2, "timeouts_count": 0},
    }


def main() -> int:
    """Print the seconds; 1 where the rank is not named, or not in time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=16_384)
    asked = parser.parse_args()
    behind = asked.ranks // 3
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for look, at in enumerate(("2026-03-14 02:41:07", "2026-03-14 02:42:07")):
            path = Path(folder, f"ras_{look}.json")
            path.write_text(json.dumps(report(asked.ranks, behind, at), indent=2), "utf-8")
            files.append(path)
        for count in (1, 2):
            start = time.perf_counter()
            found = analyze(files[:count])
            seconds = time.perf_counter() - start
            named = [(one.ranks, str(one.role)) for one in found.answer.suspects]
            size = sum(path.stat().st_size for path in files[:count]) / 1e6
            print(f"{count} report(s), {size:.0f} MB: {seconds:.2f} s; named {named}")
            if not named or named[0][0] != (behind,) or seconds > MOST_S * count:
                status = 1
    return status


if __name__ == "__main__":
    raise SystemExit(main())
