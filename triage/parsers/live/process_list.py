"""``triage live``'s list of a node's processes: who is there, who is not, who answered what.

```
{"schema": "triage.processes/1", "node": "gpu-n01", "at": "2026-03-14T02:41:07Z", "missing": [5],
 "ranks": [{"rank": 4, "pid": 48206, "state": "S"}],
 "asked": [{"tool": "pyspy_dump", "rank": 4, "pid": 48206, "reply": "silent", "why": "..."}]}
```

A rank that belongs on the node and has no process is a reply too: nobody is there.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any, Final

from triage.domain.evidence import NO_STAMP, Stamp
from triage.domain.live.look import Look, Tool, WaitCounter
from triage.domain.live.process import Process, Reply, ReplyKind
from triage.errors import Corrupt
from triage.parsers.live.foreign_values import (
    get_count,
    get_json_object,
    iterate_json_objects,
    make_stamp,
    parse_json_value,
)

SCHEMA: Final = "triage.processes/1"
# The question that the operating system answers: is there a process of this rank?
PRESENCE: Final = "process"
# How often the main thread of a rank has gone to sleep by itself, since it began.
SWITCHES: Final = "voluntary_ctxt_switches"
# A node has some ranks, each is asked some questions.
_MAX_ROWS: Final = 100_000
_MAX_NOTES: Final = 200
_MAX_TEXT: Final = 500
_MAX_NUMBER: Final = 10_000_000
_MAX_SWITCHES: Final = 1 << 60
_REPLIES: Final = {str(one): one for one in ReplyKind}


def process_list_looks(text: str, artifact: str) -> Sequence[Look]:
    """One look with a reply for each question. Raises :class:`Corrupt` for what is no such list."""
    row = get_json_object(parse_json_value(text))
    if row.get("schema") != SCHEMA:
        raise Corrupt(f'no list of processes: "schema" is not {SCHEMA}')
    node = _get_text(row.get("node")) or None
    replies = tuple(islice(_iterate_replies(row, node), _MAX_ROWS))
    stamp = _parse_stamp(_get_text(row.get("at")))
    notes = [_get_text(note) for note in _get_rows(row.get("notes"))[:_MAX_NOTES]]
    return (
        Look(
            artifact,
            Tool.PROCESSES,
            stamp=stamp,
            node=node,
            replies=replies,
            counters=tuple(_iterate_counters(row, node)),
            notes=tuple(f"{node}: {note}" if node else note for note in notes if note),
        ),
    )


def _iterate_replies(row: Mapping[str, Any], node: str | None) -> Iterator[Reply]:
    for one in iterate_json_objects(row.get("ranks")):
        state = _get_text(one.get("state"))[:1]
        parent_pid = get_count(one.get("parent_pid"), _MAX_NUMBER)
        process = replace(_read_process(one, node), parent_pid=parent_pid)
        # A zombie has ended; only its exit status is left.
        kind = ReplyKind.UNREACHABLE if state == "Z" else ReplyKind.ANSWERED
        yield Reply(process, PRESENCE, kind, f"state {state}" if state else "")
    for rank in _get_rows(row.get("missing")):
        number = get_count(rank, _MAX_NUMBER)
        if number is not None:
            process = Process(number, node)
            yield Reply(process, PRESENCE, ReplyKind.UNREACHABLE, "no process of it runs there")
    for one in iterate_json_objects(row.get("asked")):
        kind_of = _REPLIES.get(_get_text(one.get("reply")))
        handler = _get_text(one.get("tool"))
        if kind_of is not None and handler:
            yield Reply(_read_process(one, node), handler, kind_of, _get_text(one.get("why")))


def _iterate_counters(row: Mapping[str, Any], node: str | None) -> Iterator[WaitCounter]:
    for one in islice(iterate_json_objects(row.get("ranks")), _MAX_ROWS):
        process = _read_process(one, node)
        switches = get_count(one.get("voluntary_switches"), _MAX_SWITCHES)
        if process.rank is not None and switches is not None:
            yield WaitCounter(process, SWITCHES, 0, switches)


def _read_process(row: Mapping[str, Any], node: str | None) -> Process:
    rank, pid = (get_count(row.get(key), _MAX_NUMBER) for key in ("rank", "pid"))
    return Process(rank, node, None, pid)


def _parse_stamp(text: str) -> Stamp:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return NO_STAMP
    return NO_STAMP if at.tzinfo is None else make_stamp(at, zone_s=0)


def _get_rows(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _get_text(value: object) -> str:
    return value[:_MAX_TEXT] if isinstance(value, str) else ""
