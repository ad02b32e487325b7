"""``triage delete``: an incident or one of its files, for good."""

from typing import Annotated

import typer

from triage.cli.extras import open_service_context

HELP = """
Erase an incident, or one of its files, for good.

Rows, bytes, answers and kept messages go, and receivers that were told of the
incident are told that it is deleted. What was erased is not taken again.
Backups hold it until they are removed.
"""

app = typer.Typer(
    help=HELP,
    rich_markup_mode=None,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)
_Reason = Annotated[
    str, typer.Option("--reason", metavar="TEXT", help="Why; the audit trail keeps it.")
]


@app.command()
def incident(
    incident_id: Annotated[str, typer.Argument(metavar="ID", help="The incident's id.")],
    reason: _Reason,
) -> int:
    """Erase an incident with all its files. Other files of the job open a new one."""
    with open_service_context() as ctx:
        from triage.services.retention.erase import delete_incident

        delete_incident(ctx, incident_id, "local", reason)
    typer.echo(f"{incident_id} is erased")
    return 0


@app.command()
def artifact(
    artifact_id: Annotated[str, typer.Argument(metavar="ID", help="The file's id.")],
    reason: _Reason,
) -> int:
    """Erase one file. Its incident is answered again without it."""
    with open_service_context() as ctx:
        from triage.services.retention.erase import delete_artifact

        of = delete_artifact(ctx, artifact_id, "local", reason)
    typer.echo(f"{artifact_id} is erased; {of} is answered again")
    return 0
