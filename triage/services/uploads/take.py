"""Taking one file into a pack: unpacked, told apart, cleaned, compressed, in one pass."""

from dataclasses import dataclass
from typing import Final

from triage.domain.body import Body
from triage.errors import ArtifactError, Corrupt, Forbidden, TooLarge
from triage.parsers.files.archive import HEAD_BYTES, is_tar
from triage.parsers.files.compression import Expansion, detect_compression, unpack_body
from triage.parsers.files.text import detect_packing
from triage.parsers.redact.own import NO_PATTERNS, OwnPatterns
from triage.parsers.redact.redact import Redactor
from triage.services.uploads.body import (
    LOOK_BYTES,
    HashingReader,
    PeekedReader,
    TruncationTolerantReader,
    convert_to_utf8,
    identify_file,
    read_first_bytes,
)
from triage.services.uploads.pack import FrameWriter, Packer
from triage.services.uploads.received import ReceivedFile
from triage.store.blobs.files import BlobWriter

_PIECE: Final = 1 << 18
# Of what is unpacked, kept by a decoder. RFC 9659: a content coding needs no more, and that is
# what `xz -6` keeps, the default.
_WINDOW_BYTES: Final = 8 << 20


@dataclass(frozen=True, slots=True)
class ReceiveLimits:
    """Bounds on one request, in bytes after decoding."""

    artifact_bytes: int = 256 << 20
    dump_bytes: int = 64 << 20
    bundle_bytes: int = 2 << 30
    """Of the tar, and of its files when they are unpacked."""
    job_json_bytes: int = 1 << 20
    members: int = 20_000
    ratio: int = 200
    """So many times its packed size may a body or a file expand ..."""
    ratio_floor_bytes: int = 8 << 20
    """... once it is larger than this."""
    own_patterns: OwnPatterns = NO_PATTERNS
    """Secrets of this site, beside those that are known everywhere."""

    def expansion(self, max_bytes: int) -> Expansion:
        """The bound on unpacking something of at most ``max_bytes``."""
        return Expansion(max_bytes, self.ratio, self.ratio_floor_bytes, _WINDOW_BYTES)


class Archived(Corrupt):
    """A file that is a tar."""


class PackedFurther(Corrupt):
    """A file that is packed behind the layer that is taken off: its secrets cannot be seen.

    ``what`` it is, and what to do ``instead``.
    """

    def __init__(self, what: str, instead: str) -> None:
        self.what = what
        self.instead = instead
        super().__init__(f"{what}: {instead}")


class FileIngest:
    """Takes the files of one request, one after the other.

    ``plain_bytes`` bounds what all of them have, unpacked. Of a file that is ``alone`` the
    rest is not read once it is refused.
    """

    def __init__(
        self, limits: ReceiveLimits, blob: BlobWriter, plain_bytes: int, *, alone: bool
    ) -> None:
        self.limits = limits
        self.blob = blob
        self.packer = Packer()
        self.plain_bytes = plain_bytes
        self.plain_left = plain_bytes
        self.alone = alone

    def take(
        self, file: ReceivedFile, body: Body, declared: str | None = None, size: int | None = None
    ) -> None:
        """Fill in ``file`` from its ``body``, of ``size`` bytes where that is known.

        What is wrong with the file is in ``error``; what is wrong with the request, and
        what the blob store says, is raised.
        """
        hashed = HashingReader(body, self.limits.artifact_bytes)
        file.kind = declared or ""
        file.position = self.blob.tell()
        try:
            self.store(file, hashed, declared, size)
        except ArtifactError as error:
            self.blob.rewind(file.position)
            file.error = error
            file.stored_bytes = file.plain_bytes = 0
            if self.alone:
                return
        # To the sender, the hash of a refused file is its name.
        hashed.drain()
        file.sha256 = hashed.hash.hexdigest()
        file.size_bytes = hashed.total

    def store(
        self, file: ReceivedFile, hashed: HashingReader, declared: str | None, size: int | None
    ) -> None:
        """Writes its frame. Raises :class:`ArtifactError` with part of it written."""
        from triage.formats.flight_recorder import NODE_DIGEST

        head = read_first_bytes(hashed, HEAD_BYTES)
        compression = detect_compression(head)
        bounds = self.limits.expansion(self.limits.artifact_bytes)
        plain = TruncationTolerantReader(
            unpack_body(PeekedReader(head, hashed), compression, bounds)
        )
        look = read_first_bytes(plain, LOOK_BYTES)
        found = identify_file(look, file.name, declared)
        file.kind = found.kind
        file.is_digest = look.startswith(NODE_DIGEST)
        file.notes.append(found.note)
        _refuse_packed(look, compression)
        limit = self.limits.dump_bytes if found.binary else self.limits.artifact_bytes
        whole: Body = PeekedReader(look, plain)
        if found.binary:
            # What is stored as it came has the length that the archive says.
            frame = FrameWriter(self.packer, self.blob, None if compression else size)
            self.copy(whole, frame, None, limit)
        else:
            frame = FrameWriter(self.packer, self.blob, None)
            redactor = Redactor(self.limits.own_patterns)
            self.copy(convert_to_utf8(whole, look), frame, redactor, limit)
            frame.write(redactor.finish())
            file.redacted = dict(redactor.counts)
        if plain.cut is not None:
            file.notes.append(f"cut: {plain.cut}; kept up to there")
        file.stored_bytes = frame.finish()
        file.plain_bytes = frame.plain_bytes

    def copy(self, body: Body, frame: FrameWriter, redactor: Redactor | None, limit: int) -> None:
        """All of ``body`` into ``frame``."""
        total = 0
        while part := body.read(_PIECE):
            total += len(part)
            if total > limit:
                raise Forbidden(f"more than {limit:,} bytes: too large to be read")
            self.plain_left -= len(part)
            if self.plain_left < 0:
                raise TooLarge(
                    f"the files have more than {self.plain_bytes:,} bytes in all, unpacked",
                    hint="send them in several requests",
                )
            frame.write(part if redactor is None else redactor.feed(part))


def _refuse_packed(head: bytes, compression: str | None) -> None:
    """Raises :class:`Archived` and :class:`PackedFurther` by the first plain bytes."""
    if is_tar(head[:512]):
        raise Archived("is itself a tar archive")
    packing = detect_packing(head)
    if packing is not None:
        what, instead = packing
        inside = f", inside {compression}" if compression else ""
        raise PackedFurther(f"{what}{inside}", instead)
