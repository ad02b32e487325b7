"""What looks at a running job hold, as rows of ``triage parse``, before any judgement.

One row a process and look, and one for each process that did not answer. Rows of another kind
are one function more in ``_ROWS_OF``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any, Final

from triage.analysis.waiting.case import make_timestamp
from triage.domain.hardware import HardwareKind, make_part_identity
from triage.domain.live.communicator import Communicator, CommunicatorRank
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import UNKNOWN_PROCESS, Process, ReplyKind
from triage.domain.live.stack import ThreadStack
from triage.domain.wire import format_iso_utc

# Frames of a row: where the thread stands, and how it came there.
_MOST_FRAMES: Final = 8
_SECOND: Final = 1_000_000_000


def look_rows(looks: Iterable[Look]) -> list[dict[str, Any]]:
    """The rows of all looks, in their order."""
    return [row for look in looks for list_rows in _ROWS_OF for row in list_rows(look)]


def _make_row(
    look: Look, kind: str, process: Process, line: int | None, text: str, **more: object
) -> dict[str, Any]:
    """One row; ``more`` are the fields that only rows of its kind have."""
    at_ns = look.stamp.wall_ns
    if at_ns is not None:
        at_ns -= (look.stamp.zone_s or 0) * _SECOND
    return {
        "artifact": look.artifact,
        "line": line,
        "at": format_iso_utc(make_timestamp(at_ns)),
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


def _stack_rows(look: Look) -> Iterator[dict[str, Any]]:
    """A row a process: its main thread, or the first that stands anywhere."""
    threads: dict[Process, list[ThreadStack]] = {}
    for stack in look.stacks:
        threads.setdefault(stack.process, []).append(stack)
    for process, own in threads.items():
        shown = next((one for one in own if one.is_main), None)
        shown = shown or next((one for one in own if one.frames), own[0])
        frames = [str(frame) for frame in shown.frames[:_MOST_FRAMES]]
        where = " < ".join(frames) or shown.waits_in or "no frame"
        # "active+gil", "idle", or the kernel's letter with what it waits in
        state = shown.waits_in
        if shown.state is not None:
            state = f"{shown.state} in {shown.waits_in}" if shown.waits_in else shown.state
        elif shown.active is not None:
            state = ("active" if shown.active else "idle") + ("+gil" if shown.owns_gil else "")
        text = f"{shown.thread_name or 'thread'}{f' ({state})' if state else ''}: {where}"
        yield _make_row(
            look, "stack", process, shown.line, text,
            state=state, frames=frames, threads=len(own), command=process.command,
            parent_pid=process.parent_pid, exception=shown.exception,
        )  # fmt: skip


_SAID: Final = {
    ReplyKind.ANSWERED: "answered",
    ReplyKind.SILENT: "did not answer in time",
    ReplyKind.UNREACHABLE: "nobody listens there",
    ReplyKind.TOOL_FAILED: "the handler failed, or is not there",
}


def _reply_rows(look: Look) -> Iterator[dict[str, Any]]:
    """A row for each process that did not answer, or whose answer says more than its stacks."""
    kind = "ras" if look.tool is Tool.RAS else "stack"
    for one in look.replies:
        if one.kind is ReplyKind.ANSWERED and not one.detail:
            continue
        text = f"{one.handler}: {_SAID[one.kind]}{f' ({one.detail})' if one.detail else ''}"
        if one.handler.startswith("ras"):
            text = f"NCCL RAS: {one.detail or one.kind}"
        state = str(one.kind)
        yield _make_row(look, kind, one.process, one.line, text, state=state, handler=one.handler)


def _list_counter_rows(look: Look) -> Iterator[dict[str, Any]]:
    """A row for each place of PyTorch that a process waits in now."""
    for one in look.counters:
        if one.active:
            text = f"{one.active} waiting in {one.name}, {one.calls} calls before"
            yield _make_row(look, "stack", one.process, None, text, state="waiting")


# One row a communicator or GPU, before any judgement. ``kind`` is the tool: ``ras``, ``inspector``,
# ``comm_state``, ``gpu_state``.

# Operations that are named in a row.
_MAX_NAMES: Final = 6


def _list_communicator_rows(look: Look) -> Iterator[dict[str, Any]]:
    """A row for each communicator: of the one rank that it tells of, else of all its ranks."""
    for one in look.communicators:
        alone = one.ranks[0] if len(one.ranks) == 1 and one.rest is None else None
        process = UNKNOWN_PROCESS if alone is None else alone.process
        yield _make_row(
            look, str(look.tool), process, one.line if alone is None else alone.line or one.line,
            _describe_communicator(one, alone), communicator=f"{one.hash:x}", size=one.size,
        )  # fmt: skip


def _describe_communicator(one: Communicator, alone: CommunicatorRank | None) -> str:
    """``default_pg, rank 3 of 4: launched 43 all, completed 42 all``."""
    name = f"{one.name}, " if one.name else ""
    if alone is None:
        counted = [member.launched for member in one.ranks if member.launched]
        text = f"{name}{len(one.ranks)} of {one.size} ranks listed"
        return f"{text}, launched {_spread_text(counted)}" if counted else text
    said = [f"launched {_describe_counts(alone.launched)}"] if alone.launched else []
    said += [f"completed {_describe_counts(alone.completed)}"] if alone.completed else []
    times = one.durations_us.get(alone.rank, ())
    if times:
        said.append(f"{len(times)} kernels of {one.function}, {median(times):.0f} us in the middle")
    return f"{name}rank {alone.rank} of {one.size}: {', '.join(said) or 'nothing counted'}"


def _describe_counts(counts: Mapping[str, int]) -> str:
    names = sorted(counts)[:_MAX_NAMES]
    return " ".join(f"{counts[name]} {name}" for name in names)


def _spread_text(counted: list[Mapping[str, int]]) -> str:
    """``88201 to 88202 allgather``: the fewest and the most of each operation."""
    parts = []
    for name in sorted(set().union(*counted))[:_MAX_NAMES]:
        numbers = [counts[name] for counts in counted if name in counts]
        least, most = min(numbers), max(numbers)
        parts.append(f"{least if least == most else f'{least} to {most}'} {name}")
    return ", ".join(parts)


_GPU_MEASURES: Final = ("utilisation_percent", "memory_percent", "power_w", "power_limit_w")


def _list_gpu_rows(look: Look) -> Iterator[dict[str, Any]]:
    """A row for each sample of a GPU."""
    for one in look.gpus:
        shown = {key: getattr(one, key) for key in _GPU_MEASURES}
        name = one.bus_id or one.uuid if one.index is None else f"{one.index}"
        text = f"GPU {name}: " + ", ".join(
            f"{key} {value:g}" for key, value in shown.items() if value is not None
        )
        made = _make_row(look, str(look.tool), Process(node=one.node), one.line, text, **shown)
        slot = one.bus_id or ("" if one.index is None else f"{one.index}")
        made["gpu"] = one.bus_id
        part = make_part_identity(HardwareKind.GPU, one.uuid or "", slot)
        if part is not None:
            row = {"kind": str(part.kind), "identity": part.identity, "slot": part.slot}
            made["parts"] = [row]
        yield made


_ROWS_OF: Final[Sequence[Callable[[Look], Iterable[dict[str, Any]]]]] = (
    _stack_rows,
    _reply_rows,
    _list_counter_rows,
    _list_communicator_rows,
    _list_gpu_rows,
)
