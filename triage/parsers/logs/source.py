"""Every text file among the inputs as a stream of bytes, whatever packs it.

Plain, gzip and zstd files and the files of tar archives are read in pieces, so
that memory stays flat however large a log is. UTF-16 becomes UTF-8. What is no
text is refused with the reason; a log with some zeros or broken UTF-8 is text.
"""

import codecs
import io
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import IO, Final, cast

from triage.domain.report import Refused
from triage.errors import ArtifactError
from triage.parsers.files.archive import BROKEN, compression_of, is_tar, opened, peek, tar_entries
from triage.parsers.files.inputs import InputFile
from triage.parsers.flight_recorder.recognise import claimed
from triage.parsers.telemetry.recognise import is_parquet

__all__ = [
    "HEAD_BYTES", "LogStream", "ReadAhead", "encoding_of", "log_streams", "of_source",
    "why_no_text",
]  # fmt: skip

# Looked at to tell whether a file is text, and how it is laid out.
HEAD_BYTES: Final = 64 << 10
DUMP_HEAD: Final = 4096
TAR_HEAD: Final = 512
PIECE: Final = 1 << 20
# After decompression: the largest log that is read to its end.
MAX_BYTES: Final = 4 << 30
# A flood of one line packs a thousand to one.
MAX_RATIO: Final = 5000
# Of a file's first bytes: a log that lost its disk for a moment holds pages of zeros,
# coloured bars hold many escapes, other encodings hold high bytes.
MAX_CONTROL_SHARE: Final = 0.1
MAX_BROKEN_SHARE: Final = 0.3
MAGIC: Final = (
    (b"\x7fELF", "a program or core dump"), (b"PK\x03\x04", "a zip archive or checkpoint"),
    (b"\x89PNG", "a picture"), (b"\xff\xd8\xff", "a picture"), (b"%PDF", "a PDF"),
    (b"\x93NUMPY", "an array"), (b"SQLite format 3\x00", "a database"),
    (b"LPKSHHRH", "a journal of systemd: give what `journalctl -o json` prints of it"),
    (b"BZh", "packed by bzip2: unpack it, or use gzip or zstd"),
    (b"\xfd7zXZ", "packed by xz: unpack it, or use gzip or zstd"),
    # What packs a log once is taken off before.
    (b"\x1f\x8b\x08", "packed twice: unpack it once"),
    (b"\x28\xb5\x2f\xfd", "packed twice: unpack it once"),
)  # fmt: skip
MARKS: Final = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
TEXT: Final = bytes({9, 10, 12, 13, 27, *range(32, 127)})


@dataclass(slots=True)
class LogStream:
    """The decompressed bytes of one log; ``notes`` says where it could not be read on."""

    artifact: str
    head: bytes
    read: Callable[[int], bytes]
    notes: list[str] = field(default_factory=list)
    total: int = 0
    ahead: bytes = b""

    def __post_init__(self) -> None:
        self.ahead = self.head

    def fill(self, view: memoryview) -> int:
        """Fill ``view`` as far as the log goes; fewer bytes mean that it has ended."""
        filled = 0
        while filled < len(view):
            part = self.ahead or self.some(min(len(view) - filled, PIECE))
            if not part:
                break
            took = min(len(part), len(view) - filled)
            view[filled : filled + took] = part[:took]
            self.ahead = part[took:]
            filled += took
        return filled

    def some(self, size: int) -> bytes:
        """Up to ``size`` bytes more; none at the end, and where it breaks off."""
        if self.total >= MAX_BYTES:
            if not self.notes:
                self.notes.append(f"more than {MAX_BYTES >> 30} GiB: the rest is not read")
            return b""
        try:
            part = self.read(size)
        except (ArtifactError, *BROKEN) as error:
            self.notes.append(f"breaks off: {error}")
            part = b""
        self.total += len(part)
        return part


