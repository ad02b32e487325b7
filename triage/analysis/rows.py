"""Rows: what was read out of each file, one row a fact, before any judgement.

A dump is one row, a refused file is one, and every line that a signature knows; of a look at a
running job each process, communicator and GPU, and each process that did not answer.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any, Final

from triage.analysis.facts.on_one_clock import on_one_clock
from triage.analysis.waiting.case import Case, make_timestamp
from triage.domain.evidence import UNREAD, Evidence, Kind
from triage.domain.hardware import HardwareKind, PartIdentity, make_part_identity
from triage.domain.job import Job
from triage.domain.live.communicator import Communicator, CommunicatorRank
from triage.domain.live.look import Look, Tool
from triage.domain.live.process import UNKNOWN_PROCESS, Process, ReplyKind
from triage.domain.live.stack import ThreadStack
from triage.domain.patterns import compile_re
from triage.domain.rank_digest import RankDigest
from triage.domain.report import Refused
from triage.domain.wire import format_iso_utc
from triage.parsers.flight_recorder.dump_set import DumpSet
from triage.parsers.flight_recorder.naming import parse_node
from triage.parsers.logs.logset import LogSet
from triage.parsers.logs.stamps import SECOND_NS
from triage.parsers.telemetry.samples import TelemetryFile


def list_undated_rows(
    dumps: DumpSet,
    logs: LogSet,
    facts: Job,
    refused: Sequence[Refused],
    case: Case | None,
) -> list[dict[str, Any]]:
    """The rows of files that were not weighed: they are dated here."""
    # Without a line there is nothing to date, and nobody to be seated for it.
    evidence: tuple[Evidence, ...] = ()
    if logs.evidence:
        dated = on_one_clock(logs, case, facts, None)
        evidence = (*dated.evidence, *dated.unfamiliar)
    return list_rows(dumps, logs, refused, evidence)


def list_rows(
    dumps: DumpSet, logs: LogSet, refused: Sequence[Refused], evidence: Iterable[Evidence]
) -> list[dict[str, Any]]:
    """One row a dump, a refused file and a row of ``evidence``, by file and line."""
    rows = [_dump_row(digest) for digest in dumps.digests]
    unread = (*dumps.refused, *logs.refused, *refused)
    rows += [_make_file_row(one.artifact, "fr", "fr.refused", one.why) for one in unread]
    rows += [_make_telemetry_row(item) for item in logs.telemetry]
    rows += list_look_rows(logs.looks)
    rows += [_make_evidence_row(row) for row in evidence if row.signature != UNREAD]
    return sorted(rows, key=lambda row: (str(row["artifact"]), row["line"] or 0))


def _make_evidence_row(row: Evidence) -> dict[str, Any]:
    """A row of evidence; with ``parts`` where it names hardware by its maker's identity."""
    # What a node's own tools and kernel print names its parts; others only quote.
    of_its_node = row.kind in (Kind.IDENTITY, Kind.BOOT) or row.family == "check"
    parts = [_describe_part(part) for part in (_list_named(row) if of_its_node else ())]
    return {**row.to_row(), "parts": parts} if parts else row.to_row()


def _describe_part(part: PartIdentity) -> dict[str, str]:
    return {"kind": str(part.kind), "identity": part.identity, "slot": part.slot}


def _dump_row(digest: RankDigest) -> dict[str, Any]:
    """A dump as one row: its rank, groups, first and last sequence numbers, what was refused."""

    def number(value: int) -> int | None:
        return None if value < 0 else int(value)

    groups = [
        {
            "pg": name,
            "desc": desc,
            "first_seq_id": number(stream.first),
            "last_seq_id": number(stream.last),
            "oldest_unfinished_seq_id": number(stream.pending),
        }
        for (name, desc), stream in zip(digest.stream_names, digest.streams, strict=True)
    ]
    text = f"flight-recorder dump, {digest.num_entries} entries, {digest.pending_total} unfinished"
    return {
        **_make_file_row(digest.artifact, "fr", "fr.dump", text),
        "at": format_iso_utc(make_timestamp(digest.last_created_ns)),
        "clock": "wall",
        "node": parse_node(digest.artifact),
        "rank": digest.rank if digest.rank >= 0 else None,
        "version": digest.version,
        "groups": groups,
        "partial": digest.partial,
        "notes": list(digest.notes),
    }


def _make_file_row(artifact: str, kind: str, signature: str, text: str) -> dict[str, Any]:
    """A file as one row, which stands for none of its lines and has no time of its own."""
    return {
        "artifact": artifact,
        "line": None,
        "at": None,
        "clock": "none",
        "node": None,
        "rank": None,
        "kind": kind,
        "code": None,
        "gpu": None,
        "category": None,
        "role": "noise",
        "signature": signature,
        "text": text,
        "count": 1,
    }


def _make_telemetry_row(file: TelemetryFile) -> dict[str, Any]:
    """A file of telemetry as one row: what was measured, of how much, and when."""
    grid = file.grid
    series = grid.series if grid is not None else ()
    nodes = {key.node for key in series} - {None}
    gpus = {(key.node, key.gpu) for key in series if key.gpu is not None}
    metrics = sorted({str(key.metric) for key in series})
    text = (
        f"telemetry, {file.samples} samples of {len(series)} series: {len(gpus)} GPUs,"
        f" {len(nodes)} nodes; {', '.join(metrics)}"
    )
    return {
        **_make_file_row(file.artifact, "telemetry", "telemetry.samples", text),
        "at": format_iso_utc(make_timestamp(grid.start_ns if grid is not None else None)),
        "clock": "wall" if grid is not None else "none",
        "node": next(iter(nodes)) if len(nodes) == 1 else None,
        "last_at": format_iso_utc(make_timestamp(grid.end_ns if grid is not None else None)),
        "form": str(file.form),
        "samples": file.samples,
        "metrics": metrics,
        **({"parts": _list_named_gpus(file)} if file.gpus else {}),
    }


