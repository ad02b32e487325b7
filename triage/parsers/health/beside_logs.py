"""Results of checks among the logs of an incident: a file of them gives rows as a log does.

The file is read as a log too, for anything may stand before and behind a report that a
script prints. Inside the report itself the results take the place of the lines.
"""

import io
from dataclasses import replace
from typing import Final

from triage.domain.evidence import NO_STAMP, Kind
from triage.parsers.flight_recorder.naming import node_in_name
from triage.parsers.health.evidence import evidence_of
from triage.parsers.health.read import FORMATS, MAX_BYTES, format_of, read_checks
from triage.parsers.health.reading import Checks
from triage.parsers.logs.join import Outcome
from triage.parsers.logs.logset import LogKind
from triage.parsers.logs.source import LogStream, ReadAhead

__all__ = ["checks_in", "with_checks"]

REPORTS: Final = frozenset(one.name for one in FORMATS if one.report)
MOST_NOTES: Final = 3


def checks_in(stream: LogStream) -> tuple[Checks | None, LogStream]:
    """The results in a log, and the log to be read: None and the same for all but reports.

    A report of more than 16 MiB is read as a log alone, which says so.
    """
    if format_of(stream.head) is None:
        return None, stream
    data = bytearray(MAX_BYTES + 1)
    got = stream.fill(memoryview(data))
    begun = bytes(data[:got])
    rest = LogStream(
        stream.artifact, stream.head, io.BytesIO(begun[len(stream.head) :]).read, stream.notes
    )
    if got > MAX_BYTES:
        rest.read = ReadAhead(begun[len(stream.head) :], stream).read
        rest.notes.append(f"results of checks, but more than {MAX_BYTES >> 20} MiB: read as a log")
        return None, rest
    return read_checks(begun, stream.artifact, node=node_in_name(stream.artifact)), rest


def with_checks(outcome: Outcome, checks: Checks) -> Outcome:
    """What the log gave, with the results of its report in the place of the report's lines."""
    if not checks.results and not checks.not_understood:
        return outcome
    rows = outcome.rows
    if checks.format in REPORTS:
        inside = range(checks.first_line, checks.last_line + 1)
        rows = [
            row
            for row in rows
            if row.line is None or row.line not in inside or row.kind is Kind.IDENTITY
        ]
    found = [evidence_of(one) for one in checks.results]
    node = outcome.file.node
    if node is not None:
        found = [row if row.node is not None else replace(row, node=node) for row in found]
    whole = checks.format in REPORTS and all(row.kind is Kind.IDENTITY for row in rows)
    kind = LogKind.CHECKS if whole else outcome.file.kind
    file = replace(outcome.file, kind=kind, notes=(*outcome.file.notes, *notes_of(checks)))
    ordered = sorted([*rows, *found], key=lambda row: (row.line or 0, row.signature, row.text))
    if not whole:
        return replace(outcome, file=file, rows=ordered)
    file.first_stamp = file.last_stamp = NO_STAMP  # of when it was taken, and without a zone
    return Outcome(file, ordered, size_bytes=outcome.size_bytes)


def notes_of(checks: Checks) -> list[str]:
    """What was not understood of a report: the first places, and how many there are."""
    found = [
        one.why if one.line is None else f"line {one.line}: {one.why}"
        for one in checks.not_understood[:MOST_NOTES]
    ]
    more = checks.num_not_understood - len(found)
    return [*found, *([f"and {more} more not understood as {checks.format}"] if more > 0 else [])]
