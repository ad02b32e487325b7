"""Receiving: the body of a request to the files in it, stored and known by their content.

All is read once, in pieces, and nothing is trusted: no name, no declared kind, no length.
Each file is hashed as it came (behind ``Content-Encoding``), unpacked, cleaned of secrets
if it is a log, and written as one frame of the upload's pack. What is wrong with the body
refuses the request; what is wrong with one file of a bundle refuses that file. The caller
commits the blob, or aborts it.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import IO, Final, NamedTuple, cast

from triage.domain.body import Body
from triage.domain.file_kind import FileKind
from triage.errors import Forbidden, TooLarge, Unprocessable
from triage.parsers.files.archive import HEAD_BYTES, Entry, Window, compression_of, stream_entries
from triage.parsers.files.job_file import is_job_file
from triage.parsers.files.packings import packing_of
from triage.parsers.flight_recorder.naming import node_in_name, rank_in_name
from triage.services.uploads.body import DecodedReader, PeekedReader, body_of, unpacked
from triage.services.uploads.pack import Stored, write_plain
from triage.services.uploads.streams import ForwardOnlyReader, first_bytes
from triage.services.uploads.take import (
    Archived,
    FileIngest,
    IngestedFile,
    PackedFurther,
    ReceiveLimits,
)
from triage.store.blobs.interface import BlobWriter

__all__ = [
    "Identity", "Member", "ReceiveLimits", "Stored", "receive_bundle", "receive_file",
    "write_plain",
]  # fmt: skip

PIECE: Final = 1 << 18
MAX_NODE: Final = 256
MAX_FILENAME: Final = 1024
CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
# The half of a file in which macOS keeps its own attributes.
APPLE_DOUBLE: Final = "._"
REFUSED_BUNDLE: Final = "bundle regular files alone, with names relative to one folder"


class Identity(NamedTuple):
    """What makes two uploads of one incident the same artifact."""

    kind: str
    node: str | None
    rank: int | None
    sha256: str


@dataclass(frozen=True, slots=True)
class Member:
    """One file that came: stored, there already (``repeats``), or refused with a ``reason``.

    ``sha256`` and ``size_bytes`` are of the file behind Content-Encoding: of a member, as
    it lies in the tar. ``offset`` and ``stored_bytes`` say where its frame lies in the pack,
    0 bytes where nothing was kept; ``plain_bytes`` is its length when it is read from there.
    """

    name: str
    """As the tar, or the request, has it; for display."""
    filename: str
    """Without ``nodes/<node>/``; never empty."""
    node: str | None
    rank: int | None
    kind: str
    declared_kind: str | None
    note: str
    sha256: str
    size_bytes: int
    plain_bytes: int = 0
    offset: int = 0
    stored_bytes: int = 0
    reason: str | None = None
    status: int = 200
    """Of a refused one: 413 beyond a limit, else 422."""
    repeats: bool = False
    redacted: dict[str, int] = field(default_factory=dict)
    data: bytes | None = None
    """The content of a bundle's ``job.json``, which is not stored."""

    @property
    def identity(self) -> Identity:
        """What makes it the same artifact as another."""
        return Identity(self.kind, self.node, self.rank, self.sha256)


def receive_file(
    body: Callable[[int], bytes],
    *,
    encoding: str | None,
    filename: str | None,
    node: str | None,
    rank: int | None,
    kind: str | None,
    limits: ReceiveLimits,
    blob: BlobWriter,
) -> Member:
    """The one file that the body is.

    Raises :class:`Unsupported` for the encoding, :class:`TooLarge`, :class:`Unprocessable`
    for damage and for an archive, and what the blob store raises.
    """
    source = body_of(body, encoding, limits.growth(limits.artifact_bytes))
    name = shown(filename or "")[:MAX_FILENAME]
    taker = FileIngest(limits, blob, limits.artifact_bytes, alone=True)
    taken = taker.take(source, name, kind, None)
    if taken.error is not None:
        raise refusal_of(taken)
    return member_of(taken, name, node, rank, kind)


def receive_bundle(
    body: Callable[[int], bytes],
    *,
    encoding: str | None,
    node: str | None,
    limits: ReceiveLimits,
    blob: BlobWriter,
) -> Iterator[Member]:
    """The files of the tar that the body is, in its order, each when it is stored.

    Raises as :func:`receive_file`, at any place: then nothing that was yielded counts.
    """
    stream = ForwardOnlyReader(tar_of(body, encoding, limits), limits.bundle_bytes)
    taker = FileIngest(limits, blob, limits.bundle_bytes, alone=False)
    seen: set[Identity] = set()
    count = 0
    for entry in stream_entries(cast("IO[bytes]", stream), limits.bundle_bytes, seeks=True):
        if not entry.name and entry.why is not None:
            raise broken_bundle(entry.why, first=stream.tell() <= 512)
        if entry.hostile:
            raise Unprocessable(f"{shown(entry.name)!r}: {entry.why}", hint=REFUSED_BUNDLE)
        count += 1
        if count > limits.members:
            raise TooLarge(
                f"more than {limits.members:,} files in one bundle",
                hint="send them in several bundles",
            )
        if PurePosixPath(entry.name).name.startswith(APPLE_DOUBLE):
            continue
        one = member_from(entry, taker, node, limits)
        if entry.source is not None and entry.source.short:
            raise Unprocessable(
                f"the body ends inside {one.name!r}", hint="send it again; nothing was kept"
            )
        if one.stored_bytes:
            if one.identity in seen:
                blob.rewind(one.offset)
                one = replace(one, stored_bytes=0, plain_bytes=0, repeats=True)
            seen.add(one.identity)
        yield one
    behind_the_end(stream)


