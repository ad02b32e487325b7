"""``nvidia-bug-report.log``: one text of many parts, each given to its reader.

::

    ____________________________________________

    Start of NVIDIA bug report log file.  Please include this file, along
    Date: Sat Mar 14 03:20:11 UTC 2026
    uname: Linux gpu-n02 6.8.0-60-generic #63-Ubuntu SMP x86_64 GNU/Linux
    ____________________________________________

    Scanning kernel log files for NVIDIA kernel messages:

      journalctl -b -0:
    Mar 14 02:40:57 gpu-n02 kernel: NVRM: Xid (PCI:0000:6d:00): 79, ...
    ____________________________________________

    /usr/bin/nvidia-smi --query

What kernels printed is a kernel log of the node that ``uname`` names, of the year and the zone
of the report's date. The same message stands in the journal and in ``dmesg``: it counts once. A
report ends where its script hung on a bad GPU.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from triage.domain.evidence import Evidence, EvidenceRole, Kind, Stamp
from triage.domain.patterns import compile_re
from triage.formats.format import FormatTable, Head, ReadLines
from triage.formats.health.check_format import CheckFormat, build_check_evidence
from triage.parsers.flight_recorder.naming import parse_node
from triage.parsers.logs.join import Outcome
from triage.parsers.logs.logset import LogKind
from triage.parsers.logs.source import HEAD_BYTES, LogStream, ReadAhead

# A report with the logs of a week has some 40 MB.
_MAX_BYTES: Final = 64 << 20
_MAX_PARTS: Final = 20_000
_TITLE: Final = "Start of NVIDIA bug report log file"
_CLAIM: Final = compile_re(rf"^{_TITLE}\b", re.MULTILINE)
_LINE: Final = compile_re(r"_{40,60}\s*$")
# "uname: Linux gpu-n02 6.8.0-60-generic #63-Ubuntu ..."
_NODE: Final = compile_re(r"^uname: Linux (?P<node>[A-Za-z0-9][\w.-]{0,252}) \d", re.MULTILINE)
# "Date: Sat Mar 14 03:20:11 UTC 2026", "Date: Sat Mar 14 03:20:11 AM UTC 2026"
_DATE: Final = compile_re(
    r"^Date: \w{3} (?P<month>\w{3}) {1,2}(?P<day>\d{1,2}) (?P<clock>\d\d:\d\d:\d\d)"
    r"(?: (?P<half>[AP]M))?(?: (?P<zone>[A-Z]{1,5}|[+-]\d\d))? (?P<year>\d{4})\s*$",
    re.MULTILINE,
)
_KERNEL: Final = compile_re(
    r"\s{0,8}(?:Scanning kernel log files|dmesg\b|journalctl\b|\*\*\* /(?:var/log|var/adm)/"
    r"(?:dmesg|kern|messages|syslog)|/\S{1,40}/(?:dmesg|journalctl)\b)"
)
# A heading inside a part: "  journalctl -b -0:", "dmesg:"
_HEADING: Final = compile_re(
    r"\s{0,8}(?:Scanning kernel log|(?:/\S{1,60}/)?(?:journalctl|dmesg)\b[^\n]{0,60}:?\s*$"
    r"|/var/(?:log|adm)/\S{1,80}:?\s*$|\*\*\* )"
)
_IN_UTC: Final = frozenset({"UTC", "GMT"})
_DAY_NS: Final = 86_400 * 10**9


@dataclass(frozen=True, slots=True)
class Part:
    """The lines from ``start`` (counted from 0) up to ``stop``, between two separators."""

    start: int
    stop: int
    kernel: bool


@dataclass(frozen=True, slots=True)
class BugReport:
    """``checks`` are the formats that a part of a report may have."""

    checks: FormatTable[CheckFormat]
    name: str = "nvidia_bug_report"
    words: tuple[str, ...] = (_TITLE,)
    kind: None = None

    def claims(self, head: Head) -> bool:
        """Whether the script's own heading stands at the beginning."""
        return _CLAIM.search(head.text[:2000]) is not None

    def read(self, stream: LogStream, read_lines: ReadLines) -> Outcome:
        """The rows of all parts; of more than 64 MiB, those of a log."""
        whole = stream.read_up_to(_MAX_BYTES + 1)
        if len(whole) > _MAX_BYTES:
            log = replace_text(whole, stream)
            log.read = ReadAhead(whole[HEAD_BYTES:], stream).read
            log.notes.append(f"a bug report of more than {_MAX_BYTES >> 20} MiB: read as a log")
            return read_lines(log)
        lines = whole.decode("utf-8", "replace").split("\n")
        parts = list(_split_report_parts(lines))
        kernel = read_lines(replace_text(_keep_only_parts(lines, parts, kernel=True), stream))
        other = read_lines(replace_text(_keep_only_parts(lines, parts, kernel=False), stream))
        return self.joined(lines, parts, kernel, other, stream)

    def joined(
        self,
        lines: list[str],
        parts: Sequence[Part],
        kernel: Outcome,
        other: Outcome,
        stream: LogStream,
    ) -> Outcome:
        """What both readings gave, of one node and one clock."""
        text = "\n".join(lines[:200])
        uname = _NODE.search(text)
        artifact = stream.artifact
        node = parse_node(artifact) or (uname["node"] if uname else kernel.file.node)
        date = _parse_report_date(text)
        results: list[Evidence] = []
        reports: set[int] = set()
        for part in parts:
            # A command stands above what it printed.
            span = part.start + 1, part.stop
            found = [] if part.kernel else [*iterate_results(self.checks, lines, *span, artifact)]
            results += found
            if found:
                reports.update(range(part.start + 1, part.stop + 1))
        told = [row for row in other.rows if row.kind is Kind.IDENTITY or row.line not in reports]
        # A tool says what it saw when the report was made, and that was behind the stop.
        told = [
            row if row.role is not EvidenceRole.ROOT else replace(row, weak=True) for row in told
        ]
        dated = [
            replace(
                row,
                stamp=_complete_stamp(row.stamp, date),
                last_stamp=_complete_stamp(row.last_stamp, date),
            )
            for row in (*kernel.rows, *told)
        ]
        rows = _deduplicate_messages(dated)
        rows = [row if row.node else replace(row, node=node) for row in (*rows, *results)]
        rows.sort(key=lambda row: (row.line or 0, row.signature, row.text))
        file = replace(
            kernel.file,
            kind=LogKind.KERNEL,
            node=node,
            lines=len(lines) - (not lines[-1]),
            first_stamp=_complete_stamp(kernel.file.first_stamp, date),
            last_stamp=_complete_stamp(kernel.file.last_stamp, date),
            notes=tuple(dict.fromkeys((*stream.notes, *kernel.file.notes, *other.file.notes))),
            templates=(),
        )
        return Outcome(file, rows, size_bytes=kernel.size_bytes)


