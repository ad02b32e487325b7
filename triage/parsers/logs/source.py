"""Every file among the inputs as a stream of bytes, whatever packs it.

Plain and compressed files and the files of tar archives are read in pieces, so
that memory stays flat however large a log is. UTF-16 becomes UTF-8. What a stream
holds is told elsewhere, by its head.
"""

import codecs
import io
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from typing import IO, Final, cast

from triage.domain.report import Refused
from triage.errors import ArtifactError
from triage.parsers.files.archive import is_tar, list_tar_entries, peek
from triage.parsers.files.compression import UNBOUNDED, detect_compression, unpack_body
from triage.parsers.files.inputs import InputFile
from triage.parsers.files.job_file import is_job_file
from triage.parsers.files.text import detect_encoding, explain_no_text

# Looked at to tell whether a file is text, and how it is laid out.
HEAD_BYTES: Final = 64 << 10
# As much of it stays as it came, to tell a dump by.
_RAW_BYTES: Final = 4096
_TAR_HEAD: Final = 512
_PIECE: Final = 1 << 20
# After decompression: the largest log that is read to its end.
_MAX_BYTES: Final = 4 << 30
# A flood of one line packs a thousand to one.
_MAX_RATIO: Final = 5000


@dataclass(slots=True)
class LogStream:
    """The decompressed bytes of one file; ``notes`` says where it could not be read on.

    ``head`` are the first 64 KiB, in UTF-8 where they are text, ``raw`` the first 4 KiB as they
    came. ``not_text`` says why they are no text.
    """

    artifact: str
    head: bytes
    read: Callable[[int], bytes]
    notes: list[str] = field(default_factory=list)
    total: int = 0
    ahead: bytes = b""
    raw: bytes = b""
    not_text: str | None = None

    def __post_init__(self) -> None:
        self.ahead = self.head

    @classmethod
    def make(cls, artifact: str, data: bytes, head_bytes: int = HEAD_BYTES) -> "LogStream":
        """A stream of these bytes."""
        return cls(artifact, data[:head_bytes], io.BytesIO(data[head_bytes:]).read)

    def read_up_to(self, size: int) -> bytes:
        """The next bytes, so many where there are as many."""
        data = bytearray()
        while left := size - len(data):
            part = self.ahead or self.some(min(left, _PIECE))
            if not part:
                break
            data += part[:left]
            self.ahead = part[left:]
        return bytes(data)

    def fill(self, view: memoryview) -> int:
        """Fill ``view`` as far as the log goes; fewer bytes mean that it has ended."""
        filled = 0
        while filled < len(view):
            part = self.ahead or self.some(min(len(view) - filled, _PIECE))
            if not part:
                break
            took = min(len(part), len(view) - filled)
            view[filled : filled + took] = part[:took]
            self.ahead = part[took:]
            filled += took
        return filled

    def some(self, size: int) -> bytes:
        """Up to ``size`` bytes more; none at the end, and where it breaks off."""
        if self.total >= _MAX_BYTES:
            if not self.notes:
                self.notes.append(f"more than {_MAX_BYTES >> 30} GiB: the rest is not read")
            return b""
        try:
            part = self.read(size)
        except (ArtifactError, OSError) as error:
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
        return self.begun.read(size) or self.stream.read_up_to(size)


def log_streams(
    file: InputFile, wanted: Container[str] | None = None
) -> Iterator[LogStream | Refused]:
    """What ``file`` is or holds; each stream is read before the next is asked for.

    ``wanted`` are the artifacts to look at; by default all. Empty files are passed over.
    """
    try:
        with file.path.open("rb", buffering=0) as source:
            head = source.read(HEAD_BYTES)
            compression = detect_compression(head)
            first = peek(head, compression) if compression else head
            if is_tar(first[:_TAR_HEAD]):
                yield from _open_archive(file, compression, wanted)
                return
            if wanted is None or file.artifact in wanted:
                source.seek(0)
                stream = open_stream(source, file.artifact)
                if stream is not None:
                    yield stream
    except OSError as error:
        yield Refused(file.artifact, f"cannot be read: {error.strerror}")


def _open_archive(
    file: InputFile, compression: str | None, wanted: Container[str] | None
) -> Iterator[LogStream | Refused]:
    for entry in list_tar_entries(file.path, compression, _MAX_RATIO):
        artifact = f"{file.artifact}/{entry.name}" if entry.name else file.artifact
        if entry.source is None:
            # Where dumps were looked for, the archive's faults are known.
            if wanted is None:
                yield Refused(artifact, entry.why or "cannot be read")
        elif wanted is None or artifact in wanted:
            stream = open_stream(cast("IO[bytes]", entry.source), artifact)
            if stream is not None:
                yield stream


def open_stream(source: IO[bytes], artifact: str) -> LogStream | None:
    """What ``source`` holds; None for an empty file, and for a job.json."""
    if is_job_file(artifact):
        return None
    head = source.read(HEAD_BYTES)
    compression = detect_compression(head)
    read: Callable[[int], bytes] = source.read
    if compression:
        read = unpack_body(_Rewound(head, source), compression, UNBOUNDED).read
        head = _read_first(read)
    if not head:
        return None
    raw = head[:_RAW_BYTES]
    encoding = detect_encoding(head)
    not_text = None
    if encoding is None:
        not_text = explain_no_text(head)
    else:
        decoder = codecs.getincrementaldecoder(encoding)("replace")
        head = decoder.decode(head).encode("utf-8")
        read = _Decoded(read, decoder).read
    head = head.removeprefix(codecs.BOM_UTF8)
    return LogStream(artifact, head, read, raw=raw, not_text=not_text)


def _read_first(read: Callable[[int], bytes]) -> bytes:
    """The first bytes behind a compression; what a damaged stream still gives."""
    head = b""
    try:
        while len(head) < HEAD_BYTES and (part := read(HEAD_BYTES - len(head))):
            head += part
    except (ArtifactError, OSError):
        pass
    return head


class _Rewound:
    """A stream with the bytes that were read from it put back."""

    def __init__(self, head: bytes, source: IO[bytes]) -> None:
        self.head = head
        self.source = source

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes; none at the end."""
        part = self.head[:size] or self.source.read(size)
        self.head = self.head[size:]
        return part


class _Decoded:
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
