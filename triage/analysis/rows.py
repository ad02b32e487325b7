"""Rows: what was read out of each file, one row a fact, before any judgement.

A dump is one row, a refused file is one, and every line that a signature knows.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from triage.analysis.facts.on_one_clock import on_one_clock
from triage.analysis.live.rows import look_rows
from triage.analysis.waiting.case import Case, make_timestamp
from triage.domain.evidence import UNREAD, Evidence, Kind
from triage.domain.hardware import HardwareKind, PartIdentity, make_part_identity
from triage.domain.job import Job
from triage.domain.patterns import compile_re
from triage.domain.rank_digest import RankDigest
from triage.domain.report import Refused
from triage.domain.wire import format_iso_utc
from triage.parsers.flight_recorder.dump_set import DumpSet
from triage.parsers.flight_recorder.naming import parse_node
from triage.parsers.logs.logset import LogSet
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
    rows += look_rows(logs.looks)
    rows += [_make_evidence_row(row) for row in evidence if row.signature != UNREAD]
    return sorted(rows, key=lambda row: (str(row["artifact"]), row["line"] or 0))


def _make_evidence_row(row: Evidence) -> dict[str, Any]:
    """A row of evidence; with ``parts`` where it names hardware by its maker's identity."""
    # What a node's own tools and kernel print names its parts; others only quote.
    of_its_node = row.kind in (Kind.IDENTITY, Kind.BOOT) or row.family == "check"
    parts = [
        {"kind": str(part.kind), "identity": part.identity, "slot": part.slot}
        for part in (_list_named(row) if of_its_node else ())
    ]
    return {**row.to_row(), "parts": parts} if parts else row.to_row()


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
    return [
        {"kind": str(part.kind), "identity": part.identity, "slot": part.slot, "node": node}
        for node, part in parts
        if part is not None
    ]


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
