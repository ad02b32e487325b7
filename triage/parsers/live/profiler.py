"""The trace of NCCL's example profiler: what is in flight, and whose turn it was.

``NCCL_PROFILER_PLUGIN`` with ``NCCL_PROFILE_DUMP_FILE`` writes ``<file>-<host>-<tid>.txt``, a
chrome trace array (one event a line) that lacks its end when the process is killed::

    {"name": "AllReduce", "cat": "COLL", "ph": "b", "id": 901, "pid": 812, "tid": 1, "ts": 920.7,
     "args": {"SeqNum": 3122, "CommHash": 8885, "Rank": 13, ...}},
    {"name": "ProgressSend", "cat": "PROXY", "ph": "b", "id": 902, ..., "args": {"Peer": 14, ...}},
    {"name": "SendGpuWait", "cat": "NET", "ph": "b", "id": 903, ..., "args": {"Step": 8}},

A ``b`` without its ``e`` is in flight. ``ts`` counts us from the plugin's start, so that nothing
says when that was.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from triage.domain.live.communicator import Waiting, WaitReason
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import Process
from triage.errors import Corrupt
from triage.parsers.live.foreign_values import (
    get_json_object,
    hash_number,
    limit_text,
    parse_whole_number,
)

_REASONS: Final = {
    "SendGpuWait": WaitReason.OWN_DEVICE,
    "SendPeerWait": WaitReason.PEER,
    "SendWait": WaitReason.WIRE,
    "RecvWait": WaitReason.WIRE,
    "RecvFlushWait": WaitReason.OWN_DEVICE,
    "RecvGpuWait": WaitReason.OWN_DEVICE,
}
_MAX_OPEN: Final = 65_536
_MAX_LINE: Final = 64 << 10


@dataclass(slots=True)
class _OpenEvents:
    """Events that have begun and not ended, by id and name, with the waits among them."""

    waits: dict[tuple[Any, str], Waiting] = field(default_factory=dict)
    process: Process = field(default_factory=Process)
    collective: dict[str, Any] = field(default_factory=dict)
    operation: str = ""
    peer: int | None = None
    events: int = 0
    unread: int = 0


def read_profiler(text: str, artifact: str) -> Sequence[Look]:
    """One look at one process. Raises :class:`Corrupt` where no event can be read."""
    opened = _OpenEvents()
    for number, event in _iterate_profiler_events(text, opened):
        _add_event(opened, event, number)
    if not opened.events:
        raise Corrupt("no event in what begins like a trace of NCCL's profiler")
    unread = f"{opened.unread:,} lines are no event" if opened.unread else None
    return (Look(artifact, Tool.PROFILER, waiting=tuple(opened.waits.values()), partial=unread),)


def _iterate_profiler_events(
    text: str, opened: _OpenEvents
) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, event); the last line may be cut."""
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip().rstrip(",")
        if line in ("", "[", "]"):
            continue
        try:
            event = orjson.loads(line) if len(line) <= _MAX_LINE else None
        except orjson.JSONDecodeError:
            event = None
        if isinstance(event, dict):
            opened.events += 1
            yield number, event
        else:
            opened.unread += 1


def _add_event(opened: _OpenEvents, event: dict[str, Any], line: int) -> None:
    """Begin or end what one event is of."""
    name, phase = limit_text(event.get("name")), event.get("ph")
    identity = event.get("id")
    key = (identity if isinstance(identity, int | str) else None, name)
    if phase == "e":
        opened.waits.pop(key, None)
        return
    if phase != "b":
        return
    given = get_json_object(event.get("args"))
    pid = parse_whole_number(event.get("pid"))
    if pid is not None and pid != opened.process.pid:
        opened.process = Process(pid=pid)
    if event.get("cat") in ("COLL", "P2P"):
        opened.collective = given
        opened.operation = f"{name} {parse_whole_number(given.get('SeqNum'))}"
        peer = parse_whole_number(given.get("Peer"))
        opened.peer = peer
    elif "Peer" in given:
        opened.peer = parse_whole_number(given.get("Peer"))
    reason = _REASONS.get(name)
    number = hash_number(opened.collective.get("CommHash"))
    rank = parse_whole_number(opened.collective.get("Rank"))
    if reason is None or number is None or rank is None or len(opened.waits) >= _MAX_OPEN:
        return
    peer = None if reason is WaitReason.OWN_DEVICE else opened.peer
    opened.waits[key] = Waiting(
        number, rank, opened.process, reason, peer, f"{name} of {opened.operation}", None, line
    )
