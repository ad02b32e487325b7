"""The files, pages and single answers of PyTorch's debug server as looks.

Stacks come as from faulthandler and py-spy, each thread with rank and host. The server's own
threads are among them: ``<no Python frame>``, under py-spy a thread without a name.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from triage.domain.evidence import NO_STAMP
from triage.domain.live.look import Look, Tool, WaitCounter
from triage.domain.live.process import Process, Reply, ReplyKind
from triage.domain.live.stack import ThreadStack
from triage.errors import Corrupt
from triage.parsers.live.debug_server.answers import (
    Answer,
    answers_of_file,
    answers_of_page,
    reply_kind,
)
from triage.parsers.live.file_names import rank_of_name, stamp_of_name
from triage.parsers.live.stacks.faulthandler import faulthandler_rounds
from triage.parsers.live.stacks.lines import lines_of, short
from triage.parsers.live.stacks.py_spy import py_spy_stacks

__all__ = ["counter_looks", "file_looks", "page_looks", "refusal_looks", "store_looks"]

TOOLS: Final = {
    "dump_traceback": Tool.FAULTHANDLER,
    "pyspy_dump": Tool.PY_SPY,
    "wait_counter_values": Tool.WAIT_COUNTERS,
}
# "Handler dump_nccl_trace_json not found: Failed to find handler dump_nccl_trace_json"
REFUSAL: Final = re.compile(r"Handler (\w{1,64}) (not found|failed): (.{0,300})")
# "debug_server/rank2: b'http://gpu-n02:46249'"
STORED: Final = re.compile(
    r"^(?:\S{0,256}/)?debug_server/rank(\d{1,7}): b?['\"]?https?://(\[[^\]]{1,64}\]|[^\s:/'\"]{1,253})",
    re.M,
)


def file_looks(text: str, artifact: str) -> list[Look]:
    """A periodic file: stacks, ``pyspy_dump``, ``wait_counters``, ``torchcomms_health_check``."""
    return looks_of(answers_of_file(text), artifact)


def page_looks(text: str, artifact: str) -> list[Look]:
    """A page of the frontend."""
    return looks_of(answers_of_page(text), artifact)


def looks_of(answers: Sequence[Answer], artifact: str) -> list[Look]:
    if not answers:
        raise Corrupt("begins as the debug server prints it and holds no answer of a rank")
    found: list[Look] = []
    for handler in dict.fromkeys(one.handler for one in answers):
        asked = [one for one in answers if one.handler == handler]
        stamp = stamp_of_name(artifact)
        found.append(
            Look(
                artifact,
                TOOLS.get(handler, Tool.DEBUG_SERVER),
                stamp or NO_STAMP,
                None if stamp is None else "name",
                stacks=tuple(stack for one in asked for stack in stacks_of(one)),
                replies=tuple(reply_of(one) for one in asked),
                counters=tuple(value for one in asked for value in counters_in(one)),
            )
        )
    return found


def stacks_of(answer: Answer) -> list[ThreadStack]:
    if answer.status is not None:
        return []
    if answer.handler == "dump_traceback":
        rounds = faulthandler_rounds(lines_of(answer.body), answer.process, answer.line)
        return rounds[-1] if rounds else []
    if answer.handler == "pyspy_dump":
        return py_spy_stacks(lines_of(answer.body), answer.process, answer.line)
    return []


def counters_in(answer: Answer) -> list[WaitCounter]:
    if answer.status is not None or answer.handler != "wait_counter_values":
        return []
    return counters_of(answer.body, answer.process)


def reply_of(answer: Answer) -> Reply:
    """A rank's reply; of a health check what it says of itself."""
    detail = answer.why
    if answer.handler == "torchcomms_health_check" and answer.status is None:
        detail = health_in(answer.body)
    return Reply(answer.process, answer.handler, reply_kind(answer.status), detail, answer.line)


def health_in(body: str) -> str:
    """``healthy``, ``unhealthy``, or nothing: the body is ``{"healthy": true}``."""
    try:
        value = json.loads(body[:4096])
    except (ValueError, RecursionError):
        return ""
    healthy = value.get("healthy") if isinstance(value, dict) else None
    if not isinstance(healthy, bool):
        return ""
    return "healthy" if healthy else "unhealthy"


def store_looks(text: str, artifact: str) -> list[Look]:
    """A dump of the store: which rank's server listens where, so which rank sits on which host."""
    stamp = stamp_of_name(artifact)
    found = {
        int(one[1]): Process(rank=int(one[1]), host=one[2].strip("[]"))
        for one in STORED.finditer(text)
    }
    processes = tuple(found[rank] for rank in sorted(found))
    look = Look(artifact, Tool.DEBUG_SERVER, processes=processes)
    return [look if stamp is None else replace(look, stamp=stamp, dated_by="name")]


def counter_looks(text: str, artifact: str) -> list[Look]:
    """One rank's answer of ``wait_counter_values``; the rank is in the file's name."""
    process = Process(rank=rank_of_name(artifact))
    counters = tuple(counters_of(text, process))
    if not counters:
        raise Corrupt("begins with a wait counter and is no JSON")
    reply = Reply(process, "wait_counter_values", ReplyKind.ANSWERED)
    return [Look(artifact, Tool.WAIT_COUNTERS, replies=(reply,), counters=counters)]


def refusal_looks(text: str, artifact: str) -> list[Look]:
    """One rank's answer that it has no such handler, or that the handler failed."""
    match = REFUSAL.match(text)
    if match is None:
        raise Corrupt("no answer of a handler")
    process = Process(rank=rank_of_name(artifact))
    detail = " ".join(match[3].split())
    reply = Reply(process, match[1], ReplyKind.TOOL_FAILED, detail, 1)
    return [Look(artifact, Tool.DEBUG_SERVER, replies=(reply,))]


# {"pytorch.wait_counter.TCPStore__wait": {"active_count": 1, "max_time_us": 1530,
#                                          "total_calls": 6, "total_time_us": 1658}}
PREFIX: Final = "pytorch.wait_counter."
MAX_COUNTERS: Final = 256
MAX_CHARACTERS: Final = 1 << 20


def counters_of(body: str, process: Process) -> list[WaitCounter]:
    """The counters of one process by name; none where the body is not whole."""
    if len(body) > MAX_CHARACTERS:
        return []
    try:
        values = json.loads(body)
    except (ValueError, RecursionError):
        return []
    if not isinstance(values, dict):
        return []
    found: list[WaitCounter] = []
    for name, value in list(values.items())[:MAX_COUNTERS]:
        if isinstance(value, dict) and "active_count" in value:
            numbers = [
                number(value, key)
                for key in ("active_count", "total_calls", "total_time_us", "max_time_us")
            ]
            found.append(WaitCounter(process, short(name.removeprefix(PREFIX)), *numbers))
    return sorted(found, key=lambda one: one.name)


def number(value: dict[str, Any], key: str) -> int:
    found = value.get(key)
    if not isinstance(found, int) or isinstance(found, bool):
        return 0
    return found if 0 <= found < 1 << 62 else 0
