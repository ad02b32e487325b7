"""``triage explain``: why each suspect stands where it stands, and what would change it."""

import sys
from enum import StrEnum
from typing import Annotated

import typer

from triage.cli.analyze import (
    JobFile,
    Paths,
    StoppedAt,
    colours,
    emit,
    existing,
    parse_at,
    reading,
    width,
)
from triage.errors import UsageError

__all__ = ["HELP", "explain"]

HELP = """
Say why each suspect stands where it stands.

Shows the sum that each place was weighed by, term by term, with the lines it
rests on; then tries out what the answer would be without each of the files
that decide it, and without each source (dumps, kernel logs, job logs, the
suspect's own logs, the words of its root lines), and says what was not there
to be read.

\b
Examples:
  triage explain incident/
  triage explain incident.tar.zst --top 2
  triage explain incident/ --format json | jq .places[0].terms

\b
Exit status: 0 analysed, whatever was found;
2 wrong usage or nothing readable.
"""


class Format(StrEnum):
    """How the explanation is printed."""

    TEXT = "text"
    JSON = "json"


def explain(
    paths: Paths,
    format_: Annotated[
        Format, typer.Option("--format", "-f", help="text for people, or json.")
    ] = Format.TEXT,
    top: Annotated[
        int | None, typer.Option("--top", metavar="N", help="Show the best N places.")
    ] = None,
    job: JobFile = None,
    at: StoppedAt = None,
) -> None:
    """Explain the answer on ``paths``; ``HELP`` is what people read of it."""
    if top is not None and top < 1:
        raise UsageError(f"--top {top} shows nothing; give 1 or more")
    stopped_at = None if at is None else parse_at(at)
    inputs = existing(paths)
    known = None if job is None else existing([job])[0]

    from triage.report import explain as run

    with reading() as progress:
        told = run(inputs, job=known, at=stopped_at, progress=progress)

    from triage.render.terminal import explained

    if format_ is Format.JSON:
        emit(explained.render_json(told, top=top))
        return
    terminal = sys.stdout.isatty()
    shown = explained.render(told, colour=terminal and colours(), width=width(terminal), top=top)
    emit(shown.encode(sys.stdout.encoding or "utf-8", "backslashreplace"))
