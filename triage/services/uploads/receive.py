"""Receiving: the body of a request to the files in it, stored and known by their content.

All is read once, in pieces, and nothing is trusted: no name, no declared kind, no length.
Each file is hashed as it came (behind ``Content-Encoding``), unpacked, cleaned of secrets
if it is a log, and written as one frame of the upload's pack. What is wrong with the body
refuses the request; what is wrong with one file of a bundle refuses that file. The caller
commits the blob, or aborts it.

The body of a request as plain bytes: behind its Content-Encoding and one layer of packing.

For bodies that are read at once and not kept. What is wrong with them refuses the request.
"""

from collections.abc import Callable, Collection, Iterator
from pathlib import PurePosixPath
from typing import IO, Final, cast

from triage.domain.body import Body
from triage.domain.file_kind import FileKind
from triage.domain.patterns import compile_re
from triage.errors import ArtifactError, Corrupt, Forbidden, Gone, Place, TooLarge, Unprocessable
from triage.parsers.files.archive import HEAD_BYTES, Entry, Window, is_tar, stream_entries
from triage.parsers.files.compression import detect_compression, unpack_body
from triage.parsers.files.job_file import is_job_file
from triage.parsers.files.text import detect_packing
from triage.parsers.flight_recorder.naming import parse_node, rank_in_name
from triage.services.hooks.times import parse_moment
from triage.services.uploads.body import (
    DecodedReader,
    ForwardOnlyReader,
    PeekedReader,
    convert_to_utf8,
    open_body,
    read_first_bytes,
)
from triage.services.uploads.received import Erased, ReceivedFile, Target
from triage.services.uploads.take import Archived, FileIngest, PackedFurther, ReceiveLimits
from triage.store.blobs.files import BlobWriter

