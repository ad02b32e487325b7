"""The output of a tool that looked at a running job, as a format."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from triage.domain.live.look import Look
from triage.domain.report import Refused
from triage.errors import ArtifactError
from triage.formats.format import Head, ReadLines
from triage.parsers.flight_recorder.naming import parse_node
from triage.parsers.logs.join import Outcome
from triage.parsers.logs.logset import LogFile, LogKind
from triage.parsers.logs.source import LogStream, ReadAhead

# The stacks of 16,384 ranks in one file have some 80 MB.
MAX_BYTES: Final = 128 << 20
_STEP_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class LiveFormat:
    """The output of one tool: ``begins`` looks at its first 64 KiB, ``parse`` at the whole text.

    ``parse`` gets the text and the artifact's name, and raises :class:`ArtifactError` only where
    nothing can be used; of a file that is cut it gives what it has, as :attr:`Look.partial` says.
    ``also_log`` is whether the lines of the file are read as those of a log as well, for formats
    that stand inside logs. ``words`` are those of :class:`~triage.formats.format.Format`.
    """

    name: str
    begins: Callable[[Head], bool]
    parse: Callable[[str, str], Sequence[Look]]
    words: tuple[str, ...] = ()
    also_log: bool = False
    binary: bool = False

    @property
    def kind(self) -> None:
        """A log, for the service: secrets are looked for in its lines."""
        return

    def claims(self, head: Head) -> bool:
        """Whether a file that begins so is the output of this tool."""
        return self.begins(head)

    def read(self, stream: LogStream, read_lines: ReadLines) -> Outcome | Refused:
        """The looks, or why there are none. Of more than 128 MiB the beginning is read."""
        data, cut = _read_beginning(stream)
        text = data.decode("utf-8", "replace")
        try:
            looks = tuple(self.parse(text, stream.artifact))
        except ArtifactError as error:
            return Refused(stream.artifact, str(error))
        if cut:
            why = f"more than {MAX_BYTES >> 20} MiB: the rest was not read"
            looks = tuple(replace(look, partial=look.partial or why) for look in looks)
        node = parse_node(stream.artifact)
        looks = tuple(look if look.node else replace(look, node=node) for look in looks)
        if self.also_log:
            behind = data[len(stream.head) :]
            log = LogStream(stream.artifact, stream.head, io.BytesIO(behind).read, stream.notes)
            if cut:
                log.read = ReadAhead(behind, stream).read
            outcome = read_lines(log)
            return replace(outcome, looks=looks)
        file = LogFile(
            stream.artifact,
            LogKind.LIVE,
            node=node,
            lines=text.count("\n") + (not text.endswith("\n")),
            notes=(*stream.notes, *(note for look in looks for note in look.notes)),
        )
        return Outcome(file, size_bytes=len(data), looks=looks)


def _read_beginning(stream: LogStream) -> tuple[bytes, bool]:
    """The bytes of a stream, at most :data:`MAX_BYTES`, and whether there are more."""
    data = bytearray()
    while len(data) <= MAX_BYTES:
        piece = bytearray(_STEP_BYTES)
        got = stream.fill(memoryview(piece))
        data += piece[:got]
        if got < _STEP_BYTES:
            break
    return bytes(data[:MAX_BYTES]), len(data) > MAX_BYTES
