"""Bundle: the artifacts of one request as a tar, each copied once and bounded.

A file is copied to scratch first, since a tar says a file's size before its bytes and
files here grow, shrink or vanish while they are read. A member of its own lists what was
cut or left out, so that the reader of the report knows it too.
"""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import tempfile
import time
from typing import IO, TYPE_CHECKING, NamedTuple

from triage.collectors.artifact import DUMP, Artifact, Skipped
from triage.collectors.digest import Digester
from triage.collectors.files import open_artifact

if TYPE_CHECKING:
    from collections.abc import Iterable

    from triage.collectors.artifact import Deadline

_CHUNK = 1 << 20
# Bytes in which the first whole line is looked for, where only the end of a log is kept.
_LINE = 1 << 16
# A dump that changes while it is read is being written: read again, so often.
_TRIES, PAUSE_S = 3, 0.5
# Of the time to read, the share after which a digest is no longer waited for: dumps are sent then.
_DIGEST_SHARE = 0.6
_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")
MANIFEST = "MANIFEST.txt"


class Bounds(NamedTuple):
    """``max_bytes`` over all members before compression; no member is begun after ``deadline``.

    With ``digest`` dumps are sent as their digests.
    """

    max_bytes: int
    deadline: Deadline
    compress: bool = True
    digest: bool = False


class Packed(NamedTuple):
    """What a bundle holds: numbers of files by kind, their bytes, and notes on what was cut.

    ``whole`` are the names, as they were found, of those that are not sent as digests.
    """

    counts: dict[str, int]
    size_bytes: int
    notes: tuple[Skipped, ...]
    whole: frozenset[str] = frozenset()


class _Copy(NamedTuple):
    size_bytes: int
    note: str
    mtime_s: int = 0
    reduced: bool = False


class _LeftOut(Exception):
    """The file is left out; the message is why."""


def pack(
    artifacts: Iterable[Artifact],
    target: IO[bytes],
    scratch: str,
    bounds: Bounds,
    notes: Iterable[Skipped] = (),
    manifest: str = MANIFEST,
) -> Packed:
    """Write a tar of ``artifacts`` to ``target``, gzip level 1 where ``bounds.compress``.

    ``scratch`` is a folder for one file at a time. The member ``manifest`` lists ``notes``
    and what was noted here; without notes there is none. Raises OSError when ``target`` or
    ``scratch`` cannot be written.
    """
    all_notes = list(notes)
    counts: dict[str, int] = {}
    used: set[str] = set()
    whole: set[str] = set()
    total = 0
    stream = target
    if bounds.compress:
        # The wire is slower than any level of compression: the cheapest one is enough.
        stream = gzip.GzipFile("", "wb", 1, target, 0)  # type: ignore[assignment]
    digester = Digester()
    with digester, tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        for artifact in artifacts:
            with tempfile.TemporaryFile(dir=scratch) as copy:
                try:
                    copied = _copy(artifact, copy, bounds, bounds.max_bytes - total)
                except _LeftOut as left_out:
                    all_notes.append(Skipped(artifact.path, str(left_out)))
                    continue
                if copied.note:
                    all_notes.append(Skipped(artifact.path, copied.note))
                if bounds.digest and artifact.kind == DUMP:
                    copied, why = _reduced(copied, copy, artifact, digester, bounds.deadline)
                    if why:
                        # Nothing is missed by it: the digest is there, or what it is made of.
                        all_notes.append(Skipped(artifact.path, why, usual=True))
                if not copied.reduced:
                    whole.add(artifact.member)
                copy.seek(0)
                member = _unused(artifact.member, used)
                tar.addfile(_header(member, copied.size_bytes, copied.mtime_s), copy)
            total += copied.size_bytes
            counts[artifact.kind] = counts.get(artifact.kind, 0) + 1
        lines = (
            f"{one_line(one.path)}: {one_line(one.why)}\n" for one in all_notes if not one.usual
        )
        text = "".join(lines).encode("utf-8", "backslashreplace")
        if text and counts:
            tar.addfile(_header(manifest, len(text)), io.BytesIO(text))
    if stream is not target:
        stream.close()
    return Packed(counts, total, tuple(all_notes), frozenset(whole))


