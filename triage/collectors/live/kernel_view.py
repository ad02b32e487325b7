"""What the kernel says of a process: its state, where it waits, in which system call.

It is read without the process, which may be stopped or stuck in the kernel.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from triage.collectors.live.asked import ANSWERED, TOOL_FAILED, UNREACHABLE, Question
from triage.collectors.live.seen import PROC, read_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from triage.collectors.live.processes import RankProcess

__all__ = ["kernel_view_of", "own_view_of", "rights_missing"]

NAME = "proc"
PARTS = ("status", "wchan", "stack", "syscall")
MAX_BYTES = 1 << 16
# Of a process of a few hundred threads the main one is asked, and those that say more than it.
MAX_THREADS = 16
# The rows of ``status`` that say who it is and how it fares.
STATUS = ("Name", "State", "Tgid", "Pid", "PPid", "TracerPid", "NSpid", "VmRSS", "Threads",
          "SigQ", "SigCgt", "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")  # fmt: skip


def kernel_view_of(one: RankProcess, proc: str = PROC) -> tuple[Question, bytes]:
    """The parts of ``/proc/PID`` of a rank, each below ``== NAME``."""
    text = own_view_of(one.seen.pid, proc)
    reply = ANSWERED if text else UNREACHABLE
    why = "" if text else "ended while it was asked"
    return Question(NAME, one.rank, one.seen.pid, reply, why), text.encode("utf-8", "replace")


def own_view_of(pid: int, proc: str = PROC) -> str:
    """The text for one process, empty where it is gone."""
    folder = f"{proc}/{pid}"
    rows = []
    for part in PARTS:
        data = read_file(f"{folder}/{part}", MAX_BYTES)
        if data is None:
            continue
        text = data.decode("utf-8", "replace").strip("\0\n ")
        if part == "status":
            text = "\n".join(row for row in text.splitlines() if row.partition(":")[0] in STATUS)
        if text:
            rows.append(f"== {part}\n{text}\n")
    return "".join(rows) if rows and rows[0].startswith("== status") else ""


def rights_missing(ranks: Sequence[RankProcess], proc: str = PROC) -> Iterable[Question]:
    """That the kernel's stacks may not be read, once for the node."""
    for one in ranks[:1]:
        path = f"{proc}/{one.seen.pid}/stack"
        if os.path.exists(path) and read_file(path, 64) is None:
            yield Question(
                "kernel_stack", None, None, TOOL_FAILED,
                "the kernel's stacks are for root alone; wchan and state are read",
            )  # fmt: skip
