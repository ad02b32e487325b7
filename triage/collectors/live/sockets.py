"""Which ports the processes of a job listen on, as the kernel's tables say.

So that no port is asked that is not the job's, and no process that did not open a server of its
own accord: a stray request to NCCL's or gloo's listeners could do harm.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from triage.collectors.live.seen import PROC, read_file

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["listening", "same_network"]

MAX_TABLE = 32 << 20
MAX_FILES = 20_000
LISTEN = "0A"
SOCKET = re.compile(r"socket:\[([0-9]{1,20})\]")


def listening(pids: Iterable[int], proc: str = PROC) -> dict[int, int]:
    """Ports of this network namespace by which of ``pids`` listens there."""
    by_inode = {}
    for table in ("tcp", "tcp6"):
        data = read_file(f"{proc}/self/net/{table}", MAX_TABLE) or b""
        for row in data.decode("ascii", "replace").splitlines()[1:]:
            fields = row.split()
            if len(fields) > 9 and fields[3] == LISTEN:
                by_inode[fields[9]] = int(fields[1].rpartition(":")[2], 16)
    ports: dict[int, int] = {}
    for pid in pids:
        for inode in _sockets_of(pid, proc):
            if inode in by_inode:
                ports.setdefault(by_inode[inode], pid)
    return ports


def same_network(pid: int, proc: str = PROC) -> bool:
    """Whether a process is in the network namespace of this one, where ports mean the same."""
    try:
        return os.readlink(f"{proc}/{pid}/ns/net") == os.readlink(f"{proc}/self/ns/net")
    except OSError:
        return True


def _sockets_of(pid: int, proc: str) -> list[str]:
    found = []
    with suppress(OSError):
        for number, name in enumerate(os.scandir(f"{proc}/{pid}/fd")):
            if number > MAX_FILES:
                break
            with suppress(OSError):
                match = SOCKET.fullmatch(os.readlink(name.path))
                if match is not None:
                    found.append(match[1])
    return found
