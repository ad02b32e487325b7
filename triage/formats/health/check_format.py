"""A report of health checks as a format: results in the place of lines.

Among the logs of an incident such a file is read as a log too, for anything may stand before
and behind a report that a script prints. Inside the report itself the results take the place
of the lines.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from triage.domain.category import HARDWARE, Category
from triage.domain.evidence import NO_STAMP, Evidence, EvidenceRole, Kind, Stamp
from triage.domain.health import CheckResult
from triage.domain.patterns import compile_re
from triage.formats.format import Head, ReadLines, strip_decoration
from triage.formats.health.reading import FAIL, Checks, Reading, iterate_lines
from triage.parsers.flight_recorder.naming import parse_node
from triage.parsers.logs.join import Outcome
from triage.parsers.logs.logset import LogFile, LogKind
from triage.parsers.logs.source import LogStream, ReadAhead
from triage.signatures.pci import normalize_bus_id

# `nvidia-smi -q` of 2,048 nodes in one file has 200 MB, but a check's result is of one node;
# a fabric's counters have some MB.
MAX_BYTES: Final = 16 << 20
_MOST_NOTES: Final = 3


@dataclass(frozen=True, slots=True)
class CheckFormat:
    """The report of one tool: ``begins`` looks at its first 8 KiB, ``parse`` at the whole text.

    ``report`` is whether the document is a tool's report and nothing else, so that its lines
    are not read as a log too. Without ``lines`` they are never read as a log, as of one JSON
    document that quotes logs: of one of more than 16 MiB the beginning is read. Where
    ``cut_as`` names a check, a good report that breaks off is unknown: one whose last line has
    no end and no meaning, one without the line that ``ends`` each report of the tool, and one
    whose last part (``part`` matches how they begin) is shorter than a part that begins alike.
    """

    name: str
    begins: Callable[[str], bool]
    parse: Callable[[str, Reading], None]
    report: bool = True
    lines: bool = True
    words: tuple[str, ...] = ()
    cut_as: str = ""
    ends: re.Pattern[str] | None = None
    part: re.Pattern[str] | None = None
    sent: bool = False
    example: str = ""
    near_miss: str = ""

    @property
    def kind(self) -> None:
        """A log: what stands around the report says whose."""
        return

    def claims(self, head: Head) -> bool:
        """Whether a file that begins so holds such a report."""
        return self.begins(head.plain_text)

    def checks(
        self,
        data: bytes,
        artifact: str,
        *,
        node: str | None = None,
        busbw_gbps: float | None = None,
    ) -> Checks:
        """The results in ``data``, at most :data:`MAX_BYTES`.

        ``node`` is whose they are where the text does not say; ``busbw_gbps`` is the bus
        bandwidth in GB/s that NCCL tests are held against. Never raises for what the bytes hold.
        """
        text = strip_decoration(data.decode("utf-8", "replace"))
        reading = Reading(artifact, node, busbw_gbps)
        self.parse(text, reading)
        num_lines = text.count("\n") + (not text.endswith("\n"))
        last = num_lines if reading.last_line is None else reading.last_line
        if self.cut_as and reading.is_good:
            if not text.endswith("\n") and last < num_lines:
                reading.unknown(self.cut_as, "breaks off: its last line is none of the report")
            elif self.ends is not None and self.ends.search(text) is None:
                reading.unknown(self.cut_as, "breaks off: its end is not there")
            elif self.part is not None and (line := cut_part(text, self.part)) is not None:
                why = "breaks off: its last part is shorter than one like it"
                reading.unknown(self.cut_as, why, line=line)
        return reading.finished(self.name, num_lines)

    def read(self, stream: LogStream, read_lines: ReadLines) -> Outcome:
        """The results, and what stands around them as lines of a log.

        A report of more than 16 MiB is read as a log alone, which says so.
        """
        begun = stream.read_up_to(MAX_BYTES + 1)
        if not self.lines:
            return self.read_document(begun, stream)
        again = ReadAhead(begun[len(stream.head) :], stream)
        log = LogStream(stream.artifact, stream.head, again.read, stream.notes)
        if len(begun) > MAX_BYTES:
            too_large = f"results of checks, but more than {MAX_BYTES >> 20} MiB: read as a log"
            log.notes.append(too_large)
            return read_lines(log)
        checks = self.checks(begun, stream.artifact, node=parse_node(stream.artifact))
        return _with_checks(read_lines(log), checks, report=self.report)

    def read_document(self, begun: bytes, stream: LogStream) -> Outcome:
        """The results of a document that is no log, of its beginning where it is too large."""
        node = parse_node(stream.artifact)
        checks = self.checks(begun[:MAX_BYTES], stream.artifact, node=node)
        notes = [*stream.notes, *_list_notes(checks)]
        if len(begun) > MAX_BYTES:
            notes.append(f"more than {MAX_BYTES >> 20} MiB: the rest is not read")
        found = [build_check_evidence(result) for result in checks.results]
        file = LogFile(
            stream.artifact, LogKind.CHECKS, node=node, lines=checks.last_line, notes=tuple(notes)
        )
        return Outcome(file, found, size_bytes=len(begun))


def _with_checks(outcome: Outcome, checks: Checks, *, report: bool) -> Outcome:
    """What the log gave, with the results of its report in the place of the report's lines."""
    if not checks.results and not checks.not_understood:
        return outcome
    rows = outcome.rows
    if report:
        inside = range(checks.first_line, checks.last_line + 1)
        rows = [
            row
            for row in rows
            if row.line is None or row.line not in inside or row.kind is Kind.IDENTITY
        ]
    found = [build_check_evidence(result) for result in checks.results]
    node = outcome.file.node
    if node is not None:
        found = [row if row.node is not None else replace(row, node=node) for row in found]
    whole = report and all(row.kind is Kind.IDENTITY for row in rows)
    kind = LogKind.CHECKS if whole else outcome.file.kind
    file = replace(outcome.file, kind=kind, notes=(*outcome.file.notes, *_list_notes(checks)))
    ordered = sorted([*rows, *found], key=lambda row: (row.line or 0, row.signature, row.text))
    if not whole:
        return replace(outcome, file=file, rows=ordered)
    file.first_stamp = file.last_stamp = NO_STAMP  # of when it was taken, and without a zone
    return Outcome(file, ordered, size_bytes=outcome.size_bytes)


