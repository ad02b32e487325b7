"""A process of a job, as far as a tool names it, and what it answered to a tool."""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Process:
    """Who a tool speaks of; each part is None where the tool does not say it.

    ``rank`` is global. ``host`` is as the tool prints it, an address or a host name; ``node`` is
    the folder or file that it came from. ``pid`` is in the namespace that the tool saw. ``gpu`` is
    CUDA's number, ``nvml_gpu`` that of nvidia-smi.
    """

    rank: int | None = None
    node: str | None = None
    host: str | None = None
    pid: int | None = None
    parent_pid: int | None = None
    gpu: int | None = None
    nvml_gpu: int | None = None
    command: str | None = None


UNKNOWN_PROCESS = Process()


class ReplyKind(StrEnum):
    """How a process answered when a tool asked it."""

    ANSWERED = "answered"
    SILENT = "silent"  # asked, and nothing came in time (408)
    UNREACHABLE = "unreachable"  # nobody listens there (503)
    TOOL_FAILED = "tool_failed"  # no such handler, or the tool is not installed (404, 500)


@dataclass(frozen=True, slots=True)
class Reply:
    """What one process answered to one question: ``handler`` is ``dump_traceback``, ``ping`` ..."""

    process: Process
    handler: str
    kind: ReplyKind
    detail: str = ""
    line: int | None = None
