"""The stream of ``ncclras -m``: what happened between processes, as text or as JSON objects.

Of each process the last event counts. Samples::

    [2026-03-14 02:41:13] PEER_DEAD: Process 51306 on node 10.20.0.12 managing GPU 5
    {"timestamp": "2026-03-14 02:41:13", "group": "LIFECYCLE", "event": "PEER_DEAD",
     "peer": {"host": "10.20.0.12", "pid": 51306, "cuda_devs": [5]}, "details": ""}
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from triage.domain.evidence import NO_STAMP
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import Process, Reply, ReplyKind
from triage.domain.patterns import compile_re
from triage.errors import ArtifactError
from triage.parsers.live.ras.members import number
from triage.parsers.live.ras.report_json import find_report_start, parse_ras_stamp

_MAX_EVENTS: Final = 1_000_000
_EVENT: Final = compile_re(
    r"\[(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\] (?P<event>PEER_[A-Z_]{2,40}):"
    r"(?: Process (?P<pid>\d{1,10}) on node (?P<host>\S{1,256}) managing GPUs? (?P<gpu>\d{1,5})"
    r"(?P<more>[,\d]{0,200})(?: \(NVML (?P<nvml>\d{1,5})[,\d]{0,200}\))?)?(?P<details>[^\n]{0,300})"
)
_JSON_EVENT: Final = compile_re(r'"event"\s{0,20}:\s{0,20}"PEER_[A-Z_]{2,40}"')
_OBJECT: Final = compile_re(r"\{")

_KINDS: Final = {
    "PEER_DEAD": ReplyKind.UNREACHABLE,
    "PEER_TIMEOUT_DEAD": ReplyKind.UNREACHABLE,
    "PEER_UNRESPONSIVE": ReplyKind.SILENT,
    "PEER_KEEPALIVE_TIMEOUT": ReplyKind.SILENT,
    "PEER_SEND_STUCK": ReplyKind.SILENT,
    "PEER_RETRY": ReplyKind.SILENT,
    "PEER_INIT_TIMEOUT": ReplyKind.SILENT,
    "PEER_NEW": ReplyKind.ANSWERED,
    "PEER_CONNECTED": ReplyKind.ANSWERED,
    "PEER_RECOVERED": ReplyKind.ANSWERED,
}
"""What an event says of the process; others (a connection that begins or ends) say nothing."""


def is_ras_monitor(text: str) -> bool:
    """Whether a file that begins with ``text`` is a stream of RAS's events."""
    head = text[find_report_start(text) :].lstrip()
    if head.startswith("{"):
        found = _JSON_EVENT.search(head, 0, 2000)
        return found is not None and '"peer"' in head[:4000]
    return _EVENT.match(head) is not None


def parse_monitor(text: str, artifact: str) -> Sequence[Look]:
    """One look, of the time of the last event; :class:`ArtifactError` where there is none."""
    text = text[find_report_start(text) :]
    is_json = text.lstrip().startswith("{")
    last: dict[tuple[str | None, int | None], Reply] = {}
    stamp, num_events = NO_STAMP, 0
    for time, event, process, details, line in (
        _iterate_json_events(text) if is_json else _iterate_text_events(text)
    ):
        num_events += 1
        stamp = parse_ras_stamp(time) if time is not None else stamp
        kind = _KINDS.get(event)
        if kind is None or process.pid is None:
            continue
        key = (process.host, process.pid)
        known = last.get(key)
        words = f"{event} at {time}{': ' if details else ''}{details}"
        # Dead stays dead until it is seen again: retries go on behind it.
        gone = known is not None and known.kind is ReplyKind.UNREACHABLE
        if not (gone and kind is ReplyKind.SILENT):
            last[key] = Reply(process, "ras_monitor", kind, words, line)
    if not num_events:
        raise ArtifactError("no event of NCCL RAS can be read")
    dated_by = "content" if stamp.wall_ns is not None else None
    return [Look(artifact, Tool.RAS, stamp, dated_by, replies=tuple(last.values()))]


_Event = tuple[str | None, str, Process, str, int | None]


def _iterate_text_events(text: str) -> Iterator[_Event]:
    """(time, event, process, details, line) of each line."""
    start, line = 0, 0
    while start < len(text) and line < _MAX_EVENTS:
        line += 1
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        found = _EVENT.match(text, start, min(end, start + 2000))
        if found is not None:
            process = Process()
            if found["pid"] is not None:
                gpu = None if found["more"] else number(found["gpu"])
                nvml = None if gpu is None or found["nvml"] is None else number(found["nvml"])
                pid = number(found["pid"])
                process = Process(host=found["host"], pid=pid, gpu=gpu, nvml_gpu=nvml)
            yield found["time"], found["event"], process, found["details"].strip(), line
        start = end + 1


def _iterate_json_events(text: str) -> Iterator[_Event]:
    """(time, event, process, details, None) of each object; a stream may break off."""
    decoder = json.JSONDecoder()
    place = 0
    for _ in range(_MAX_EVENTS):
        found = _OBJECT.search(text, place)
        if found is None:
            return
        try:
            value, place = decoder.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            return
        if isinstance(value, dict) and isinstance(value.get("event"), str):
            time = value.get("timestamp")
            details = value.get("details")
            yield (
                time[:40] if isinstance(time, str) else None,
                value["event"][:60],
                _make_process(value.get("peer")),
                " ".join(details.split())[:200] if isinstance(details, str) else "",
                None,
            )


def _make_process(peer: Any) -> Process:
    """Who an event speaks of; nobody where it names an address alone."""
    if not isinstance(peer, dict) or not isinstance(peer.get("host"), str):
        return Process()
    pid = peer.get("pid")
    if not isinstance(pid, int) or isinstance(pid, bool) or not 0 <= pid < 1 << 31:
        return Process()
    numbers = {}
    for key in ("cuda_devs", "nvml_devs"):
        listed = peer.get(key)
        lone = listed[0] if isinstance(listed, list) and len(listed) == 1 else None
        numbers[key] = lone if isinstance(lone, int) and 0 <= lone < 1 << 16 else None
    return Process(
        host=peer["host"][:256], pid=pid, gpu=numbers["cuda_devs"], nvml_gpu=numbers["nvml_devs"]
    )