def tar_of(body: Callable[[int], bytes], encoding: str | None, limits: ReceiveLimits) -> Body:
    """The plain tar in the body. Raises :class:`Unprocessable` for an empty one."""
    source = body_of(body, encoding, limits.growth(limits.bundle_bytes))
    head = first_bytes(source, HEAD_BYTES)
    if not head:
        raise Unprocessable("the body is empty", hint="send a tar of the node's files")
    compression = compression_of(head)
    whole: Body = PeekedReader(head, source)
    if compression is None:
        if packing := packing_of(head):
            raise Unprocessable(f"the body is {packing[0]}", hint=packing[1])
        return whole
    growth = limits.growth(limits.bundle_bytes)
    return DecodedReader(unpacked(whole, compression, growth), "archive")


def member_from(entry: Entry, taker: FileIngest, node: str | None, limits: ReceiveLimits) -> Member:
    name = shown(entry.name)
    if entry.source is None:
        return Member(
            name, name, node, None, "", None, "", "", entry.size, reason=entry.why, status=422
        )
    if is_job_file(entry.name):
        return job_json(name, entry.source, entry.size, limits)
    taken = taker.take(cast(Body, entry.source), name, None, entry.size)
    return member_of(taken, name, node, None, None)


def job_json(name: str, source: Window, size: int, limits: ReceiveLimits) -> Member:
    blank = Member(name, name, None, None, FileKind.JOB_JSON, None, "", "", size)
    if size > limits.job_json_bytes:
        why = f"more than {limits.job_json_bytes:,} bytes"
        return replace(blank, reason=why, status=TooLarge.status)
    return replace(blank, data=source.read())


def member_of(
    taken: IngestedFile, name: str, node: str | None, rank: int | None, declared: str | None
) -> Member:
    """What is kept of a file, with the rank and the node that its name says."""
    kind = taken.identified.kind
    notes = [taken.identified.note, taken.cut]
    if node is None:
        node = node_in_name(name)
        if node is not None and (len(node) > MAX_NODE or not node.strip()):
            node = None
            notes.append("its folder's name is no node's")
    if rank is None and kind == FileKind.FLIGHT_RECORDER:
        rank = rank_in_name(name)
        if rank is None:
            notes.append("rank unknown: neither the request nor the file's name says it")
    reason = None if taken.error is None else str(taken.error)
    too_large = isinstance(taken.error, Forbidden)
    return Member(
        name=name,
        filename=filename_of(name, kind, rank),
        node=node,
        rank=rank,
        kind=kind,
        declared_kind=declared,
        note="; ".join(note for note in notes if note),
        sha256=taken.sha256,
        size_bytes=taken.size_bytes,
        plain_bytes=taken.plain_bytes,
        offset=taken.offset,
        stored_bytes=taken.stored_bytes,
        reason=reason,
        status=200 if reason is None else (TooLarge if too_large else Unprocessable).status,
        redacted=taken.redacted,
    )


def filename_of(name: str, kind: str, rank: int | None) -> str:
    """The name below ``nodes/<node>/``; what the report calls the file."""
    parts = [part for part in PurePosixPath(name).parts if part not in ("/", "..")]
    for k in range(len(parts) - 2):
        if parts[k] == "nodes":
            return "/".join(parts[k + 2 :])
    if parts:
        return "/".join(parts)
    if kind == FileKind.FLIGHT_RECORDER:
        return "trace" if rank is None else f"trace_rank_{rank}"
    return "upload.log"


def shown(name: str) -> str:
    """A name as display text: what controls a terminal or breaks a row is replaced."""
    return CONTROLS.sub("\ufffd", name)


def refusal_of(taken: IngestedFile) -> TooLarge | Unprocessable:
    if isinstance(taken.error, Archived):
        return Unprocessable(
            "the file is itself a tar archive",
            hint="POST it to .../bundle, where each of its files is taken",
        )
    if isinstance(taken.error, PackedFurther):
        return Unprocessable(f"the file is {taken.error.what}", hint=taken.error.instead)
    if isinstance(taken.error, Forbidden):
        return TooLarge(f"the file: {taken.error}", hint="send the part around the failure")
    return Unprocessable(
        f"the file cannot be unpacked: {taken.error}", hint="send it again, or unpacked"
    )


def broken_bundle(why: str, *, first: bool) -> Unprocessable:
    if first:
        return Unprocessable(
            "the body is no tar archive", hint="send a tar here, and one file to .../artifacts"
        )
    return Unprocessable(
        f"the bundle cannot be read to its end: {why}", hint="send it again; nothing was kept"
    )


def behind_the_end(stream: ForwardOnlyReader) -> None:
    """Reads the rest of the body: padding, and the check sums of what packed it."""
    while part := stream.read(PIECE):
        if part.strip(b"\0"):
            raise Unprocessable(
                "more bytes follow the archive's end: a second archive would be lost",
                hint="send each archive in a request of its own",
            )
