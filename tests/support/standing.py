"""Dumps made of a table that says who stood where.

``tests/analysis/waiting/standing/*.txt`` hold the facts of recorded stops of 16 real GPUs: two
ranks with a
GPU error, or with a host that held the interpreter's lock. ``group NAME KIND RANKS`` are the
groups, ``rank R in GROUPS`` begins a rank, ``counts ID:ENQUEUED:COMPLETED`` are its counters, and
each line behind it is an unfinished operation: record, group, id of the group, operation, numbers
of the collective and of the send/recv, microseconds since the first one, and its timeout in s.
"""

import json
import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

TABLES = Path(__file__).parents[1] / "analysis" / "waiting" / "standing"
FIRST_NS = 1_758_610_505_000_000_000


@dataclass(frozen=True, slots=True)
class Open:
    """An unfinished operation of one rank."""

    record: int
    group: str
    pg_id: int
    op: str
    seq: int
    p2p_seq: int
    at_us: int
    timeout_s: int

    @property
    def p2p(self) -> bool:
        """Whether it is a send or a receive."""
        return self.op.startswith(("send", "recv"))


@dataclass(frozen=True, slots=True)
class RankStand:
    """Where one rank stands: its groups, its counters (enqueued, completed), what is open."""

    groups: tuple[str, ...]
    counts: Mapping[str, tuple[int, int]]
    open: tuple[Open, ...] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    """A whole job: group -> its kind and ranks, and where each rank stands."""

    groups: Mapping[str, tuple[str, tuple[int, ...]]]
    ranks: Mapping[int, RankStand] = field(default_factory=dict)

    def changed(self, change: Callable[[int, RankStand], RankStand]) -> "Standing":
        """The same job with ranks that stand elsewhere."""
        return replace(self, ranks={rank: change(rank, one) for rank, one in self.ranks.items()})


def read_standing(name: str) -> Standing:
    """The table of this name."""
    groups: dict[str, tuple[str, tuple[int, ...]]] = {}
    ranks: dict[int, RankStand] = {}
    rank = -1
    for line in (TABLES / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        match line.split():
            case "group", group, kind, *members:
                groups[group] = (kind, tuple(map(int, members)))
            case "rank", number, "in", *names:
                rank = int(number)
                ranks[rank] = RankStand(tuple(names), {})
            case "counts", *rows:
                counts = {key: (int(a), int(b)) for key, a, b in (row.split(":") for row in rows)}
                ranks[rank] = replace(ranks[rank], counts=counts)
            case record, group, pg_id, op, *numbers:
                seq, p2p_seq, at_us, timeout_s = map(int, numbers)
                one = Open(int(record), group, int(pg_id), op, seq, p2p_seq, at_us, timeout_s)
                ranks[rank] = replace(ranks[rank], open=(*ranks[rank].open, one))
    return Standing(groups, ranks)


def entries_of(standing: Standing, stand: RankStand) -> Iterator[dict[str, Any]]:
    for one in stand.open:
        yield {
            "record_id": one.record,
            "pg_id": one.pg_id,
            "process_group": (one.group, standing.groups[one.group][0]),
            "collective_seq_id": one.seq,
            "p2p_seq_id": one.p2p_seq,
            "op_id": one.seq + one.p2p_seq,
            "profiling_name": "nccl:" + one.op.replace("_", " ", 1)
            if one.p2p
            else "nccl:" + one.op,
            "time_created_ns": FIRST_NS + one.at_us * 1000,
            "time_discovered_started_ns": None,
            "time_discovered_completed_ns": None,
            "input_sizes": [[4096, 1, 5120]],
            "output_sizes": [[4096, 1, 5120]],
            "input_dtypes": ["BFloat16"],
            "output_dtypes": ["BFloat16"],
            "state": "scheduled",
            "retired": False,
            "timeout_ms": one.timeout_s * 1000,
            "is_p2p": one.p2p,
            "frames": [],
        }


def dump_of(standing: Standing, rank: int) -> dict[str, Any]:
    stand = standing.ranks[rank]
    return {
        "version": "2.9",
        "pg_config": {
            name: {
                "name": name,
                "desc": standing.groups[name][0],
                "ranks": str(list(standing.groups[name][1])),
            }
            for name in stand.groups
        },
        "pg_status": {
            key: {
                "last_enqueued_collective": enqueued,
                "last_started_collective": -1,
                "last_completed_collective": completed,
            }
            for key, (enqueued, completed) in stand.counts.items()
        },
        "entries": list(entries_of(standing, stand)),
    }


def write_standing(
    standing: Standing, folder: Path, edit: Callable[[int, dict[str, Any]], None] | None = None
) -> Path:
    """A dump a rank, each changed by ``edit`` before it is written."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank in standing.ranks:
        dump = dump_of(standing, rank)
        if edit is not None:
            edit(rank, dump)
        (folder / f"dump_{rank}").write_bytes(pickle.dumps(dump, 2))
    return folder


def write_json(standing: Standing, folder: Path) -> Path:
    """The same as the recorder's JSON handler writes it."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank in standing.ranks:
        dump = dump_of(standing, rank)
        for row in dump["pg_status"].values():
            row.update({key: str(value) for key, value in row.items()})
        for entry in dump["entries"]:
            entry["process_group"] = list(entry["process_group"])
            entry["time_discovered_started_ns"] = 0
            entry["time_discovered_completed_ns"] = 0
        (folder / f"dump_{rank}.json").write_text(json.dumps(dump), encoding="utf-8")
    return folder
