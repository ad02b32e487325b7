"""Files as bytes: plain, compressed, and tar of any of these.

Names inside a tar are display text; links, devices, sparse files and names that leave the
archive are refused one by one.
"""

import io
import sys
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final

from triage.domain.body import Body
from triage.errors import ArtifactError, Corrupt, Forbidden
from triage.parsers.files.compression import (
    UNBOUNDED,
    Expansion,
    Truncated,
    detect_compression,
    unpack_body,
)

_CHUNK: Final = 1 << 20
# Three seconds of reading headers; 16,384 ranks leave 20,000 files.
_MAX_MEMBERS: Final = 50_000
# A long name or a table of attributes; tarfile reads it into memory as a whole.
_MAX_TAR_HEADER: Final = 1 << 13
# Of their sizes squared, over the archive: older versions of tarfile search each of
# them in quadratic time. 20,000 ordinary ones take half of it.
_MAX_TAR_SQUARES: Final = 3 << 29
_MAX_PATH: Final = 4096
_MAX_NAME: Final = 255
# A tar may expand this far whatever its ratio.
_TAR_FLOOR: Final = 256 << 20
# What is looked at to tell what a file is, and the compressed bytes that may take: a
# block of zstd is up to 128 KiB.
HEAD_BYTES: Final = 4096
PEEK_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Member:
    """One file of a tar: its content, or why it is refused; neither where nobody wants it."""

    name: str
    data: bytes | None
    why: str | None = None


class _Pieces(io.RawIOBase):
    """A stream of which :meth:`read` gives the bytes."""

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: object) -> int:
        """As :meth:`read`, into ``buffer``."""
        view = memoryview(buffer)  # type: ignore[arg-type]
        part = self.read(len(view)) or b""
        view[: len(part)] = part
        return len(part)


class Window(_Pieces):
    """The bytes of one file of a tar, to be read before the next one is asked for."""

    def __init__(self, stream: IO[bytes], size: int) -> None:
        self.stream = stream
        self.left = size
        self.short = False

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes; fewer at the end of the file, and where the archive ends."""
        asked = self.left if size < 0 else min(size, self.left)
        part = self.stream.read(asked)
        self.short |= len(part) < asked
        self.left -= len(part)
        return part


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a tar that is not read yet, or why it is refused.

    ``hostile`` where the refused is no file at all, or points outside the archive. ``mtime`` is
    when it was last written, in seconds since the epoch, as far as the archive can be believed.
    """

    name: str
    size: int
    source: Window | None
    why: str | None = None
    hostile: bool = False
    mtime: float = 0.0


def is_tar(head: bytes) -> bool:
    """Whether the first 512 bytes are the header of a tar member."""
    return len(head) >= 512 and head[257:262] == b"ustar"


def expand(source: IO[bytes], compression: str, bounds: Expansion) -> bytes:
    """All bytes of ``source``, decompressed.

    Raises :class:`Forbidden` past a bound and :class:`Corrupt` for a stream that is damaged, or
    breaks off before anything of it could be read. A stream that breaks off later gives what
    came before: the dump inside is then a cut one.
    """
    reader = unpack_body(source, compression, bounds)
    parts: list[bytes] = []
    try:
        while part := reader.read(_CHUNK):
            parts.append(part)
    except Truncated:
        if not parts:
            raise
    except OSError as error:
        if not parts:
            raise Corrupt(f"{compression} cannot be read: {error}") from error
    return b"".join(parts)


