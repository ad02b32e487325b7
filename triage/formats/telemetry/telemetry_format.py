"""What all formats of telemetry share: a reader of samples, and the file that comes out of it.

A job's log is never claimed: every whole line of the first bytes has to be a line of the
format, or the first line has to name columns that only telemetry has.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from triage.domain.file_kind import FileKind
from triage.domain.report import Refused
from triage.errors import ArtifactError
from triage.formats.format import Head, ReadLines
from triage.parsers.flight_recorder.naming import parse_node
from triage.parsers.logs.join import Outcome
from triage.parsers.logs.logset import LogFile, LogKind
from triage.parsers.logs.source import LogStream
from triage.parsers.telemetry.chunks import Bytes
from triage.parsers.telemetry.file import Form, TelemetryFile
from triage.parsers.telemetry.samples import Samples
from triage.parsers.telemetry.tally import Tally

LOOK_BYTES: Final = 16 << 10
MOST_LINES: Final = 200
_FAR: Final = "samples carry a time far from all others and were left out"


class ReadSamples(Protocol):
    """A reader of one form of telemetry."""

    def __call__(self, stream: Bytes, tally: Tally, node: str | None) -> Iterator[Samples]:
        """Batches of samples, each to be used before the next is asked for.

        ``stream`` are decompressed bytes; ``node`` is whose the samples are where they do not
        say. Bad lines are counted in ``tally`` and passed over. Raises
        :class:`triage.errors.Corrupt` where nothing more can be read and
        :class:`triage.errors.Forbidden` for Parquet without pyarrow.
        """
        ...


@dataclass(frozen=True, slots=True)
class TelemetryFormat:
    """``begins`` looks at the first 16 KiB, without a byte order mark where they are text.

    ``reader`` loads who reads it, which is compiled.
    """

    form: Form
    begins: Callable[[bytes], bool]
    reader: Callable[[], ReadSamples]
    words: tuple[str, ...] = ()
    binary: bool = False

    @property
    def name(self) -> str:
        """The form, as answers print it."""
        return self.form.value

    @property
    def kind(self) -> FileKind:
        """Telemetry."""
        return FileKind.TELEMETRY

    def claims(self, head: Head) -> bool:
        """Whether a file that begins so is telemetry of this form."""
        return self.begins(head.data[:LOOK_BYTES].removeprefix(b"\xef\xbb\xbf"))

    def read(self, stream: LogStream, _read_lines: ReadLines) -> Outcome | Refused:
        """The samples as stretches of time, or why not one can be used."""
        # Compiled loops, which a service that takes no telemetry in does not need to hold.
        from triage.parsers.telemetry.grid import Gridded

        tally, gridded = Tally(), Gridded()
        try:
            for batch in self.reader()(stream, tally, parse_node(stream.artifact)):
                gridded.add(batch)
        except ArtifactError as error:
            if not tally.samples:
                return Refused(stream.artifact, str(error))
            tally.notes.append(str(error))
        if gridded.far:
            tally.notes.append(f"{gridded.far:,} {_FAR}")
        tally.notes += [f"line {first}: {why}" for why, (_, first) in sorted(tally.skipped.items())]
        file = LogFile(
            stream.artifact,
            LogKind.TELEMETRY,
            lines=tally.lines,
            not_understood={why: count for why, (count, _) in sorted(tally.skipped.items())},
            notes=(*stream.notes, *tally.notes),
        )
        kept = TelemetryFile(
            stream.artifact,
            self.form,
            tally.samples,
            tally.zoneless > 0,
            gridded.grid(),
            tuple((*home, uuid) for uuid, home in tally.gpus.of_uuid.items() if home is not None),
        )
        return Outcome(file, size_bytes=stream.total, telemetry=kept)


def iterate_whole_lines(text: bytes) -> Iterator[bytes]:
    """The first lines that are whole and not empty; all of a short text are whole."""
    lines = text.split(b"\n", MOST_LINES)
    if len(text) >= LOOK_BYTES and len(lines) > 1:
        lines.pop()
    return (line for one in lines[:MOST_LINES] if (line := one.strip()))
