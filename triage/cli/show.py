"""``triage show``: the answer to one incident of the service, as ``triage analyze`` prints it."""

from typing import TYPE_CHECKING, Annotated

import typer

from triage.cli.analyze import Format, Output, ReportFormat, Top, emit, rendered
from triage.cli.ask import CaFile, TokenFile, Url, asking
from triage.errors import Conflict, UsageError

if TYPE_CHECKING:
    from triage.client import Incident

__all__ = ["HELP", "print_answer", "show"]

HELP = """
Show the answer to one incident of a service, as `triage analyze` prints it.

\b
Examples:
  triage show inc_01m7z63k2atd86c7aaq2
  triage show inc_01m7z63k2atd86c7aaq2 --format json | jq .verdict

`triage incidents` lists the ids, `triage watch` waits for an answer.
"""


def show(
    incident_id: Annotated[
        str, typer.Argument(metavar="ID", help="The incident.", show_default=False)
    ],
    format_: ReportFormat = Format.TEXT,
    output: Output = None,
    top: Top = None,
    url: Url = "",
    token_file: TokenFile = None,
    ca_file: CaFile = None,
) -> None:
    """Show; the help stands in ``HELP``."""
    if top is not None and top < 1:
        raise UsageError(f"--top {top} shows nothing; give 1 or more")
    with asking(url, token_file, ca_file) as client:
        try:
            answer = client.incident(incident_id).report.answer
        except Conflict as error:
            raise UsageError(f"{error.detail}; triage watch {incident_id} waits for it") from error
    emit(rendered(answer, format_, top, to_file=output is not None), output)


def print_answer(incident: "Incident") -> None:
    """The answer as text on stdout."""
    emit(rendered(incident.report.answer, Format.TEXT, None, to_file=False))
