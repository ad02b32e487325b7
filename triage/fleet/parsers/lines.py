"""Text from outside as lines and fields, one at a time: a trace may be larger than memory.

A quote that is never closed ends with its line: a field with a line break in it is a row that
cannot be read, and not the end of the file.
"""

import codecs
import csv
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, Protocol

from triage.errors import UnknownFormat
from triage.fleet.parsers.rows import RowError

# A host list of 20,000 nodes is shorter.
MAX_LINE: Final = 1 << 20
_DELIMITERS: Final = ("|", ",", "\t", ";")
_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

Line = tuple[int, str | None]
"""(number from 1, text); None for a line that is longer than ``MAX_LINE``."""


class Source(Protocol):
    """Bytes to be read once."""

    def read(self, size: int, /) -> bytes:
        """Up to ``size`` bytes; none at the end."""
        ...


def iterate_source_lines(pieces: Iterator[bytes]) -> Iterator[Line]:
    """All lines without their ends, in UTF-8 or in UTF-16 with its mark.

    Raises :class:`UnknownFormat` where the bytes are no text.
    """
    first = next(pieces, b"")
    encoding = "utf-16" if first.startswith(_UTF16) else "utf-8-sig"
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    rest, number, too_long = "", 0, False
    for piece in chain([first], pieces):
        if encoding == "utf-8-sig" and b"\0" in piece:
            raise UnknownFormat("it is no text: it holds zero bytes")
        *whole, rest = (rest + decoder.decode(piece)).split("\n")
        for text in whole:
            number += 1
            yield number, None if too_long or len(text) > MAX_LINE else text.rstrip("\r")
            too_long = False
        if len(rest) > MAX_LINE:
            rest, too_long = "", True
    rest += decoder.decode(b"", final=True)
    if rest or too_long:
        yield number + 1, None if too_long else rest.rstrip("\r")


def join_whole_rows(lines: Iterable[Line]) -> Iterator[Line]:
    """Lines joined to rows of CSV, whose fields in quotes may run over many lines.

    A quote that nothing closes within a million characters is a row of its own line alone, which
    cannot be read; the lines after it are rows again.
    """
    ahead: deque[Line] = deque()
    source = iter(lines)
    while (first := ahead.popleft() if ahead else next(source, None)) is not None:
        number, text = first
        if text is None or text.count('"') % 2 == 0:
            yield first
            continue
        # All that was held was looked at for a closing quote already, unless it closes here.
        parts, size, tail = [text], len(text), list(ahead)
        ahead.clear()
        closed = False
        for line in chain(tail, source):
            ahead.append(line)
            if line[1] is None or (size := size + 1 + len(line[1])) > MAX_LINE:
                break
            parts.append(line[1])
            if line[1].count('"') % 2:
                closed = True
                break
        if closed:
            num_more = len(parts) - 1
            rest = tail[num_more:]
            ahead.clear()
            ahead.extend(rest)
            yield number, "\n".join(parts)
        else:
            ahead.extend(tail[len(ahead) :])
            yield first


def find_delimiter(header: str) -> str | None:
    """What parts the fields of a header; None where nothing does."""
    found = max(_DELIMITERS, key=header.count)
    return found if found in header else None


def split_fields(text: str, delimiter: str) -> list[str]:
    """The fields of a row. Raises :class:`RowError` for a quote that is not closed."""
    # Slurm quotes nothing: what stands between two bars is the field.
    if '"' not in text or delimiter == "|":
        return text.split(delimiter)
    try:
        return next(csv.reader([text], delimiter=delimiter, strict=True))
    except (csv.Error, StopIteration) as error:
        raise RowError(f"its quotes do not fit ({error})") from error