def _reduced(
    copied: _Copy, copy: IO[bytes], artifact: Artifact, digester: Digester, deadline: Deadline
) -> tuple[_Copy, str]:
    """The digest in place of the dump in ``copy``, or the dump; and what is to be said of it."""
    name = artifact.member.rpartition("/")[2]
    made = digester.digest(copy, name, deadline.part(_DIGEST_SHARE))
    if not made.data:
        return copied, made.why
    copy.seek(0)
    copy.truncate()
    copy.write(made.data)
    return copied._replace(size_bytes=len(made.data), reduced=True), made.why


def _copy(artifact: Artifact, copy: IO[bytes], bounds: Bounds, room: int) -> _Copy:
    """Copy one file, from where its kept part begins. Raises :class:`_LeftOut`."""
    limit = min(artifact.max_bytes, room)
    if bounds.deadline.passed():
        raise _LeftOut("no time was left to read it")
    if limit <= 0:
        raise _LeftOut("the bundle is full")
    try:
        handle = open_artifact(artifact)
    except OSError as error:
        raise _LeftOut(error.strerror or str(error)) from error
    with os.fdopen(handle, "rb", buffering=0) as source:
        tries = _TRIES if artifact.kind == DUMP else 1
        for turn in range(tries):
            copy.seek(0)
            copy.truncate()
            before = os.fstat(source.fileno())
            try:
                got = _read(source, copy, before.st_size, limit, artifact, bounds.deadline)
            except OSError as error:
                raise _LeftOut(f"cannot be read: {error.strerror or error}") from error
            after = os.fstat(source.fileno())
            got = got._replace(mtime_s=max(0, int(after.st_mtime)))
            if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns):
                return got
            if turn < tries - 1:
                time.sleep(min(PAUSE_S, bounds.deadline.left_s()))
    # A log that is still written is nothing to speak of; a dump may be cut.
    if artifact.kind == DUMP:
        return got._replace(note=got.note or "was still being written while it was read")
    return got


def _read(
    source: io.RawIOBase | IO[bytes],
    copy: IO[bytes],
    size: int,
    limit: int,
    artifact: Artifact,
    deadline: Deadline,
) -> _Copy:
    """Copy ``size`` bytes, or their end; what the file grows by meanwhile is not read."""
    start, note = 0, ""
    if size > limit:
        source.seek(0)
        packed = (source.read(4) or b"").startswith(_COMPRESSED)
        if not artifact.tail or packed:
            raise _LeftOut(f"{size:,} bytes, more than the {limit:,} that are taken")
        # One byte earlier: it tells whether the kept part begins with a whole line.
        start = size - limit - 1
        note = f"cut: of {size:,} bytes the last are sent, at most {limit:,}"
    source.seek(start)
    left = size - start
    first = size > limit
    copied = 0
    while left > 0:
        if deadline.passed():
            raise _LeftOut("no time was left to read it")
        part = source.read(min(_CHUNK, left))
        if not part:
            break
        left -= len(part)
        if first:
            # From its first whole line on, where one begins soon.
            at = part.find(b"\n", 0, _LINE)
            part, first = part[max(at, 0) + 1 :], False
        copy.write(part)
        copied += len(part)
    return _Copy(copied, note)


def _unused(member: str, used: set[str]) -> str:
    """``member``, with a numbered folder before its last part where the name is taken."""
    folder, _, name = member.rpartition("/")
    number, unused = 1, member
    while unused in used:
        number += 1
        unused = f"{folder}/{number}/{name}" if folder else f"{number}/{name}"
    used.add(unused)
    return unused


def _header(member: str, size: int, mtime_s: int = 0) -> tarfile.TarInfo:
    """A plain file without owner, so that the same files give the same bytes.

    When a file was last written tells the service which failure of a requeued job it is of.
    """
    header = tarfile.TarInfo(member)
    header.size, header.mode, header.mtime = size, 0o600, mtime_s
    return header


def one_line(text: str) -> str:
    """``text`` without control characters, so that a file name writes no line of its own."""
    shown = "".join(char if char.isprintable() else "?" for char in text)
    return shown if len(shown) <= 500 else f"{shown[:500]}..."
