"""``triage explain``: why each suspect stands where it stands, and what would change it."""

from typing import Annotated

import typer

from triage.cli.interrupt import stop_at_once
from triage.cli.options import (
    JobFile,
    Paths,
    Signatures,
    StoppedAt,
    TextOrJson,
    check_top,
    require_existing,
)
from triage.cli.output import (
    emit,
    encode_output,
    get_output_columns,
    should_use_colour,
    show_reading_progress,
)

HELP = """
Say why each suspect stands where it stands.

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


def explain(
    paths: Paths,
    format_: Annotated[
        TextOrJson, typer.Option("--format", "-f", help="text for people, or json.")
    ] = TextOrJson.TEXT,
    top: Annotated[
        int | None,
        typer.Option("--top", metavar="N", help="Show the best N places.", callback=check_top),
    ] = None,
    job: JobFile = None,
    at: StoppedAt = None,
    signatures: Signatures = None,
) -> None:
    """Explain the answer on ``paths``; ``HELP`` is what people read of it."""
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