_PIECE: Final = 1 << 18
_MAX_NODE: Final = 256
_MAX_FILENAME: Final = 1024
_CONTROLS: Final = compile_re(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
# The half of a file in which macOS keeps its own attributes.
_APPLE_DOUBLE: Final = "._"
# A kernel writes on when a job has ended; these end with it.
_WRITTEN_BY_THE_JOB: Final = frozenset({FileKind.FLIGHT_RECORDER, FileKind.JOB_LOG})
# Many tools leave the time out, or set it to 0 or 1980: what is before 2001 is none.
_NO_TIME_BEFORE_S: Final = 1e9
_REFUSED_BUNDLE: Final = "bundle regular files alone, with names relative to one folder"


def receive_file(
    body: Callable[[int], bytes],
    encoding: str | None,
    target: Target,
    limits: ReceiveLimits,
    blob: BlobWriter,
    erased: Collection[str] = (),
) -> ReceivedFile:
    """The one file that the body is; its identity is none of the ``erased``.

    Raises :class:`Gone` for one of those, :class:`Unsupported` for the encoding, :class:`TooLarge`,
    :class:`Unprocessable` for damage and for an archive, and what the blob store raises.
    """
    source = open_body(body, encoding, limits.expansion(limits.artifact_bytes))
    name = _make_displayable(target.filename or "")[:_MAX_FILENAME]
    file = ReceivedFile(name, target.node, target.rank)
    ingest = FileIngest(limits, blob, limits.artifact_bytes, alone=True)
    ingest.take(file, source, target.kind)
    if file.error is not None:
        raise _make_refusal(file.error)
    place_by_name(file)
    if file.identity in erased:
        raise make_gone(Erased())
    return file


def receive_bundle(
    body: Callable[[int], bytes],
    encoding: str | None,
    target: Target,
    limits: ReceiveLimits,
    blob: BlobWriter,
    erased: Collection[str] = (),
) -> Iterator[ReceivedFile]:
    """The files of the tar that the body is, in its order, each when it is stored.

    A file whose identity is one of the ``erased`` is refused.

    Raises as :func:`receive_file`, at any place: then nothing that was yielded counts.
    """
    stream = ForwardOnlyReader(_open_tar(body, encoding, limits), limits.bundle_bytes)
    ingest = FileIngest(limits, blob, limits.bundle_bytes, alone=False)
    seen: set[str] = set()
    for entry in _list_members(stream, limits):
        file = _receive_member(entry, ingest, target.node, limits)
        if entry.source is not None and entry.source.short:
            raise Unprocessable(
                f"the body ends inside {file.name!r}", hint="send it again; nothing was kept"
            )
        identity = file.identity
        file.repeats = identity in seen and file.stored_bytes > 0
        if file.stored_bytes and (file.repeats or identity in erased):
            blob.rewind(file.position)
            file.stored_bytes = file.plain_bytes = 0
        if file.error is None and identity in erased:
            file.data, file.error = None, Erased()
        elif file.stored_bytes:
            seen.add(identity)
        yield file
    _drain_stream(stream)


def _list_members(stream: ForwardOnlyReader, limits: ReceiveLimits) -> Iterator[Entry]:
    """The members of a tar that are of interest.

    Raises :class:`Unprocessable` for what refuses the whole, and :class:`TooLarge`.
    """
    entries = stream_entries(cast("IO[bytes]", stream), limits.bundle_bytes, seeks=True)
    for count, entry in enumerate(entries, start=1):
        if not entry.name and entry.why is not None:
            raise _make_broken_bundle(entry.why, first=stream.tell() <= 512)
        if entry.hostile:
            raise Unprocessable(
                f"{_make_displayable(entry.name)!r}: {entry.why}", hint=_REFUSED_BUNDLE
            )
        if count > limits.members:
            raise TooLarge(
                f"more than {limits.members:,} files in one bundle",
                hint="send them in several bundles",
            )
        if not PurePosixPath(entry.name).name.startswith(_APPLE_DOUBLE):
            yield entry


def _open_tar(body: Callable[[int], bytes], encoding: str | None, limits: ReceiveLimits) -> Body:
    """The plain tar in the body. Raises :class:`Unprocessable` for an empty one."""
    source = open_body(body, encoding, limits.expansion(limits.bundle_bytes))
    head = read_first_bytes(source, HEAD_BYTES)
    if not head:
        raise Unprocessable("the body is empty", hint="send a tar of the node's files")
    compression = detect_compression(head)
    whole: Body = PeekedReader(head, source)
    if compression is None:
        if packing := detect_packing(head):
            raise Unprocessable(f"the body is {packing[0]}", hint=packing[1])
        return whole
    bounds = limits.expansion(limits.bundle_bytes)
    return DecodedReader(unpack_body(whole, compression, bounds), "archive")


def _receive_member(
    entry: Entry, ingest: FileIngest, node: str | None, limits: ReceiveLimits
) -> ReceivedFile:
    name = _make_displayable(entry.name)
    if entry.source is None:
        error = Corrupt(entry.why or "cannot be read")
        return ReceivedFile(name, node, filename=name, size_bytes=entry.size, error=error)
    if is_job_file(entry.name):
        return _receive_job_json(name, entry.source, entry.size, limits)
    file = ReceivedFile(name, node)
    ingest.take(file, cast(Body, entry.source), size=entry.size)
    place_by_name(file)
    if file.kind in _WRITTEN_BY_THE_JOB:
        file.written_at = parse_moment(entry.mtime) if entry.mtime >= _NO_TIME_BEFORE_S else None
    return file


def _receive_job_json(name: str, source: Window, size: int, limits: ReceiveLimits) -> ReceivedFile:
    file = ReceivedFile(name, kind=FileKind.JOB_JSON, filename=name, size_bytes=size)
    if size > limits.job_json_bytes:
        file.error = Forbidden(f"more than {limits.job_json_bytes:,} bytes")
    else:
        file.data = source.read()
    return file


def place_by_name(file: ReceivedFile) -> None:
    """Fill in the rank and the node that the file's name says, where the request says none."""
    if file.node is None:
        node = parse_node(file.name)
        if node is not None and (len(node) > _MAX_NODE or not node.strip()):
            file.notes.append("its folder's name is no node's")
        else:
            file.node = node
    if file.rank is None and file.kind == FileKind.FLIGHT_RECORDER:
        file.rank = rank_in_name(file.name)
        if file.rank is None:
            file.notes.append("rank unknown: neither the request nor the file's name says it")
    file.filename = _make_filename(file.name, file.kind, file.rank)


def _make_filename(name: str, kind: str, rank: int | None) -> str:
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


def _make_displayable(name: str) -> str:
    """A name as display text: what controls a terminal or breaks a row is replaced."""
    return _CONTROLS.sub("\ufffd", name)


def _make_refusal(error: ArtifactError) -> TooLarge | Unprocessable:
    if isinstance(error, Archived):
        return Unprocessable(
            "the file is itself a tar archive",
            hint="POST it to .../bundle, where each of its files is taken",
        )
    if isinstance(error, PackedFurther):
        return Unprocessable(f"the file is {error.what}", hint=error.instead)
    if isinstance(error, Forbidden):
        return TooLarge(f"the file: {error}", hint="send the part around the failure")
    return Unprocessable(f"the file cannot be unpacked: {error}", hint="send it again, or unpacked")


def make_gone(error: Erased) -> Gone:
    """The refusal of a file, or of a bundle without any other."""
    return Gone(
        f"the file: {error}",
        hint="remove it where it is sent from, the spool too; an admin can say who had it erased"
        " (`triage audit`), and to be taken it has to differ",
    )


def _make_broken_bundle(why: str, *, first: bool) -> Unprocessable:
    if first:
        return Unprocessable(
            "the body is no tar archive", hint="send a tar here, and one file to .../artifacts"
        )
    return Unprocessable(
        f"the bundle cannot be read to its end: {why}", hint="send it again; nothing was kept"
    )


def _drain_stream(stream: ForwardOnlyReader) -> None:
    """Reads the rest of the body: padding, and the check sums of what packed it."""
    while part := stream.read(_PIECE):
        if part.strip(b"\0"):
            raise Unprocessable(
                "more bytes follow the archive's end: a second archive would be lost",
                hint="send each archive in a request of its own",
            )


# What is looked at to tell what a body is.
LOOK_BYTES: Final = 64 << 10


def peek_body(
    read: Callable[[int], bytes], encoding: str | None, max_bytes: int
) -> tuple[bytes, Body]:
    """The first plain bytes of a body, and the body from its beginning; UTF-16 becomes UTF-8.

    Raises :class:`Unprocessable` for archives and for what is packed twice, or otherwise than
    with gzip, zstd, xz and bzip2, and as ``read`` of the body does.
    """
    limits = ReceiveLimits()
    bounds = limits.expansion(max_bytes)
    sent = open_body(read, encoding, bounds)
    packed = read_first_bytes(sent, HEAD_BYTES)
    layer = unpack_body(PeekedReader(packed, sent), detect_compression(packed), bounds)
    plain = DecodedReader(layer, "body")
    head = read_first_bytes(plain, LOOK_BYTES)
    packing = detect_packing(head)
    if is_tar(head[:512]):
        raise refuse_body("is a tar archive", "send its files one by one")
    if packing is not None:
        raise refuse_body(f"is {packing[0]}", packing[1])
    text = convert_to_utf8(PeekedReader(head, plain), head)
    shown = read_first_bytes(text, LOOK_BYTES)
    return shown, PeekedReader(shown, text)


class _Bounded:
    """A body that may not have more than so many bytes."""

    def __init__(self, body: Body, max_bytes: int) -> None:
        self.body = body
        self.max_bytes = max_bytes
        self.total = 0

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes. Raises :class:`Unprocessable` beyond the bound."""
        part = self.body.read(size)
        self.total += len(part)
        if self.total > self.max_bytes:
            raise refuse_body(f"has more than {self.max_bytes:,} bytes", "send less at once")
        return part


def read_plain_text(read: Callable[[int], bytes], encoding: str | None, max_bytes: int) -> Body:
    """The plain bytes of a body. It raises as :func:`peek_body`, and beyond ``max_bytes``."""
    return _Bounded(peek_body(read, encoding, max_bytes)[1], max_bytes)


def refuse_body(why: str, hint: str) -> Unprocessable:
    """The refusal of a body as a whole; ``why`` is what it does."""
    return Unprocessable(f"the body {why}", hint=hint, places=(Place("body", why),))
