"""A log: lines, of a kernel or of a job. What no other format claims and is text is one."""

from dataclasses import dataclass
from typing import Final

from triage.formats.format import Head, ReadLines
from triage.parsers.logs.join import Outcome
from triage.parsers.logs.source import LogStream


@dataclass(frozen=True, slots=True)
class _LogFormat:
    """Its lines say whether a kernel printed it or a job."""

    name: str = "log"
    words: tuple[str, ...] = ()
    kind: None = None
    binary: bool = False

    def claims(self, _head: Head) -> bool:
        """Any text may be a log."""
        return True

    def read(self, stream: LogStream, read_lines: ReadLines) -> Outcome:
        """Its lines."""
        return read_lines(stream)


LOG: Final = _LogFormat()
