"""``triage parse``: what was read out of each file, before any judgement."""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any

import typer

from triage.cli.interrupt import stop_at_once
from triage.cli.options import Paths, Signatures, require_existing
from triage.cli.output import emit
from triage.render.words.clean import count_cells, format_one_line, make_encodable

HELP = """
Print the evidence that was read out of each file.

It prints one row of evidence a line, to show why a line of a log counts.

\b
Examples:
  triage parse incident/ --format text
  triage parse kern.log | jq 'select(.kind == "xid")'
"""

# Rows are handed on in pieces of about this size, so that a pager shows the first at once.
_PIECE_BYTES = 64 * 1024

# Columns of the text form and their widths; a longer value pushes the rest to the right.
_COLUMNS = (
    ("at", 24),
    ("node", 10),
    ("rank", 5),
    ("kind", 10),
    ("code", 4),
    ("gpu", 12),
    ("role", 11),
    ("category", 16),
)


class RowFormat(StrEnum):
    """How the rows are printed."""

    JSONL = "jsonl"
    TEXT = "text"


def parse(
    paths: Paths,
    format_: Annotated[
        RowFormat, typer.Option("--format", "-f", help="One JSON object a line, or aligned text.")
    ] = RowFormat.JSONL,
    signatures: Signatures = None,
) -> None:
    """Print the rows of ``paths``; ``HELP`` is what people read of it."""
    inputs = require_existing(paths)

    with stop_at_once():
        from triage.report import read_rows

        rows = read_rows(inputs, signatures=signatures)
        if format_ is RowFormat.TEXT:
            _emit_in_pieces(_format_text_lines(rows))
            return
        from triage.render.data.wire import encode_line

        _emit_in_pieces(map(encode_line, rows))


def _emit_in_pieces(lines: Iterable[bytes]) -> None:
    piece, size = [], 0
    for line in lines:
        piece.append(line)
        size += len(line)
        if size >= _PIECE_BYTES:
            emit(b"".join(piece))
            piece, size = [], 0
    emit(b"".join(piece))


def _format_text_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    for number, row in enumerate(rows):
        if number == 0:
            yield _format_line([name for name, _ in _COLUMNS], "place", "text")
        place = _format_value(row.get("artifact"))
        if row.get("line") is not None:
            place += f":{row['line']}"
        text = _format_value(row.get("text"))
        repeated = row.get("count")
        if isinstance(repeated, int) and repeated > 1:
            text += f" ({repeated} times)"
        yield _format_line([_format_value(row.get(name)) for name, _ in _COLUMNS], place, text)


def _format_line(values: Iterable[str], place: str, text: str) -> bytes:
    padded = (
        value + " " * (width - count_cells(value))
        for value, (_, width) in zip(values, _COLUMNS, strict=True)
    )
    return f"{' '.join(padded)} {place}  {text}".rstrip().encode("utf-8") + b"\n"


def _format_value(value: object) -> str:
    return "-" if value is None else make_encodable(format_one_line(str(value)))
