"""Documents of many records as a log: one line a record, at the line where it begins.

Tools print lists as one document. Each record becomes a line in the words that the signatures
know. A document is held whole while it is read, so its size is bounded.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from triage.domain.evidence import BY_PEOPLE
from triage.domain.patterns import compile_re
from triage.formats.format import Head, ReadLines
from triage.parsers.logs.join import Outcome
from triage.parsers.logs.logset import LogKind
from triage.parsers.logs.source import HEAD_BYTES, LogStream, ReadAhead
from triage.parsers.logs.stamps import read_time

_MAX_BYTES: Final = 16 << 20
_MAX_RECORDS: Final = 200_000
NO_RECORD: Final = "the output of a tool that is not known: no record in it is a line of a log"
# What may stand before a document.
_BLANK: Final = "\ufeff \t\r\n"


@dataclass(frozen=True, slots=True)
class DocumentFormat:
    """``begins`` looks at the text without what stands empty before it.

    ``records`` gives (offset, line) of each record of the whole document. ``reports`` tells by
    the head whether the records are what tools say of machines, and no log of a job, and
    ``by_people`` whether people do, whose words need another source: they quote and guess.
    """

    name: str
    begins: Callable[[str], bool]
    records: Callable[[str], Iterator[tuple[int, str]]]
    reports: Callable[[str], bool] | None = None
    by_people: Callable[[str], bool] | None = None
    words: tuple[str, ...] = ()
    kind: None = None

    def claims(self, head: Head) -> bool:
        """Whether a file that begins so is such a document."""
        return self.begins(head.whole_text.lstrip(_BLANK))

    def read(self, stream: LogStream, read_lines: ReadLines) -> Outcome:
        """The records as lines of a log."""
        text = stream.head.decode("utf-8", "replace")
        outcome = read_lines(_convert_stream_to_lines(stream, self))
        if self.by_people is not None and self.by_people(text):
            rows = [
                replace(row, weak=True, fields={**row.fields, BY_PEOPLE: "1"})
                for row in outcome.rows
            ]
            outcome = replace(outcome, rows=rows)
        elif self.reports is None or not self.reports(text):
            return outcome
        return replace(outcome, file=replace(outcome.file, kind=LogKind.CHECKS))


def _convert_stream_to_lines(stream: LogStream, document: DocumentFormat) -> LogStream:
    """The records of ``stream`` as lines; its own lines where it is too large or has none."""
    whole = stream.read_up_to(_MAX_BYTES + 1)
    rest = LogStream.make(stream.artifact, whole)
    rest.notes, rest.total = stream.notes, stream.total
    if len(whole) > _MAX_BYTES:
        rest.read = ReadAhead(whole[HEAD_BYTES:], stream).read
        rest.notes.append(f"a list of records, but more than {_MAX_BYTES >> 20} MiB: read as a log")
        return rest
    text = whole.decode("utf-8", "replace")
    lines = convert_document_to_lines(text, document)
    if lines is None:
        return rest
    is_known = document.reports is not None and document.reports(text)
    if not lines.strip() and not is_known:
        rest.notes.append(NO_RECORD)
    found = LogStream.make(stream.artifact, lines.encode("utf-8", "replace"))
    found.notes = rest.notes
    return found


def format_line_about(at: str, of: str, text: str, more: Mapping[str, Any] = {}) -> str:
    """A line about a node or a pod: what names no node itself is about this one.

    ``more`` are other fields of the record.
    """
    line = {"time": at, "node": of, "message": text, **more}
    return json.dumps({key: value for key, value in line.items() if value}, ensure_ascii=False)


def convert_document_to_lines(text: str, document: DocumentFormat) -> str | None:
    """The records of a document as lines at their places; None where it has none."""
    out: list[str] = []
    count, counted = 0, 0
    for offset, line in document.records(text):
        count += text.count("\n", counted, offset)
        counted = offset
        out.extend([""] * (count - len(out)))
        out.append(" ".join(line.split("\n")))
        if len(out) > _MAX_RECORDS * 64:
            break
    return "\n".join(out) + "\n" if out else None


_DAY: Final = compile_re(r"\d{1,4}([-./])\d{1,2}\1\d{2,4}")
_CLOCK: Final = compile_re(r"\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?: ?[AaPp][Mm])?(?: ?\w{1,5})?")


def choose_time(texts: Sequence[str]) -> str:
    """Of texts that may say when a record was the first that does; a day and a clock, which tables
    keep apart, together.
    """
    for text in texts:
        if read_time(text) is not None:
            return text
    day = next((text for text in texts if _DAY.fullmatch(text)), None)
    clock = next((text for text in texts if _CLOCK.fullmatch(text)), None)
    return f"{day} {clock}" if day and clock else next(iter(texts), "")
