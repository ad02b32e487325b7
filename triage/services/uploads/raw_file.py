"""A stored file again, as it was kept: the lines around a place in it, or all of its bytes.

Lines are counted by line feeds, as evidence counts them. Secrets were taken out before the
file was stored, so what is shown here holds none that was known as one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Final, cast

import zstandard

from triage.domain.patterns import compile_re
from triage.errors import NotFound, Unprocessable
from triage.parsers.logs.source import LogStream, open_stream
from triage.services.context import Context
from triage.services.uploads.pack import Span
from triage.store.uploads import artifacts
from triage.store.views import ArtifactView

PIECE: Final = 1 << 18
# Of one line; a line can be as long as the file.
MAX_LINE_BYTES: Final = 8 << 10
_LINE_END: Final = compile_re(rb"\n")


@dataclass(frozen=True, slots=True)
class Lines:
    """``lines`` from number ``first`` on (1 is the file's first); ``more`` when others follow."""

    first: int
    lines: tuple[str, ...]
    more: bool


def find_stored_file(ctx: Context, incident_id: str, name: str) -> ArtifactView:
    """The file that reports call ``name``.

    Raises :class:`NotFound` where the incident has none, or its bytes are not kept any more.
    """
    with ctx.database.reading() as session:
        found = artifacts.find_by_name(session, incident_id, name)
    if found is None:
        raise NotFound(
            "this incident has no file of that name",
            hint="the file may lie inside an archive that was uploaded as one file",
        )
    if not found.blob_key or not found.stored_bytes:
        raise NotFound(
            "the bytes of this file are not kept",
            hint="it was refused when it came, or pruned since (TRIAGE_KEEP_BLOBS_DAYS)",
        )
    return found


def read_lines_around(ctx: Context, file: ArtifactView, line: int, around: int) -> Lines:
    """The line and up to ``around`` on each side; the first lines where the file has no such.

    Raises :class:`Unprocessable` for a file that is no text, such as a dump.
    """
    first, last = max(1, line - around), line + around
    kept: list[tuple[int, bytes]] = []
    more = False
    with _open_plain(ctx, file) as plain:
        for number, text in _number_lines(_open_text(plain, file.name), first):
            if number > last:
                more = True
                break
            if number >= first:
                kept.append((number, text))
    if not kept or kept[-1][0] < line:
        return Lines(1, (), more=False) if line == 1 else read_lines_around(ctx, file, 1, around)
    return Lines(kept[0][0], tuple(one.decode("utf-8", "replace") for _, one in kept), more)


def read_pieces(ctx: Context, file: ArtifactView) -> Iterator[bytes]:
    """The whole file, piece by piece."""
    with _open_plain(ctx, file) as plain:
        while piece := plain.read(PIECE):
            yield piece


@contextmanager
def _open_plain(ctx: Context, file: ArtifactView) -> Iterator[IO[bytes]]:
    try:
        pack = ctx.blobs.open(file.blob_key or "", file.position, file.stored_bytes)
    except NotFound as error:
        raise NotFound(
            "the bytes of this file are not in the blob store any more",
            hint="they were pruned, or the store was restored without them",
        ) from error
    with pack:
        source = cast("IO[bytes]", Span(pack, file.stored_bytes))
        with zstandard.ZstdDecompressor().stream_reader(source, closefd=False) as plain:
            yield cast("IO[bytes]", plain)


def _open_text(plain: IO[bytes], name: str) -> LogStream:
    from triage.formats.flight_recorder import FLIGHT_RECORDER
    from triage.formats.format import Head

    stream = open_stream(plain, name)
    if stream is None or FLIGHT_RECORDER.claims(Head(stream.raw, name)):
        why = "it is a dump, or empty"
    elif stream.not_text is not None:
        why = stream.not_text
    else:
        return stream
    raise Unprocessable(
        f"there are no lines to show: {why}", hint="download the file to look at it"
    )


def _number_lines(text: LogStream, start: int) -> Iterator[tuple[int, bytes]]:
    """(number, line) from line ``start`` on, or a little before.

    Lines before are counted, not cut out: that is a hundred times quicker. Of a line only the
    first ``MAX_LINE_BYTES`` are kept.
    """
    number, line = 1, bytearray()
    while piece := text.ahead or text.some(PIECE):
        text.ahead = b""
        feeds = piece.count(b"\n")
        if number + feeds < start:
            number += feeds
            line = bytearray(piece[piece.rfind(b"\n") + 1 :][:MAX_LINE_BYTES])
            continue
        place = 0
        for end in _LINE_END.finditer(piece):
            line += piece[place : min(end.start(), place + MAX_LINE_BYTES - len(line))]
            yield number, bytes(line)
            number, place = number + 1, end.end()
            line.clear()
        line += piece[place : place + MAX_LINE_BYTES - len(line)]
    if line:
        yield number, bytes(line)
