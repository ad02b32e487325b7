"""Taking one file into a pack: unpacked, told apart, cleaned, compressed, in one pass."""

from dataclasses import dataclass, field
from typing import Final

from triage.domain.body import Body
from triage.errors import ArtifactError, Corrupt, Forbidden, TooLarge
from triage.parsers.files.archive import HEAD_BYTES, compression_of, is_tar
from triage.parsers.files.packings import packing_of
from triage.parsers.redact.redact import Redactor
from triage.services.uploads.body import Growth, PeekedReader, unpacked
from triage.services.uploads.file_kind import LOOK_BYTES, IdentifiedFile, identified
from triage.services.uploads.pack import FrameWriter, Packer
from triage.services.uploads.streams import (
    HashingReader,
    TruncationTolerantReader,
    first_bytes,
    in_utf8,
)
from triage.store.blobs.interface import BlobWriter

__all__ = ["Archived", "FileIngest", "IngestedFile", "PackedFurther", "ReceiveLimits"]

PIECE: Final = 1 << 18


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

    def growth(self, max_bytes: int) -> Growth:
        """The bound on unpacking something of at most ``max_bytes``."""
        return Growth(max_bytes, self.ratio, self.ratio_floor_bytes)


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


@dataclass(slots=True)
class IngestedFile:
    """What became of one file; nothing of it is in the pack where ``error`` says why."""

    identified: IdentifiedFile
    sha256: str = ""
    size_bytes: int = 0
    plain_bytes: int = 0
    offset: int = 0
    stored_bytes: int = 0
    redacted: dict[str, int] = field(default_factory=dict)
    cut: str = ""
    error: ArtifactError | None = None


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

    def take(self, body: Body, name: str, declared: str | None, size: int | None) -> IngestedFile:
        """One file, of ``size`` bytes where that is known.

        What is wrong with the file is in ``error``; what is wrong with the request, and
        what the blob store says, is raised.
        """
        hashed = HashingReader(body, self.limits.artifact_bytes)
        taken = IngestedFile(IdentifiedFile(declared or ""))
        offset = self.blob.tell()
        try:
            self.store(hashed, name, declared, size, taken)
        except ArtifactError as error:
            self.blob.rewind(offset)
            taken.error = error
            taken.stored_bytes = taken.plain_bytes = 0
            if self.alone:
                return taken
        # To the sender, the hash of a refused file is its name.
        hashed.drain()
        taken.offset = offset
        taken.sha256 = hashed.hash.hexdigest()
        taken.size_bytes = hashed.total
        return taken

    def store(
        self,
        hashed: HashingReader,
        name: str,
        declared: str | None,
        size: int | None,
        taken: IngestedFile,
    ) -> None:
        """Writes its frame. Raises :class:`ArtifactError` with part of it written."""
        head = first_bytes(hashed, HEAD_BYTES)
        compression = compression_of(head)
        growth = self.limits.growth(self.limits.artifact_bytes)
        plain = TruncationTolerantReader(unpacked(PeekedReader(head, hashed), compression, growth))
        look = first_bytes(plain, LOOK_BYTES)
        taken.identified = found = identified(look, name, declared)
        if is_tar(look[:512]):
            raise Archived("is itself a tar archive")
        packing = packing_of(look)
        if packing is not None:
            what, instead = packing
            inside = f", inside {compression}" if compression else ""
            raise PackedFurther(f"{what}{inside}", instead)
        limit = self.limits.dump_bytes if found.binary else self.limits.artifact_bytes
        whole: Body = PeekedReader(look, plain)
        if found.binary:
            # What is stored as it came has the length that the archive says.
            frame = FrameWriter(self.packer, self.blob, None if compression else size)
            self.copy(whole, frame, None, limit)
        else:
            frame = FrameWriter(self.packer, self.blob, None)
            redactor = Redactor()
            self.copy(in_utf8(whole, look), frame, redactor, limit)
            frame.write(redactor.finish())
            taken.redacted = dict(redactor.counts)
        if plain.cut is not None:
            taken.cut = f"cut: {plain.cut}; kept up to there"
        taken.stored_bytes = frame.finish()
        taken.plain_bytes = frame.plain_bytes

    def copy(self, body: Body, frame: FrameWriter, redactor: Redactor | None, limit: int) -> None:
        """All of ``body`` into ``frame``."""
        total = 0
        while part := body.read(PIECE):
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