def _list_notes(checks: Checks) -> list[str]:
    """What was not understood of a report: the first places, and how many there are."""
    notes = [
        place.why if place.line is None else f"line {place.line}: {place.why}"
        for place in checks.not_understood[:_MOST_NOTES]
    ]
    more = checks.num_not_understood - len(notes)
    return [*notes, *([f"and {more} more not understood as {checks.format}"] if more > 0 else [])]


# Tools without an end mark print the same lines for each GPU, port or memory module: the values
# differ, the names do not. A last part whose names are the beginning of another one's is cut.

# What a line is about, and whether a value stands there: "Processes : None" has no lines below.
_NAME: Final = compile_re(r"\s*([^\d\s:=][^:=]{0,80}?)\s*(?:[:=.]|(?=\d)|$)(.?)")
_MAX_PARTS: Final = 100_000


def cut_part(text: str, begins: re.Pattern[str]) -> int | None:
    """The line, from 1, at which the last part begins, where that breaks off; None where not.

    ``begins`` matches the first line of each part.
    """
    parts: list[tuple[int, list[str]]] = []
    for index, line in iterate_lines(text):
        if begins.match(line) is not None and len(parts) < _MAX_PARTS:
            parts.append((index, []))
        elif parts and line.strip():
            name = _NAME.match(line)
            parts[-1][1].append(line.strip() if name is None else f"{name[1]}:{bool(name[2])}")
    if len(parts) < 2:
        return None
    first, last = parts[-1]
    size = len(last)
    if any(len(names) <= size and names == last[: len(names)] for _, names in parts[:-1]):
        return None  # one like it ended there or before
    if any(len(names) > size and names[:size] == last for _, names in parts[:-1]):
        return first
    return None


