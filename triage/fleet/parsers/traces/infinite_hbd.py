"""The fault trace of InfiniteHBD: 400 servers of 8 GPUs that train language models.

::

    [{"node_id": "067eb1e2-...", "event_time": 8.6112, "event_type": "fault_start",
      "fault_type": {"Level": "Hardware Failure", "Class": "GPU", "Desc": "GPU xid Error"}}, ...]

``fault_trace.json`` of stepfun-ai/InfiniteHBD-Trace (Shou et al., SIGCOMM 2025; Apache-2.0).
Times are days since its first event, which the options' day zero dates (the authors say
2024-03-30). An end belongs to the start of the same node and fault before it. Servers that never
failed are not in it: name them with an inventory.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from triage.fleet.domain.cause import OutageCause, cause_of
from triage.fleet.domain.exposure import Outage
from triage.fleet.domain.repair import action_of
from triage.fleet.parsers.json_document import objects_in
from triage.fleet.parsers.rows import (
    MAX_REASON,
    Options,
    Passed,
    Row,
    RowError,
    Unread,
    day_in,
    name_in,
    short,
)

__all__ = ["NAME", "claims", "rows"]

NAME: Final = "infinitehbd"
WANTED: Final = frozenset({"node_id", "event_time", "event_type"})
BEGINS, ENDS = "fault_start", "fault_end"
NO_START: Final = Passed("ends of faults without a start")

Fault = tuple[str, tuple[str, ...]]
"""Node, and the words of the fault from the general to the narrow."""


def claims(value: object) -> bool:
    """By the keys of its first object."""
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first, dict) and first.keys() >= WANTED


def rows(value: object, options: Options) -> Iterator[Row]:
    """The outages of the trace; those that last have no end."""
    events: list[tuple[datetime, bool, Fault]] = []
    for place, event in objects_in(value):
        try:
            at, fault, begins = read_event(event, options)
        except RowError as error:
            yield Unread(place, str(error))
        else:
            events.append((at, not begins, fault))
    begun: dict[Fault, deque[datetime]] = {}
    for at, over, fault in sorted(events):
        if not over:
            begun.setdefault(fault, deque()).append(at)
        elif starts := begun.get(fault):
            yield outage_of(fault, starts.popleft(), at, options)
        else:
            yield NO_START
    for fault, starts in sorted(begun.items()):
        for start in starts:
            yield outage_of(fault, start, None, options)


def read_event(event: Mapping[str, Any] | None, options: Options) -> tuple[datetime, Fault, bool]:
    """When, which fault, and whether it begins. Raises :class:`RowError`."""
    if event is None:
        raise RowError("it is no object")
    told_day = event.get("event_time")
    day = f"{told_day:.10f}" if isinstance(told_day, float) else str(told_day)
    at = day_in(day, "event_time", options)
    kind = event.get("event_type")
    if at is None or kind not in (BEGINS, ENDS):
        raise RowError(f"it has no time, or the event_type {short(str(kind))} is not known")
    kinds = event.get("fault_type")
    words = (
        [kinds.get(key) for key in ("Level", "Class", "Desc")] if isinstance(kinds, dict) else []
    )
    texts = tuple(word.strip()[:MAX_REASON] for word in words if isinstance(word, str))
    node = event.get("node_id")
    return at, (name_in(node if isinstance(node, str) else "", "node_id"), texts), kind == BEGINS


def outage_of(fault: Fault, start: datetime, end: datetime | None, options: Options) -> Outage:
    node, words = fault
    reason = "; ".join(words)[:MAX_REASON]
    cause = cause_of(*words)
    planned = cause is OutageCause.MAINTENANCE
    return Outage(node, start, end, reason, options.cluster, cause, action_of(reason), planned)
