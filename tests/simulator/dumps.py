"""Simulated folders, loaded with the standard unpickler, and what the dumps say together."""

import pickle
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from simulator import Truth, simulate

Dump = dict[str, Any]
Dumps = dict[int, Dump]
Key = tuple[str, tuple[int, ...], int]


def job(path: Path, kind: str, **options: Any) -> tuple[Truth, Dumps]:
    """Simulate a small job and load what it left."""
    options = {"ranks": 16, "entries": 160, "frames": 3, **options}
    truth = simulate(kind, path / kind, **options)
    return truth, load(path / kind)


def load(folder: Path, prefix: str = "comm_lib_trace_rank_") -> Dumps:
    """The dumps of the folder that can be loaded, by rank."""
    found: Dumps = {}
    for path in sorted(folder.glob(f"**/{prefix}*")):
        number = re.search(r"(\d+)$", path.name)
        assert number is not None
        try:
            found[int(number[1])] = pickle.loads(path.read_bytes())
        except (EOFError, pickle.UnpicklingError):
            continue
    return found


def running(dump: Dump) -> list[dict[str, Any]]:
    """The entries that run on the device."""
    entries = dump["entries"]
    blocks = any(entry["profiling_name"] == "nccl:coalesced" for entry in entries)
    return [entry for entry in entries if not (entry["is_p2p"] and blocks)]


def unfinished(dump: Dump) -> list[dict[str, Any]]:
    """What the rank has issued and not finished, oldest first."""
    return [entry for entry in running(dump) if entry["state"] != "completed"]


def idle(dumps: Dumps) -> set[int]:
    """The ranks that have finished all they issued."""
    return {rank for rank, dump in dumps.items() if not unfinished(dump)}


def members(dump: Dump, name: str) -> tuple[int, ...]:
    """The global ranks of a group of the rank."""
    text = dump["pg_config"][name]["ranks"]
    return tuple(int(number) for number in re.findall(r"\d+", text))


def is_collective(entry: dict[str, Any]) -> bool:
    """Neither a send or recv nor a coalesced block of them."""
    return not entry["is_p2p"] and entry["profiling_name"] != "nccl:coalesced"


def collectives(dumps: Dumps) -> dict[Key, dict[int, dict[str, Any]]]:
    """Every collective in the rings: (group name, members, seq id) to rank to entry."""
    found: dict[Key, dict[int, dict[str, Any]]] = defaultdict(dict)
    for rank, dump in dumps.items():
        for entry in dump["entries"]:
            if is_collective(entry):
                name = entry["process_group"][0]
                found[name, members(dump, name), entry["collective_seq_id"]][rank] = entry
    return found


def signature(entry: dict[str, Any]) -> tuple[Any, ...]:
    """What the members of a collective must agree on."""
    sizes = () if "all_to_all" in entry["profiling_name"] else entry["input_sizes"]
    return entry["profiling_name"], str(sizes), tuple(entry["input_dtypes"])


def last_enqueued(dump: Dump, name: str) -> int:
    """The group's counter on that rank; group names and pg ids stand in the same order."""
    place = list(dump["pg_config"]).index(name)
    status = list(dump["pg_status"].values())[place]
    return int(status["last_enqueued_collective"])