class ReadAhead:
    """Bytes that were read ahead, then the rest of their stream."""

    def __init__(self, begun: bytes, stream: LogStream) -> None:
        self.begun = io.BytesIO(begun)
        self.stream = stream

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes; none at the end."""
        part = self.begun.read(size)
        if part:
            return part
        buffer = bytearray(size)
        return bytes(buffer[: self.stream.fill(memoryview(buffer))])


def log_streams(
    file: InputFile, wanted: Container[str] | None = None
) -> Iterator[LogStream | Refused]:
    """The logs that ``file`` is or holds; each is read before the next is asked for.

    ``wanted`` are the artifacts to look at; by default all that are no dump.
    """
    try:
        with file.path.open("rb", buffering=0) as source:
            head = source.read(HEAD_BYTES)
            compression = compression_of(head)
            first = peek(head, compression) if compression else head
            if is_tar(first[:TAR_HEAD]):
                yield from of_archive(file, compression, wanted)
                return
            if wanted is None or file.artifact in wanted:
                source.seek(0)
                yield from of_source(source, file.artifact)
    except OSError as error:
        yield Refused(file.artifact, f"cannot be read: {error.strerror}")


def of_archive(
    file: InputFile, compression: str | None, wanted: Container[str] | None
) -> Iterator[LogStream | Refused]:
    for entry in tar_entries(file.path, compression, MAX_RATIO):
        artifact = f"{file.artifact}/{entry.name}" if entry.name else file.artifact
        if entry.source is None:
            # Where dumps were looked for, the archive's faults are known.
            if wanted is None:
                yield Refused(artifact, entry.why or "cannot be read")
        elif wanted is None or artifact in wanted:
            yield from of_source(cast("IO[bytes]", entry.source), artifact)


def of_source(source: IO[bytes], artifact: str) -> Iterator[LogStream | Refused]:
    """At most one: the log that ``source`` is."""
    if PurePosixPath(artifact).name == "job.json":
        return
    head = source.read(HEAD_BYTES)
    compression = compression_of(head)
    read: Callable[[int], bytes] = source.read
    rest = head
    if compression:
        read = opened(cast("IO[bytes]", Rewound(head, source)), compression)
        rest = first_of(read)
    if not rest or claimed(rest[:DUMP_HEAD], artifact):
        return
    encoding = encoding_of(rest)
    if encoding is not None:
        decoder = codecs.getincrementaldecoder(encoding)("replace")
        head = decoder.decode(rest).encode("utf-8").removeprefix(codecs.BOM_UTF8)
        yield LogStream(artifact, head, Decoded(read, decoder).read)
        return
    why = why_no_text(rest)
    if why is not None and not is_parquet(rest):
        yield Refused(artifact, why)
        return
    yield LogStream(artifact, rest.removeprefix(codecs.BOM_UTF8), read)


def first_of(read: Callable[[int], bytes]) -> bytes:
    """The first bytes behind a compression; what a damaged stream still gives."""
    head = b""
    try:
        while len(head) < HEAD_BYTES and (part := read(HEAD_BYTES - len(head))):
            head += part
    except (ArtifactError, *BROKEN):
        pass
    return head


class Rewound(io.RawIOBase):
    """A stream with the bytes that were read from it put back."""

    def __init__(self, head: bytes, source: IO[bytes]) -> None:
        self.head = head
        self.source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        part = self.head[: len(view)] or self.source.read(len(view))
        self.head = self.head[len(view) :]
        view[: len(part)] = part
        return len(part)


class Decoded:
    """Another encoding read as UTF-8."""

    def __init__(
        self, read_more: Callable[[int], bytes], decoder: codecs.IncrementalDecoder
    ) -> None:
        self.read_more = read_more
        self.decoder = decoder

    def read(self, size: int) -> bytes:
        while part := self.read_more(size):
            text = self.decoder.decode(part)
            if text:
                return text.encode("utf-8")
        return b""


def encoding_of(head: bytes) -> str | None:
    """UTF-16 by its mark, or by a zero in every other byte of what is text otherwise."""
    for mark, encoding in MARKS:
        if head.startswith(mark):
            return encoding
    even, odd = head[0:2048:2], head[1:2048:2]
    for text, zeros, encoding in ((even, odd, "utf-16-le"), (odd, even, "utf-16-be")):
        if len(zeros) >= 8 and not zeros.strip(b"\0") and not text.translate(None, TEXT):
            return encoding
    return None


def why_no_text(head: bytes) -> str | None:
    """Why the first bytes of a file are no text; None when they are."""
    for magic, what in MAGIC:
        if head.startswith(magic):
            return f"no text: {what}"
    text = head.replace(b"\0", b"")
    if not text:
        return f"no text: its first {len(head):,} bytes are zeros"
    odd = text.translate(None, TEXT)
    control = sum(byte < 128 for byte in odd)
    broken = text.decode("utf-8", "replace").count("\ufffd")
    if control > MAX_CONTROL_SHARE * len(text) or broken > MAX_BROKEN_SHARE * len(text):
        return "no text: its first bytes are binary"
    return None
