"""``triage show``: the answer to one incident of the service, as ``triage analyze`` prints it."""

from typing import Annotated

import typer

from triage.cli.ask import CaFile, TokenFile, Url, open_client
from triage.cli.options import Format, Output, ReportFormat, Top
from triage.cli.output import emit, render_answer
from triage.errors import Conflict, UsageError

HELP = """
Show the answer to one incident.

It is printed as `triage analyze` prints it.

\b
Examples:
  triage show inc_01m7z63k2atd86c7aaq2
  triage show inc_01m7z63k2atd86c7aaq2 --format json | jq .verdict

`triage incidents` lists the ids, `triage watch` waits for an answer.
"""


def show(
    incident_id: Annotated[
        str, typer.Argument(metavar="ID", help="The incident's id.", show_default=False)
    ],
    format_: ReportFormat = Format.TEXT,
    output: Output = None,
    top: Top = None,
    url: Url = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """Show; the help stands in ``HELP``."""
    with open_client(url, token_file, ca_file) as client:
        try:
            answer = client.incident(incident_id).report.answer
        except Conflict as error:
            raise UsageError(f"{error.detail}; triage watch {incident_id} waits for it") from error
    emit(render_answer(answer, format_, top, to_file=output is not None), output)
