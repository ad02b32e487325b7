"""Jobs whose dumps are written entry by entry, as the recorder fills them, in pickle or JSON."""

import json
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import triage
from triage.domain.report import Answer

BORN = 1_780_000_000_000_000_000
SECOND = 10**9
HUNG = 600 * SECOND
COUNTED = ("enqueued", "started", "completed")

Entry = dict[str, Any]


@dataclass
class Record:
    """What one rank recorded; ``step`` is the time from one operation to the next."""

    world: int
    groups: Mapping[str, tuple[str, Sequence[int]]] = field(default_factory=dict)
    timing: bool = True
    born: int = BORN
    step: int = SECOND // 5
    entries: list[Entry] = field(default_factory=list)
    seqs: dict[Any, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        everybody = {"0": ("default_pg", range(self.world))}
        self.groups = {**everybody, **self.groups}

    def issue(self, name: str, shape: Sequence[int] = (1024,), **more: Any) -> Entry:
        """Record an operation that has ended, unless ``done=False`` is given."""
        group, done = more.pop("group", "0"), more.pop("done", True)
        pg_id = more.pop("pg_id", list(self.groups).index(group))
        key = pg_id, group
        self.seqs[key] = self.seqs.get(key, 0) + more.pop("ahead", 1)
        created = self.born + len(self.entries) * self.step
        begun = self.timing and not more.pop("queued", False)
        entry = {
            "record_id": len(self.entries),
            "pg_id": pg_id,
            "process_group": (group, self.groups[group][0]),
            "collective_seq_id": self.seqs[key],
            "p2p_seq_id": 0,
            "op_id": self.seqs[key],
            "profiling_name": f"nccl:{name}",
            "time_created_ns": created,
            "input_sizes": [list(shape)],
            "input_dtypes": ["Float"],
            "output_sizes": [list(shape)],
            "output_dtypes": ["Float"],
            "state": "completed" if done else "started" if begun else "scheduled",
            "time_discovered_started_ns": (
                created + 5_000_000 if done else created + HUNG if begun else None
            ),
            "time_discovered_completed_ns": created + 5_000_000 if done else None,
            "retired": done,
            "timeout_ms": 600_000,
            "is_p2p": False,
            "frames": [],
            **more,
        }
        self.entries.append(entry)
        return entry

    def block(self, shapes: Sequence[Sequence[int]], *, done: bool = True, **more: Any) -> None:
        """Record a coalesced block of all-gathers, whose closing entry alone has events."""
        for number, shape in enumerate(shapes):
            member = self.issue(
                "_all_gather_base", shape, done=False, queued=True, ahead=not number, **more
            )
            member["state"] = "scheduled"
            member["time_discovered_started_ns"] = None
        closer = self.issue("ALLGATHER_coalesced", done=done, ahead=0, **more)
        closer |= {
            "input_sizes": [], "output_sizes": [], "input_dtypes": [], "output_dtypes": [],
        }  # fmt: skip

    def steps(self, count: int, name: str = "all_reduce", **more: Any) -> None:
        """Record so many operations that have ended."""
        for _ in range(count):
            self.issue(name, **more)

    def dump(self) -> dict[str, Any]:
        """What the recorder writes."""
        config = {
            name: {"name": name, "desc": desc, "ranks": str(list(ranks))}
            for name, (desc, ranks) in self.groups.items()
        }
        return {
            "version": "2.10",
            "pg_config": config,
            "pg_status": self.counters(),
            "entries": self.entries,
        }

    def counters(self) -> dict[str, dict[str, int]]:
        """The last numbers seen of each group, by the id that this process gave it."""
        status: dict[str, dict[str, int]] = {}
        for entry in self.entries:
            seq = entry["collective_seq_id"]
            row = status.setdefault(
                str(entry["pg_id"]), {f"last_{what}_collective": -1 for what in COUNTED}
            )
            row["last_enqueued_collective"] = seq
            if entry["state"] != "scheduled" and self.timing:
                row["last_started_collective"] = seq
            if entry["state"] == "completed":
                row["last_completed_collective"] = seq
        return status


def write(folder: Path, records: Mapping[int, Record], form: str = "pickle") -> Path:
    """Write the dumps of a job; the rank stands in each name."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank, record in records.items():
        path = folder / f"comm_lib_trace_rank_{rank}"
        if form == "json":
            path.with_suffix(".json").write_text(json.dumps(record.dump()))
        else:
            path.write_bytes(pickle.dumps(record.dump(), protocol=2))
    return folder


def answer(folder: Path) -> Answer:
    """What is said of the folder."""
    return triage.analyze(folder).answer


def convicted(answer: Answer) -> set[int]:
    """The ranks that are convicted."""
    return {r for one in answer.suspects if one.role == "culprit" for r in one.ranks}


def named(answer: Answer) -> list[int]:
    """The ranks that are named, the first suspect's first."""
    return [rank for one in answer.suspects for rank in one.ranks]
