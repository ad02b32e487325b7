"""torchcomms' dumps: the shape of PyTorch's, with one counter over all communicators.

torchcomms numbers every call of a process in one row, sends and receives included, so that one
call has other numbers on other ranks. What is the same on all members is the how-manieth call of
its communicator it is. Known by the name of the backend in the place of a group's description
(torchcomms, 2026-08)::

    {"collective_seq_id": 3, "is_p2p": false, "p2p_seq_id": 0, "pg_id": 0, "record_id": 3,
     "process_group": ["dp", "ncclx"], "profiling_name": "ncclx:all_gather", "state": "started"}
"""

from collections import Counter
from typing import Any, Final

from triage.errors import Corrupt

# PyTorch's own recorder writes a row for each group that the process is in.
_OWN_STATUS: Final = "pg_status"
_STAMPS: Final = ("time_discovered_started_ns", "time_discovered_completed_ns")
_P2P: Final = frozenset({"send", "recv"})

_Entry = dict[str, Any]


def is_torchcomms(top: dict[str, Any]) -> bool:
    """Whether a dump is torchcomms': every entry names its backend where PyTorch puts a
    description, is no transfer by its own word, and has the number behind that of the one before.
    """
    entries = top.get("entries")
    if top.get(_OWN_STATUS) or not isinstance(entries, list) or not entries:
        return False
    if not all(isinstance(entry, dict) and _has_backend_name(entry) for entry in entries):
        return False
    numbers = [entry.get("collective_seq_id") for entry in entries]
    first = numbers[0]
    if not isinstance(first, int):
        return False
    return numbers == list(range(first, first + len(numbers)))


def _has_backend_name(entry: _Entry) -> bool:
    group, name = entry.get("process_group"), entry.get("profiling_name")
    if not (isinstance(group, list) and len(group) == 2 and isinstance(name, str)):
        return False
    backend, colon, _ = name.partition(":")
    # PyTorch counts transfers in a number of their own.
    is_transfer = entry.get("is_p2p") or entry.get("p2p_seq_id") not in (0, None)
    return bool(colon) and group[1] == backend and not is_transfer


def with_ordinals(entries: list[_Entry]) -> list[_Entry]:
    """The entries with the numbers that PyTorch would have given: from 1 in each communicator.

    A stamp of 0 is none. Raises :class:`Corrupt` where the ring has lost its beginning: nothing
    tells how many calls of each communicator came before, and no rank can be compared.
    """
    first = entries[0]["collective_seq_id"]
    if first != 0:
        raise Corrupt(
            f"torchcomms counts the calls of all communicators in one number, and the first {first}"
            " are overwritten: raise TORCHCOMM_FR_BUFFER_SIZE to keep them all"
        )
    collectives: Counter[Any] = Counter()
    transfers: Counter[Any] = Counter()
    numbered = []
    for entry in entries:
        group = entry["process_group"][0]
        operation = entry["profiling_name"].partition(":")[2].partition(" ")[0]
        is_p2p = operation in _P2P
        (transfers if is_p2p else collectives)[str(group)] += 1
        changed = {
            **entry,
            "is_p2p": is_p2p,
            "collective_seq_id": collectives[str(group)],
            "p2p_seq_id": transfers[str(group)],
        }
        for stamp in _STAMPS:
            if entry.get(stamp) == 0:
                changed[stamp] = None
        numbered.append(changed)
    return numbered
