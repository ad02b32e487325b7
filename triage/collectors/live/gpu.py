"""The state of the node's GPUs: utilisation, power and memory traffic, by the vendor's tool."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from triage.collectors.capture import program
from triage.collectors.live.asked import ANSWERED, SILENT, TOOL_FAILED, Question
from triage.collectors.live.program import printed_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triage.collectors.deadline import Deadline

__all__ = ["gpu_tools", "state_by"]

MAX_BYTES = 8 << 20
# A driver that hangs holds its tool in the kernel.
TOOL_S = 8.0
FIELDS = ("timestamp", "index", "uuid", "pci.bus_id", "pstate", "utilization.gpu",
          "utilization.memory", "power.draw", "power.limit", "clocks.current.sm",
          "temperature.gpu")  # fmt: skip
TOOLS = (
    ("nvidia-smi", (f"--query-gpu={','.join(FIELDS)}", "--format=csv"), "csv"),
    ("amd-smi", ("metric", "--usage", "--power", "--json"), "json"),
)


def gpu_tools(search: str) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Name, command and ending of each tool that this node has."""
    for name, arguments, ending in TOOLS:
        path = program(name, search)
        if path is not None:
            yield name, (path, *arguments), ending


def state_by(name: str, argv: tuple[str, ...], deadline: Deadline) -> tuple[Question, bytes]:
    """What the tool prints."""
    began = time.monotonic()
    deadline = deadline.part(min(1.0, TOOL_S / max(deadline.left_s(), 0.001)))
    got = printed_by(argv, deadline, MAX_BYTES)
    reply = ANSWERED if got.status == 0 else SILENT if got.status is None else TOOL_FAILED
    why = "" if reply == ANSWERED else f"{name} {got.why}"
    return Question(name, None, None, reply, why, time.monotonic() - began), got.data
