"""``python -m triage.formats.digest_maker``: dumps in, their digests out, for the collector.

A process of its own: it reads bytes that a job wrote, and it may be killed. On stdin, for each
dump, a line ``SIZE NAME`` and SIZE bytes; on stdout a line ``SIZE`` and the file of the digest, or
``0 WHY`` where the dump is to be sent as it is.
"""

import sys
from typing import IO, Final

from triage.domain.rank_digest import RankDigest
from triage.domain.report import Refused
from triage.errors import ArtifactError
from triage.formats.dumps import DumpReader, is_dump
from triage.formats.extractor import operations_of
from triage.formats.node_digest import read_node_digest, write_node_digest
from triage.parsers.flight_recorder.limits import DEFAULT_LIMITS
from triage.parsers.flight_recorder.shared import Shared

__all__ = ["digest_of", "main"]

LONGEST_LINE: Final = 1 << 14


def main() -> int:
    """Answer until stdin ends."""
    reader = DumpReader(Shared(), DEFAULT_LIMITS)
    given, out = sys.stdin.buffer, sys.stdout.buffer
    while line := given.readline(LONGEST_LINE):
        size, _, name = line.decode("utf-8", "surrogateescape").rstrip("\n").partition(" ")
        answer(out, reader, given.read(int(size)), name)
    return 0


def answer(out: IO[bytes], reader: DumpReader, data: bytes, name: str) -> None:
    try:
        made = digest_of(reader, data, name)
        out.write(b"%d\n" % len(made) + made)
    except (ArtifactError, MemoryError) as error:
        out.write(f"0 {error}"[:400].replace("\n", " ").encode("utf-8", "replace") + b"\n")
    out.flush()


def digest_of(reader: DumpReader, data: bytes, name: str) -> bytes:
    """The file of the digest of one plain dump.

    Raises :class:`ArtifactError` for what is to be sent as it is: no dump, one that cannot be
    read, and one that a digest would not make smaller.
    """
    if not is_dump(data[:4096], name):
        raise ArtifactError("no plain dump")
    reader.forget()
    digest = reader.dump(reader.decoder(), data, name)
    if not isinstance(digest, RankDigest):
        raise ArtifactError(digest.why if isinstance(digest, Refused) else "no dump")
    made = write_node_digest(name, len(data), digest, operations_of([digest], reader.shared))
    read_node_digest(made)  # what the service would refuse is not sent
    if len(made) >= len(data):
        raise ArtifactError("its digest is no smaller")
    return made


if __name__ == "__main__":
    sys.exit(main())
