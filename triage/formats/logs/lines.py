"""Plain text: a log, which is what no other format claims, and the file ``hostname`` of a
collection such as a sosreport, which says whose everything beside it is.

A sosreport is a folder: ``sos_commands/PLUGIN/COMMAND`` with blanks as underscores, and
``hostname`` at its top. Each of its files is read by what it holds.
"""

import re
from dataclasses import dataclass
from typing import Final

from triage.domain.patterns import compile_re
from triage.formats.format import Head, ReadLines
from triage.parsers.logs.join import Outcome
from triage.parsers.logs.logset import LogFile, LogKind
from triage.parsers.logs.source import LogStream

_NAME: Final = compile_re(r"\s{0,8}(?P<node>[A-Za-z0-9][A-Za-z0-9._-]{0,252})\s{0,8}\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class _HostNameFormat:
    """One word in a file of this name."""

    name: str = "host_name"
    words: tuple[str, ...] = ()
    kind: None = None

    def claims(self, head: Head) -> bool:
        """Whether a file called so holds one name and nothing else."""
        is_called = head.name.rpartition("/")[2] == "hostname"
        return is_called and len(head.data) < 300 and _NAME.match(head.text) is not None

    def read(self, stream: LogStream, _read_lines: ReadLines) -> Outcome:
        """No evidence: the node of its neighbours."""
        word = _NAME.match(stream.head.decode("utf-8", "replace"))
        node = word["node"] if word else None
        file = LogFile(stream.artifact, LogKind.CHECKS, node=node, lines=1)
        return Outcome(file, size_bytes=len(stream.head))


HOST_NAME: Final = _HostNameFormat()


@dataclass(frozen=True, slots=True)
class _LogFormat:
    """Its lines say whether a kernel printed it or a job."""

    name: str = "log"
    words: tuple[str, ...] = ()
    kind: None = None

    def claims(self, _head: Head) -> bool:
        """Any text may be a log."""
        return True

    def read(self, stream: LogStream, read_lines: ReadLines) -> Outcome:
        """Its lines."""
        return read_lines(stream)


LOG: Final = _LogFormat()