def _list_named_gpus(file: TelemetryFile) -> list[dict[str, str]]:
    """The GPUs whose UUIDs labels name, each with its node."""
    parts = (
        (node, make_part_identity(HardwareKind.GPU, uuid, gpu)) for node, gpu, uuid in file.gpus
    )
    return [{**_describe_part(part), "node": node} for node, part in parts if part is not None]


# "3, GPU-8a1f0c52-9d3e-4b7a-8f16-2c5d7e9a0b14, 1655023014412, 00000000:5D:00.0"
_SERIAL_BESIDE: Final = compile_re(r"GPU-[0-9a-f-]{36}, ?(\d{10,14})(?=,|\s*$)", re.IGNORECASE)
_FIELDS: Final = (
    ("system_serial", HardwareKind.CHASSIS),
    ("chassis_serial", HardwareKind.CHASSIS),
    ("board_serial", HardwareKind.BOARD),
    ("nic_guid", HardwareKind.NIC),
    ("gpu_uuid", HardwareKind.GPU),
    ("amd_uuid", HardwareKind.GPU),
    ("gpu_serial", HardwareKind.GPU_BOARD),
)
# The driver's banner: the UUID behind an address, then the serial number of the board.
_OF_THE_DRIVER: Final = {
    "nvidia.gpu_banner": ("uuid", HardwareKind.GPU),
    "nvidia.board_serial": ("serial", HardwareKind.GPU_BOARD),
}


def _list_named(row: Evidence) -> Iterator[PartIdentity]:
    """The parts that a row names of its own node."""
    told = [(name, kind) for name, kind in _FIELDS if name in row.fields]
    told += [_OF_THE_DRIVER[row.signature]] if row.signature in _OF_THE_DRIVER else []
    for name, kind in told:
        part = make_part_identity(kind, row.fields.get(name) or "", _find_slot(row, kind))
        if part is not None:
            yield part
    beside = _SERIAL_BESIDE.search(row.text) if "gpu_uuid" in row.fields else None
    if beside is not None and "gpu_serial" not in row.fields:
        part = make_part_identity(
            HardwareKind.GPU_BOARD, beside[1], _find_slot(row, HardwareKind.GPU)
        )
        if part is not None:
            yield part


def _find_slot(row: Evidence, kind: HardwareKind) -> str:
    if kind is HardwareKind.NIC:
        return row.fields.get("adapter") or row.fields.get("hca") or ""
    if kind in (HardwareKind.GPU, HardwareKind.GPU_BOARD):
        return row.gpu or row.fields.get("gpu_index") or ""
    return ""


# Looks at a running job. One row a process and look, and one for each process that did not answer.

# Frames of a row: where the thread stands, and how it came there.
_MOST_FRAMES: Final = 8


def list_look_rows(looks: Iterable[Look]) -> list[dict[str, Any]]:
    """The rows of all looks, in their order."""
    return [row for look in looks for list_rows in _ROWS_OF for row in list_rows(look)]


def _make_look_row(
    look: Look, kind: str, process: Process, line: int | None, text: str, **more: object
) -> dict[str, Any]:
    """One row; ``more`` are the fields that only rows of its kind have."""
    at_ns = look.stamp.wall_ns
    if at_ns is not None:
        at_ns -= (look.stamp.zone_s or 0) * SECOND_NS
    return {
        **_make_file_row(look.artifact, kind, f"{kind}.{look.tool}", text),
        "line": line,
        "at": format_iso_utc(make_timestamp(at_ns)),
        "clock": "none" if at_ns is None else "wall",
        "node": process.node or look.node or process.host,
        "rank": process.rank,
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
        yield _make_look_row(
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
        if one.handler == "ras":
            text = f"NCCL RAS: {one.detail or one.kind}"
        state = str(one.kind)
        yield _make_look_row(
            look, kind, one.process, one.line, text, state=state, handler=one.handler
        )


def _list_counter_rows(look: Look) -> Iterator[dict[str, Any]]:
    """A row for each place of PyTorch that a process waits in now."""
    for one in look.counters:
        if one.active:
            text = f"{one.active} waiting in {one.name}, {one.calls} calls before"
            yield _make_look_row(look, "stack", one.process, None, text, state="waiting")


# One row a communicator or GPU, before any judgement. ``kind`` is the tool: ``ras``, ``inspector``,
# ``gpu_state``.

# Operations that are named in a row.
_MAX_NAMES: Final = 6


def _list_communicator_rows(look: Look) -> Iterator[dict[str, Any]]:
    """A row for each communicator: of the one rank that it tells of, else of all its ranks."""
    for one in look.communicators:
        alone = one.ranks[0] if len(one.ranks) == 1 and one.rest is None else None
        process = UNKNOWN_PROCESS if alone is None else alone.process
        yield _make_look_row(
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
        made = _make_look_row(look, str(look.tool), Process(node=one.node), one.line, text, **shown)
        slot = one.bus_id or ("" if one.index is None else f"{one.index}")
        made["gpu"] = one.bus_id
        part = make_part_identity(HardwareKind.GPU, one.uuid or "", slot)
        if part is not None:
            made["parts"] = [_describe_part(part)]
        yield made


_ROWS_OF: Final[Sequence[Callable[[Look], Iterable[dict[str, Any]]]]] = (
    _stack_rows,
    _reply_rows,
    _list_counter_rows,
    _list_communicator_rows,
    _list_gpu_rows,
)
