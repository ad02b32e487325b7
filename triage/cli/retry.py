"""``triage retry``: reads again what could not be read, or was read with other signatures."""

from typing import Annotated

import typer

from triage.cli.extras import open_service_context
from triage.errors import UsageError

HELP = """
Read again what could not be read, and answer anew.

Files that were set apart, files that wait for the blob store or a folder, and
incidents that failed. What is wrong with a file itself stays wrong, unless a
newer release reads it.

With --signatures, the logs of one incident that were read are read again too,
with the own signatures in force now, where their bytes are still stored.
"""


def retry(
    incident: Annotated[
        str | None, typer.Option("--incident", metavar="ID", help="Of this incident.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Of all incidents.")] = False,
    signatures: Annotated[
        bool, typer.Option("--signatures", help="Logs that were read as well.")
    ] = False,
) -> int:
    """Read again; the help stands in ``HELP``."""
    if (incident is None) == (not every):
        raise UsageError("say which: --incident ID, or --all")
    if signatures and incident is None:
        raise UsageError("--signatures reads the logs of one incident: name it by --incident ID")
    with open_service_context() as ctx:
        from triage.services.incidents.resolve import retry as again

        done = again(ctx, incident, all_logs=signatures)
    typer.echo(f"{done.num_files} files of {done.num_incidents} incidents are read again")
    return 0
