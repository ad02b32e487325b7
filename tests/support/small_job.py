"""Dumps of a small job by hand: operations one behind the other, pauses, and one rank that stops.

All ranks issue the same operations, each :attr:`SmallJob.step_s` after the one before and a pause
where :attr:`SmallJob.pauses` says one. At operation ``stops_at`` the ``guilty`` rank issues nothing
any more; its peers wait there until they are dumped, ``waits_s`` later. Of a rooted operation
``through`` finish it by right, and wait in the next one.
"""

import json
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOTED = ("broadcast", "reduce", "scatter", "gather")
FIRST_NS = 1_795_170_000_000_000_000
MS = 1_000_000


@dataclass(frozen=True, slots=True)
class SmallJob:
    """A job of ``ranks`` whose operation ``k`` is ``ops[k]``; ``guilty`` is None in one that ended.

    ``group_size`` is how many ranks side by side are one group: all, where it is 0. Other groups
    than that of the guilty rank then wait in one of all ranks.
    """

    ranks: int
    ops: tuple[str, ...]
    guilty: int | None = None
    stops_at: int = 0
    waits_s: float = 600.0
    step_s: float = 0.2
    pauses: Mapping[int, float] = field(default_factory=dict)
    clock_steps: Mapping[int, tuple[int, float]] = field(default_factory=dict)
    """Rank -> before which operation its clock was set, and how far forward in s."""
    through: frozenset[int] = frozenset()
    timing: bool = False
    timeout_s: int = 600
    counters: bool = True
    retired: bool = False
    """Whether the watchdog has given up what is unfinished."""
    only_active: bool = False
    """Whether the dumps leave out what is finished."""
    first_seq: int = 1
    group_size: int = 0

    @property
    def group_ranks(self) -> list[list[int]]:
        """The ranks of each group."""
        size = self.group_size or self.ranks
        return [list(range(at, min(at + size, self.ranks))) for at in range(0, self.ranks, size)]

    def group_name(self, rank: int) -> tuple[str, str]:
        """Name and kind of a rank's group."""
        number = next(k for k, ranks in enumerate(self.group_ranks) if rank in ranks)
        return (str(number + 1), "mesh_tp") if self.group_size else ("0", "default_pg")

    def issued(self, rank: int) -> int:
        """How many operations a rank has issued."""
        if self.guilty is None or not self.is_held(rank):
            return len(self.ops)
        return self.stops_at + (rank != self.guilty) + (rank in self.through)

    def is_held(self, rank: int) -> bool:
        """Whether a rank's group is that of the guilty one."""
        return any({rank, self.guilty} <= set(ranks) for ranks in self.group_ranks)

    def finished(self, rank: int) -> int:
        """How many operations a rank has finished."""
        if self.guilty is None or not self.is_held(rank):
            return len(self.ops)
        return self.stops_at + (rank in self.through)

    def entries(self, rank: int) -> list[dict[str, Any]]:
        """The entries of a rank, the oldest first."""
        now = FIRST_NS + rank * 100_000
        name, desc = self.group_name(rank)
        rows: list[dict[str, Any]] = []
        set_at, ahead_s = self.clock_steps.get(rank, (-1, 0.0))
        for k, op in enumerate(self.ops[: self.issued(rank)]):
            now += int((self.step_s + self.pauses.get(k, 0.0)) * 1e9)
            now += int(ahead_s * 1e9) if k == set_at else 0
            done = k < self.finished(rank)
            end = now + (5 * MS if done else int(self.waits_s * 1e9))
            noticed = end if not done else now + 5 * MS
            rows.append(
                {
                    "record_id": k,
                    "pg_id": 0,
                    "process_group": (name, desc),
                    "collective_seq_id": self.first_seq + k,
                    "p2p_seq_id": 0,
                    "op_id": self.first_seq + k,
                    "profiling_name": f"nccl:{op}",
                    "time_created_ns": now,
                    "time_discovered_started_ns": noticed if self.timing else None,
                    "time_discovered_completed_ns": noticed if done else None,
                    "input_sizes": [[1024]],
                    "output_sizes": [[1024]],
                    "input_dtypes": ["Float"],
                    "output_dtypes": ["Float"],
                    "state": "completed" if done else "started" if self.timing else "scheduled",
                    "retired": done or self.retired,
                    "timeout_ms": self.timeout_s * 1000,
                    "is_p2p": False,
                    "frames": [],
                }
            )
        if self.group_size and self.guilty is not None and not self.is_held(rank):
            rows.append(
                rows[-1]
                | {
                    "record_id": len(rows),
                    "pg_id": 1,
                    "process_group": ("0", "default_pg"),
                    "collective_seq_id": 1,
                    "op_id": 1,
                    "profiling_name": "nccl:all_reduce",
                    "time_discovered_started_ns": None,
                    "time_discovered_completed_ns": None,
                    "state": "scheduled",
                    "retired": False,
                }
            )
        return rows

    def dump(self, rank: int) -> dict[str, Any]:
        """The dump of a rank."""
        name, desc = self.group_name(rank)
        members = next(ranks for ranks in self.group_ranks if rank in ranks)
        before = self.first_seq - 1
        status = {
            "last_enqueued_collective": before + self.issued(rank),
            "last_started_collective": before + self.issued(rank) if self.timing else -1,
            "last_completed_collective": before + self.finished(rank),
        }
        everybody = {"name": "0", "desc": "default_pg", "ranks": str(list(range(self.ranks)))}
        return {
            "version": "2.10",
            "pg_config": {
                "0": everybody,
                name: {"name": name, "desc": desc, "ranks": str(members)},
            },
            "pg_status": {"0": status} if self.counters and self.issued(rank) else {},
            "entries": [
                entry
                for entry in self.entries(rank)
                if not (self.only_active and entry["state"] == "completed")
            ],
        }

    def write(self, folder: Path, *, as_json: bool = False) -> Path:
        """A dump a rank below ``folder``."""
        folder.mkdir(parents=True, exist_ok=True)
        for rank in range(self.ranks):
            dump, file = self.dump(rank), folder / f"comm_lib_trace_rank_{rank}"
            if not as_json:
                file.write_bytes(pickle.dumps(dump, 2))
                continue
            for entry in dump["entries"]:
                for key in ("time_discovered_started_ns", "time_discovered_completed_ns"):
                    entry[key] = entry[key] or 0
            file.with_suffix(".json").write_text(json.dumps(dump), encoding="utf-8")
        return folder
