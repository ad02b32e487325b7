"""``triage retry``: reads again what could not be read."""

from typing import Annotated

import typer

from triage.cli.extras import service_context
from triage.errors import UsageError

__all__ = ["HELP", "retry"]

HELP = """
Read again what could not be read, and answer anew.

Files that were set apart, files that wait for the blob store or a folder, and
incidents that failed. What is wrong with a file itself stays wrong, unless a
newer release reads it.
"""


def retry(
    incident: Annotated[
        str | None, typer.Option("--incident", metavar="ID", help="Of this incident.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Of all incidents.")] = False,
) -> int:
    """Read again; the help stands in ``HELP``."""
    if (incident is None) == (not every):
        raise UsageError("say which: --incident ID, or --all")
    with service_context() as ctx:
        from triage.services.incidents.retry import retry as again

        done = again(ctx, incident)
    typer.echo(f"{done.num_files} files of {done.num_incidents} incidents are read again")
    return 0
