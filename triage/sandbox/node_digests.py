"""``python -m triage.sandbox.node_digests``: dumps in, their digests out, for the collector.

A process of its own: it reads bytes that a job wrote, and it may be killed. Before the first of
them it gives up what it does not need, as the readers of the service do. On stdin, for each dump,
a line ``SIZE NAME`` and SIZE bytes. On stdout a line ``SIZE`` and the file of the digest, or
``0 WHY`` where the dump is to be sent as it is. Where this machine cannot confine it as a whole,
the line of a digest goes on with what it may do though it need not.
"""

import sys
from contextlib import suppress
from typing import IO, Final

from triage.errors import ArtifactError
from triage.formats.dumps import DumpReader
from triage.formats.extractor import make_digest_file
from triage.parsers.flight_recorder.limits import DEFAULT_LIMITS
from triage.parsers.flight_recorder.shared import Shared
from triage.sandbox.confinement.confine import confine, restrict
from triage.sandbox.warm_up import SMALL_DUMP, hold_exclusive_lock

_LONGEST_LINE: Final = 1 << 14
# The largest dump takes 700 MB to decode, the compiled loops as much of address space.
_MEMORY_BYTES: Final = 4 << 30


def main() -> int:
    """Answer until stdin ends."""
    restrict(_MEMORY_BYTES)
    reader = DumpReader(Shared(), DEFAULT_LIMITS)
    with hold_exclusive_lock(), suppress(ArtifactError):  # its digest is no smaller
        make_digest_file(reader, SMALL_DUMP, "rank_0")
    missing = "; ".join(confine(()))
    given, out = sys.stdin.buffer, sys.stdout.buffer
    while line := given.readline(_LONGEST_LINE):
        size, _, name = line.decode("utf-8", "surrogateescape").rstrip("\n").partition(" ")
        _answer(out, reader, given.read(int(size)), name, missing)
    return 0


def _answer(out: IO[bytes], reader: DumpReader, data: bytes, name: str, missing: str) -> None:
    try:
        made, why = make_digest_file(reader, data, name), missing
    except (ArtifactError, MemoryError) as error:
        made, why = b"", str(error)
    line = f"{len(made)} {why}"[:400].replace("\n", " ").encode("utf-8", "replace")
    out.write(line + b"\n" + made)
    out.flush()


if __name__ == "__main__":
    sys.exit(main())
