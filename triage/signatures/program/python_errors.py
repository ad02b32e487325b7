"""Exceptions: the last line of a traceback, by type and message.

A traceback is one event and its last line classifies it; frames and echoed source
never do, which is why a pattern wants ``Type: message`` and not a bare word. Errors
of connections are the edge of another rank's end. An exception that nothing here
knows is the program's own, weakly.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from triage.domain.category import Category
from triage.signatures.load import load
from triage.signatures.severity import CONSEQUENCE, ROOT
from triage.signatures.signature import Reading

_WORKER_ENDS = {
    "killed": (ROOT, Category.HOST_OOM),
    "segmentation fault": (ROOT, Category.SOFTWARE_FRAMEWORK),
}


def worker_end(match: re.Match[str], after: Sequence[str]) -> Reading:
    """A worker that vanished, by its signal; without one, most often memory."""
    fields = {"worker_pid": match["worker_pid"]}
    if match["signal_name"] is None:
        return Reading(category=Category.HOST_OOM, weak=True, fields=fields)
    name = match["signal_name"].strip().lower()
    if name == "bus error":
        return replace(shared_memory(match, after), fields=fields)
    role, category = _WORKER_ENDS.get(name, (CONSEQUENCE, None))
    return Reading(role=role, category=category, fields=fields)


def shared_memory(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A file system in memory that is full is as large as the container was given it; the host
    has no memory left only where the line says so.
    """
    left = "Cannot allocate memory" not in match.string
    category, other = (Category.DEPENDENCY, Category.HOST_OOM)[:: 1 if left else -1]
    return Reading(category=category, also=(other,), signature="python.shared_memory")


_FATAL = {
    "segmentation fault": (ROOT, Category.SOFTWARE_FRAMEWORK, (Category.SOFTWARE_USER,)),
    "bus error": (ROOT, Category.HOST_OOM, (Category.SOFTWARE_FRAMEWORK,)),
    "illegal instruction": (ROOT, Category.DEPENDENCY, (Category.SOFTWARE_FRAMEWORK, Category.CPU)),
}


def fatal(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The report of faulthandler, by its signal; an abort has its reason in other lines."""
    role, category, also = _FATAL.get(match["why"].lower(), (CONSEQUENCE, None, ()))
    return Reading(role=role, category=category, also=also)


SIGNATURES = load(
    __name__,
    shared_memory=shared_memory,
    host_memory=lambda match, _after: (
        None
        if match["killed"]
        and re.search(r"\b(?:may|might|possibl\w+|potential\w*|could|if|likely)\b", match.string)
        else Reading()
    ),
    missing_library=lambda match, _after: (
        None
        if re.search(r"NCCL INFO|dlerror[=:]|NET/Plugin|Could not load dynamic", match.string)
        else Reading()
    ),
    nvml=lambda match, _after: (
        Reading(category=Category.IO_BOARD, also=(Category.GPU,), weak=False)
        if (match["error"] or "").lower() == "gpuislost"
        else Reading()
    ),
    connection_told=lambda match, _after: (
        None
        if re.search(r"retry|retries|reconnect|preauth|\bsshd\b", match.string, re.IGNORECASE)
        else Reading(
            peer=None
            if match["end"] is None
            else f"rank {match['end']}"
            if match["word"].lower() == "rank"
            else match["end"]
        )
    ),
    attribute=lambda match, _after: (
        Reading(category=Category.DEPENDENCY, also=(Category.SOFTWARE_USER,))
        if match["module"]
        else Reading()
    ),
)