class _TolerantReader(_Pieces):
    """Hands on what is unpacked; damage is its end, and ``broken`` says which."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.broken: Exception | None = None

    def read(self, size: int = -1) -> bytes:
        if self.broken is None:
            try:
                return self.body.read(size)
            except (OSError, Corrupt) as error:
                self.broken = error
        return b""


class _Header(tarfile.TarInfo):
    """A header that is looked at before tarfile follows it; one class an archive."""

    squares = 0

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_Header":
        """Raises :class:`Corrupt` where tarfile would end as if the archive did, and
        :class:`Forbidden` for what it would read whole, or seek backwards for.
        """
        if len(buf) != tarfile.BLOCKSIZE:
            raise Corrupt("the archive ends without its end mark: files may be missing")
        try:
            info = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if buf.count(0) == tarfile.BLOCKSIZE:
                raise
            raise Corrupt(f"the archive breaks off: {error}") from error
        if info.size < 0:
            raise Forbidden("a file of negative size in the archive")
        if info.type in _ATTRIBUTES and info.size > _MAX_TAR_HEADER:
            raise Forbidden(f"a name or attributes of {info.size:,} bytes in the archive")
        if info.type in _ATTRIBUTES:
            cls.squares += info.size**2
            if cls.squares > _MAX_TAR_SQUARES:
                raise Forbidden("too many long attributes in the archive")
        return info


_ATTRIBUTES: Final = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


def list_tar_members(
    path: Path,
    compression: str | None,
    bounds: Expansion,
    wanted: Callable[[bytes, str], bool] | None = None,
) -> Iterator[Member]:
    """The regular files of a tar, in its order, each within ``bounds``.

    ``wanted`` says by the first bytes and the name whether a file is read; others
    come without content.
    """
    for entry in list_tar_entries(path, compression, bounds.ratio):
        if entry.source is None:
            yield Member(entry.name, None, entry.why)
            continue
        try:
            yield _make_member(entry, entry.source, bounds, wanted)
        except ArtifactError as error:
            yield Member(entry.name, None, str(error))


def _make_member(
    entry: Entry,
    source: Window,
    bounds: Expansion,
    wanted: Callable[[bytes, str], bool] | None,
) -> Member:
    head = b""
    if wanted is not None:
        head = source.read(HEAD_BYTES)
        packed = detect_compression(head)
        first = head
        if packed:
            head += source.read(PEEK_BYTES)
            first = peek(head, packed)
        if not (packed and not first) and not wanted(first, entry.name):
            return Member(entry.name, None)
    if entry.size > bounds.max_bytes:
        return Member(entry.name, None, f"{entry.size:,} bytes; more than {bounds.max_bytes:,}")
    data = head + source.read()
    packed = detect_compression(data[:HEAD_BYTES])
    if packed and not source.short:
        data = expand(io.BytesIO(data), packed, bounds)
    return Member(entry.name, data)


def peek(data: bytes, compression: str) -> bytes:
    """The first bytes behind the compression; nothing when it is damaged."""
    head = b""
    try:
        read = unpack_body(io.BytesIO(data), compression, UNBOUNDED).read
        # One call may give less: the first part of a file in many parts can be a byte.
        while len(head) < HEAD_BYTES and (part := read(HEAD_BYTES - len(head))):
            head += part
    except (OSError, ArtifactError):
        pass
    return head


def list_tar_entries(path: Path, compression: str | None, ratio: int) -> Iterator[Entry]:
    """The regular files of a tar, in its order; each is read, or not, before the next."""
    size = path.stat().st_size
    with path.open("rb") as source:
        if not compression:
            # A plain one is not read where it is skipped; none of its files ends behind it.
            yield from stream_entries(source, size, seeks=True)
            return
        end = max(_TAR_FLOOR, ratio * size)
        bounds = Expansion(sys.maxsize, ratio, _TAR_FLOOR)
        reader = _TolerantReader(unpack_body(source, compression, bounds))
        for entry in stream_entries(io.BufferedReader(reader, _CHUNK), end, seeks=False):
            if not entry.name and reader.broken is not None:
                yield replace(entry, why=f"{entry.why}: {reader.broken}")
            else:
                yield entry


def stream_entries(stream: IO[bytes], end: int, *, seeks: bool) -> Iterator[Entry]:
    """The regular files of the tar that ``stream`` holds, at most ``end`` bytes of it.

    With ``seeks`` it is asked to ``tell`` and to ``seek``, never backwards. Where the
    archive breaks off, the last entry has no name, and says how.
    """
    header = type("Header", (_Header,), {"squares": 0})
    try:
        mode: Any = "r:" if seeks else "r|"
        with tarfile.open(fileobj=stream, mode=mode, tarinfo=header) as archive:
            yield from _list_regular_entries(archive, end)
    except (tarfile.TarError, OSError) as error:
        yield Entry("", 0, None, f"the archive breaks off: {error}")
    except (ValueError, LookupError, RecursionError):
        # From the depths of tarfile: attributes that are no numbers, headers of headers.
        yield Entry("", 0, None, "the archive breaks off: a damaged header")
    except ArtifactError as error:
        yield Entry("", 0, None, str(error))


def _list_regular_entries(archive: tarfile.TarFile, end: int) -> Iterator[Entry]:
    stream: Any = archive.fileobj
    for count, info in enumerate(archive, start=1):
        archive.members = []  # type: ignore[attr-defined]  # streaming: forget what was read
        if count > _MAX_MEMBERS:
            yield Entry("", 0, None, f"more than {_MAX_MEMBERS:,} files in the archive")
            return
        if info.size < 0 or archive.offset < info.offset_data:
            yield Entry("", 0, None, "a file of negative size in the archive")
            return
        name = info.name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        why = None if info.isdir() else _explain_refusal(info, name)
        source = None
        if why is not None:
            shown = name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}..."
            yield Entry(
                shown, info.size, None, why, hostile=not info.isreg() or _is_outside_root(name)
            )
        elif not info.isdir():
            # From the stream itself: the file that `extractfile` gives drops the last
            # bytes of an archive that breaks off.
            stream.seek(info.offset_data)
            source = Window(stream, info.size)
            yield Entry(name, info.size, source, mtime=float(info.mtime))
        # Where the next header would lie: the reader walks there block by block.
        unread = source is None or source.left > 0
        if (source and source.short) or (unread and archive.offset > end + tarfile.BLOCKSIZE):
            yield Entry("", 0, None, "the archive breaks off in the middle of a file")
            return


def _explain_refusal(info: tarfile.TarInfo, name: str) -> str | None:
    """Why a member is not read, None when it is."""
    if len(name) > _MAX_PATH or any(len(part) > _MAX_NAME for part in name.split("/")):
        return f"a name of {len(name):,} characters"
    if info.issparse():
        return "a sparse file in an archive is not read"
    if not info.isreg():
        return "a link or device in an archive is not followed"
    if _is_outside_root(name):
        return "its name leaves the archive"
    return None


def _is_outside_root(name: str) -> bool:
    """Whether a name is none of a file below the archive's root."""
    return ".." in PurePosixPath(name).parts or name.startswith("/") or "\0" in name
