"""Perfetto: a Trace as Chrome's JSON, which Perfetto and chrome://tracing open.

A process is a node, a thread is one process group of one rank, a slice is an operation.
Arrows join the members of a collective that did not end on all of them. The file says
what was left out, so that it can be handed on by itself.
"""

import gzip
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, cast

import orjson

from triage.analysis.trace import Operation, Trace
from triage.analysis.waiting.case import make_timestamp
from triage.domain.batched import split_into_batches
from triage.domain.wire import format_iso_utc
from triage.render.words.clean import format_one_line

_Event = dict[str, Any]
_NO_NODE: Final = "node unknown"
# Clocks of nodes are compared to about this precision: the watchdog looks every 100 ms.
_UNCERTAIN_MS: Final = 100.0
_MAX_TEXT: Final = 400
_MAX_FLOWS: Final = 64
_BATCH: Final = 10_000


@dataclass(frozen=True, slots=True)
class TraceFile:
    """What a trace file holds, and what was left out of it."""

    path: Path
    num_events: int
    num_ranks: int
    left_out: tuple[str, ...]

    def __str__(self) -> str:
        text = f"{self.path}: {self.num_events:,} operations of {self.num_ranks:,} ranks"
        return f"{text}; left out: {'; '.join(self.left_out)}" if self.left_out else text

    __repr__ = __str__


def write(trace: Trace, path: Path) -> TraceFile:
    """Write ``trace`` to ``path``, gzip where the name ends in ``.gz``; the same bytes each time.

    Raises OSError where it cannot be written.
    """
    with path.open("wb") as file:
        if path.suffix != ".gz":
            _dump(trace, file)
        else:
            # No name and no time of writing in the header: the same trace, the same bytes.
            with gzip.GzipFile("", "wb", 6, file, 0) as packed:
                _dump(trace, cast("IO[bytes]", packed))
    return TraceFile(path, len(trace.operations), len(trace.nodes), trace.left_out)


def _dump(trace: Trace, file: IO[bytes]) -> None:
    """The whole object, a batch of events at a time."""
    about = {
        "tool": "nccl-triage",
        "start": format_iso_utc(make_timestamp(trace.start_ns)),
        "times": "UTC, from when the host issued an operation until its end was noticed or the "
        "next one of its group was issued; an instant where nothing says how long it took",
        "left_out": list(trace.left_out),
    }
    file.write(b'{"displayTimeUnit":"ms","otherData":' + orjson.dumps(about))
    file.write(b',"traceEvents":[')
    before = b""
    for batch in split_into_batches(_iterate_trace_events(trace), _BATCH):
        file.write(before + orjson.dumps(batch)[1:-1])
        before = b","
    file.write(b"]}\n")


def _iterate_trace_events(trace: Trace) -> Iterator[_Event]:
    """Names of tracks, then operations, arrows and how far clocks may be off."""
    nodes = sorted({trace.nodes[rank] or _NO_NODE for rank in trace.nodes})
    pid_of = {node: number for number, node in enumerate(nodes, start=1)}
    pid_of_rank = {rank: pid_of[node or _NO_NODE] for rank, node in trace.nodes.items()}
    threads = {place: number for number, place in enumerate(sorted(trace.streams), start=1)}
    yield from _iterate_track_names(trace, pid_of, pid_of_rank, threads)
    for operation in trace.operations:
        yield _make_slice(
            trace, operation, pid_of_rank[operation.rank], threads[operation.rank, operation.stream]
        )
    yield from _iterate_arrows(trace, pid_of_rank, threads)
    if len(nodes) > 1:
        for pid in pid_of.values():
            for ns in (trace.start_ns, trace.dumped_ns):
                yield {
                    "ph": "C",
                    "name": "clock uncertainty (ms)",
                    "pid": pid,
                    "ts": _convert_to_microseconds(trace, ns),
                    "args": {"ms": _UNCERTAIN_MS},
                }


def _iterate_track_names(
    trace: Trace,
    pid_of: dict[str, int],
    pid_of_rank: dict[int, int],
    threads: dict[tuple[int, int], int],
) -> Iterator[_Event]:
    for node, pid in pid_of.items():
        yield _make_name_event("process_name", pid, 0, name=_make_printable(node))
        yield _make_name_event("process_sort_index", pid, 0, sort_index=pid)
        ahead = trace.ahead_ms.get(node)
        if ahead:
            label = f"clock {abs(ahead):,.0f} ms {'ahead' if ahead > 0 else 'behind'}, corrected"
            yield _make_name_event("process_labels", pid, 0, labels=label)
    for (rank, stream), tid in threads.items():
        role = trace.roles.get(rank)
        who = f"rank {rank}{f' ({role})' if role else ''}: {trace.streams[rank, stream]}"
        yield _make_name_event("thread_name", pid_of_rank[rank], tid, name=_make_printable(who))
        yield _make_name_event("thread_sort_index", pid_of_rank[rank], tid, sort_index=tid)


def _make_name_event(what: str, pid: int, tid: int, **args: str | int) -> _Event:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": args}


def _make_slice(trace: Trace, operation: Operation, pid: int, tid: int) -> _Event:
    args: _Event = {"rank": operation.rank, "seq_id": operation.seq_id, "state": operation.state}
    if operation.sizes:
        args["sizes"] = _make_printable(operation.sizes)
    if operation.stack:
        args["stack"] = _make_printable(operation.stack)
    event: _Event = {
        "ph": "X",
        "name": _make_printable(f"{operation.name} #{operation.seq_id}"),
        "cat": "send/recv" if operation.p2p else "collective",
        "pid": pid,
        "tid": tid,
        "ts": _convert_to_microseconds(trace, operation.start_ns),
        "args": args,
    }
    if operation.state != "completed":
        event["name"] += " (never completed)"
        event["dur"] = (operation.end_ns - operation.start_ns) / 1e3
    elif operation.lasted_ms is None:
        args["time"] = "when the host issued it; nothing says how long it took"
        event |= {"ph": "i", "s": "t"}
    else:
        args["end_noticed_after_ms"] = round(operation.lasted_ms, 3)
        event["dur"] = (operation.end_ns - operation.start_ns) / 1e3
    return event


def _iterate_arrows(
    trace: Trace, pid_of_rank: dict[int, int], threads: dict[tuple[int, int], int]
) -> Iterator[_Event]:
    """From the first member that waits in a collective to each of the others."""
    members: dict[tuple[int, int], list[Operation]] = defaultdict(list)
    for operation in trace.operations:
        if operation.key is not None and operation.state != "completed":
            members[operation.key].append(operation)
    number = 0
    for key in sorted(members):
        early, *others = sorted(
            members[key], key=lambda operation: (operation.start_ns, operation.rank)
        )
        for late in others[:_MAX_FLOWS]:
            number += 1
            for phase, operation in (("s", early), ("f", late)):
                yield {
                    "ph": phase,
                    "id": number,
                    "name": "same collective",
                    "cat": "collective",
                    "pid": pid_of_rank[operation.rank],
                    "tid": threads[operation.rank, operation.stream],
                    "ts": _convert_to_microseconds(trace, max(operation.start_ns, early.start_ns)),
                    **({"bp": "e"} if phase == "f" else {}),
                }


def _convert_to_microseconds(trace: Trace, ns: int) -> float:
    return (ns - trace.start_ns) / 1e3


def _make_printable(text: str) -> str:
    """Foreign text: on one line, bounded, without what drives a terminal."""
    return format_one_line(text, _MAX_TEXT)
