"""``triage analyze``: files in, the answer out."""

from triage.cli.interrupt import stop_at_once
from triage.cli.options import (
    Format,
    JobFile,
    Output,
    Paths,
    ReportFormat,
    Signatures,
    StoppedAt,
    Top,
    require_existing,
)
from triage.cli.output import check_folder, emit, render_answer, show_reading_progress

HELP = """
Say which rank, node or GPU stopped the job, and why.

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


def analyze(
    paths: Paths,
    format_: ReportFormat = Format.TEXT,
    output: Output = None,
    top: Top = None,
    job: JobFile = None,
    at: StoppedAt = None,
    signatures: Signatures = None,
) -> None:
    """Analyse ``paths`` and print the answer; ``HELP`` is what people read of it."""
    inputs = require_existing(paths, job)
    if output is not None:
        check_folder(output)

    with stop_at_once(), show_reading_progress() as progress:
        from triage.report import analyze as run

        report = run(inputs, job=job, at=at, progress=progress, signatures=signatures)
    emit(render_answer(report.answer, format_, top, to_file=output is not None), output)
