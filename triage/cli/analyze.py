"""Commands that read files: the answer (``analyze``), why it is so (``explain``), the evidence
(``parse``).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any

from triage.cli.interrupt import stop_at_once
from triage.cli.options import (
    AnswerFormat,
    Format,
    JobFile,
    Output,
    Paths,
    ReportFormat,
    Rows,
    Signatures,
    StoppedAt,
    TextOrJson,
    Top,
    check_top,
    require_existing,
    take,
)
from triage.cli.output import (
    check_folder,
    emit,
    encode_output,
    get_output_columns,
    render_answer,
    should_use_colour,
    show_reading_progress,
)
from triage.render.words.clean import count_cells, format_one_line, make_encodable


def analyze(
    paths: Paths,
    format_: ReportFormat = Format.TEXT,
    output: Output = None,
    top: Top = None,
    job: JobFile = None,
    at: StoppedAt = None,
    signatures: Signatures = None,
) -> None:
    """Say which rank, node or GPU stopped the job, and why.

    Reads dumps, kernel logs and job logs; needs no server and no configuration.
    The same inputs give the same bytes, in whatever order they come.

    \b
    Examples:
      triage analyze incident/
      triage analyze dumps/ kern.log.gz job.out --top 3
      triage analyze incident.tar.zst --format html --output report.html
      triage analyze incident/ --format json | jq .verdict

    \b
    Exit status: 0 analysed, whatever was found;
    2 wrong usage or nothing readable; 130 interrupted by Ctrl-C.
    """
    inputs = require_existing(paths, job)
    if output is not None:
        check_folder(output)

    with stop_at_once(), show_reading_progress() as progress:
        from triage.report import analyze as run

        report = run(inputs, job=job, at=at, progress=progress, signatures=signatures)
    emit(render_answer(report.answer, format_, top, to_file=output is not None), output)


def explain(
    paths: Paths,
    format_: AnswerFormat = TextOrJson.TEXT,
    top: Annotated[int | None, take("N", "Show the best N places.", callback=check_top)] = None,
    job: JobFile = None,
    at: StoppedAt = None,
    signatures: Signatures = None,
) -> None:
    """Say why each suspect stands where it stands.

    Shows for each place the terms of its score, with the lines that they rest on.
    Then shows what the answer would be without each file that decides it, and
    without each source: dumps, kernel logs, job logs, the suspect's own logs, the
    words of its root lines. Ends with what was missing.

    \b
    Examples:
      triage explain incident/
      triage explain incident.tar.zst --top 2
      triage explain incident/ --format json | jq .places[0].terms

    \b
    Exit status: 0 analysed, whatever was found;
    2 wrong usage or nothing readable.
    """
    inputs = require_existing(paths, job)

    with stop_at_once(), show_reading_progress() as progress:
        from triage.report import explain as run

        explanation = run(inputs, job=job, at=at, progress=progress, signatures=signatures)

    from triage.render.terminal import explained

    if format_ is TextOrJson.JSON:
        emit(explained.render_json(explanation, top=top))
        return
    text = explained.render(
        explanation, colour=should_use_colour(), width=get_output_columns(), top=top
    )
    emit(encode_output(text))


# Rows are handed on in pieces of about this size, so that a pager shows the first at once.
_PIECE_BYTES = 64 * 1024

# Columns of the text form and their widths; a longer value pushes the rest to the right.
_COLUMNS = {
    "at": 24,
    "node": 10,
    "rank": 5,
    "kind": 10,
    "code": 4,
    "gpu": 12,
    "role": 11,
    "category": 16,
}


def parse(
    paths: Paths,
    format_: Annotated[
        Rows, take(None, "One JSON object a line, or aligned text.", "--format", "-f")
    ] = Rows.JSONL,
    signatures: Signatures = None,
) -> None:
    """Print the evidence that was read out of each file.

    It prints one row of evidence a line, to show why a line of a log counts.

    \b
    Examples:
      triage parse incident/ --format text
      triage parse kern.log | jq 'select(.kind == "xid")'
    """
    inputs = require_existing(paths)

    with stop_at_once():
        from triage.report import read_rows

        rows = read_rows(inputs, signatures=signatures)
        if format_ is Rows.TEXT:
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
            yield _format_line(_COLUMNS, "place", "text")
        place = _format_value(row.get("artifact"))
        if row.get("line") is not None:
            place += f":{row['line']}"
        text = _format_value(row.get("text"))
        repeated = row.get("count")
        if isinstance(repeated, int) and repeated > 1:
            text += f" ({repeated} times)"
        yield _format_line([_format_value(row.get(name)) for name in _COLUMNS], place, text)


def _format_line(values: Iterable[str], place: str, text: str) -> bytes:
    padded = (
        value + " " * (width - count_cells(value))
        for value, width in zip(values, _COLUMNS.values(), strict=True)
    )
    return f"{' '.join(padded)} {place}  {text}".rstrip().encode("utf-8") + b"\n"


def _format_value(value: object) -> str:
    return "-" if value is None else make_encodable(format_one_line(str(value)))