# Results of checks as rows of evidence: a failed check of a part can be a root.
#
# A result is a state, found when somebody looked. One that is dated with its zone may be held
# against the stop; every other, and what only a reason or a script says, is weak: it needs
# another source. Warnings and passes are noise: they show in ``triage parse`` and accuse nobody.

_SIGNATURE_PREFIX: Final = "check."
_KINDS: Final = {
    Category.GPU_HBM: Kind.ECC, Category.GPU_SRAM: Kind.ECC, Category.NVLINK: Kind.LINK,
    Category.NETWORK: Kind.LINK, Category.NIC: Kind.NIC, Category.GPU_THERMAL: Kind.THERMAL,
    Category.POWER: Kind.POWER, Category.CHASSIS: Kind.POWER, Category.IO_BOARD: Kind.PCIE,
    Category.SSD: Kind.STORAGE, Category.STORAGE: Kind.STORAGE, Category.CPU: Kind.CPU,
    Category.HOST_MEMORY: Kind.MEMORY, Category.DEPENDENCY: Kind.DEPENDENCY,
    Category.HOST_MAINTENANCE: Kind.SCHEDULER,
}  # fmt: skip
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# Results whose category is somebody's words, not a measurement.
_HEARSAY: Final = ("gcm.", "host.", "nhc.", "slurm.", "superbench.")
# "gpu 3" of dcgmi: nvidia-smi's number, which is CUDA's unless a job hides GPUs.
_GPU_NUMBER: Final = compile_re(r"gpu (\d{1,4})", re.ASCII)
_ADDRESS: Final = compile_re(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}", re.ASCII)
UUID: Final = compile_re(r"GPU-[0-9a-fA-F-]{36}", re.ASCII)


def build_check_evidence(result: CheckResult) -> Evidence:
    """The row that a result is."""
    part = result.part or ""
    number = _GPU_NUMBER.fullmatch(part)
    stamp = _make_stamp(result.at)
    accuses = result.outcome is FAIL and result.category is not None
    fields = {"outcome": str(result.outcome)}
    if UUID.fullmatch(part):
        fields["gpu_uuid"] = part.lower().replace("gpu-", "GPU-", 1)
    elif part and number is None and _ADDRESS.fullmatch(part) is None:
        fields["device"] = part
    return Evidence(
        artifact=result.artifact,
        line=result.line,
        signature=f"{_SIGNATURE_PREFIX}{result.check}",
        kind=_KINDS.get(result.category, Kind.GPU) if result.category else Kind.GPU,
        role=EvidenceRole.ROOT if accuses else EvidenceRole.NOISE,
        text=_describe_result(result),
        category=result.category,
        weak=_is_weak(result),
        node=result.node,
        cuda_device=int(number[1]) if number else None,
        gpu=normalize_bus_id(part) if _ADDRESS.fullmatch(part) else None,
        stamp=stamp,
        last_stamp=stamp,
        fields=fields,
    )


def _is_weak(result: CheckResult) -> bool:
    """Whether it needs another source before it may convict."""
    return (
        result.at is None
        or result.category not in HARDWARE
        or result.check.startswith(_HEARSAY)
        or result.outcome is not FAIL
    )


def _describe_result(result: CheckResult) -> str:
    """``dcgm.memory on gpu 3: fail: 2 double bit errors``."""
    where = f" on {result.part}" if result.part else ""
    said = f": {result.detail}" if result.detail else ""
    return f"{result.check}{where}: {result.outcome}{said}"


def _make_stamp(at: datetime | None) -> Stamp:
    if at is None:
        return NO_STAMP
    return Stamp(wall_ns=(at - _EPOCH) // timedelta(microseconds=1) * 1000, zone_s=0)
