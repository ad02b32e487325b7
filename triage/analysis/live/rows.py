"""What looks at a running job hold, as rows of ``triage parse``, before any judgement.

One row a process and look, and one for each process that did not answer. Rows of another kind
are one function more in :data:`ROWS_OF`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from triage.analysis.live.tool_rows import communicator_rows, gpu_rows, waiting_rows
from triage.analysis.waiting.case import timestamp
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import Process, Reply, ReplyKind
from triage.domain.live.stack import ThreadStack
from triage.domain.report import iso_utc

__all__ = ["look_row", "look_rows"]

# Frames of a row: where the thread stands, and how it came there.
MOST_FRAMES: Final = 8
SECOND: Final = 1_000_000_000


def look_rows(looks: Iterable[Look]) -> list[dict[str, Any]]:
    """The rows of all looks, in their order."""
    return [row for look in looks for row in rows_of_look(look)]


def rows_of_look(look: Look) -> Iterator[dict[str, Any]]:
    for rows_of in ROWS_OF:
        yield from rows_of(look)
    for make in TOOL_ROWS:
        yield from make(look, look_row)


def look_row(
    look: Look, kind: str, process: Process, line: int | None, text: str, **more: object
) -> dict[str, Any]:
    """One row; ``more`` are the fields that only rows of its kind have."""
    at_ns = look.stamp.wall_ns
    if at_ns is not None:
        at_ns -= (look.stamp.zone_s or 0) * SECOND
    return {
        "artifact": look.artifact,
        "line": line,
        "at": iso_utc(timestamp(at_ns)),
        "clock": "none" if at_ns is None else "wall",
        "node": process.node or look.node or process.host,
        "rank": process.rank,
        "kind": kind,
        "code": None,
        "gpu": None,
        "category": None,
        "role": "noise",
        "signature": f"{kind}.{look.tool}",
        "text": text,
        "count": 1,
        "pid": process.pid,
        **more,
    }


def stack_rows(look: Look) -> Iterator[dict[str, Any]]:
    """A row a process: its main thread, or the first that stands anywhere."""
    threads: dict[Process, list[ThreadStack]] = {}
    for stack in look.stacks:
        threads.setdefault(stack.process, []).append(stack)
    for process, own in threads.items():
        shown = next((one for one in own if one.is_main), None)
        shown = shown or next((one for one in own if one.frames), own[0])
        frames = [str(frame) for frame in shown.frames[:MOST_FRAMES]]
        where = " < ".join(frames) or shown.waits_in or "no frame"
        state = state_of(shown)
        text = f"{shown.thread_name or 'thread'}{f' ({state})' if state else ''}: {where}"
        yield look_row(
            look, "stack", process, shown.line, text,
            state=state, frames=frames, threads=len(own), command=process.command,
            parent_pid=process.parent_pid, exception=shown.exception,
        )  # fmt: skip


def state_of(thread: ThreadStack) -> str | None:
    """``active+gil``, ``idle``, or the kernel's letter with what it waits in."""
    if thread.state is not None:
        return f"{thread.state} in {thread.waits_in}" if thread.waits_in else thread.state
    if thread.active is None:
        return thread.waits_in
    return ("active" if thread.active else "idle") + ("+gil" if thread.owns_gil else "")


def reply_rows(look: Look) -> Iterator[dict[str, Any]]:
    """A row for each process that did not answer, or whose answer says more than its stacks."""
    for reply in look.replies:
        if reply.kind is not ReplyKind.ANSWERED or reply.detail:
            kind = "ras" if look.tool is Tool.RAS else "stack"
            yield look_row(
                look, kind, reply.process, reply.line, reply_text(reply),
                state=str(reply.kind), handler=reply.handler,
            )  # fmt: skip


def reply_text(reply: Reply) -> str:
    if reply.handler.startswith("ras"):
        return f"NCCL RAS: {reply.detail or reply.kind}"
    said = {
        ReplyKind.ANSWERED: "answered",
        ReplyKind.SILENT: "did not answer in time",
        ReplyKind.UNREACHABLE: "nobody listens there",
        ReplyKind.TOOL_FAILED: "the handler failed, or is not there",
    }[reply.kind]
    return f"{reply.handler}: {said}{f' ({reply.detail})' if reply.detail else ''}"


def counter_rows(look: Look) -> Iterator[dict[str, Any]]:
    """A row for each place of PyTorch that a process waits in now."""
    for counter in look.counters:
        if counter.active:
            text = f"{counter.active} waiting in {counter.name}, {counter.calls} calls before"
            yield look_row(look, "stack", counter.process, None, text, state="waiting")


ROWS_OF: Final[Sequence[Callable[[Look], Iterable[dict[str, Any]]]]] = (
    stack_rows,
    reply_rows,
    counter_rows,
)
TOOL_ROWS: Final = (communicator_rows, waiting_rows, gpu_rows)