def iterate_results(
    checks: FormatTable[CheckFormat], lines: Sequence[str], start: int, stop: int, artifact: str
) -> Iterator[Evidence]:
    """Results of a check that the lines from ``start`` (counted from 0) up to ``stop`` are."""
    text = "\n".join(lines[start:stop]) + "\n"
    row = checks.find_first(Head(text[: 8 << 10].encode(), artifact))
    if row is not None:
        for result in row.checks(text.encode(), artifact).results:
            found = build_check_evidence(result)
            yield replace(found, line=(found.line or 1) + start)


def _split_report_parts(lines: Sequence[str]) -> Iterator[Part]:
    """The parts between lines of underscores; blank ones in front of a part belong to it."""
    start = 0
    marks = [k for k, line in enumerate(lines) if _LINE.match(line)][:_MAX_PARTS]
    for stop in (*marks, len(lines)):
        while start < stop and not lines[start].strip():
            start += 1
        if start < stop:
            yield Part(start, stop, _KERNEL.match(lines[start]) is not None)
        start = stop + 1


def _keep_only_parts(lines: Sequence[str], parts: Sequence[Part], *, kernel: bool) -> bytes:
    """The text with the lines of one sort of part, and all others empty: places stay true."""
    kept = [""] * len(lines)
    for part in parts:
        if part.kernel is kernel:
            kept[part.start : part.stop] = [
                "" if kernel and _HEADING.match(line) else line
                for line in lines[part.start : part.stop]
            ]
    return "\n".join(kept).encode()


def replace_text(text: bytes, stream: LogStream) -> LogStream:
    """``text`` in the place of what a stream holds; the layout is told by its first lines."""
    blank = len(text) - len(text.lstrip(b"\r\n"))
    return LogStream.make(stream.artifact, text, blank + HEAD_BYTES)


def _deduplicate_messages(rows: Sequence[Evidence]) -> list[Evidence]:
    """Each message of the kernel once: the one with a date, where one has it."""
    dated_rows = {(row.signature, row.text) for row in rows if row.stamp.wall_ns is not None}
    seen: set[tuple[str, str, int | None, int | None]] = set()
    kept = []
    for row in rows:
        if row.kind is not Kind.IDENTITY:
            wall_ns, up_ns = row.stamp.wall_ns, row.stamp.uptime_ns
            if wall_ns is None and (row.signature, row.text) in dated_rows:
                continue
            second = None if wall_ns is None else wall_ns // 10**9
            key = row.signature, row.text, second, up_ns if wall_ns is None else None
            if key in seen:
                continue
            seen.add(key)
        kept.append(row)
    return kept


def _parse_report_date(text: str) -> tuple[datetime, bool] | None:
    """When the report was made by the node's clock, and whether that is UTC."""
    found = _DATE.search(text)
    if found is None:
        return None
    half = f" {found['half']}" if found["half"] else ""
    form = "%Y %b %d %I:%M:%S %p" if half else "%Y %b %d %H:%M:%S"
    said = f"{found['year']} {found['month']} {found['day']} {found['clock']}{half}"
    try:
        at = datetime.strptime(said, form).replace(tzinfo=UTC)
    except ValueError:
        return None
    return at, (found["zone"] or "") in _IN_UTC


def _complete_stamp(stamp: Stamp, date: tuple[datetime, bool] | None) -> Stamp:
    """A time without a year or a zone, in those of the report: no message is younger than it."""
    if date is None or stamp.wall_ns is None or (stamp.has_year and stamp.zone_s is not None):
        return stamp
    at, in_utc = date
    wall_ns = stamp.wall_ns
    if not stamp.has_year:
        printed = datetime.fromtimestamp(wall_ns // 10**9, UTC)
        made_ns = int(at.timestamp()) * 10**9
        for year in (at.year, at.year - 1):
            try:
                moved = printed.replace(year=year)
            except ValueError:  # the 29th of February
                continue
            wall_ns = int(moved.timestamp()) * 10**9 + stamp.wall_ns % 10**9
            if wall_ns <= made_ns + _DAY_NS:
                break
        else:
            return stamp
    zone_s = 0 if in_utc and stamp.zone_s is None else stamp.zone_s
    return replace(stamp, wall_ns=wall_ns, has_year=True, zone_s=zone_s)
