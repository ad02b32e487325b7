"""Dumps as the recorder would fill them, in every spelling and format version.

``Recorder`` keeps the counters that PyTorch keeps; ``spellings`` are the ways in which one
value is written; ``differences`` compares what two of them came to.
"""

import pickle
import pickletools
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from tests.hostile import assembler
from triage.domain import rank_digest as rd
from triage.domain.rank_digest import RankDigest
from triage.parsers.flight_recorder.decoder import Decoder
from triage.parsers.flight_recorder.shared import Shared

DATA = Path(__file__).parents[2] / "data"
REAL = sorted(DATA.glob("*/comm_lib_trace_rank_*"))
BORN = 1_780_000_000_000_000_000
DECODER = Decoder(Shared())

Value = dict[str, Any]


def decode(data: bytes, rank: int = 0) -> RankDigest:
    return DECODER.decode(data, "dump", rank)


class Recorder:
    """One rank's recorder. Groups are known by name; the first is the default group."""

    def __init__(self, groups: dict[str, list[int]] | None = None) -> None:
        self.groups = groups or {"0": [0, 1, 2, 3], "1": [0, 1]}
        self.entries: list[Value] = []
        self.seq = dict.fromkeys(self.groups, 0)
        self.p2p = dict.fromkeys(self.groups, 0)
        self.ops = dict.fromkeys(self.groups, 0)
        self.frames = [
            {"name": "step", "filename": "train.py", "line": 10},
            {"name": "main", "filename": "train.py", "line": 99},
        ]

    def desc(self, group: str) -> str:
        return "default_pg" if group == next(iter(self.groups)) else "mesh_dp"

    def record(self, name: str, group: str, done: bool, **more: Any) -> Value:
        number = len(self.entries)
        born = BORN + number * 1_000_000
        self.ops[group] += 1
        entry = {
            "frames": self.frames,
            "record_id": number,
            "pg_id": list(self.groups).index(group),
            "process_group": (group, self.desc(group)),
            "thread_name": "python",
            "thread_id": "139705465170816",
            "collective_seq_id": self.seq[group],
            "p2p_seq_id": self.p2p[group],
            "op_id": self.ops[group],
            "profiling_name": name,
            "time_created_ns": born,
            "input_sizes": [[16, 64]],
            "input_dtypes": ["Float"],
            "output_sizes": [[16, 64]],
            "output_dtypes": ["Float"],
            "state": "completed" if done else "scheduled",
            "time_discovered_started_ns": born + 1000 if done else None,
            "time_discovered_completed_ns": born + 2000 if done else None,
            "retired": done,
            "timeout_ms": 600_000,
            "is_p2p": False,
            **more,
        }
        self.entries.append(entry)
        return entry

    def collective(self, name: str = "all_reduce", group: str = "0", done: bool = True) -> Value:
        self.seq[group] += 1
        return self.record(f"nccl:{name}", group, done)

    def send(self, peer: int = 1, group: str = "0", done: bool = True, arrow: str = "->") -> Value:
        self.p2p[group] += 1
        kind = "send" if arrow == "->" else "recv"
        return self.record(f"nccl:{kind} 0{arrow}{peer}", group, done, is_p2p=True)

    def block(
        self, members: int, group: str = "0", done: bool = True, p2p: bool = True,
        closed: bool = True,
    ) -> None:  # fmt: skip
        """Members without events, then the entry that speaks for them."""
        counter = self.p2p if p2p else self.seq
        counter[group] += 1
        for number in range(members):
            if p2p:
                arrow = "->" if number % 2 else "<-"
                kind = "send" if number % 2 else "recv"
                self.record(f"nccl:{kind} 0{arrow}{number + 1}", group, False, is_p2p=True)
            else:
                self.record("nccl:_all_gather_base", group, False)
        if closed:
            lists = ("input_sizes", "input_dtypes", "output_sizes", "output_dtypes")
            empty: Value = {key: [] for key in lists}
            name = "nccl:coalesced" if p2p else "nccl:ALLGATHER_coalesced"
            self.record(name, group, done, **empty)
            self.ops[group] -= 1

    def value(self) -> Value:
        """The dump, format 2.10."""
        return {
            "version": "2.10",
            "pg_config": {
                name: {"name": name, "desc": self.desc(name), "ranks": str(ranks)}
                for name, ranks in self.groups.items()
            },
            "comm_lib_version": "2.27.5",
            "pg_status": {
                str(number): {
                    "last_enqueued_collective": self.seq[name] or -1,
                    "last_started_collective": -1,
                    "last_completed_collective": self.seq[name] or -1,
                }
                for number, name in enumerate(self.groups)
            },
            "entries": self.entries,
        }


def json_form(value: Any) -> bytes:
    """The dump as the JSON route writes it: no frames, zeros for no stamp, counters as text."""
    if isinstance(value, list):
        return orjson.dumps([json_entry(one) for one in value])
    status = {
        key: {name: str(number) for name, number in row.items()}
        for key, row in value.get("pg_status", {}).items()
    }
    shown = {**value, "pg_status": status, "nccl_comm_state": {}}
    shown["entries"] = [json_entry(one) for one in value["entries"]]
    return orjson.dumps(shown, option=orjson.OPT_NON_STR_KEYS)


def json_entry(entry: Value) -> Value:
    return {
        key: 0 if key.startswith("time_discovered") and item is None else item
        for key, item in entry.items()
        if key != "frames"
    }


def pickled(protocol: int) -> Callable[[Any], bytes]:
    return lambda value: pickle.dumps(value, protocol)


def slowly(value: Any) -> bytes:
    """The pickler in Python, which numbers its memo otherwise."""
    import io

    out = io.BytesIO()
    pickle._Pickler(out, 4).dump(value)  # type: ignore[attr-defined]
    return out.getvalue()


SPELLINGS: dict[str, Callable[[Any], bytes]] = {
    **{f"protocol {number}": pickled(number) for number in range(2, 6)},
    "without a memo": assembler.whole,
    "pickled by Python": slowly,
    "protocol 4, unused memo dropped": lambda value: pickletools.optimize(pickle.dumps(value, 4)),
    "zeros behind": lambda value: pickle.dumps(value, 2) + bytes(300),
}


def as_list(column: Any) -> Any:
    """The values of a column; None where a dump has none of it."""
    return None if column is None else column.tolist()


def differences(one: RankDigest, other: RankDigest, *ignored: str) -> list[str]:
    """Names of the fields in which two digests of one dump differ."""
    found = []
    for field in fields(RankDigest):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if field.name == "streams":
            # The first two columns are places in this file's table of strings.
            a, b = a.values[:, rd.S_PG_ID :], b.values[:, rd.S_PG_ID :]
        elif field.name == "history":
            a, b = [[as_list(column) for column in history.read()] for history in (a, b)]
        same = np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b
        if not same and field.name not in ("artifact", *ignored):
            found.append(f"{field.name}: {a!r} is not {b!r}")
    return found
